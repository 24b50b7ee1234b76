//! Facts of the host for workloads.

use plumb_model::{CpuPlace, Facts};

use crate::cgroup;
use crate::root::Root;
use crate::root::field;

/// CPU features that change what a workload measures.
const FEATURES: [&str; 12] = [
    "aes",
    "avx",
    "avx2",
    "avx512f",
    "bmi2",
    "clflushopt",
    "erms",
    "fsrm",
    "pclmulqdq",
    "sha_ni",
    "vaes",
    "vpclmulqdq",
];

/// Reads the facts; `plumb` is the path of the binary.
#[must_use]
pub fn facts(root: &Root, plumb: &str) -> Facts {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    // x86 calls them flags, ARM features.
    let flags =
        field(&cpuinfo, "flags").or_else(|| field(&cpuinfo, "Features")).unwrap_or_default();
    let features = FEATURES.iter().filter(|f| flags.split_whitespace().any(|flag| flag == **f));
    let cpus = allowed_cpus(root);
    Facts {
        places: places(root, &cpus),
        cpus,
        l1d_bytes: cache_bytes(root, 1),
        l2_bytes: cache_bytes(root, 2),
        llc_bytes: last_level_bytes(root),
        memory_bytes: memory_bytes(root),
        page_bytes: u64::try_from(rustix::param::page_size()).unwrap_or(4096),
        cpu_features: features.map(|f| (*f).to_owned()).collect(),
        cpu_model: field(&cpuinfo, "model name").unwrap_or_default(),
        plumb: plumb.to_owned(),
    }
}

fn allowed_cpus(root: &Root) -> Vec<u32> {
    let list = root.field("/proc/self/status", "Cpus_allowed_list").unwrap_or_default();
    let cpus: Vec<u32> = list.split(',').flat_map(range).collect();
    match cpus.is_empty() {
        false => cpus,
        true if root.is_live() => affinity(),
        true => vec![0],
    }
}

/// The core of a CPU: the first of the CPUs that share it.
fn core(root: &Root, cpu: u32) -> u32 {
    // Not `core_id`, which is the same in several sockets.
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    root.text(&file).and_then(|list| list.split(',').flat_map(range).min()).unwrap_or(cpu)
}

/// Cores and nodes of these CPUs; a CPU of which the kernel tells nothing is a core of node 0.
fn places(root: &Root, cpus: &[u32]) -> Vec<CpuPlace> {
    let nodes: Vec<(u32, Vec<u32>)> = root
        .names("/sys/devices/system/node")
        .iter()
        .filter_map(|name| {
            let list = root.text(&format!("/sys/devices/system/node/{name}/cpulist"))?;
            Some((
                name.strip_prefix("node")?.parse().ok()?,
                list.split(',').flat_map(range).collect(),
            ))
        })
        .collect();
    let node =
        |cpu: u32| nodes.iter().find(|(_, cpus)| cpus.contains(&cpu)).map_or(0, |(node, _)| *node);
    cpus.iter().map(|&cpu| CpuPlace { cpu, core: core(root, cpu), node: node(cpu) }).collect()
}

/// Where /proc is not mounted, the scheduler knows.
fn affinity() -> Vec<u32> {
    let set = rustix::thread::sched_getaffinity(None).unwrap_or_default();
    let most = u32::try_from(rustix::thread::CpuSet::MAX_CPU).unwrap_or(0);
    let cpus: Vec<u32> = (0..most).filter(|&cpu| set.is_set(cpu as usize)).collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// The CPUs of `3` or `0-7`.
fn range(text: &str) -> std::ops::Range<u32> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse::<u32>()) {
        // A limit far above any machine's, so that a damaged list does not become billions of CPUs.
        (Ok(first), Ok(last)) if last >= first && last < 1 << 20 => first..last + 1,
        _ => 0..0,
    }
}

/// How many CPUs a list of the kernel names: `0-3,8` are five.
pub fn cpus_in(list: &str) -> usize {
    list.split(',').map(|part| range(part).len()).sum()
}

/// A cache of the first CPU.
pub struct Cache {
    /// 1, 2, 3.
    pub level: u64,
    /// `Data`, `Instruction`, `Unified`.
    pub kind: String,
    /// Size, in bytes.
    pub bytes: u64,
    /// The CPUs that share it.
    pub shared: Option<String>,
}

/// The caches of the first CPU.
pub fn caches(root: &Root) -> impl Iterator<Item = Cache> {
    let base = "/sys/devices/system/cpu/cpu0/cache";
    let indices = root.names(base).into_iter().filter(|name| name.starts_with("index"));
    indices.filter_map(move |index| {
        let folder = format!("{base}/{index}");
        let size = root.text(&format!("{folder}/size"))?;
        let kib: u64 = size.strip_suffix('K')?.parse().ok()?;
        Some(Cache {
            level: root.number(&format!("{folder}/level"))?,
            kind: root.text(&format!("{folder}/type"))?,
            bytes: kib.saturating_mul(1024),
            shared: root.text(&format!("{folder}/shared_cpu_list")),
        })
    })
}

fn cache_bytes(root: &Root, wanted: u64) -> u64 {
    let mut found =
        caches(root).filter(|cache| cache.level == wanted && cache.kind != "Instruction");
    found.next().map_or(0, |cache| cache.bytes)
}

fn last_level_bytes(root: &Root) -> u64 {
    caches(root).max_by_key(|cache| cache.level).map_or(0, |cache| cache.bytes)
}

/// The smaller of RAM and the limits of the cgroups that this process is in.
fn memory_bytes(root: &Root) -> u64 {
    let total = root.field("/proc/meminfo", "MemTotal");
    let kib = total.and_then(|total| total.split_whitespace().next()?.parse::<u64>().ok());
    let bytes = match kib {
        Some(kib) => kib.saturating_mul(1024),
        // Without /proc, the kernel still answers.
        None if root.is_live() => {
            let answer = rustix::system::sysinfo();
            answer.totalram.saturating_mul(answer.mem_unit.into())
        }
        None => 0,
    };
    // A workload sized by the machine's memory would be killed in a container that may use a part of it.
    cgroup::memory_limit(root).map_or(bytes, |limit| limit.min(bytes))
}

#[cfg(test)]
mod tests {
    use super::{facts, range};
    use crate::root::Root;

    #[test]
    fn this_machine_has_cpus_and_memory() {
        let facts = facts(&Root::default(), "/bin/plumb");
        assert!(!facts.cpus.is_empty() && facts.memory_bytes > 1 << 20 && facts.page_bytes >= 4096);
    }

    #[test]
    fn an_empty_tree_gives_unknowns_and_not_a_panic() {
        let empty = tempfile::tempdir().unwrap();
        let facts = facts(&Root::at(empty.path()), "plumb");
        assert_eq!((facts.cpus.as_slice(), facts.llc_bytes, facts.memory_bytes), (&[0][..], 0, 0));
    }

    #[test]
    fn ranges_of_cpus_are_read() {
        assert_eq!(range("2-4").collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(range("x").count(), 0);
    }

    #[test]
    fn a_group_with_a_limit_has_less_memory_than_the_machine() {
        let tree = crate::root::plant(&[
            ("/proc/meminfo", "MemTotal:       24000000 kB\n"),
            ("/proc/self/cgroup", "0::/a\n"),
            ("/sys/fs/cgroup/a/memory.max", "67108864\n"),
        ]);
        assert_eq!(facts(&Root::at(tree.path()), "plumb").memory_bytes, 64 << 20);
    }
}
