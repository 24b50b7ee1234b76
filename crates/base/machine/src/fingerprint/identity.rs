//! The machine and its environment.

use std::path::Path;

use plumb_model::{Environment, Machine};

use crate::fingerprint::mount::holding;
use crate::fingerprint::recorded::RecordedFacts;
use crate::fingerprint::topology::{count_cpus, numa_nodes, virtualisation};
use crate::fingerprint::{
    cpu, disks, firmware, kernel, limits, memory, mount, network, settings, tools,
};
use crate::hash::of_facts;
use crate::root::{Root, field};

/// The stable identity of the machine. The list of facts is frozen: a new fact would split every
/// history, so it goes into the environment.
#[must_use]
pub fn machine(root: &Root) -> Machine {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let mut facts = RecordedFacts::default();
    facts.put("cpu", field(&cpuinfo, "model name").or_else(|| field(&cpuinfo, "Processor")));
    facts.put("cpus", count_cpus(&cpuinfo).map(|count| count.to_string()));
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

/// The facts that may change: kernel, settings, storage below `dir`, versions.
#[must_use]
pub fn environment(root: &Root, dir: &Path) -> Environment {
    let mut facts = RecordedFacts::default();
    let held = holding(root, dir);
    cpu::read(root, &mut facts);
    memory::read(root, &mut facts);
    firmware::read(root, &mut facts);
    disks::read(root, held.as_ref(), &mut facts);
    network::read(root, &mut facts);
    mount::read(held.as_ref(), &mut facts);
    limits::read(root, &mut facts);
    kernel::read(root, &mut facts);
    settings::read(root, &mut facts);
    tools::read(root, &mut facts);
    Environment { fingerprint: of_facts("env1", &facts.0), facts: facts.0 }
}

/// Memory in whole GiB, rounded up: MemTotal moves a little with kernel and firmware.
fn memory_class(root: &Root) -> Option<String> {
    let total = root.field("/proc/meminfo", "MemTotal")?;
    let kib: u64 = total.split_whitespace().next()?.parse().ok()?;
    Some(format!("{} GiB", kib.div_ceil(1 << 20)))
}

#[cfg(test)]
mod tests {
    use super::{environment, machine};
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
    fn nothing_readable_is_still_an_identity() {
        let empty = tempfile::tempdir().unwrap();
        let root = Root::at(empty.path());
        assert_eq!(machine(&root).facts.get("cpus"), None);
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
