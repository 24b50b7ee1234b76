//! `--set irq`: CPUs that handle interrupts; many interrupts cannot be moved.

use plumb_machine::Root;

use crate::preparation::files::{all, files_now};
use crate::preparation::knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};
use crate::preparation::process::cpus;

/// The affinity of every interrupt.
pub const KNOB: Knob = Knob {
    name: "irq",
    values: "CPUs (0-1,3)",
    example: "irq=0",
    summary: "CPUs that handle interrupts; many interrupts cannot be moved",
    manual: include_str!("irq.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| irq(root, value),
    now: |root| files_now(root, &irqs(root)),
};

const IRQS: &str = "/proc/irq";

fn irqs(root: &Root) -> Vec<String> {
    let files = root.names(IRQS).into_iter().map(|irq| format!("{IRQS}/{irq}/smp_affinity_list"));
    files.filter(|path| root.path(path).exists()).collect()
}

fn irq(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    cpus(value)?;
    let mut files = Vec::new();
    for path in irqs(root) {
        // Interrupts that belong to one CPU, such as a queue's of NVMe, refuse another (EIO).
        files.push(Assignment { may_refuse: true, ..Assignment::file(path, value) });
    }
    all(files, "this kernel lists no interrupts")
}

#[cfg(test)]
mod tests {
    use super::KNOB;
    use crate::testing::{settings, tree, why};

    #[test]
    fn every_interrupt_is_moved_as_far_as_it_can_be() {
        let (_tree, root) = tree(&[
            ("proc/irq/24/smp_affinity_list", "0-1\n"),
            ("proc/irq/30/smp_affinity_list", "1\n"),
        ]);
        assert_eq!(settings(&root, "irq=0").len(), 2);
        assert_eq!((KNOB.now)(&root).unwrap(), "0-1, 1");
        assert!(why(&root, "irq=one").starts_with("usage: "));
    }
}
