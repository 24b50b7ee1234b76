//! Control groups of version 1 and 2: for CPUs, CPU time and memory.

use plumb_machine::Root;

use crate::spawn_options::SpawnOption;
use crate::unchanged::Unchanged;

/// The period of a quota of CPU time, in microseconds: the kernel's default.
const PERIOD_US: u64 = 100_000;

/// The limit of a control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupLimit {
    /// A list of CPUs.
    Cpus(String),
    /// CPU time in each period of 100 ms, in microseconds.
    QuotaUs(u64),
    /// Bytes of memory.
    Memory(u64),
    /// Bytes per second from and to each disk; None for no limit.
    Io(Option<u64>),
}

impl GroupLimit {
    /// The limit that an option sets, with the value that was typed; None if it needs no group.
    #[must_use]
    pub fn of(option: &SpawnOption, value: &str) -> Option<Self> {
        match option {
            SpawnOption::Cpuset(_) => Some(Self::Cpus(value.to_owned())),
            SpawnOption::CpuQuota(quota_us) => Some(Self::QuotaUs(*quota_us)),
            SpawnOption::MemoryLimit(bytes) => Some(Self::Memory(*bytes)),
            SpawnOption::IoLimit(rate) => Some(Self::Io(*rate)),
            _ => None,
        }
    }

    /// The controller, as version 1 and version 2 call it.
    fn controller(&self) -> (&'static str, &'static str) {
        match self {
            Self::Cpus(_) => ("cpuset", "cpuset"),
            Self::QuotaUs(_) => ("cpu", "cpu"),
            Self::Memory(_) => ("memory", "memory"),
            Self::Io(_) => ("blkio", "io"),
        }
    }

    /// The files of a group of version 1 with what has to be written into them; `point` is where the hierarchy is mounted.
    fn files_of_version_1(&self, root: &Root, point: &str) -> Vec<(&'static str, String)> {
        match self {
            Self::Cpus(list) => {
                // A group of version 1 has no memory nodes at first, and takes no process without.
                let mems = root.text(&format!("{point}/cpuset.mems")).unwrap_or_else(|| "0".into());
                vec![("cpuset.cpus", list.clone()), ("cpuset.mems", mems)]
            }
            Self::QuotaUs(quota_us) => vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string()),
                ("cpu.cfs_quota_us", quota_us.to_string()),
            ],
            Self::Memory(bytes) => vec![("memory.limit_in_bytes", bytes.to_string())],
            Self::Io(None) => Vec::new(),
            Self::Io(Some(rate)) => {
                let mut files = Vec::new();
                for disk in disks(root) {
                    files.push(("blkio.throttle.read_bps_device", format!("{disk} {rate}")));
                    files.push(("blkio.throttle.write_bps_device", format!("{disk} {rate}")));
                }
                files
            }
        }
    }

    /// The same of version 2.
    fn files_of_version_2(&self, root: &Root) -> Vec<(&'static str, String)> {
        match self {
            Self::Cpus(list) => vec![("cpuset.cpus", list.clone())],
            Self::QuotaUs(quota_us) => vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))],
            Self::Memory(bytes) => vec![("memory.max", bytes.to_string())],
            Self::Io(None) => Vec::new(),
            Self::Io(Some(rate)) => disks(root)
                .into_iter()
                .map(|disk| ("io.max", format!("{disk} rbps={rate} wbps={rate}")))
                .collect(),
        }
    }
}

/// The numbers of the disks (`259:0`); partitions, and devices without a size, are left out.
fn disks(root: &Root) -> Vec<String> {
    let mut disks = Vec::new();
    for name in root.names("/sys/block") {
        let has_size = root.number(&format!("/sys/block/{name}/size")) != Some(0);
        disks.extend(root.text(&format!("/sys/block/{name}/dev")).filter(|_| has_size));
    }
    disks
}

/// The folder for a control group of this name, with what has to be written into it so that its members have this limit. In
/// version 2 all limits of a name have one folder.
///
/// # Errors
/// When no hierarchy has the controller.
pub fn control_group(
    root: &Root,
    name: &str,
    limit: &GroupLimit,
) -> Result<(String, Vec<(String, String)>), Unchanged> {
    let (in_version_1, in_version_2) = limit.controller();
    let mounts = root.text("/proc/self/mounts").unwrap_or_default();
    for mount in mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
        let [_, point, kind, options, ..] = mount[..] else { continue };
        let folder = format!("{point}/{name}");
        let in_folder = |files: Vec<(&'static str, String)>| -> Vec<(String, String)> {
            files.into_iter().map(|(file, value)| (format!("{folder}/{file}"), value)).collect()
        };
        if kind == "cgroup" && options.split(',').any(|option| option == in_version_1) {
            let files = in_folder(limit.files_of_version_1(root, point));
            return Ok((folder, files));
        }
        if kind == "cgroup2" {
            // In version 2 a group has a controller's files only if its parent hands the controller down.
            let control = format!("{point}/cgroup.subtree_control");
            let controllers = root.text(&control).unwrap_or_default();
            if controllers.split_whitespace().any(|word| word == in_version_2) {
                let files = in_folder(limit.files_of_version_2(root));
                return Ok((folder, files));
            }
        }
    }
    Err(Unchanged {
        why: format!("no {in_version_2} cgroup is mounted"),
        fix: format!("as root: echo +{in_version_2} > /sys/fs/cgroup/cgroup.subtree_control"),
    })
}

#[cfg(test)]
mod tests {
    use super::{GroupLimit, control_group};
    use crate::testing::tree;

    const VERSION_2: &str = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
    const CONTROL: &str = "sys/fs/cgroup/cgroup.subtree_control";

    #[test]
    fn a_cpuset_is_made_in_either_hierarchy() {
        let limit = |list: &str| GroupLimit::Cpus(list.to_owned());
        let v1 = "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n";
        let (_tree, root) =
            tree(&[("proc/self/mounts", v1), ("sys/fs/cgroup/cpuset/cpuset.mems", "0-1\n")]);
        let (folder, files) = control_group(&root, "plumb-1", &limit("1")).unwrap();
        assert_eq!(folder, "/sys/fs/cgroup/cpuset/plumb-1");
        assert_eq!(files[1], (format!("{folder}/cpuset.mems"), "0-1".to_owned()));
        let (_tree, root) =
            tree(&[("proc/self/mounts", VERSION_2), (CONTROL, "cpu cpuset memory\n")]);
        let (folder, files) = control_group(&root, "plumb-1", &limit("0-3")).unwrap();
        assert_eq!(files, [(format!("{folder}/cpuset.cpus"), "0-3".to_owned())]);
        let (_tree, root) = tree(&[("proc/self/mounts", VERSION_2), (CONTROL, "memory\n")]);
        let refused = control_group(&root, "plumb-1", &limit("0")).unwrap_err();
        assert!(refused.fix.contains("+cpuset"), "{refused:?}");
    }

    #[test]
    fn cpu_time_and_memory_are_limited_in_either_hierarchy() {
        let v1 = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n\
            cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n";
        let limits = [GroupLimit::QuotaUs(20_000), GroupLimit::Memory(128 << 20)];
        let (_tree, root) = tree(&[("proc/self/mounts", v1)]);
        let [quota, memory] = &limits;
        let (folder, files) = control_group(&root, "plumb-1", quota).unwrap();
        assert_eq!(folder, "/sys/fs/cgroup/cpu/plumb-1");
        assert_eq!(files[1], (format!("{folder}/cpu.cfs_quota_us"), "20000".to_owned()));
        let (folder, files) = control_group(&root, "plumb-1", memory).unwrap();
        assert_eq!(files, [(format!("{folder}/memory.limit_in_bytes"), "134217728".to_owned())]);
        let (_tree, root) = tree(&[("proc/self/mounts", VERSION_2), (CONTROL, "cpu memory\n")]);
        for (limit, file, value) in
            [(quota, "cpu.max", "20000 100000"), (memory, "memory.max", "134217728")]
        {
            let (folder, files) = control_group(&root, "plumb-1", limit).unwrap();
            assert_eq!(files, [(format!("{folder}/{file}"), value.to_owned())]);
        }
    }

    #[test]
    fn every_disk_is_limited_in_either_hierarchy() {
        let disks = [
            ("sys/block/vda/dev", "254:0\n"),
            ("sys/block/sdb/dev", "8:16\n"),
            ("sys/block/loop0/dev", "7:0\n"),
            ("sys/block/loop0/size", "0\n"),
        ];
        let v1 = "cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\n";
        let (_tree, root) = tree(&[&disks[..], &[("proc/self/mounts", v1)]].concat());
        let limit = GroupLimit::Io(Some(1_000_000));
        let (folder, files) = control_group(&root, "plumb-1", &limit).unwrap();
        assert_eq!(folder, "/sys/fs/cgroup/blkio/plumb-1");
        assert_eq!(files.len(), 4);
        let first = format!("{folder}/blkio.throttle.read_bps_device");
        assert_eq!(files[0], (first, "8:16 1000000".to_owned()));
        let v2 = [("proc/self/mounts", VERSION_2), (CONTROL, "cpu io\n")];
        let (_tree, root) = tree(&[&disks[..], &v2].concat());
        let (folder, files) = control_group(&root, "plumb-1", &limit).unwrap();
        let value = "254:0 rbps=1000000 wbps=1000000".to_owned();
        assert_eq!(files[1], (format!("{folder}/io.max"), value));
        let (_, files) = control_group(&root, "plumb-1", &GroupLimit::Io(None)).unwrap();
        assert!(files.is_empty(), "a group without a limit");
    }
}
