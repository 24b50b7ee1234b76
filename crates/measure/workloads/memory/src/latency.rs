//! `memory.latency`: time of a load whose address is the result of the load before.

use plumb_model::{AuditClass, CurveKind, Description, Ready, Rung};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload};

use crate::chains::{Chains, MAX_CHAINS};
use crate::cycle::{LINE_BYTES, PointerCycle, UNROLLED};
use crate::node::{self, MemoryNode};
use crate::place;
use plumb_workload_kit::declare;

/// Loads of one iteration, of each cycle.
const LOADS: u64 = 1024;

/// The workload `memory.latency`: its parameters and metrics, and how it starts.
pub(super) struct MemoryLatency;

impl Workload for MemoryLatency {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                declare::curve(
                    CurveKind::Plateaus,
                    declare::bytes("size", 64 << 20, "memory that the cycle covers"),
                ),
                declare::choice(
                    "pages",
                    &["4KiB", "huge"],
                    "page size of the memory, verified before measuring",
                ),
                declare::curve(
                    CurveKind::Knee,
                    declare::between(
                        1,
                        MAX_CHAINS,
                        declare::integer(
                            "chains",
                            "cycles",
                            1,
                            "number of cycles followed in parallel, up to 16; each load counts",
                        ),
                    ),
                ),
                node::parameter(),
            ],
            metrics: vec![declare::time("latency", "time of one dependent load")],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Memory),
            rungs: vec![huge_pages()],
            ..declare::workload("memory.latency", "follows a random cycle of pointers")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("latency.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let size = start.integer("size");
        place::check(size, size + size / (LINE_BYTES as u64 / 4), &start.facts)?;
        let pages = place::pages(start);
        let chains = start.size("chains");
        let bytes = start.size("size");
        let node = MemoryNode::of(start)?;
        let instance: Box<dyn Instance> = match chains {
            1 => Box::new(Walker::new(PointerCycle::new(bytes, pages, node, start.seed)?)),
            _ => Box::new(Walkers::new(Chains::new(bytes, pages, node, chains, start.seed)?)),
        };
        let loads = LOADS * chains as u64;
        let mut ready = Ready { work: declare::work(&[("latency", loads)]), ..Ready::default() };
        ready.notes.extend(node.map(MemoryNode::note));
        place::describe(size, size, &start.facts, &mut ready);
        Ok(StartedWorkload { instance, ready })
    }
}

/// With huge pages, far fewer loads need a walk through the page tables.
fn huge_pages() -> Rung {
    let with_huge_pages =
        declare::rung("huge pages", "memory.latency", "latency", &[("pages", "huge")]);
    declare::rung_if(&[("pages", "4KiB")], with_huge_pages)
}

/// The walk along the cycle, with the place where it must stand.
struct Walker {
    cycle: PointerCycle,
    checked_place: u64,
    loads: u64,
}

impl Walker {
    fn new(cycle: PointerCycle) -> Self {
        Self { checked_place: cycle.place(), cycle, loads: 0 }
    }
}

impl Instance for Walker {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.cycle.walk(iterations * (LOADS / UNROLLED));
        self.loads += iterations * LOADS;
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let expected = (self.checked_place + self.loads) % self.cycle.nodes();
        let place = self.cycle.place();
        if place != expected {
            return Err(Failure(format!(
                "memory.latency: after {} loads the walk is at position {place}, not {expected}",
                self.loads
            )));
        }
        (self.checked_place, self.loads) = (place, 0);
        Ok(())
    }
}

/// The walks along several cycles, with the place where all must stand.
struct Walkers {
    chains: Chains,
    checked_place: u64,
    loads: u64,
}

impl Walkers {
    fn new(chains: Chains) -> Self {
        Self { chains, checked_place: 0, loads: 0 }
    }
}

impl Instance for Walkers {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.chains.walk(iterations * (LOADS / UNROLLED));
        self.loads += iterations * LOADS;
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let expected = (self.checked_place + self.loads) % self.chains.nodes();
        let wrong = self.chains.places().enumerate().find(|(_, place)| *place != expected);
        if let Some((chain, place)) = wrong {
            return Err(Failure(format!(
                "memory.latency: after {} loads cycle {chain} is at position {place}, not {expected}",
                self.loads
            )));
        }
        (self.checked_place, self.loads) = (expected, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Chains, Instance, LOADS, PointerCycle, Walker, Walkers};
    use plumb_workload_kit::mapping::Pages;

    #[test]
    fn a_cycle_of_several_that_skipped_loads_is_found() {
        let mut walkers = Walkers::new(Chains::new(1 << 18, Pages::Small, None, 5, 3).unwrap());
        walkers.run(5).unwrap();
        walkers.verify().unwrap();
        // The second node of one cycle points to itself from now on.
        let words = walkers.chains.words_mut();
        let base = words.as_ptr().addr() as u64;
        let (node, _) =
            words.iter().enumerate().skip(1).step_by(8).find(|(_, word)| **word == 1).unwrap();
        words[node - 1] = base + (node as u64 - 1) * 8;
        walkers.run(9).unwrap();
        let failure = walkers.verify().unwrap_err();
        assert!(failure.0.contains("after 9216 loads cycle"), "{failure}");
    }

    #[test]
    fn a_walk_that_skipped_loads_is_found() {
        let mut walker = Walker::new(PointerCycle::new(1 << 18, Pages::Small, None, 3).unwrap());
        walker.run(5).unwrap();
        walker.verify().unwrap();
        walker.run(3).unwrap();
        walker.loads += LOADS;
        let failure = walker.verify().unwrap_err();
        assert!(failure.0.contains("after 4096 loads"), "{failure}");
    }

    #[test]
    fn a_damaged_cycle_is_found() {
        let mut walker = Walker::new(PointerCycle::new(1 << 14, Pages::Small, None, 3).unwrap());
        // Every node now points to the first, and walking changes nothing any more.
        let first = walker.cycle.words_mut().as_ptr().addr() as u64;
        walker.cycle.words_mut().iter_mut().step_by(8).for_each(|next| *next = first);
        walker.run(1).unwrap();
        assert!(walker.verify().is_err());
    }
}
