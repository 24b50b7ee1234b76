//! Shared parts of bandwidth workloads: arrays that each thread maps, binds, fills and checks for itself.

use plumb_model::{CurveKind, Description, Metric, Parameter, Ready};
use plumb_protocol::{Start, StartError};
use plumb_workload_kit::declare;
use plumb_workload_kit::mapping::{Mapping, Pages};
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Member, Team};
use plumb_workload_kit::vector::{Width, width};

use crate::node::{self, MemoryNode};
use crate::place;

/// Words in a page of 4 KiB.
pub(super) const PAGE_WORDS: usize = 512;

/// The parameters, after those of the workload's own.
pub(super) fn parameters(own: Vec<Parameter>) -> Vec<Parameter> {
    let shared = [
        declare::curve(CurveKind::Plateaus, declare::bytes("size", 64 << 20, "size of each array")),
        declare::curve(CurveKind::Knee, declare::threads("threads, each with separate arrays")),
        placement(),
        width(),
        node::parameter(),
    ];
    own.into_iter().chain(shared).collect()
}

/// The one metric.
pub(super) fn bandwidth(summary: &str) -> Metric {
    declare::rate("bandwidth", "B/s", summary)
}

/// The description of such a workload.
pub(super) fn described(id: &str, summary: &str) -> Description {
    Description {
        timeout_s: Some(declare::LONG_TIMEOUT_S),
        audit_class: Some(plumb_model::AuditClass::Memory),
        ..declare::workload(id, summary)
    }
}

/// The requested settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrays {
    /// Bytes of each array.
    pub(super) size: usize,
    /// How many each thread has.
    pub(super) count: usize,
    pub(super) threads: usize,
    pub(super) width: Width,
    node: Option<MemoryNode>,
}

impl Arrays {
    /// `count` arrays a thread.
    ///
    /// # Errors
    /// Where this machine has no such memory, node or registers.
    pub(super) fn of(start: &Start, count: usize) -> Result<Self, StartError> {
        let size = start.size("size");
        let threads = start.size("threads").max(1);
        let needed = (size as u64).saturating_mul((count * threads) as u64);
        place::check(size as u64, needed, &start.facts)?;
        Ok(Self { size, count, threads, width: Width::of(start)?, node: MemoryNode::of(start)? })
    }

    /// One array, bound to its node, with what `word` makes of the place of each word. To be called by the thread that
    /// uses it.
    ///
    /// # Errors
    /// When there is no memory, or it does not lie where it should.
    pub(super) fn array(&self, word: impl Fn(u64) -> u64) -> Result<Mapping, StartError> {
        let mut array = mapped(self.size, self.node)?;
        for (at, slot) in (0..).zip(array.words_mut()) {
            *slot = word(at);
        }
        checked(array, self.node)
    }

    /// What the reader should know of a team that works on such arrays; an iteration counts `counted` bytes of a thread.
    ///
    /// # Errors
    /// Where the placement can't be had.
    pub(super) fn ready<M: Member>(
        &self,
        start: &Start,
        team: &Team<M>,
        counted: u64,
        arrays: impl Fn(&M, &mut dyn FnMut(&Mapping)),
    ) -> Result<Ready, StartError> {
        let all = counted * self.threads as u64;
        let mut ready = Ready { work: declare::work(&[("bandwidth", all)]), ..Ready::default() };
        ready.notes.push(self.width.note());
        ready.notes.extend(self.node.map(MemoryNode::note));
        let mut huge = Some(0);
        team.each(|member| {
            arrays(member, &mut |array| huge = huge.zip(array.huge_bytes()).map(|(a, b)| a + b));
        });
        let bytes = self.size * self.count * self.threads;
        ready.notes.extend(huge.map(|huge| {
            format!("{huge} of {bytes} bytes are in huge pages, which were not requested")
        }));
        threads::describe(self.threads, start, &mut ready)?;
        let size = self.size as u64;
        place::describe(size, size * self.count as u64, &start.facts, &mut ready);
        Ok(ready)
    }
}

/// Memory that will lie on a node once it is touched.
///
/// # Errors
/// When there is none.
pub(super) fn mapped(bytes: usize, node: Option<MemoryNode>) -> Result<Mapping, StartError> {
    let memory = Mapping::new(bytes, Pages::System)?;
    node.map_or(Ok(()), |node| node.bind(memory.words()))?;
    Ok(memory)
}

/// The same memory, touched, if it lies there.
///
/// # Errors
/// When a page does not.
pub(super) fn checked(memory: Mapping, node: Option<MemoryNode>) -> Result<Mapping, StartError> {
    node.map_or(Ok(()), |node| node.check(memory.words()))?;
    Ok(memory)
}

/// Changes a word of each page by `change`, so that the next batch can't pass without doing its work.
pub(super) fn change_pages(array: &mut Mapping, change: impl Fn(u64) -> u64) {
    for page in array.words_mut().chunks_mut(PAGE_WORDS) {
        page[0] = change(page[0]);
    }
}
