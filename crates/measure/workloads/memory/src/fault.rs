//! `memory.fault`: what the kernel takes for giving a page of memory, and for taking it back.
#![expect(
    unsafe_code,
    reason = "first touches go through raw pointers, and getrusage and mincore have no safe form"
)]

use std::ptr::write_volatile;

use plumb_model::{AuditClass, CurveKind, Description, Ready};
use plumb_protocol::{
    Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload, current_cpu, now_ns,
};
use plumb_workload_kit::declare;
use plumb_workload_kit::mapping::{HUGE_BYTES, Mapping, Pages};

use crate::node::{self, MemoryNode};
use crate::place;

/// Bytes of a page of each kind, checked when the workload starts.
const SMALL_BYTES: usize = 4 << 10;

/// Faults beyond one a page that are no sign of other pages, as one in so many and a few: the kernel takes some for itself.
const MORE_FAULTS_ONE_IN: u64 = 64;
const MORE_FAULTS: u64 = 16;

/// The workload `memory.fault`: its parameters and metrics, and how it starts.
pub(super) struct Fault;

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultOperation {
    Touch,
    Unmap,
}

impl FaultOperation {
    /// Reads the parameter `operation`.
    fn of(start: &Start) -> Self {
        match start.text("operation") {
            "unmap" => Self::Unmap,
            _ => Self::Touch,
        }
    }
}

impl Workload for Fault {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                declare::choice(
                    "operation",
                    &["touch", "unmap"],
                    "touch: the first write to each page; unmap: returning all memory",
                ),
                declare::choice(
                    "pages",
                    &["4KiB", "huge"],
                    "page size of the memory, verified before measuring",
                ),
                declare::curve(
                    CurveKind::Plateaus,
                    declare::bytes("size", 64 << 20, "bytes mapped per iteration"),
                ),
                node::parameter(),
            ],
            metrics: vec![
                declare::time("time", "time per page"),
                declare::rate(
                    "bandwidth",
                    "B/s",
                    "bytes of memory provided or taken back per second",
                ),
            ],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Memory),
            ..declare::workload(
                "memory.fault",
                "writes to fresh memory (page faults), or unmaps it",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("fault.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let pages = place::pages(start);
        let page_bytes = if pages == Pages::Huge { HUGE_BYTES } else { SMALL_BYTES };
        let operation = FaultOperation::of(start);
        let bytes = start.size("size");
        if bytes == 0 || !bytes.is_multiple_of(page_bytes) {
            return Err(StartError::unsupported(
                format!("{bytes} bytes are not a whole number of pages of {page_bytes} bytes"),
                format!("set `size` to a multiple of {page_bytes}"),
            ));
        }
        place::check(bytes as u64, bytes as u64, &start.facts)?;
        let node = MemoryNode::of(start)?;
        let faults = Faults { node, ..Faults::new(operation, pages, bytes, page_bytes) };
        faults.check_kind()?;
        let work = [("time", faults.pages()), ("bandwidth", bytes as u64)];
        let notes = node.map(MemoryNode::note_on_first).into_iter().collect();
        let ready = Ready { work: declare::work(&work), notes, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(faults), ready })
    }
}

/// Memory that is mapped, touched and unmapped repeatedly.
struct Faults {
    operation: FaultOperation,
    kind: Pages,
    /// Where the pages are to come from.
    node: Option<MemoryNode>,
    bytes: usize,
    page_bytes: usize,
    /// Mappings since the last check, and faults when they were touched.
    mappings: u64,
    faults: u64,
    /// Of these, the ones that the kernel still knew after they were unmapped.
    left: u64,
}

impl Faults {
    fn new(operation: FaultOperation, kind: Pages, bytes: usize, page_bytes: usize) -> Self {
        let node = None;
        Self { operation, kind, node, bytes, page_bytes, mappings: 0, faults: 0, left: 0 }
    }

    /// Pages of a mapping.
    fn pages(&self) -> u64 {
        (self.bytes / self.page_bytes) as u64
    }

    /// Whether the kernel gives pages of this kind, from this node.
    fn check_kind(&self) -> Result<(), StartError> {
        let mut memory = self.mapped()?;
        touch(memory.words_mut(), self.page_bytes);
        memory.check_pages()?;
        self.node.map_or(Ok(()), |node| node.check(memory.words()))
    }

    fn mapped(&self) -> Result<Mapping, StartError> {
        let memory = Mapping::new(self.bytes, self.kind)?;
        self.node.map_or(Ok(()), |node| node.bind(memory.words()))?;
        Ok(memory)
    }

    fn map(&self) -> Result<Mapping, Failure> {
        self.mapped().map_err(|error| match error {
            StartError::Unsupported { why, .. } | StartError::Failed(why) => Failure(why),
        })
    }

    /// Touches every page and unmaps all; the time of the one that is measured.
    fn timed(&mut self, mut memory: Mapping) -> u64 {
        let before = faults_so_far();
        let start = now_ns();
        touch(memory.words_mut(), self.page_bytes);
        let touched = now_ns() - start;
        self.faults += faults_so_far() - before;
        self.mappings += 1;
        let address = memory.words().as_ptr();
        let start = now_ns();
        drop(memory);
        let unmapped = now_ns() - start;
        self.left += u64::from(is_mapped(address));
        match self.operation {
            FaultOperation::Touch => touched,
            FaultOperation::Unmap => unmapped,
        }
    }
}

/// Writes one byte to each page.
#[inline(never)]
fn touch(words: &mut [u64], page_bytes: usize) {
    let bytes = size_of_val(words);
    let first = words.as_mut_ptr().cast::<u8>();
    let mut at = 0;
    while at < bytes {
        // SAFETY: `at` is below the length of the slice, which is borrowed mutably.
        unsafe { write_volatile(first.add(at), 1) };
        at += page_bytes;
    }
}

/// Page faults of this thread that needed no device.
fn faults_so_far() -> u64 {
    // SAFETY: rusage is plain numbers, for which all zeroes is a value; the pointer is to a live one.
    let usage = unsafe {
        let mut filled: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut filled);
        filled
    };
    usage.ru_minflt.unsigned_abs()
}

/// Whether there is memory at this address, which begins a page.
fn is_mapped(address: *const u64) -> bool {
    let mut resident = 0_u8;
    // SAFETY: the kernel only looks whether the page is mapped, and writes one byte about it.
    unsafe { libc::mincore(address.cast_mut().cast(), 1, &raw mut resident) == 0 }
}

impl Instance for Faults {
    /// With what lies around the timed part.
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            let memory = self.map()?;
            self.timed(memory);
        }
        Ok(())
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        for &k in iterations {
            let start = now_ns();
            let mut elapsed = 0;
            for _ in 0..k {
                let memory = self.map()?;
                elapsed += self.timed(memory);
            }
            batch.record(start, elapsed, k, current_cpu());
        }
        Ok(())
    }

    fn has_untimed_parts(&self) -> bool {
        true
    }

    /// A fault a page, and nothing left: other pages than wanted, or pages that were there before, would show.
    fn verify(&mut self) -> Result<(), Failure> {
        let Self { faults, mappings, left, .. } = *self;
        let pages = mappings * self.pages();
        (self.faults, self.mappings, self.left) = (0, 0, 0);
        if faults < pages || faults > pages + pages / MORE_FAULTS_ONE_IN + MORE_FAULTS {
            return Err(Failure(format!(
                "memory.fault: {faults} faults for {pages} pages of {} bytes: the kernel used another page size",
                self.page_bytes
            )));
        }
        // Another thread may map something at the same place at once; if nothing is unmapped, all are left.
        if left > 0 && left == mappings {
            return Err(Failure(format!("memory.fault: {left} mappings were not unmapped")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FaultOperation, Faults, HUGE_BYTES, Instance, Pages, SMALL_BYTES, touch};

    #[test]
    fn pages_that_were_there_before_are_found() {
        let mut faults = Faults::new(FaultOperation::Touch, Pages::Small, 1 << 20, SMALL_BYTES);
        faults.run(2).unwrap();
        faults.verify().unwrap();
        let mut memory = faults.map().unwrap();
        touch(memory.words_mut(), SMALL_BYTES);
        faults.timed(memory);
        let failure = faults.verify().unwrap_err();
        assert!(failure.0.contains("faults for 256 pages"), "{failure}");
    }

    #[test]
    fn small_pages_where_huge_ones_were_wanted_are_found() {
        let mut faults = Faults::new(FaultOperation::Unmap, Pages::Small, HUGE_BYTES, HUGE_BYTES);
        let mut memory = faults.map().unwrap();
        let before = super::faults_so_far();
        touch(memory.words_mut(), SMALL_BYTES);
        faults.faults += super::faults_so_far() - before;
        faults.mappings += 1;
        let failure = faults.verify().unwrap_err();
        assert!(failure.0.contains("512 faults for 1 pages"), "{failure}");
    }

    #[test]
    fn memory_that_was_not_unmapped_is_found() {
        let faults = Faults::new(FaultOperation::Unmap, Pages::Small, 1 << 20, SMALL_BYTES);
        let memory = faults.map().unwrap();
        assert!(super::is_mapped(memory.words().as_ptr()));
        let mut faults = Faults { left: 1, mappings: 1, faults: 256, ..faults };
        assert!(faults.verify().unwrap_err().0.contains("not unmapped"));
    }
}
