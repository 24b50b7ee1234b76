//! Settings of the memory allocator.

use crate::cause::{Cause, Suspect, Suspicion};
use crate::causes::loader::without_variables;

/// Variables of malloc. They reach plumb's own workers, too.
pub const CAUSE: Cause = Cause {
    name: "allocator",
    summary: "environment variables of the memory allocator",
    manual: include_str!("allocator.md"),
    suspect,
};

/// Of glibc's mallopt(3) and of jemalloc.
pub(super) const VARIABLES: [&str; 9] = [
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_CHECK_",
    "MALLOC_CONF",
    "MALLOC_MMAP_MAX_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_PERTURB_",
    "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    without_variables(suspect, &VARIABLES)
}
