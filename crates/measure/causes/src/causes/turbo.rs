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
    let no_turbo = format!("{cpu}/intel_pstate/no_turbo");
    let boost = format!("{cpu}/cpufreq/boost");
    let command = if suspect.root.number(&no_turbo) == Some(1) {
        format!("echo 0 > {no_turbo}")
    } else if suspect.root.number(&boost) == Some(0) {
        format!("echo 1 > {boost}")
    } else {
        return None;
    };
    Some(Suspicion {
        evidence: "turbo frequencies are switched off".to_owned(),
        is_common: false,
        ways: vec![Removal::Knobs(vec!["turbo=on".to_owned()])],
        remedy: Remedy { text: "switch turbo on".to_owned(), command },
    })
}
