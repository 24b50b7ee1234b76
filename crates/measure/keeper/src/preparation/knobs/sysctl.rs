//! `--set sysctl`: any file under /proc/sys.

use plumb_machine::Root;

use crate::preparation::knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};

/// Any setting below /proc/sys, named after the dot.
pub const KNOB: Knob = Knob {
    name: "sysctl",
    values: "sysctl.NAME=VALUE",
    example: "sysctl.vm.swappiness=10",
    summary: "any file under /proc/sys",
    manual: include_str!("sysctl.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::Name,
    resolve: sysctl,
    now: |_| None,
};

fn sysctl(root: &Root, name: &str, value: &str) -> Result<Resolved, Unusable> {
    // With slashes, dots are part of a name: net/ipv4/conf/eth0.5/forwarding.
    let name = if name.contains('/') { name.to_owned() } else { name.replace('.', "/") };
    // A name must not lead out of /proc/sys.
    if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(Unusable::Usage("give a setting, such as sysctl.vm.swappiness=10".into()));
    }
    let path = format!("/proc/sys/{name}");
    match root.path(&path).is_file() {
        true => Ok(Resolved::Settings(vec![Assignment::file(path, value)])),
        false => Err(Unusable::unsupported(format!("this kernel has no {path}"), "")),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{settings, tree, why};

    #[test]
    fn sysctls_are_files_below_proc_sys_and_nothing_else() {
        let (_tree, root) = tree(&[
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/net/conf/eth0.5/tag", "0\n"),
            ("secret", "1\n"),
        ]);
        assert_eq!(settings(&root, "sysctl.vm.swappiness=10"), ["/proc/sys/vm/swappiness=10"]);
        let dotted = settings(&root, "sysctl.net/conf/eth0.5/tag=1");
        assert_eq!(dotted, ["/proc/sys/net/conf/eth0.5/tag=1"]);
        assert!(why(&root, "sysctl.../../secret=1").starts_with("usage: "));
        assert!(why(&root, "sysctl.vm.none=1").contains("has no"));
    }
}
