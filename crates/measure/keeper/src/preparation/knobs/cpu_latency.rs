//! `--set cpu-latency`: longest wake-up delay that idle states may add.

use plumb_machine::Root;

use crate::preparation::files::{all, of_cpus};
use crate::preparation::knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};
use crate::setting::SystemSetting;

/// The longest wake-up of an idle CPU, in microseconds.
pub const KNOB: Knob = Knob {
    name: "cpu-latency",
    values: "microseconds",
    example: "cpu-latency=10",
    summary: "longest wake-up delay that idle states may add",
    manual: include_str!("cpu_latency.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| cpu_latency(root, value),
    now: |_| None,
};

/// Idle states that are looked for; the kernel has at most 10 (CPUIDLE_STATE_MAX).
const MOST_STATES: u32 = 16;

/// By the kernel's own limit; if there is none, by disabling each deeper idle state.
fn cpu_latency(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    let limit: u32 = value.parse().map_err(|_| Unusable::not_taken(value, "microseconds"))?;
    let setting = SystemSetting::Latency;
    if root.path(&setting.to_string()).exists() {
        let to = limit.to_string();
        return Ok(Resolved::Settings(vec![Assignment { setting, to, may_refuse: false }]));
    }
    let mut files = Vec::new();
    for number in 0..MOST_STATES {
        for path in of_cpus(root, &format!("cpuidle/state{number}/disable")) {
            let latency = root.number(&path.replace("/disable", "/latency"));
            if latency.is_some_and(|latency| latency > u64::from(limit)) {
                files.push(Assignment::file(path, "1"));
            }
        }
    }
    all(files, "this kernel can't limit idle states")
}

#[cfg(test)]
mod tests {
    use crate::testing::{settings, tree};

    const CPU: &str = "sys/devices/system/cpu";

    #[test]
    fn idle_states_are_limited_by_the_kernel_or_one_by_one() {
        let (_tree, root) = tree(&[("dev/cpu_dma_latency", "")]);
        assert_eq!(settings(&root, "cpu-latency=0"), ["/dev/cpu_dma_latency=0"]);
        let state = |n: u32, file: &str| format!("{CPU}/cpu0/cpuidle/state{n}/{file}");
        let (_tree, root) = tree(&[
            (&state(0, "latency"), "0\n"),
            (&state(0, "disable"), "0\n"),
            (&state(1, "latency"), "133\n"),
            (&state(1, "disable"), "0\n"),
        ]);
        assert_eq!(settings(&root, "cpu-latency=10"), [format!("/{}=1", state(1, "disable"))]);
    }
}
