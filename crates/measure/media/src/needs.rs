//! Needs of layers: programs, filesystems of the kernel, and its modules.

use plumb_machine::Root;
use plumb_workload_kit::tool::program;

/// A need that a machine does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingNeed {
    /// The missing thing, as a sentence for people.
    pub why: String,
    /// The fix; may be empty.
    pub fix: String,
}

impl MissingNeed {
    /// The missing thing, and what would help.
    pub fn new(why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { why: why.into(), fix: fix.into() }
    }
}

/// That this program, of this package, is not installed.
pub fn no_program(name: &str, package: &str) -> Option<MissingNeed> {
    if program(name).is_some() {
        return None;
    }
    Some(MissingNeed::new(format!("{name} is not installed"), install(package)))
}

/// What to type for a package of Debian.
fn install(package: &str) -> String {
    format!("apt-get install {package}")
}

/// That the kernel has no such filesystem, neither built in nor as a module.
pub fn no_filesystem(root: &Root, name: &str) -> Option<MissingNeed> {
    let known = root.text("/proc/filesystems").unwrap_or_default();
    let has = known.lines().any(|line| line.split_whitespace().last() == Some(name));
    if has || has_module(root, name) {
        return None;
    }
    Some(MissingNeed::new(format!("this kernel has no {name}"), "use another filesystem"))
}

/// That there is no such file, and no module that would make it.
pub fn no_file(root: &Root, path: &str, module: &str, fix: &str) -> Option<MissingNeed> {
    if root.path(path).exists() || has_module(root, module) {
        return None;
    }
    Some(MissingNeed::new(format!("this kernel has no {module} ({path})"), fix))
}

/// Whether the running kernel can load this module. Dashes and underscores mean the same in names of modules.
pub fn has_module(root: &Root, name: &str) -> bool {
    let Some(release) = root.text("/proc/sys/kernel/osrelease") else { return false };
    let lists = ["modules.dep", "modules.builtin"];
    let text = lists.map(|list| root.text(&format!("/lib/modules/{release}/{list}")));
    let wanted = name.replace('-', "_");
    text.into_iter().flatten().any(|text| text.lines().any(|line| module_of(line) == wanted))
}

/// The module of a line like `kernel/fs/xfs/xfs.ko.zst: kernel/lib/libcrc32c.ko.zst`, with underscores.
fn module_of(line: &str) -> String {
    let path = line.split(':').next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    file.split('.').next().unwrap_or_default().replace('-', "_")
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
