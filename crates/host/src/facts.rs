//! What workloads are told of the host.

use plumb_model::Facts;

use crate::Root;
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
    let flags = field(&cpuinfo, "flags").or_else(|| field(&cpuinfo, "Features"));
    let flags = flags.unwrap_or_default();
    let features = FEATURES.iter().filter(|f| flags.split_whitespace().any(|flag| flag == **f));
    Facts {
        cpus: allowed_cpus(root),
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
        (Ok(first), Ok(last)) if last >= first && last < 1 << 20 => first..last + 1,
        _ => 0..0,
    }
}

fn caches(root: &Root) -> impl Iterator<Item = (u64, String, u64)> {
    let base = "/sys/devices/system/cpu/cpu0/cache";
    let indices = root.names(base).into_iter().filter(|name| name.starts_with("index"));
    indices.filter_map(move |index| {
        let level = root.number(&format!("{base}/{index}/level"))?;
        let kind = root.text(&format!("{base}/{index}/type"))?;
        let size = root.text(&format!("{base}/{index}/size"))?;
        let kib: u64 = size.strip_suffix('K')?.parse().ok()?;
        Some((level, kind, kib * 1024))
    })
}

fn cache_bytes(root: &Root, wanted: u64) -> u64 {
    let mut found =
        caches(root).filter(|(level, kind, _)| *level == wanted && kind != "Instruction");
    found.next().map_or(0, |(_, _, bytes)| bytes)
}

fn last_level_bytes(root: &Root) -> u64 {
    caches(root).max_by_key(|(level, _, _)| *level).map_or(0, |(_, _, bytes)| bytes)
}

/// The smaller of RAM and the limits of the cgroups that this process is in.
fn memory_bytes(root: &Root) -> u64 {
    let total = root.field("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kib: u64 = total.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    cgroup_limit(root).map_or(kib * 1024, |limit| limit.min(kib * 1024))
}

fn cgroup_limit(root: &Root) -> Option<u64> {
    let membership = root.text("/proc/self/cgroup")?;
    let limits = membership.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        limit_files(controllers, path)
    });
    limits.filter_map(|file| root.number(&file)).min()
}

/// The limit files of a group and all its ancestors, of version 2 (no controllers named) or 1.
fn limit_files(controllers: &str, path: &str) -> Vec<String> {
    let (mounts, file): (&[&str], _) = match controllers {
        "" => (&["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], "memory.max"),
        c if c.split(',').any(|c| c == "memory") => {
            (&["/sys/fs/cgroup/memory"], "memory.limit_in_bytes")
        }
        _ => (&[], ""),
    };
    let mut files = Vec::new();
    for mount in mounts {
        let mut group = path.trim_end_matches('/');
        loop {
            files.push(format!("{mount}{group}/{file}"));
            match group.rsplit_once('/') {
                Some((parent, _)) => group = parent,
                None => break,
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{facts, limit_files, range};
    use crate::Root;

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
    fn limits_of_ancestors_count_too() {
        assert_eq!(range("2-4").collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(range("x").count(), 0);
        let files = limit_files("memory", "/a/b");
        assert_eq!(files.len(), 3);
        assert!(files.contains(&"/sys/fs/cgroup/memory/a/memory.limit_in_bytes".to_owned()));
    }

    #[test]
    fn a_group_with_a_limit_has_less_memory_than_the_machine() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/meminfo", "MemTotal:       24000000 kB\n");
        write("proc/self/cgroup", "0::/a/b\n");
        write("sys/fs/cgroup/a/memory.max", "67108864\n");
        write("sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(facts(&Root::at(tree.path()), "plumb").memory_bytes, 64 << 20);
    }
}
