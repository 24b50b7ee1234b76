//! Work that the kernel does on memory at the same time: a note next to every result of this family.

use std::fs;
use std::path::Path;

use plumb_model::Description;
use plumb_protocol::{Start, StartError, StartedWorkload, Workload};

/// A workload whose results note the kernel's work on memory at the same time.
pub(super) struct WithKernelWork<W>(pub W);

impl<W: Workload> Workload for WithKernelWork<W> {
    fn describe(&self) -> Description {
        self.0.describe()
    }

    fn manual(&self) -> &'static str {
        self.0.manual()
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let mut started = self.0.start(start)?;
        started.ready.notes.extend(note(Path::new("/")));
        Ok(started)
    }
}

/// What works on memory on the machine whose files lie under `root`; none if nothing does.
fn note(root: &Path) -> Option<String> {
    let checks = [
        (sampled(root), "DAMON samples which pages are used"),
        (is_one(root, "sys/kernel/mm/ksm/run"), "KSM merges equal pages"),
        (balanced(root), "pages move between nodes (numa_balancing)"),
        (joined(root), "khugepaged merges pages into huge pages"),
        (compacted(root), "memory is compacted more eagerly than usual (compaction_proactiveness)"),
    ];
    let at_work: Vec<&str> =
        checks.iter().filter(|(at_work, _)| *at_work).map(|(_, words)| *words).collect();
    (!at_work.is_empty())
        .then(|| format!("the kernel also works on memory: {}", at_work.join("; ")))
}

fn read(root: &Path, file: &str) -> String {
    fs::read_to_string(root.join(file)).unwrap_or_default()
}

fn is_one(root: &Path, file: &str) -> bool {
    read(root, file).trim() == "1"
}

fn sampled(root: &Path) -> bool {
    let folder = root.join("sys/kernel/mm/damon/admin/kdamonds");
    let mut all = fs::read_dir(folder).into_iter().flatten().flatten();
    all.any(|thread| read(&thread.path(), "state").trim() == "on")
}

/// Nothing moves if there is one node.
fn balanced(root: &Path) -> bool {
    let mode = read(root, "proc/sys/kernel/numa_balancing");
    let on = mode.trim().parse().is_ok_and(|mode: u32| mode > 0);
    on && read(root, "sys/devices/system/node/has_memory").trim().contains([',', '-'])
}

/// With `madvise` it looks at none but those who ask.
fn joined(root: &Path) -> bool {
    let folder = "sys/kernel/mm/transparent_hugepage";
    read(root, &format!("{folder}/enabled")).contains("[always]")
        && is_one(root, &format!("{folder}/khugepaged/defrag"))
}

/// 20 is what a kernel begins with.
fn compacted(root: &Path) -> bool {
    let eager = read(root, "proc/sys/vm/compaction_proactiveness");
    eager.trim().parse().is_ok_and(|eager: u32| eager > 20)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::note;

    #[test]
    fn what_works_on_memory_is_named() {
        let tree = tempfile::tempdir().unwrap();
        assert_eq!(note(tree.path()), None);
        let write = |file: &str, text: &str| {
            let path = tree.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "1\n");
        write("sys/kernel/mm/damon/admin/kdamonds/0/state", "off\n");
        write("sys/kernel/mm/ksm/run", "0\n");
        write("proc/sys/kernel/numa_balancing", "1\n");
        write("sys/devices/system/node/has_memory", "0\n");
        write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        write("sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "1\n");
        write("proc/sys/vm/compaction_proactiveness", "20\n");
        assert_eq!(note(tree.path()), None);
        write("sys/kernel/mm/damon/admin/kdamonds/0/state", "on\n");
        assert_eq!(
            note(tree.path()).unwrap(),
            "the kernel also works on memory: DAMON samples which pages are used"
        );
        write("sys/kernel/mm/ksm/run", "1\n");
        write("sys/devices/system/node/has_memory", "0-1\n");
        write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
        write("proc/sys/vm/compaction_proactiveness", "80\n");
        let all = note(tree.path()).unwrap();
        for part in ["KSM", "between nodes", "khugepaged", "compaction_proactiveness"] {
            assert!(all.contains(part), "{all}");
        }
    }
}
