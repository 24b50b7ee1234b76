//! What layers need of a machine: programs, filesystems of the kernel, and its modules.

use plumb_machine::Root;
use plumb_workload_kit::tool::program;

/// What a machine lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What.
    pub why: String,
    /// What would mend it; may be empty.
    pub fix: String,
}

impl Missing {
    /// What is missing, and what would help.
    pub fn new(why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { why: why.into(), fix: fix.into() }
    }
}

/// That this program, of this package, is not installed.
pub fn no_program(name: &str, package: &str) -> Option<Missing> {
    let missing = || Missing::new(format!("{name} is not installed"), install(package));
    program(name).is_none().then(missing)
}

/// What to type for a package of Debian.
fn install(package: &str) -> String {
    format!("apt-get install {package}")
}

/// That the kernel has no such filesystem, neither built in nor as a module.
pub fn no_filesystem(root: &Root, name: &str) -> Option<Missing> {
    let known = root.text("/proc/filesystems").unwrap_or_default();
    let has = known.lines().any(|line| line.split_whitespace().last() == Some(name));
    let missing = || Missing::new(format!("this kernel has no {name}"), "another filesystem");
    (!has && !has_module(root, name)).then(missing)
}

/// That there is no such file, and no module that would make it.
pub fn no_file(root: &Root, path: &str, module: &str, fix: &str) -> Option<Missing> {
    let missing = || Missing::new(format!("this kernel has no {module} ({path})"), fix);
    (!root.path(path).exists() && !has_module(root, module)).then(missing)
}

/// Whether the running kernel can load this module. Dashes and underscores mean the same in names of modules.
pub fn has_module(root: &Root, name: &str) -> bool {
    let Some(release) = root.text("/proc/sys/kernel/osrelease") else { return false };
    let lists = ["modules.dep", "modules.builtin"];
    let text = lists.map(|list| root.text(&format!("/lib/modules/{release}/{list}")));
    let wanted = name.replace('-', "_");
    text.into_iter().flatten().any(|text| {
        let file = |line: &str| {
            let path = line.split(':').next().unwrap_or_default().to_owned();
            let file = path.rsplit('/').next().unwrap_or_default().replace('-', "_");
            file.split('.').next().unwrap_or_default().to_owned()
        };
        text.lines().any(|line| file(line) == wanted)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plumb_machine::Root;

    use super::{has_module, no_file, no_filesystem, no_program};

    #[test]
    fn filesystems_are_built_in_or_modules() {
        let tree = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/filesystems", "nodev\ttmpfs\n\text4\n");
        put("proc/sys/kernel/osrelease", "6.1.0\n");
        put("lib/modules/6.1.0/modules.dep", "kernel/fs/xfs/xfs.ko.xz: kernel/lib/libcrc32c.ko\n");
        put("lib/modules/6.1.0/modules.builtin", "kernel/drivers/md/dm-mod.ko\n");
        let root = Root::at(tree.path());
        assert!(no_filesystem(&root, "ext4").is_none() && no_filesystem(&root, "xfs").is_none());
        let missing = no_filesystem(&root, "btrfs").unwrap();
        assert_eq!(missing.why, "this kernel has no btrfs");
        assert!(has_module(&root, "dm_mod") && !has_module(&root, "libcrc32c"));
        assert!(no_file(&root, "/dev/mapper/control", "dm_mod", "").is_none());
        let missing = no_file(&root, "/sys/class/zram-control", "zram", "another").unwrap();
        assert!(missing.why.contains("zram-control") && missing.fix == "another", "{missing:?}");
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(no_program("sh", "dash").is_none());
        let missing = no_program("mkfs.none", "none-progs").unwrap();
        assert_eq!(missing.why, "mkfs.none is not installed");
        assert_eq!(missing.fix, "apt-get install none-progs");
    }
}
