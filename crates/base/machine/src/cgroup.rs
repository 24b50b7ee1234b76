//! The control groups that plumb is in, of version 2 and 1, with their ancestors.

use crate::root::Root;

/// No machine has more memory; version 1 writes a number beyond for "no limit".
const NO_LIMIT: u64 = 1 << 60;

/// The smallest memory limit of the groups, in bytes.
pub fn memory_limit(root: &Root) -> Option<u64> {
    let two = groups(root, "").into_iter().map(|group| group + "/memory.max");
    let one = groups(root, "memory").into_iter().map(|group| group + "/memory.limit_in_bytes");
    two.chain(one).filter_map(|file| root.number(&file)).filter(|limit| *limit < NO_LIMIT).min()
}

/// How many CPUs' time the groups may use in all, by their quota.
pub fn cpu_quota(root: &Root) -> Option<f64> {
    let two = groups(root, "").into_iter().filter_map(|group| {
        let text = root.text(&format!("{group}/cpu.max"))?;
        let (quota, period) = text.split_once(' ')?;
        share(quota, period)
    });
    let one = groups(root, "cpu").into_iter().filter_map(|group| {
        let quota = root.text(&format!("{group}/cpu.cfs_quota_us"))?;
        let period = root.text(&format!("{group}/cpu.cfs_period_us"))?;
        share(&quota, &period)
    });
    two.chain(one).min_by(f64::total_cmp)
}

/// `max` and -1 are no quota.
fn share(quota: &str, period: &str) -> Option<f64> {
    let quota: u32 = quota.parse().ok()?;
    let period: u32 = period.parse().ok()?;
    (period > 0).then(|| f64::from(quota) / f64::from(period))
}

/// How often the groups were stopped because their quota was used up.
pub fn throttled(root: &Root) -> Option<u64> {
    let all = groups(root, "").into_iter().chain(groups(root, "cpu"));
    all.filter_map(|group| root.field(&format!("{group}/cpu.stat"), "nr_throttled")?.parse().ok())
        .max()
}

/// The folders of the group with this controller, and of its ancestors; of version 2 without one.
pub fn groups(root: &Root, controller: &str) -> Vec<String> {
    let membership = root.text("/proc/self/cgroup").unwrap_or_default();
    let own = membership.lines().find_map(|line| {
        // At most three parts, because the path may contain colons.
        let mut parts = line.splitn(3, ':').skip(1);
        let mut controllers = parts.next()?.split(',');
        let path = parts.next()?;
        controllers.any(|name| name == controller).then(|| path.to_owned())
    });
    let mounts: &[&str] = match controller {
        "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
        "memory" => &["/sys/fs/cgroup/memory"],
        "blkio" => &["/sys/fs/cgroup/blkio"],
        _ => &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"],
    };
    let Some(own) = own else { return Vec::new() };
    let mut folders = Vec::new();
    for mount in mounts {
        let mut group = own.trim_end_matches('/');
        loop {
            folders.push(format!("{mount}{group}"));
            match group.rsplit_once('/') {
                Some((parent, _)) => group = parent,
                None => break,
            }
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::{cpu_quota, groups, memory_limit, throttled};
    use crate::root::Root;
    use crate::root::plant;

    #[test]
    fn limits_of_ancestors_count_too() {
        let tree = plant(&[
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/memory.max", "67108864\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nnr_periods 10\nnr_throttled 3\n"),
        ]);
        let root = Root::at(tree.path());
        assert_eq!(memory_limit(&root), Some(64 << 20));
        assert_eq!((cpu_quota(&root), throttled(&root)), (Some(1.5), Some(3)));
    }

    #[test]
    fn version_1_has_a_tree_a_controller() {
        let tree = plant(&[
            ("/proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/c\n0::/\n"),
            ("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ]);
        let root = Root::at(tree.path());
        assert_eq!((memory_limit(&root), cpu_quota(&root)), (None, Some(0.5)));
        assert!(groups(&root, "memory").contains(&"/sys/fs/cgroup/memory/m".to_owned()));
    }
}
