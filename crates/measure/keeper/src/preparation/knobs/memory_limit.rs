//! `--set memory-limit`: memory, as containers and small cloud instances have it.

use crate::preparation::knob::{Knob, Lasts, Suffix, Unusable};
use crate::preparation::process::option;
use crate::spawn_options::SpawnOption;

/// The memory that a control group may use, page cache included.
pub const KNOB: Knob = Knob {
    name: "memory-limit",
    values: "a size (128MiB)",
    example: "memory-limit=128MiB",
    summary: "memory that the workload may use, page cache included",
    manual: include_str!("memory_limit.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, limit(value)?),
    now: |_| None,
};

/// No worker of plumb starts with less.
const LEAST: u64 = 16 << 20;

fn limit(value: &str) -> Result<SpawnOption, Unusable> {
    match plumb_units::parse_bytes(value) {
        Ok(bytes) if bytes >= LEAST => Ok(SpawnOption::MemoryLimit(bytes)),
        _ => Err(Unusable::not_taken(value, "a size of at least 16MiB, such as 128MiB")),
    }
}

#[cfg(test)]
mod tests {
    use super::limit;
    use crate::spawn_options::SpawnOption;

    #[test]
    fn a_limit_is_a_size_that_a_process_can_start_with() {
        assert_eq!(limit("128MiB"), Ok(SpawnOption::MemoryLimit(128 << 20)));
        assert!(limit("1MiB").is_err() && limit("much").is_err());
    }
}
