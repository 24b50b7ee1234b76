//! Settings of the running kernel.

use plumb_model::FACTS;

use crate::fingerprint::recorded::RecordedFacts;
use crate::root::Root;

/// Settings whose names are older than the list of facts.
const FACT_NAMES: [(&str, &str); 4] = [
    ("address_randomisation", "kernel.randomize_va_space"),
    ("swappiness", "vm.swappiness"),
    ("congestion_control", "net.ipv4.tcp_congestion_control"),
    ("autogroup", "kernel.sched_autogroup_enabled"),
];

pub fn read(root: &Root, facts: &mut RecordedFacts) {
    let listed = FACTS.iter().map(|fact| fact.name).filter(|name| name.contains('.'));
    for (name, sysctl) in listed.map(|name| (name, name)).chain(FACT_NAMES) {
        // Values of several numbers are apart by tabs.
        let value = root.text(&file(sysctl)).map(|text| text.replace('\t', " "));
        facts.put(name, value);
    }
}

/// Where a sysctl is read and written.
fn file(sysctl: &str) -> String {
    format!("/proc/sys/{}", sysctl.replace('.', "/"))
}
