//! A clock frequency that follows the load slowly, or stays low.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Another governor than `performance`.
pub const CAUSE: Cause = Cause {
    name: "governor",
    summary: "the frequency governor of the CPU",
    manual: include_str!("governor.md"),
    suspect,
};

const FILE: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
const FASTEST: &str = "performance";

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let governor = suspect.root.text(FILE).filter(|governor| governor != FASTEST)?;
    Some(Suspicion {
        evidence: format!("the frequency governor is {governor}"),
        is_common: true,
        ways: vec![Removal::Knobs(vec![format!("governor={FASTEST}")])],
        remedy: Remedy {
            text: "use the governor performance".to_owned(),
            command: "cpupower frequency-set -g performance".to_owned(),
        },
    })
}
