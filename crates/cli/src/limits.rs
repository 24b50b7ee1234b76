//! Limits of this process (`ulimit`) under which plumb can measure nothing. They are checked once, at the start: below
//! them, whatever needs a file or memory next would fail with an error that does not name the limit.

use std::fs;

use crate::error::{CommandError, Result};

/// Open files of plumb, and of a workload that opens none per thread or connection, are at most about 40.
const LEAST_FILES: u64 = 64;

/// plumb and its libraries map about 60 MiB before they measure anything.
const LEAST_ADDRESS_SPACE: u64 = 128 << 20;

/// Refuses a process whose limits are too low.
///
/// # Errors
/// Usage, with the limit and the command that raises it.
pub fn check() -> Result<()> {
    // A file, because a filter of system calls may refuse getrlimit. Without /proc, no limit is known.
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    check_files(limit(&limits, "Max open files"))?;
    check_address_space(limit(&limits, "Max address space"))
}

/// The soft limit on the line that begins so.
fn limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// None is unlimited, here and below.
fn check_files(files: Option<u64>) -> Result<()> {
    match files {
        Some(files) if files < LEAST_FILES => Err(CommandError::usage(format!(
            "the limit of open files is {files}, but plumb needs {LEAST_FILES}"
        ))
        .hint("ulimit -n 1024")),
        _ => Ok(()),
    }
}

fn check_address_space(bytes: Option<u64>) -> Result<()> {
    match bytes {
        Some(bytes) if bytes < LEAST_ADDRESS_SPACE => Err(CommandError::usage(format!(
            "the limit of address space is {} MiB, but plumb needs {} MiB",
            bytes >> 20,
            LEAST_ADDRESS_SPACE >> 20
        ))
        .hint("ulimit -v unlimited")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{check_address_space, check_files, limit};

    #[test]
    fn low_limits_are_named_with_what_raises_them() {
        let files = check_files(Some(20)).unwrap_err();
        assert_eq!(files.to_string(), "the limit of open files is 20, but plumb needs 64");
        assert_eq!(files.hints(), ["ulimit -n 1024"]);
        let space = check_address_space(Some(100 << 20)).unwrap_err();
        assert!(space.to_string().starts_with("the limit of address space is 100 MiB"), "{space}");
        let limits = "Max open files            1024                 524288               files     \n\
                      Max address space         unlimited            unlimited            bytes     \n";
        assert_eq!(limit(limits, "Max open files"), Some(1024));
        assert_eq!(limit(limits, "Max address space"), None);
        assert!(check_files(None).is_ok() && check_address_space(None).is_ok());
        assert!(check_files(Some(64)).is_ok() && check_address_space(Some(1 << 30)).is_ok());
    }
}
