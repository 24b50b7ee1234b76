//! Which counters are shown first.

use plumb_analysis::CounterRate;

/// Beginnings of the names of counters that are shown if not all are asked for.
pub(crate) const FIRST: [&str; 15] = [
    "worker.",
    "stat.",
    "psi.",
    "cgroup.",
    "cpufreq.",
    "perf.",
    "latency.",
    "powercap.",
    "tree.",
    "vmstat.pgfault",
    "vmstat.pgmajfault",
    "vmstat.pgp",
    "vmstat.psw",
    "thermal.",
    "kmsg.",
];

/// Where a counter stands among those that are shown first.
pub fn place(rate: &CounterRate) -> usize {
    let name = &rate.counter.name;
    // Unknown ones come last, in no order of importance.
    FIRST.iter().position(|first| name.starts_with(first)).unwrap_or(FIRST.len())
}

/// Whether a counter is shown if not all are asked for.
#[must_use]
pub fn matters(rate: &CounterRate) -> bool {
    place(rate) < FIRST.len()
}
