//! CPUs, nodes of memory, and what is below the machine.

use crate::root::Root;

/// How many CPUs `/proc/cpuinfo` lists; None if it lists none.
pub fn count_cpus(cpuinfo: &str) -> Option<usize> {
    let count = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    (count > 0).then_some(count)
}

/// How many nodes of memory there are; one if the kernel tells none.
pub fn numa_nodes(root: &Root) -> usize {
    let names = root.names("/sys/devices/system/node");
    let numbers = names.iter().filter_map(|name| name.strip_prefix("node"));
    numbers.filter(|number| number.chars().all(|c| c.is_ascii_digit())).count().max(1)
}

/// The hypervisor below, as far as the CPU and the firmware tell: seen from inside a container, too.
pub fn virtualisation(root: &Root) -> Option<String> {
    if let Some(kind) = root.text("/sys/hypervisor/type") {
        return Some(format!("virtual machine ({kind})"));
    }
    let flags = root.field("/proc/cpuinfo", "flags")?;
    flags.split_whitespace().find(|flag| *flag == "hypervisor")?;
    Some(match root.text("/sys/class/dmi/id/sys_vendor") {
        Some(vendor) => format!("virtual machine ({vendor})"),
        None => "virtual machine".into(),
    })
}
