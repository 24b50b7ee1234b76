//! Control groups for CPUs, of version 1 and 2.

use plumb_machine::Root;

use crate::unchanged::Unchanged;

/// The folder for a control group of this name, with what has to be written into it so that its members
/// have these CPUs.
///
/// # Errors
/// When no hierarchy has the controller.
pub fn cpuset(
    root: &Root,
    name: &str,
    list: &str,
) -> Result<(String, Vec<(String, String)>), Unchanged> {
    let mounts = root.text("/proc/self/mounts").unwrap_or_default();
    for mount in mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
        let [_, point, kind, options, ..] = mount[..] else { continue };
        let folder = format!("{point}/{name}");
        let cpus = (format!("{folder}/cpuset.cpus"), list.to_owned());
        if kind == "cgroup" && options.split(',').any(|option| option == "cpuset") {
            // A group of version 1 has no memory nodes at first, and takes no process without.
            let mems = root.text(&format!("{point}/cpuset.mems")).unwrap_or_else(|| "0".into());
            return Ok((folder.clone(), vec![cpus, (format!("{folder}/cpuset.mems"), mems)]));
        }
        if kind == "cgroup2" {
            // In version 2 a group has cpuset files only if its parent hands the controller down.
            let control = format!("{point}/cgroup.subtree_control");
            let controllers = root.text(&control).unwrap_or_default();
            if controllers.split_whitespace().any(|word| word == "cpuset") {
                return Ok((folder, vec![cpus]));
            }
        }
    }
    let fix = "as root: echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control".into();
    Err(Unchanged { why: "no cpuset cgroup is mounted".into(), fix })
}

#[cfg(test)]
mod tests {
    use super::cpuset;
    use crate::testing::tree;

    #[test]
    fn a_cpuset_is_made_in_either_hierarchy() {
        let v1 = "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n";
        let (_tree, root) =
            tree(&[("proc/self/mounts", v1), ("sys/fs/cgroup/cpuset/cpuset.mems", "0-1\n")]);
        let (folder, files) = cpuset(&root, "plumb-1", "1").unwrap();
        assert_eq!(folder, "/sys/fs/cgroup/cpuset/plumb-1");
        assert_eq!(files[1], (format!("{folder}/cpuset.mems"), "0-1".to_owned()));
        let v2 = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
        let control = "sys/fs/cgroup/cgroup.subtree_control";
        let (_tree, root) = tree(&[("proc/self/mounts", v2), (control, "cpu cpuset memory\n")]);
        let (folder, files) = cpuset(&root, "plumb-1", "0-3").unwrap();
        assert_eq!(files, [(format!("{folder}/cpuset.cpus"), "0-3".to_owned())]);
        let (_tree, root) = tree(&[("proc/self/mounts", v2), (control, "memory\n")]);
        assert!(cpuset(&root, "plumb-1", "0").unwrap_err().fix.contains("+cpuset"));
    }
}
