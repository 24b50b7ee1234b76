//! CPUs that wake up slowly.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Idle states from which a CPU takes long to wake up.
pub const CAUSE: Cause = Cause {
    name: "idle-states",
    summary: "idle states from which the CPUs wake up slowly",
    manual: include_str!("idle_states.md"),
    suspect,
};

/// A wake-up within this time slows down no work by much, in microseconds.
const SHORT_US: u64 = 10;
/// The kernel has at most 10 states (CPUIDLE_STATE_MAX).
const MOST_STATES: u32 = 10;

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let mut deepest: Option<(String, u64)> = None;
    for number in 0..MOST_STATES {
        let state = format!("/sys/devices/system/cpu/cpu0/cpuidle/state{number}");
        let Some(latency_us) = suspect.root.number(&format!("{state}/latency")) else { break };
        let is_used = suspect.root.number(&format!("{state}/disable")) == Some(0);
        if is_used && latency_us > deepest.as_ref().map_or(SHORT_US, |(_, longest)| *longest) {
            let name = suspect.root.text(&format!("{state}/name")).unwrap_or_default();
            deepest = Some((name.trim().to_owned(), latency_us));
        }
    }
    let (name, latency_us) = deepest?;
    Some(Suspicion {
        evidence: format!("leaving the idle state {name} takes {latency_us} µs"),
        is_common: true,
        ways: vec![Removal::Knobs(vec![format!("cpu-latency={SHORT_US}")])],
        remedy: Remedy {
            text: "keep /dev/cpu_dma_latency open with a small value while latency matters, or choose a tuned profile for latency".to_owned(),
            command: "tuned-adm profile latency-performance".to_owned(),
        },
    })
}
