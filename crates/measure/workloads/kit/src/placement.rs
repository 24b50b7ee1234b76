//! On which CPUs the threads of a workload run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{CpuPlace, Facts, Parameter};
use plumb_protocol::{Failure, Start, StartError};

use crate::affinity::CpuSet;
use crate::declare::text;

/// The name of the parameter.
const PARAMETER: &str = "placement";
const WORDS: &str = "free, spread, pack, siblings, same-cpu, cross-cpu or cpu:N";

/// Where threads, or other tasks, are to run, among the CPUs that plumb may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Where the scheduler puts them.
    Free,
    /// As far apart as can be: nodes of memory in turn, a core each.
    Spread,
    /// On as few nodes of memory as can be, a core each while there are cores.
    Pack,
    /// On as few cores as can be: every hardware thread of a core before the next core.
    Siblings,
    /// All on the last CPU: the first tends to serve interrupts.
    Same,
    /// A core each, from the last CPU back.
    Cross,
    /// All on this CPU.
    Cpu(usize),
}

/// The parameter of every workload with threads.
#[must_use]
pub fn placement() -> Parameter {
    placement_or("free")
}

/// The same if something else than `free` is usual.
#[must_use]
pub fn placement_or(usual: &str) -> Parameter {
    let summary = "CPUs of the threads or tasks: free (not pinned), spread (one per core, memory nodes \
                   in turn), pack (one node first), siblings (all hardware threads of a core first), \
                   same-cpu (the last CPU), cross-cpu (one per core, starting with the last) or cpu:N";
    text(PARAMETER, usual, summary)
}

impl Placement {
    /// As the parameter says; free if the workload has none.
    ///
    /// # Errors
    /// When it is none of the words.
    pub fn of(start: &Start) -> Result<Self, StartError> {
        let word = start.text(PARAMETER);
        let cpu = || word.strip_prefix("cpu:")?.parse().ok().map(Self::Cpu);
        match word {
            "" | "free" => Ok(Self::Free),
            "spread" => Ok(Self::Spread),
            "pack" => Ok(Self::Pack),
            "siblings" => Ok(Self::Siblings),
            "same-cpu" => Ok(Self::Same),
            "cross-cpu" => Ok(Self::Cross),
            _ => cpu().ok_or_else(|| {
                StartError::Failed(format!("`{word}` is not a placement; use {WORDS}"))
            }),
        }
    }

    /// The CPU of each thread, from the first on again if there are more threads than CPUs; None if they are
    /// not pinned.
    ///
    /// # Errors
    /// Unsupported if there is no such CPU, no second one, or no core with two hardware threads.
    pub fn cpus(self, threads: usize, facts: &Facts) -> Result<Option<Vec<usize>>, StartError> {
        let allowed: BTreeSet<u32> = facts.cpus.iter().copied().collect();
        let mut slots = slots(&allowed, &facts.places);
        if slots.is_empty() && self != Self::Free {
            return Err(StartError::Failed("plumb may not use any CPU".into()));
        }
        match self {
            Self::Free => return Ok(None),
            Self::Same => {
                slots.sort_by_key(|slot| Reverse(slot.cpu));
                slots.truncate(1);
            }
            Self::Cross if slots.len() < 2 => {
                return Err(StartError::unsupported(
                    "plumb is limited to one CPU; placement=cross-cpu needs two",
                    "give plumb two CPUs (taskset, cpuset, a larger machine)",
                ));
            }
            Self::Cross => {
                slots.sort_by_key(|slot| Reverse(slot.cpu));
                let mut taken: BTreeMap<(u32, usize), usize> = BTreeMap::new();
                for slot in &mut slots {
                    let threads = taken.entry((slot.node, slot.rank)).or_default();
                    slot.sibling = *threads;
                    *threads += 1;
                }
                slots.sort_by_key(|slot| slot.sibling);
            }
            Self::Cpu(cpu) if slots.iter().any(|slot| slot.cpu == cpu) => {
                return Ok(Some(vec![cpu; threads]));
            }
            Self::Cpu(cpu) => {
                return Err(StartError::unsupported(
                    format!("plumb is not allowed to run on CPU {cpu}"),
                    format!("set placement to one of these CPUs: {}", listed(&allowed)),
                ));
            }
            Self::Siblings if slots.iter().all(|slot| slot.sibling == 0) => {
                return Err(StartError::unsupported(
                    "no core has two hardware threads that plumb may use: SMT is off, hidden from this \
                     virtual machine, or the siblings are not among plumb's CPUs",
                    "set another placement, or turn SMT on (see `plumb tune`)",
                ));
            }
            Self::Spread => slots.sort_by_key(|slot| (slot.sibling, slot.rank, slot.node)),
            Self::Pack => slots.sort_by_key(|slot| (slot.node, slot.sibling, slot.rank)),
            Self::Siblings => slots.sort_by_key(|slot| (slot.node, slot.rank, slot.sibling)),
        }
        Ok(Some(slots.iter().map(|slot| slot.cpu).cycle().take(threads).collect()))
    }
}

/// Pins the tasks that one thread makes, one after the other, by pinning that thread: a task starts where its maker is.
/// The thread may run where it could before when this is dropped.
pub struct TasksInTurn {
    cpus: Vec<CpuSet>,
    made: usize,
    before: CpuSet,
}

impl TasksInTurn {
    /// For these CPUs, one a task and then again from the first.
    ///
    /// # Errors
    /// When the kernel does not report where this thread may run.
    pub fn new(cpus: &[usize]) -> Result<Self, Failure> {
        let cpus = cpus.iter().copied().map(CpuSet::only).collect();
        Ok(Self { cpus, made: 0, before: CpuSet::current()? })
    }

    /// Goes to the CPU of the next task.
    ///
    /// # Errors
    /// When that may not be used.
    pub fn go_to_next(&mut self) -> Result<(), Failure> {
        let set = &self.cpus[self.made % self.cpus.len()];
        self.made += 1;
        set.apply()
    }
}

impl Drop for TasksInTurn {
    fn drop(&mut self) {
        let _ = self.before.apply();
    }
}

/// Where tasks run, for the reader: `on CPU 1`, `on CPUs 0, 1 in turn`.
#[must_use]
pub fn in_words(cpus: &[usize]) -> String {
    let mut distinct: Vec<usize> = Vec::new();
    for &cpu in cpus {
        if !distinct.contains(&cpu) {
            distinct.push(cpu);
        }
    }
    let named: Vec<String> = distinct.iter().map(ToString::to_string).collect();
    match named.as_slice() {
        [one] => format!("on CPU {one}"),
        _ => format!("on CPUs {} in turn", named.join(", ")),
    }
}

fn listed(cpus: &BTreeSet<u32>) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A CPU that may be used.
struct CpuSlot {
    cpu: usize,
    node: u32,
    /// Which core of its node.
    rank: usize,
    /// Which hardware thread of its core.
    sibling: usize,
}

/// The CPUs with their places; if nothing is known of one, it is its own core.
fn slots(allowed: &BTreeSet<u32>, places: &[CpuPlace]) -> Vec<CpuSlot> {
    let place = |cpu: u32| {
        let known = places.iter().find(|place| place.cpu == cpu);
        // Numbers from the top, which no known core has.
        known.map_or((0, u32::MAX - cpu), |place| (place.node, place.core))
    };
    let mut cores: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    for &cpu in allowed {
        cores.entry(place(cpu)).or_default().push(cpu);
    }
    // Cores in the order of their first CPUs.
    let mut cores: Vec<((u32, u32), Vec<u32>)> = cores.into_iter().collect();
    cores.sort_by_key(|(_, cpus)| cpus[0]);
    let mut ranks: BTreeMap<u32, usize> = BTreeMap::new();
    let mut slots = Vec::new();
    for ((node, _), cpus) in cores {
        let rank = ranks.entry(node).or_default();
        for (sibling, cpu) in cpus.into_iter().enumerate() {
            let cpu = usize::try_from(cpu).unwrap_or(usize::MAX);
            slots.push(CpuSlot { cpu, node, rank: *rank, sibling });
        }
        *rank += 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::{Placement, TasksInTurn, in_words};
    use crate::affinity::CpuSet;
    use plumb_model::{CpuPlace, Facts};
    use plumb_protocol::StartError;

    /// Two nodes of two cores of two hardware threads, numbered as Linux does: 0-3 first threads, 4-7 second.
    fn machine() -> Facts {
        let place = |cpu: u32| CpuPlace { cpu, core: cpu % 4, node: cpu % 4 / 2 };
        Facts { cpus: (0..8).collect(), places: (0..8).map(place).collect(), ..Facts::default() }
    }

    fn cpus(placement: Placement, threads: usize, facts: &Facts) -> Vec<usize> {
        placement.cpus(threads, facts).unwrap().unwrap()
    }

    #[test]
    fn threads_are_spread_packed_or_paired() {
        let facts = machine();
        assert_eq!(Placement::Free.cpus(8, &facts).unwrap(), None);
        assert_eq!(cpus(Placement::Spread, 8, &facts), [0, 2, 1, 3, 4, 6, 5, 7]);
        assert_eq!(cpus(Placement::Pack, 8, &facts), [0, 1, 4, 5, 2, 3, 6, 7]);
        assert_eq!(cpus(Placement::Siblings, 8, &facts), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(cpus(Placement::Cpu(6), 3, &facts), [6, 6, 6]);
        assert_eq!(cpus(Placement::Same, 3, &facts), [7, 7, 7]);
        assert_eq!(cpus(Placement::Cross, 8, &facts), [7, 6, 5, 4, 3, 2, 1, 0]);
        let pinned = Facts { cpus: vec![1, 5], ..facts };
        assert_eq!(cpus(Placement::Spread, 5, &pinned), [1, 5, 1, 5, 1], "`--set pin` is obeyed");
    }

    #[test]
    fn neighbouring_threads_of_a_core_are_not_two_cores() {
        // Two cores of two threads and two of one, numbered core by core.
        let places = [0, 0, 1, 1, 2, 3].into_iter().zip(0..);
        let place = |(core, cpu): (u32, u32)| CpuPlace { cpu, core, node: 0 };
        let facts = Facts {
            cpus: (0..6).collect(),
            places: places.map(place).collect(),
            ..Facts::default()
        };
        assert_eq!(cpus(Placement::Cross, 6, &facts), [5, 4, 3, 1, 2, 0]);
        assert_eq!(cpus(Placement::Same, 1, &facts), [5]);
    }

    #[test]
    fn tasks_start_where_their_maker_is() {
        let before = CpuSet::current().unwrap();
        let here = || std::thread::spawn(|| CpuSet::current().unwrap().cpus()).join().unwrap();
        let first = before.cpus()[0];
        let last = *before.cpus().last().unwrap();
        let mut tasks = TasksInTurn::new(&[first, last]).unwrap();
        for cpu in [first, last, first] {
            tasks.go_to_next().unwrap();
            assert_eq!(here(), [cpu]);
        }
        drop(tasks);
        assert_eq!(CpuSet::current().unwrap().cpus(), before.cpus());
        assert_eq!(
            (in_words(&[1]), in_words(&[1, 0, 1])),
            ("on CPU 1".into(), "on CPUs 1, 0 in turn".into())
        );
    }

    #[test]
    fn what_is_not_there_is_unsupported() {
        let facts = Facts { cpus: vec![0, 1], ..Facts::default() };
        assert_eq!(cpus(Placement::Spread, 2, &facts), [0, 1]);
        for placement in [Placement::Siblings, Placement::Cpu(2)] {
            let refused = placement.cpus(2, &facts);
            assert!(matches!(refused, Err(StartError::Unsupported { .. })), "{refused:?}");
        }
        let one = Facts { cpus: vec![0], ..Facts::default() };
        let Err(StartError::Unsupported { why, fix }) = Placement::Cross.cpus(2, &one) else {
            panic!("one CPU is not two");
        };
        assert!(why.contains("needs two") && fix.contains("give plumb two CPUs"), "{why}; {fix}");
    }
}
