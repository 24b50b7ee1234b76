//! `--set stop-service`: a noisy service or timer, stopped for the run.

use plumb_machine::Root;

use crate::preparation::knob::{Knob, Lasts, Resolved, Suffix, Unusable};
use crate::preparation::units::{require_systemd, stopped};

/// A unit of systemd, stopped until the run ends.
pub const KNOB: Knob = Knob {
    name: "stop-service",
    values: "a systemd unit",
    example: "stop-service=cron.service",
    summary: "a noisy service or timer, stopped for the run",
    manual: include_str!("stop_service.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| stop_service(root, value),
    now: |_| None,
};

fn stop_service(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    require_systemd(root)?;
    Ok(Resolved::Settings(vec![stopped(value, false)]))
}

#[cfg(test)]
mod tests {
    use crate::testing::{settings, tree, why};

    #[test]
    fn a_service_needs_a_service_manager() {
        let (_tree, bare) = tree(&[]);
        assert!(why(&bare, "stop-service=cron.service").contains("systemd is not running"));
        let (_tree, root) = tree(&[("run/systemd/system/x", "")]);
        assert_eq!(settings(&root, "stop-service=cron.service"), ["unit cron.service=off"]);
    }
}
