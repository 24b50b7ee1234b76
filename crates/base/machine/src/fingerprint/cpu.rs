//! Processors: caches, who is online, frequency, idle states, mitigations.

use crate::facts::caches;
use crate::fingerprint::recorded::RecordedFacts;
use crate::root::Root;
use plumb_units::binary_size;

const BASE: &str = "/sys/devices/system/cpu";

pub fn read(root: &Root, facts: &mut RecordedFacts) {
    facts.put("caches", cache_sizes(root));
    facts.put("numa_distances", numa_distances(root));
    facts.put_file(root, "cpus_online", &format!("{BASE}/online"));
    facts.put_file(root, "cpus_isolated", &format!("{BASE}/isolated"));
    facts.put_file(root, "cpus_tickless", &format!("{BASE}/nohz_full"));
    facts.put("microcode", root.field("/proc/cpuinfo", "microcode"));
    facts.put("mitigations", mitigations(root));
    facts.put_file(root, "smt", &format!("{BASE}/smt/control"));
    facts.put("smt_active", root.number(&format!("{BASE}/smt/active")).map(yes_or_no));
    frequency(root, facts);
    facts.put_file(root, "idle_driver", &format!("{BASE}/cpuidle/current_driver"));
    facts.put("idle_states", idle_states(root));
}

fn yes_or_no(number: u64) -> String {
    if number == 0 { "no".into() } else { "yes".into() }
}

/// `L1d 48 KiB, L1i 32 KiB, L2 2 MiB, L3 36 MiB shared by 0-15`, as the first CPU sees them.
fn cache_sizes(root: &Root) -> Option<String> {
    joined(caches(root).map(cache_size).collect(), ", ")
}

fn cache_size(cache: crate::facts::Cache) -> String {
    let kind = match cache.kind.as_str() {
        "Data" => "d",
        "Instruction" => "i",
        _ => "",
    };
    // One CPU alone shares nothing.
    let several = cache.shared.filter(|cpus| cpus.contains([',', '-']));
    let shared = several.map_or_else(String::new, |cpus| format!(" shared by {cpus}"));
    format!("L{}{kind} {}{shared}", cache.level, binary_size(cache.bytes))
}

fn joined(parts: Vec<String>, with: &str) -> Option<String> {
    (!parts.is_empty()).then(|| parts.join(with))
}

/// A row a node, if there are several.
fn numa_distances(root: &Root) -> Option<String> {
    let nodes = crate::fingerprint::topology::numa_nodes(root);
    let rows: Vec<String> = (0..nodes)
        .filter_map(|node| root.text(&format!("/sys/devices/system/node/node{node}/distance")))
        .collect();
    if rows.len() > 1 { joined(rows, "; ") } else { None }
}

fn mitigations(root: &Root) -> Option<String> {
    let base = format!("{BASE}/vulnerabilities");
    let lines = root
        .names(&base)
        .into_iter()
        .filter_map(|name| Some(format!("{name}: {}", root.text(&format!("{base}/{name}"))?)))
        // These lines would hide the mitigations that are active and cost time.
        .filter(|line| !line.ends_with("Not affected"));
    joined(lines.collect(), "; ")
}

fn frequency(root: &Root, facts: &mut RecordedFacts) {
    facts.put("governor", policies(root, "scaling_governor"));
    facts.put("frequency_driver", policies(root, "scaling_driver"));
    facts.put("energy_preference", policies(root, "energy_performance_preference"));
    facts.put("frequency_limits", frequency_limits(root));
    facts.put_file(root, "no_turbo", &format!("{BASE}/intel_pstate/no_turbo"));
    facts.put_file(root, "boost", &format!("{BASE}/cpufreq/boost"));
}

/// What this file says in all frequency policies, each value once.
pub fn policies(root: &Root, file: &str) -> Option<String> {
    let base = format!("{BASE}/cpufreq");
    let names = root.names(&base).into_iter().filter(|name| name.starts_with("policy"));
    let mut values: Vec<String> =
        names.filter_map(|name| root.text(&format!("{base}/{name}/{file}"))).collect();
    values.sort();
    values.dedup();
    // Old kernels have no policies, only a folder per CPU.
    joined(values, " / ").or_else(|| root.text(&format!("{BASE}/cpu0/cpufreq/{file}")))
}

/// `800–4700 MHz, held to 3200 MHz`; on hybrid processors several such.
fn frequency_limits(root: &Root) -> Option<String> {
    let least = megahertz(root, "cpuinfo_min_freq")?;
    let most = megahertz(root, "cpuinfo_max_freq")?;
    let limit = megahertz(root, "scaling_max_freq").filter(|limit| *limit != most);
    let held = limit.map_or_else(String::new, |limit| format!(", held to {limit} MHz"));
    Some(format!("{least}–{most} MHz{held}"))
}

/// The frequencies in a file of all policies, in MHz, from the lowest up: `3200 / 4700`.
fn megahertz(root: &Root, file: &str) -> Option<String> {
    let policies = policies(root, file)?;
    let mut all: Vec<u64> = policies
        .split(" / ")
        .map(|khz| Some(khz.parse::<u64>().ok()? / 1000))
        .collect::<Option<_>>()?;
    // Policies are sorted as text, in which 1000000 precedes 800000.
    all.sort_unstable();
    Some(all.iter().map(u64::to_string).collect::<Vec<_>>().join(" / "))
}

/// A state in which a CPU waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// The driver's name for it.
    pub name: String,
    /// How long waking from it takes at most, in microseconds.
    pub latency_us: u64,
    /// Whether it is switched off.
    pub off: bool,
}

/// The idle states of the first CPU, the shallowest first.
pub fn idle(root: &Root) -> Vec<IdleState> {
    (0..).map_while(|number| idle_state(root, number)).collect()
}

fn idle_state(root: &Root, number: usize) -> Option<IdleState> {
    let folder = format!("{BASE}/cpu0/cpuidle/state{number}");
    Some(IdleState {
        name: root.text(&format!("{folder}/name"))?,
        latency_us: root.number(&format!("{folder}/latency"))?,
        off: root.number(&format!("{folder}/disable")) == Some(1),
    })
}

fn idle_states(root: &Root) -> Option<String> {
    let mut states = Vec::new();
    for IdleState { name, latency_us, off } in idle(root) {
        states.push(format!("{name} {latency_us} µs{}", if off { " (off)" } else { "" }));
    }
    joined(states, ", ")
}
