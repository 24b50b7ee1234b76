//! Several random cycles through the lines of one array, followed at a time.
#![expect(unsafe_code, reason = "pointer chases are made of raw pointers")]

use std::ptr::{read_volatile, with_exposed_provenance};

use plumb_protocol::{SplitMix64, StartError};
use plumb_workload_kit::mapping::{Mapping, Pages};

use crate::cycle::{LINE_BYTES, UNROLLED, link, touch};
use crate::node::MemoryNode;

/// The most cycles that are followed at a time.
pub(super) const MAX_CHAINS: usize = 16;

/// Follows `rounds` times [`UNROLLED`] loads of each cycle.
type Walk = fn(at: &mut [usize; MAX_CHAINS], rounds: u64);

/// Cycles of equal length whose lines lie among each other all over the array. Their nodes are those of one
/// [`PointerCycle`](crate::cycle::PointerCycle).
#[derive(Debug)]
pub(super) struct Chains {
    memory: Mapping,
    walk: Walk,
    /// Nodes of each.
    nodes: u64,
    /// How many there are.
    count: usize,
    /// Addresses of the nodes where the walks stand; those beyond `count` are unused.
    at: [usize; MAX_CHAINS],
}

impl Chains {
    /// So many cycles through `bytes` bytes together, each of an odd number of nodes (as one cycle alone).
    ///
    /// # Errors
    /// When there is no such memory, or not on that node of memory, or less than 8 nodes for a cycle.
    pub(super) fn new(
        bytes: usize,
        pages: Pages,
        node: Option<MemoryNode>,
        count: usize,
        seed: u64,
    ) -> Result<Self, StartError> {
        let lines = u32::try_from(bytes / LINE_BYTES).map_err(|_| {
            StartError::Failed(format!("{bytes} bytes need more nodes than a cycle can contain"))
        })?;
        // Of an odd number of nodes, as one cycle alone: what is left over is in no cycle.
        let share = lines as usize / count.max(1);
        let each = if share.is_multiple_of(2) { share.saturating_sub(1) } else { share };
        if each < 7 {
            return Err(StartError::Failed(format!(
                "{lines} lines are not enough for {count} cycles: set `size` to {} or more",
                count * 8 * LINE_BYTES
            )));
        }
        let mut memory = Mapping::new(bytes, pages)?;
        node.map_or(Ok(()), |node| node.bind(memory.words()))?;
        touch(memory.words_mut());
        memory.check_pages()?;
        node.map_or(Ok(()), |node| node.check(memory.words()))?;
        let mut order: Vec<u32> = (0..lines).collect();
        SplitMix64::new(seed).shuffle(&mut order);
        let mut at = [0; MAX_CHAINS];
        for (start, order) in at.iter_mut().zip(order.chunks_exact(each)).take(count) {
            link(memory.words_mut(), order);
            let first = order[0] as usize * LINE_BYTES;
            *start = memory.words().as_ptr().expose_provenance() + first;
        }
        Ok(Self { memory, walk: walk_of(count), nodes: each as u64, count, at })
    }

    /// Nodes of each cycle.
    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Where each walk stands in its cycle.
    pub(super) fn places(&self) -> impl Iterator<Item = u64> {
        let words = self.memory.words();
        self.at[..self.count].iter().map(|at| {
            let word = at.wrapping_sub(words.as_ptr().addr()) / 8 + 1;
            words.get(word).copied().unwrap_or(u64::MAX)
        })
    }

    /// Follows every cycle for `rounds` times [`UNROLLED`] loads, of which each needs the one before it in its cycle.
    pub(super) fn walk(&mut self, rounds: u64) {
        (self.walk)(&mut self.at, rounds);
    }

    /// The words of all nodes.
    #[cfg(test)]
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.memory.words_mut()
    }
}

/// One load of each of `N` cycles, repeatedly.
#[inline(never)]
fn walk_chains<const N: usize>(all: &mut [usize; MAX_CHAINS], rounds: u64) {
    // A local array of known length, so that the compiler can keep all addresses in registers.
    let mut at = [0; N];
    at.copy_from_slice(&all[..N]);
    for _ in 0..rounds * UNROLLED {
        for at in &mut at {
            // SAFETY: `at` is the address of a node, whose first word is the address of a node.
            *at = unsafe { read_volatile(with_exposed_provenance(*at)) };
        }
    }
    all[..N].copy_from_slice(&at);
}

fn walk_of(count: usize) -> Walk {
    match count {
        0 | 1 => walk_chains::<1>,
        2 => walk_chains::<2>,
        3 => walk_chains::<3>,
        4 => walk_chains::<4>,
        5 => walk_chains::<5>,
        6 => walk_chains::<6>,
        7 => walk_chains::<7>,
        8 => walk_chains::<8>,
        9 => walk_chains::<9>,
        10 => walk_chains::<10>,
        11 => walk_chains::<11>,
        12 => walk_chains::<12>,
        13 => walk_chains::<13>,
        14 => walk_chains::<14>,
        15 => walk_chains::<15>,
        _ => walk_chains::<16>,
    }
}

#[cfg(test)]
mod tests {
    use super::{Chains, MAX_CHAINS, Pages, UNROLLED};

    #[test]
    fn cycles_share_no_line_and_each_goes_through_all_of_its_own() {
        for count in 2..=MAX_CHAINS {
            let mut chains = Chains::new(64 * 500, Pages::System, None, count, 1).unwrap();
            let each = chains.nodes();
            assert!(!each.is_multiple_of(2) && each as usize * count <= 500, "{count}: {each}");
            let words = chains.words_mut().to_vec();
            let base = chains.words_mut().as_ptr().addr();
            let mut seen = vec![false; 500];
            for &start in &chains.at[..count] {
                let mut at = start;
                for _ in 0..each {
                    let word = (at - base) / 8;
                    assert!(!std::mem::replace(&mut seen[word / 8], true), "{count}: twice");
                    at = usize::try_from(words[word]).unwrap();
                }
                assert_eq!(at, start, "the cycle closes after every node");
            }
            assert!(chains.places().all(|place| place == 0));
            chains.walk(3);
            assert_eq!(chains.places().count(), count);
            assert!(chains.places().all(|place| place == 3 * UNROLLED % each), "{count}");
        }
    }

    #[test]
    fn too_few_lines_are_refused_with_a_size_that_would_do() {
        let refused = Chains::new(64 * 100, Pages::System, None, 16, 1).unwrap_err();
        assert!(format!("{refused:?}").contains("set `size` to 8192 or more"), "{refused:?}");
        Chains::new(8192, Pages::System, None, 16, 1).unwrap();
    }
}
