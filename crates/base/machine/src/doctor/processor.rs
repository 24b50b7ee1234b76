//! Processors: frequency, idle states, siblings, heat, the clock, the kernel on them.

use plumb_model::Severity;

use crate::doctor::found::FoundSymptom;
use crate::fingerprint::{config, has, idle, policies, power};
use crate::root::Root;

const BASE: &str = "/sys/devices/system/cpu";
/// Waking from a deeper state than this takes longer than most of what is measured, in microseconds.
const DEEP_US: u64 = 50;
/// Clocks that are read without a system call.
const FAST_CLOCKS: [&str; 6] = [
    "tsc",
    "arch_sys_counter",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "riscv_clocksource",
    "timebase",
];
/// Options of kernels that look for bugs.
const DEBUGGING: [&str; 8] = [
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_KMSAN",
    "CONFIG_PROVE_LOCKING",
    "CONFIG_DEBUG_LOCK_ALLOC",
    "CONFIG_DEBUG_OBJECTS",
    "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "CONFIG_SLUB_DEBUG_ON",
];

pub fn check(root: &Root) -> Vec<FoundSymptom> {
    let checks = [
        one_cpu,
        governor,
        turbo,
        siblings,
        deep_idle,
        throttled,
        battery,
        clock_source,
        debugging,
        layout,
    ];
    checks.iter().filter_map(|check| check(root)).collect()
}

fn one_cpu(root: &Root) -> Option<FoundSymptom> {
    let allowed = root.field("/proc/self/status", "Cpus_allowed_list")?;
    let evidence = format!("only CPU {allowed}, from Cpus_allowed_list in /proc/self/status");
    // Several CPUs have a comma or a dash between them, so their list is not a number.
    let single = allowed.parse::<u32>().is_ok();
    single.then(|| FoundSymptom::new("one-cpu", Severity::Major, evidence))
}

fn governor(root: &Root) -> Option<FoundSymptom> {
    let governor = policies(root, "scaling_governor")?;
    let evidence = format!("{governor} in {BASE}/cpufreq/policy*/scaling_governor");
    (governor != "performance").then(|| FoundSymptom::new("governor", Severity::Major, evidence))
}

fn turbo(root: &Root) -> Option<FoundSymptom> {
    // One driver shows whether turbo is off, the others whether it is on.
    let switches = [("intel_pstate/no_turbo", 0), ("cpufreq/boost", 1)];
    let (file, on) =
        switches.iter().find(|(file, on)| root.number(&format!("{BASE}/{file}")) == Some(*on))?;
    Some(FoundSymptom::new("turbo", Severity::Minor, format!("{on} in {BASE}/{file}")))
}

fn siblings(root: &Root) -> Option<FoundSymptom> {
    let file = format!("{BASE}/smt/active");
    let active = root.number(&file) == Some(1);
    active.then(|| FoundSymptom::new("smt", Severity::Minor, format!("1 in {file}")))
}

fn deep_idle(root: &Root) -> Option<FoundSymptom> {
    let states = idle(root).into_iter().filter(|state| !state.off);
    let deepest = states.max_by_key(|state| state.latency_us)?;
    let evidence = format!(
        "{} takes {} µs to exit, from {BASE}/cpu0/cpuidle/state*/latency",
        deepest.name, deepest.latency_us
    );
    (deepest.latency_us > DEEP_US)
        .then(|| FoundSymptom::new("deep-idle", Severity::Minor, evidence))
}

fn throttled(root: &Root) -> Option<FoundSymptom> {
    // Heat of the whole package slows a core that is not too hot itself.
    let counts = ["core", "package"].map(|name| {
        let file = format!("{BASE}/cpu0/thermal_throttle/{name}_throttle_count");
        (root.number(&file), file)
    });
    let (count, file) = counts.into_iter().max_by_key(|(count, _)| *count)?;
    let count = count.filter(|count| *count > 0)?;
    let evidence = format!("{count} times since boot, from {file}");
    Some(FoundSymptom::new("throttled", Severity::Minor, evidence))
}

fn battery(root: &Root) -> Option<FoundSymptom> {
    let drained = power(root) == Some("battery");
    drained.then(|| {
        FoundSymptom::new(
            "battery",
            Severity::Major,
            "discharging, from /sys/class/power_supply/*/status",
        )
    })
}

fn clock_source(root: &Root) -> Option<FoundSymptom> {
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = root.text(file)?;
    let slow = !FAST_CLOCKS.contains(&source.as_str());
    slow.then(|| FoundSymptom::new("clock-source", Severity::Major, format!("{source} in {file}")))
}

fn debugging(root: &Root) -> Option<FoundSymptom> {
    let config = config(root)?;
    let on: Vec<&str> = DEBUGGING.into_iter().filter(|option| has(&config, option)).collect();
    let evidence = format!("{} in the kernel's configuration", on.join(", "));
    (!on.is_empty()).then(|| FoundSymptom::new("debug-kernel", Severity::Major, evidence))
}

fn layout(root: &Root) -> Option<FoundSymptom> {
    let file = "/proc/sys/kernel/randomize_va_space";
    let fixed = root.number(file) == Some(0);
    fixed.then(|| FoundSymptom::new("layout-fixed", Severity::Minor, format!("0 in {file}")))
}
