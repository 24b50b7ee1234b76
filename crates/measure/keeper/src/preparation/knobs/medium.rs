//! `--set medium`: what the target directory lies on.

use plumb_machine::Root;
use plumb_media::Medium;

use crate::preparation::knob::{Knob, Lasts, Resolved, Suffix, Unusable};

/// The layers of storage that the target directory lies on.
pub const KNOB: Knob = Knob {
    name: "medium",
    values: "layers from the bottom up (ram+ext4, loop:2GiB+xfs, gocryptfs)",
    example: "medium=ram+ext4",
    summary: "storage under the target directory: device, encryption, filesystem",
    manual: include_str!("medium.md"),
    lasts: Lasts::Run,
    suffix: Suffix::None,
    resolve: medium,
    now: |_| None,
};

fn medium(root: &Root, _: &str, value: &str) -> Result<Resolved, Unusable> {
    let medium = Medium::parse(value).map_err(Unusable::Usage)?;
    match medium.missing(root) {
        None => Ok(Resolved::Medium),
        Some(missing) => Err(Unusable::unsupported(missing.why, &missing.fix)),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{tree, why};

    #[test]
    fn a_stack_that_cannot_be_is_bad_usage_and_one_that_the_kernel_lacks_unsupported() {
        let (_tree, root) = tree(&[("proc/filesystems", "\text4\n")]);
        assert!(
            why(&root, "medium=ext4").starts_with("usage: `ext4` needs a device below it; try ")
        );
        let refused = why(&root, "medium=ram+ext4");
        let says = |words| refused.contains(words);
        assert!(says("a medium needs root") || says("this kernel has no loop"), "{refused}");
    }
}
