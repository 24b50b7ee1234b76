//! `--set thp`: transparent huge pages.

use crate::preparation::files::{choice, file_now};
use crate::preparation::knob::{Knob, Lasts, Suffix};

/// The policy of transparent huge pages.
pub const KNOB: Knob = Knob {
    name: "thp",
    values: "always, madvise, never",
    example: "thp=never",
    summary: "transparent huge pages",
    manual: include_str!("thp.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| choice(root, FILE, value),
    now: |root| file_now(root, FILE),
};

const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

#[cfg(test)]
mod tests {
    use crate::testing::{settings, tree, why};

    #[test]
    fn lists_of_the_kernel_say_what_they_take() {
        let path = "sys/kernel/mm/transparent_hugepage/enabled";
        let (_tree, root) = tree(&[(path, "always [madvise] never\n")]);
        assert_eq!(settings(&root, "thp=never@round"), [format!("/{path}=never")]);
        assert!(why(&root, "thp=sometimes").contains("always, madvise, never"));
        assert!(why(&root, "thp-defrag=never").contains("has no /sys/kernel/mm"));
    }
}
