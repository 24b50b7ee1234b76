//! `--set smt`: the second hardware thread of each core.

use plumb_machine::Root;

use crate::preparation::knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};

/// The sibling hardware threads of all cores, on or off.
pub const KNOB: Knob = Knob {
    name: "smt",
    values: "on, off",
    example: "smt=off",
    summary: "the second hardware thread of each core",
    manual: include_str!("smt.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| smt(root, value),
    now: |root| root.text(SMT),
};

const SMT: &str = "/sys/devices/system/cpu/smt/control";

fn smt(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    match root.text(SMT).as_deref() {
        Some("on" | "off") if matches!(value, "on" | "off") => {
            Ok(Resolved::Settings(vec![Assignment::file(SMT, value)]))
        }
        Some("on" | "off") => Err(Unusable::not_taken(value, "on, off")),
        // `forceoff` and `notsupported` can only be read: the kernel refuses any write.
        Some(word) => Err(Unusable::unsupported(format!("hardware threads: {word}"), "")),
        None => Err(Unusable::unsupported("this kernel can't switch hardware threads", "")),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{settings, tree, why};

    const CPU: &str = "sys/devices/system/cpu";

    #[test]
    fn smt_that_the_machine_lacks_is_unsupported() {
        let (_tree, root) = tree(&[(&format!("{CPU}/smt/control"), "notsupported\n")]);
        assert!(why(&root, "smt=off").contains("notsupported"));
        let (_tree, root) = tree(&[(&format!("{CPU}/smt/control"), "on\n")]);
        assert_eq!(settings(&root, "smt=off"), [format!("/{CPU}/smt/control=off")]);
    }
}
