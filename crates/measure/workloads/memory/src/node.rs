//! The node of memory that arrays are bound to, and the question to the kernel whether they lie there.
#![expect(unsafe_code, reason = "mbind and move_pages have no safe form")]

use std::fs;
use std::io;
use std::path::Path;

use plumb_model::Parameter;
use plumb_protocol::{Start, StartError};
use plumb_workload_kit::declare;

/// The name of the parameter, and its default.
const PARAMETER: &str = "node";
const ANY: &str = "any";

/// Where the kernel shows which nodes have memory.
const HAS_MEMORY: &str = "sys/devices/system/node/has_memory";

/// Pages that the kernel is asked about at a time.
const PAGES_A_CALL: usize = 1024;

/// The policy of `mbind` that takes memory from no other node.
const MPOL_BIND: libc::c_int = 2;

/// A node of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoryNode(u32);

/// The parameter `node`, the same for all workloads of this crate.
pub(super) fn parameter() -> Parameter {
    declare::text(
        PARAMETER,
        ANY,
        "memory node of the arrays, by number; any: the node of the thread that uses them",
    )
}

impl MemoryNode {
    /// As the parameter says; none if the kernel is to choose.
    ///
    /// # Errors
    /// Unsupported if there is one node, or no such node.
    pub(super) fn of(start: &Start) -> Result<Option<Self>, StartError> {
        let word = start.text(PARAMETER);
        if word.is_empty() || word == ANY {
            return Ok(None);
        }
        let wanted = word.parse().map_err(|_| {
            StartError::Failed(format!("`{word}` is not a node: use `{ANY}` or a number"))
        })?;
        among(wanted, &nodes(Path::new("/"))).map(Some)
    }

    /// For the notes: `node 1`.
    pub(super) fn note(self) -> String {
        format!("memory bound to node {}, confirmed by the kernel for every page", self.0)
    }

    /// The same if memory comes repeatedly, and the kernel was asked of a first one.
    pub(super) fn note_on_first(self) -> String {
        format!(
            "each mapping is bound to node {}; the kernel confirmed every page of the first mapping",
            self.0
        )
    }

    /// Lets memory come from this node only; before it is touched.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn bind(self, words: &[u64]) -> Result<(), StartError> {
        let mut mask = [0_u64; 16];
        let Some(bits) = mask.get_mut(self.0 as usize / 64) else {
            return Err(StartError::Failed(format!("node {} does not fit in a mask", self.0)));
        };
        *bits |= 1 << (self.0 % 64);
        let bits: libc::c_ulong = 64 * mask.len() as libc::c_ulong + 1;
        let address = words.as_ptr();
        let bytes = size_of_val(words);
        // SAFETY: the range is a mapping that is borrowed, the mask is alive and has that many bits; no contents change.
        let result = unsafe {
            libc::syscall(libc::SYS_mbind, address, bytes, MPOL_BIND, mask.as_ptr(), bits, 0)
        };
        if result == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        Err(StartError::unsupported(
            format!("memory can't be bound to node {}: {error}", self.0),
            format!("set {PARAMETER}={ANY}, or allow the node (cpuset.mems)"),
        ))
    }

    /// Asks the kernel of every page, once all are touched, where it lies.
    ///
    /// # Errors
    /// When one lies elsewhere, or the kernel does not report.
    pub(super) fn check(self, words: &[u64]) -> Result<(), StartError> {
        let page_words = rustix::param::page_size() / 8;
        let pages: Vec<_> = words.chunks(page_words).map(<[u64]>::as_ptr).collect();
        let mut elsewhere = 0;
        for asked in pages.chunks(PAGES_A_CALL) {
            let mut status = [0 as libc::c_int; PAGES_A_CALL];
            // SAFETY: both lists have room for that many pages; without a list of nodes nothing is moved.
            let result = unsafe {
                let nowhere = std::ptr::null::<libc::c_int>();
                libc::syscall(
                    libc::SYS_move_pages,
                    0,
                    asked.len(),
                    asked.as_ptr(),
                    nowhere,
                    status.as_mut_ptr(),
                    0,
                )
            };
            if result != 0 {
                let error = io::Error::last_os_error();
                return Err(StartError::Failed(format!(
                    "can't locate pages (move_pages): {error}"
                )));
            }
            // A page that is nowhere has a negative status, the number of an error.
            let away =
                status[..asked.len()].iter().filter(|node| u32::try_from(**node) != Ok(self.0));
            elsewhere += away.count();
        }
        if elsewhere == 0 {
            return Ok(());
        }
        Err(StartError::Failed(format!(
            "{elsewhere} of {} pages are not on node {}, although they were bound to it",
            pages.len(),
            self.0
        )))
    }
}

/// The node of this number among those with memory.
fn among(wanted: u32, nodes: &[u32]) -> Result<MemoryNode, StartError> {
    if nodes.len() < 2 {
        return Err(StartError::unsupported(
            "this machine has only one memory node",
            format!("leave `{PARAMETER}` out"),
        ));
    }
    if nodes.contains(&wanted) {
        return Ok(MemoryNode(wanted));
    }
    let listed: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    Err(StartError::unsupported(
        format!("node {wanted} has no memory"),
        format!("set `{PARAMETER}` to one of {}", listed.join(", ")),
    ))
}

/// The nodes with memory of the machine whose files lie under `root`; none if the kernel knows no nodes.
fn nodes(root: &Path) -> Vec<u32> {
    let text = fs::read_to_string(root.join(HAS_MEMORY)).unwrap_or_default();
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// `3` or `0-3`.
fn range(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plumb_protocol::StartError;
    use plumb_workload_kit::mapping::{Mapping, Pages};

    use super::{HAS_MEMORY, MemoryNode, among, nodes};

    /// What a tree of /sys with this list says.
    fn captured(list: &str) -> Vec<u32> {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(HAS_MEMORY);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, list).unwrap();
        nodes(root.path())
    }

    #[test]
    fn nodes_with_memory_are_read_from_a_captured_tree() {
        assert_eq!(captured("0\n"), [0]);
        assert_eq!(captured("0-1\n"), [0, 1]);
        assert_eq!(captured("0-1,8,16-17\n"), [0, 1, 8, 16, 17]);
        assert!(captured("\n").is_empty());
        assert!(nodes(tempfile::tempdir().unwrap().path()).is_empty());
    }

    #[test]
    fn a_node_that_is_not_there_is_unsupported() {
        let refused = |wanted, nodes: &[u32]| match among(wanted, nodes) {
            Err(StartError::Unsupported { why, fix }) => format!("{why}; {fix}"),
            other => panic!("{other:?}"),
        };
        assert!(refused(0, &[0]).contains("only one memory node"));
        assert!(refused(0, &[]).contains("only one memory node"));
        assert_eq!(refused(2, &[0, 8]), "node 2 has no memory; set `node` to one of 0, 8");
        assert_eq!(among(8, &[0, 8]), Ok(MemoryNode(8)));
    }

    #[test]
    fn pages_that_lie_elsewhere_are_found() {
        let Some(&first) = nodes("/".as_ref()).first() else { return };
        let mut memory = Mapping::new(1 << 20, Pages::Small).unwrap();
        MemoryNode(first).bind(memory.words()).unwrap();
        let untouched = MemoryNode(first).check(memory.words()).unwrap_err();
        let StartError::Failed(why) = untouched else { panic!("{untouched:?}") };
        assert!(why.starts_with("256 of 256 pages are not on node"), "{why}");
        memory.words_mut().fill(1);
        MemoryNode(first).check(memory.words()).unwrap();
        assert!(MemoryNode(first + 1).check(memory.words()).is_err());
        let missing = MemoryNode(1023).bind(memory.words()).unwrap_err();
        assert!(matches!(missing, StartError::Unsupported { .. }), "{missing:?}");
    }
}
