//! One random cycle through all lines of an array, and the walk along it.
#![expect(unsafe_code, reason = "a pointer chase is made of raw pointers")]

use std::ptr::{read_volatile, with_exposed_provenance, write_volatile};

use plumb_protocol::{SplitMix64, StartError};

use plumb_workload_kit::mapping::{Mapping, Pages};

use crate::node::MemoryNode;

/// Bytes of a node: one cache line on the machines that plumb knows.
pub(super) const LINE_BYTES: usize = 64;

/// Words of a node.
const LINE_WORDS: usize = LINE_BYTES / 8;

/// Loads between two looks at the counter of the walk.
pub(super) const UNROLLED: u64 = 32;

/// A cycle: the first word of each node is the address of the next node, its second word is its
/// place in the cycle. What the walk has loaded can so be told from where it stands.
#[derive(Debug)]
pub(super) struct PointerCycle {
    memory: Mapping,
    nodes: u32,
    /// Address of the node where the walk stands.
    at: usize,
}

impl PointerCycle {
    /// A cycle through `bytes` bytes, every order of the nodes as likely as any other; every page is
    /// touched and checked to be of the wanted size. The number of nodes is made odd (the last line
    /// is left out if it is even): a number of loads that is a power of two then never ends where
    /// it began, so that a walk that was not made can't be taken for one that was.
    ///
    /// # Errors
    /// When there is no such memory, or not on that node of memory.
    pub(super) fn new(
        bytes: usize,
        pages: Pages,
        node: Option<MemoryNode>,
        seed: u64,
    ) -> Result<Self, StartError> {
        let lines = u32::try_from(bytes / LINE_BYTES).map_err(|_| {
            StartError::Failed(format!("{bytes} bytes need more nodes than a cycle can contain"))
        })?;
        let nodes = if lines.is_multiple_of(2) { lines.saturating_sub(1) } else { lines };
        let mut memory = Mapping::new(bytes, pages)?;
        node.map_or(Ok(()), |node| node.bind(memory.words()))?;
        touch(memory.words_mut());
        memory.check_pages()?;
        node.map_or(Ok(()), |node| node.check(memory.words()))?;
        let mut order: Vec<u32> = (0..nodes).collect();
        SplitMix64::new(seed).shuffle(&mut order);
        link(memory.words_mut(), &order);
        let at = memory.words().as_ptr().expose_provenance();
        Ok(Self { memory, nodes, at })
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> u64 {
        u64::from(self.nodes)
    }

    /// Where the walk stands in the cycle.
    pub(super) fn place(&self) -> u64 {
        let words = self.memory.words();
        let word = self.at.wrapping_sub(words.as_ptr().addr()) / 8 + 1;
        words.get(word).copied().unwrap_or(u64::MAX)
    }

    /// Follows the cycle for `rounds` times [`UNROLLED`] loads, each of which needs the one before.
    #[inline(never)]
    pub(super) fn walk(&mut self, rounds: u64) {
        let mut at = self.at;
        for _ in 0..rounds {
            for _ in 0..UNROLLED {
                // SAFETY: `at` is the address of a node, whose first word is the address of a node.
                at = unsafe { read_volatile(with_exposed_provenance(at)) };
            }
        }
        self.at = at;
    }

    /// The words of all nodes.
    #[cfg(test)]
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.memory.words_mut()
    }
}

/// Gives every page its memory.
pub(super) fn touch(words: &mut [u64]) {
    for page in words.chunks_mut(512) {
        // SAFETY: a reference is valid to write through; volatile, so that no page is left out.
        unsafe { write_volatile(&raw mut page[0], 1) };
    }
}

/// Makes each node of `order` point to the one after it, and the last to the first.
pub(super) fn link(words: &mut [u64], order: &[u32]) {
    let base = words.as_mut_ptr().expose_provenance();
    let after = order.iter().cycle().skip(1);
    for (place, (&this, &next)) in (0_u64..).zip(order.iter().zip(after)) {
        let first_word = this as usize * LINE_WORDS;
        words[first_word] = (base + next as usize * LINE_BYTES) as u64;
        words[first_word + 1] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::{Pages, PointerCycle, UNROLLED};

    #[test]
    fn one_cycle_goes_through_every_node_once() {
        let mut cycle = PointerCycle::new(64 * 100, Pages::System, None, 1).unwrap();
        let nodes = cycle.nodes();
        let mut seen = vec![false; usize::try_from(nodes).unwrap()];
        let words: Vec<u64> = cycle.words_mut().to_vec();
        let base = cycle.words_mut().as_ptr().addr() as u64;
        let mut at = base;
        for _ in 0..nodes {
            let index = usize::try_from((at - base) / 64).unwrap();
            assert!(!std::mem::replace(&mut seen[index], true), "a node came twice");
            at = words[index * 8];
        }
        assert_eq!(at, base, "the cycle closes after every node");
        assert!(seen.len() == 99 && seen.iter().all(|&seen| seen));
        let place = cycle.place();
        cycle.walk(nodes);
        assert_eq!(cycle.place(), place);
        cycle.walk(1);
        assert_eq!(cycle.place(), (place + UNROLLED) % nodes);
    }

    #[test]
    fn seeds_give_different_orders() {
        let order = |seed| {
            let mut cycle = PointerCycle::new(1 << 14, Pages::System, None, seed).unwrap();
            cycle.words_mut().iter().skip(1).step_by(8).copied().collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
