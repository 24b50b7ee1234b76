//! What is needed before a plan can be made: a keeper, and the facts of this machine.

use plumb_keeper::preparation::{Resolved, parse, resolve};
use plumb_keeper::{Keeper, SpawnOption};
use plumb_model::{Facts, Role};

use crate::error::Result;
use crate::planning::arguments::PrepareArgs;
use crate::{interrupt, locate};

/// A keeper and the facts of the host: what is needed before a plan can be made.
pub struct Setup {
    /// The keeper; started before anything large is touched.
    pub keeper: Keeper,
    /// Facts for the plan and the workloads.
    pub facts: Facts,
}

impl Setup {
    /// Starts the keeper and reads the facts.
    pub fn start() -> Result<Self> {
        interrupt::listen();
        let keeper = Keeper::start(&locate::plumb()?)?;
        let facts = plumb_machine::facts(&locate::root(), &locate::plumb_for_others());
        Ok(Self { keeper, facts })
    }

    /// Keeps workloads to the CPUs that they are to be pinned to, so that `threads=all` means these.
    pub fn keep_to(&mut self, args: &PrepareArgs) {
        let root = locate::root();
        for preparation in args.set.iter().filter_map(|text| parse(text).ok()) {
            if let Ok(Resolved::Spawn(
                Some(Role::Workload),
                SpawnOption::Pin(cpus) | SpawnOption::Cpuset(cpus),
            )) = resolve(&root, &preparation)
            {
                self.facts.cpus.retain(|cpu| cpus.contains(cpu));
            }
        }
    }

    /// Number of CPUs that plumb may use.
    pub fn all_threads(&self) -> u64 {
        self.facts.cpus.len() as u64
    }
}
