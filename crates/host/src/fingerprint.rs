//! Which machine this is, and in what state.

use std::collections::BTreeMap;
use std::path::Path;

use plumb_model::{Environment, Machine};

use crate::Root;
use crate::hash::of_facts;
use crate::root::field;

/// The stable identity of the machine. The list of facts is frozen: a new fact would split every
/// history, so it goes into the environment.
#[must_use]
pub fn machine(root: &Root) -> Machine {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let mut facts = Facts::default();
    facts.put("cpu", field(&cpuinfo, "model name").or_else(|| field(&cpuinfo, "Processor")));
    facts.put("cpus", Some(count_cpus(&cpuinfo).to_string()));
    facts.put("cores_per_socket", field(&cpuinfo, "cpu cores"));
    facts.put("threads_per_socket", field(&cpuinfo, "siblings"));
    facts.put("numa_nodes", Some(numa_nodes(root).to_string()));
    facts.put("memory", memory_class(root));
    facts.put("vendor", root.text("/sys/class/dmi/id/sys_vendor"));
    facts.put("product", root.text("/sys/class/dmi/id/product_name"));
    facts.put("board", root.text("/sys/class/dmi/id/board_name"));
    facts.put("virtualisation", virtualisation(root));
    Machine { fingerprint: of_facts("fp1", &facts.0), facts: facts.0 }
}

/// What may change: kernel, settings, the filesystem under `dir`, versions.
#[must_use]
pub fn environment(root: &Root, dir: &Path) -> Environment {
    let mut facts = Facts::default();
    kernel(root, &mut facts);
    settings(root, &mut facts);
    place(root, dir, &mut facts);
    facts.put("os", os_name(root));
    facts.put("container", container(root));
    Environment { fingerprint: of_facts("env1", &facts.0), facts: facts.0 }
}

#[derive(Default)]
struct Facts(BTreeMap<String, String>);

impl Facts {
    fn put(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value);
        }
    }
}

fn count_cpus(cpuinfo: &str) -> usize {
    cpuinfo.lines().filter(|line| line.starts_with("processor")).count()
}

fn numa_nodes(root: &Root) -> usize {
    let is_node = |name: &&String| {
        name.strip_prefix("node").is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()))
    };
    root.names("/sys/devices/system/node").iter().filter(is_node).count().max(1)
}

/// Memory in whole GiB, rounded up: MemTotal moves a little with kernel and firmware.
fn memory_class(root: &Root) -> Option<String> {
    let total = root.field("/proc/meminfo", "MemTotal")?;
    let kib: u64 = total.split_whitespace().next()?.parse().ok()?;
    Some(format!("{} GiB", kib.div_ceil(1 << 20)))
}

fn kernel(root: &Root, facts: &mut Facts) {
    facts.put("kernel", root.text("/proc/sys/kernel/osrelease"));
    facts.put("kernel_build", root.text("/proc/sys/kernel/version"));
    facts.put("command_line", root.text("/proc/cmdline"));
    facts.put("microcode", root.field("/proc/cpuinfo", "microcode"));
    facts.put("mitigations", mitigations(root));
}

fn mitigations(root: &Root) -> Option<String> {
    let base = "/sys/devices/system/cpu/vulnerabilities";
    let lines: Vec<String> = root
        .names(base)
        .into_iter()
        .filter_map(|name| Some(format!("{name}: {}", root.text(&format!("{base}/{name}"))?)))
        .filter(|line| !line.ends_with("Not affected"))
        .collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

fn settings(root: &Root, facts: &mut Facts) {
    let files = [
        ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        ("frequency_driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
        ("no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
        ("boost", "/sys/devices/system/cpu/cpufreq/boost"),
        ("smt", "/sys/devices/system/cpu/smt/control"),
        ("huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled"),
        ("clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("address_randomisation", "/proc/sys/kernel/randomize_va_space"),
        ("swappiness", "/proc/sys/vm/swappiness"),
        ("congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"),
        ("autogroup", "/proc/sys/kernel/sched_autogroup_enabled"),
    ];
    for (name, file) in files {
        facts.put(name, root.text(file));
    }
}

/// The filesystem and device that hold `dir`: the longest mount point above it.
fn place(root: &Root, dir: &Path, facts: &mut Facts) {
    let mounts = root.text("/proc/self/mountinfo").unwrap_or_default();
    let best = mounts
        .lines()
        .filter_map(mount)
        .filter(|mount| dir.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.len());
    if let Some(mount) = best {
        facts.put("filesystem", Some(mount.filesystem));
        facts.put("device", Some(mount.device));
        facts.put("mount_options", Some(mount.options));
    }
}

struct Mount {
    point: String,
    filesystem: String,
    device: String,
    options: String,
}

/// A line of /proc/self/mountinfo: `id parent maj:min root point options fields… - type device super`.
fn mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(4);
    let (point, options) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    Some(Mount {
        point: point.replace("\\040", " "),
        filesystem: right.next()?.to_owned(),
        device: right.next()?.to_owned(),
        options: options.to_owned(),
    })
}

fn os_name(root: &Root) -> Option<String> {
    let text = root.text("/etc/os-release")?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// The hypervisor below, as far as the CPU and the firmware tell: seen from inside a container, too.
fn virtualisation(root: &Root) -> Option<String> {
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

/// The container around plumb, by the traces that its manager leaves.
fn container(root: &Root) -> Option<String> {
    let traces = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let found = traces.iter().find(|(trace, _)| root.path(trace).exists());
    found.map(|(_, manager)| (*manager).to_owned()).or_else(|| root.text("/run/systemd/container"))
}

#[cfg(test)]
mod tests {
    use super::{environment, machine, mount};
    use crate::Root;
    use std::path::Path;

    #[test]
    fn the_same_machine_has_the_same_fingerprint_twice() {
        let root = Root::default();
        assert_eq!(machine(&root), machine(&root));
        assert!(machine(&root).fingerprint.starts_with("fp1:"));
        let environment = environment(&root, Path::new("/tmp"));
        assert!(environment.facts.contains_key("kernel"), "{environment:?}");
        assert!(environment.facts.contains_key("filesystem"), "{environment:?}");
    }

    #[test]
    fn nothing_readable_is_still_an_identity() {
        let empty = tempfile::tempdir().unwrap();
        let root = Root::at(empty.path());
        assert_eq!(machine(&root).facts.get("cpus").map(String::as_str), Some("0"));
        let _ = environment(&root, Path::new("/"));
    }

    #[test]
    fn a_virtual_machine_is_the_same_machine_inside_a_container() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let put = |path: &str, text: &str| {
            let path = root.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let bare = machine(&root);
        assert_eq!(bare.facts.get("virtualisation"), None);
        put("/proc/cpuinfo", "processor : 0\nflags : fpu hypervisor lm\n");
        put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
        let virtual_machine = machine(&root);
        let found = virtual_machine.facts.get("virtualisation").map(String::as_str);
        assert_eq!(found, Some("virtual machine (QEMU)"));
        let outside = environment(&root, Path::new("/"));
        assert_eq!(outside.facts.get("container"), None);
        put("/.dockerenv", "");
        assert_eq!(machine(&root), virtual_machine, "a container is no other machine");
        let inside = environment(&root, Path::new("/"));
        assert_eq!(inside.facts.get("container").map(String::as_str), Some("docker"));
        assert_ne!(inside.fingerprint, outside.fingerprint);
    }

    #[test]
    fn a_line_of_mountinfo_is_taken_apart() {
        let line =
            "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = mount(line).unwrap();
        assert_eq!((mount.point.as_str(), mount.filesystem.as_str()), ("/mnt 2", "ext3"));
    }
}
