//! `--set thp-defrag`: how hard the kernel tries to find memory for huge pages.

use crate::preparation::files::{choice, file_now};
use crate::preparation::knob::{Knob, Lasts, Suffix};

/// How much a page fault works to get a huge page.
pub const KNOB: Knob = Knob {
    name: "thp-defrag",
    values: "always, defer, defer+madvise, madvise, never",
    example: "thp-defrag=never",
    summary: "how hard the kernel tries to find memory for huge pages",
    manual: include_str!("thp_defrag.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| choice(root, FILE, value),
    now: |root| file_now(root, FILE),
};

const FILE: &str = "/sys/kernel/mm/transparent_hugepage/defrag";
