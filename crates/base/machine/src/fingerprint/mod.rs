//! Which machine this is, and in what state.
//!
//! A file a theme; the list of all facts is `plumb_model::FACTS`. Only what stays from run to run is a
//! fact: free space, temperatures and loads would make every run another environment, and monitors read
//! them. Files that cannot be read are facts that are missing, which is no difference to anybody.

mod cpu;
mod disks;
mod firmware;
mod kernel;
mod limits;
mod memory;
mod network;
mod place;
mod settings;
mod tools;

use std::collections::BTreeMap;
use std::path::Path;

use plumb_model::{Environment, Machine};

use crate::hash::of_facts;
use crate::root::Root;
use crate::root::field;

pub use cpu::{idle, policies};
pub use disks::chosen;
pub use firmware::power;
pub use kernel::{config, has};
pub use place::holding;
pub use tools::container;

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

/// What may change: kernel, settings, what lies below `dir`, versions.
#[must_use]
pub fn environment(root: &Root, dir: &Path) -> Environment {
    let mut facts = Facts::default();
    let mount = place::holding(root, dir);
    cpu::read(root, &mut facts);
    memory::read(root, &mut facts);
    firmware::read(root, &mut facts);
    disks::read(root, mount.as_ref(), &mut facts);
    network::read(root, &mut facts);
    place::read(mount.as_ref(), &mut facts);
    limits::read(root, &mut facts);
    kernel::read(root, &mut facts);
    settings::read(root, &mut facts);
    tools::read(root, &mut facts);
    Environment { fingerprint: of_facts("env1", &facts.0), facts: facts.0 }
}

/// Facts by their names.
#[derive(Default)]
struct Facts(BTreeMap<String, String>);

impl Facts {
    fn put(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value);
        }
    }

    fn put_file(&mut self, root: &Root, name: &str, file: &str) {
        self.put(name, root.text(file));
    }
}

/// `48 KiB`, `7.81 GiB`.
pub fn binary(bytes: u64) -> String {
    scaled(bytes, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB"])
}

/// `500 GB`, as disks are sold.
fn decimal(bytes: u64) -> String {
    scaled(bytes, 1000.0, ["B", "kB", "MB", "GB", "TB"])
}

#[expect(clippy::cast_precision_loss, reason = "three digits for people")]
fn scaled(bytes: u64, step: f64, units: [&str; 5]) -> String {
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = if value >= 100.0 { 0 } else { 2 };
    let number = format!("{value:.decimals$}");
    format!("{} {}", number.strip_suffix(".00").unwrap_or(&number), units[unit])
}

pub fn count_cpus(cpuinfo: &str) -> usize {
    cpuinfo.lines().filter(|line| line.starts_with("processor")).count()
}

pub fn numa_nodes(root: &Root) -> usize {
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

#[cfg(test)]
mod tests {
    use super::{binary, decimal, environment, machine};
    use crate::root::Root;
    use plumb_model::{FactKind, IDENTITY};
    use std::path::Path;

    #[test]
    fn the_same_machine_has_the_same_fingerprint_twice() {
        let root = Root::default();
        assert_eq!(machine(&root), machine(&root));
        assert!(machine(&root).fingerprint.starts_with("fp1:"));
        let now = environment(&root, Path::new("/tmp"));
        assert!(now.facts.contains_key("kernel"), "{now:?}");
        assert!(now.facts.contains_key("filesystem"), "{now:?}");
        assert_eq!(environment(&root, Path::new("/tmp")), now);
    }

    #[test]
    fn what_is_read_stands_in_the_list_of_facts() {
        let root = Root::default();
        let machine = machine(&root).facts;
        assert!(machine.keys().all(|name| IDENTITY.contains(&name.as_str())), "{machine:?}");
        for name in environment(&root, Path::new("/tmp")).facts.keys() {
            assert!(FactKind::named(name).is_some_and(FactKind::is_of_environment), "{name}");
        }
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!((binary(48 << 10), binary(8_589_930_496)), ("48 KiB".into(), "8 GiB".into()));
        assert_eq!((decimal(500_107_862_016), decimal(512)), ("500 GB".into(), "512 B".into()));
        assert_eq!(binary(8_388_604_000), "7.81 GiB");
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
        assert_eq!(outside.facts.get("container").map(String::as_str), Some("none"));
        put("/.dockerenv", "");
        assert_eq!(machine(&root), virtual_machine, "a container is no other machine");
        let inside = environment(&root, Path::new("/"));
        assert_eq!(inside.facts.get("container").map(String::as_str), Some("docker"));
        assert_ne!(inside.fingerprint, outside.fingerprint);
    }
}
