//! The floor of every `peak_memory`, and how it is kept low.
//!
//! A program inherits the high-water mark of resident memory from the process that starts it: the
//! kernel carries it over at exec. So what this process holds is the least that can be seen. Most of it
//! is code that it has already run. Those pages are clean copies of files, so they can be given back and
//! are read again from the page cache when they are next needed.
#![expect(unsafe_code, reason = "madvise has no safe form in std")]

use std::fs;

/// Gives back what this process holds of its files, and lowers its high-water mark to the rest. To be
/// called before the first sample; a process with several threads keeps its files.
pub fn lower() {
    if field("Threads:") == Some(1) {
        for (start, length) in
            clean_files(&fs::read_to_string("/proc/self/smaps").unwrap_or_default())
        {
            let start = std::ptr::with_exposed_provenance_mut(start);
            // SAFETY: a private mapping of a file that is not writable and of which no page has been
            // changed: what is dropped is read again, the same. No other thread maps anything else
            // there in between, because there is none.
            unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) };
        }
    }
    // Kernels without CONFIG_PROC_PAGE_MONITOR refuse; the floor is then higher, and still stated.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The high-water mark of this process's resident memory in bytes, 0 when the kernel does not report.
pub fn bytes() -> u64 {
    field("VmHWM:").unwrap_or(0) * 1024
}

/// The remark that tells readers the floor.
#[expect(clippy::cast_precision_loss, reason = "a size far below 2^53")]
pub fn note(floor: u64) -> String {
    format!(
        "memory floor {:.1} MiB: a lower peak_memory cannot be measured",
        floor as f64 / 1048576.0
    )
}

/// A number of /proc/self/status.
fn field(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Start and length of the private, read-only mappings of files without a changed page.
fn clean_files(smaps: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut mapping = None;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("Anonymous:"), Some("0")) => found.extend(mapping.take()),
            (Some(name), _) if name.ends_with(':') => {}
            (Some(range), Some(permissions)) => {
                let is_file = words.nth(3).is_some_and(|path| path.starts_with('/'));
                let is_fixed = permissions.ends_with('p') && !permissions.contains('w');
                mapping = (is_file && is_fixed).then(|| parse_range(range)).flatten();
            }
            _ => {}
        }
    }
    found
}

fn parse_range(range: &str) -> Option<(usize, usize)> {
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    Some((start, usize::from_str_radix(end, 16).ok()?.checked_sub(start)?))
}

#[cfg(test)]
mod tests {
    use super::{bytes, clean_files, lower};

    const SMAPS: &str = "\
1000-3000 r--p 00000000 fe:00 12   /usr/bin/some thing
Rss:                   8 kB
Anonymous:             0 kB
3000-4000 r-xp 00002000 fe:00 12   /usr/bin/some thing
Anonymous:             4 kB
4000-5000 rw-p 00003000 fe:00 12   /usr/bin/some thing
Anonymous:             0 kB
5000-6000 r--s 00003000 fe:00 12   /usr/share/cache
Anonymous:             0 kB
6000-7000 r--p 00000000 00:00 0
Anonymous:             0 kB
7000-7fff r-xp 00000000 00:00 0    [vdso]
Anonymous:             0 kB
8000-9000 r-xp 00000000 fe:00 13   /usr/lib/other
Anonymous:             0 kB
";

    #[test]
    fn only_unchanged_private_files_are_given_back() {
        assert_eq!(clean_files(SMAPS), [(0x1000, 0x2000), (0x8000, 0x1000)]);
        assert_eq!(clean_files(""), []);
    }

    #[test]
    fn a_process_lives_on_with_a_lower_mark() {
        lower();
        assert!(bytes() > 0);
    }
}
