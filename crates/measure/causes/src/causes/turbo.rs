//! Turbo frequencies that are switched off.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Turbo is off.
pub const CAUSE: Cause = Cause {
    name: "turbo",
    summary: "turbo frequencies being switched off",
    manual: include_str!("turbo.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let cpu = "/sys/devices/system/cpu";
    let no_turbo = suspect.root.number(&format!("{cpu}/intel_pstate/no_turbo")) == Some(1);
    let no_boost = suspect.root.number(&format!("{cpu}/cpufreq/boost")) == Some(0);
    (no_turbo || no_boost).then(|| Suspicion {
        evidence: "turbo frequencies are switched off".to_owned(),
        is_common: false,
        ways: vec![Removal::Knobs(vec!["turbo=on".to_owned()])],
        remedy: Remedy {
            text: "switch turbo on".to_owned(),
            command: "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 1 > /sys/devices/system/cpu/cpufreq/boost".to_owned(),
        },
    })
}
