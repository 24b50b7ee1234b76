//! `--set swappiness`: how readily the kernel swaps rather than dropping page cache.

use plumb_machine::Root;

use crate::preparation::files::file_now;
use crate::preparation::knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};

/// This knob.
pub const KNOB: Knob = Knob {
    name: "swappiness",
    values: "0 to 200",
    example: "swappiness=10",
    summary: "how readily the kernel swaps rather than dropping page cache",
    manual: include_str!("swappiness.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| swappiness(root, value),
    now: |root| file_now(root, FILE),
};

const FILE: &str = "/proc/sys/vm/swappiness";
/// The largest value of current kernels; those before 5.8 refuse more than 100.
const MOST: u8 = 200;

fn swappiness(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    if !value.parse::<u8>().is_ok_and(|value| value <= MOST) {
        return Err(Unusable::not_taken(value, KNOB.values));
    }
    if !root.path(FILE).exists() {
        return Err(Unusable::unsupported(format!("this kernel has no {FILE}"), ""));
    }
    Ok(Resolved::Settings(vec![Assignment::file(FILE, value)]))
}

#[cfg(test)]
mod tests {
    use crate::testing::{settings, tree, why};

    #[test]
    fn swappiness_is_a_number_up_to_200() {
        let (_tree, root) = tree(&[("proc/sys/vm/swappiness", "60\n")]);
        assert_eq!(settings(&root, "swappiness=10"), ["/proc/sys/vm/swappiness=10"]);
        assert!(why(&root, "swappiness=201").contains("0 to 200"));
        let (_tree, root) = tree(&[]);
        assert!(why(&root, "swappiness=10").contains("has no /proc/sys/vm/swappiness"));
    }
}
