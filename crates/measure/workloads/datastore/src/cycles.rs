//! Cycles over all entities of an engine, phase by phase.

use std::hint::black_box;

use plumb_protocol::{Failure, SplitMix64, StartError, now_ns};

use crate::clients;
use crate::contents::Contents;
use crate::engine::{CyclePhase, Durability, EngineKind, Entities, EntityEngine};
use crate::server::ServerAddress;

/// Nanoseconds of each phase: add, get, update, get again, delete.
pub(super) type PhaseTimes = [u64; 5];

/// The phases of a cycle, each with its name.
const PHASES: [(&str, CyclePhase); 5] = [
    ("add", CyclePhase::Add),
    ("get", CyclePhase::Get),
    ("update", CyclePhase::Update),
    ("get again", CyclePhase::Get),
    ("delete", CyclePhase::Delete),
];

/// Entities, and the engine that stores them.
pub(super) struct EntityCycles {
    engine: Box<dyn EntityEngine>,
    contents: Contents,
    in_order: Vec<i64>,
    shuffled: Vec<i64>,
    generation: u64,
    /// A server that is not plumb's, from which entities have to be removed if a cycle fails.
    foreign: Option<(EngineKind, ServerAddress)>,
}

impl EntityCycles {
    /// So many entities of an empty store. Its files have grown to full size already, in one cycle that nobody waits for,
    /// so that the first sample finds what later ones find.
    ///
    /// # Errors
    /// If the engine refuses.
    pub(super) fn new(
        engine: Box<dyn EntityEngine>,
        contents: Contents,
        entities: u32,
        durability: Durability,
        seed: u64,
        foreign: Option<(EngineKind, ServerAddress)>,
    ) -> Result<Self, StartError> {
        let in_order: Vec<i64> = (1..=i64::from(entities)).collect();
        let mut shuffled = in_order.clone();
        SplitMix64::new(seed).shuffle(&mut shuffled);
        let mut cycles = Self { engine, contents, in_order, shuffled, generation: 0, foreign };
        cycles.cycle(&mut PhaseTimes::default())?;
        cycles.engine.set(durability)?;
        Ok(cycles)
    }

    /// Adds all entities, reads and compares them, updates them, reads and compares them again, deletes them; adds the
    /// time of each phase to `times`.
    ///
    /// # Errors
    /// If the engine refuses, or an entity is not as it should be.
    pub(super) fn cycle(&mut self, times: &mut PhaseTimes) -> Result<(), Failure> {
        let done = self.all_phases(times);
        if done.is_err()
            && let Some((kind, server)) = &self.foreign
        {
            clients::clear(*kind, server, self.in_order.len() as u64);
        }
        done
    }

    fn all_phases(&mut self, times: &mut PhaseTimes) -> Result<(), Failure> {
        let mut mark = now_ns();
        for ((name, phase), time) in PHASES.into_iter().zip(times) {
            if matches!(phase, CyclePhase::Add | CyclePhase::Update) {
                self.generation += 1;
            }
            let mut entities = Entities {
                in_order: &self.in_order,
                shuffled: &self.shuffled,
                contents: &mut self.contents,
                generation: self.generation,
            };
            self.engine
                .phase(phase, &mut entities)
                .map_err(|error| error.of_phase("datastore.batch", name))?;
            let now = now_ns();
            *time += now - mark;
            mark = now;
        }
        Ok(())
    }

    /// Makes the contents of all entities once, for nobody: how long that takes, in nanoseconds.
    pub(super) fn encode_ns(&mut self) -> u64 {
        let begun = now_ns();
        for &key in &self.in_order {
            black_box(self.contents.body(key, self.generation));
        }
        now_ns() - begun
    }

    /// Checks that nothing is left of the last cycle.
    ///
    /// # Errors
    /// If something is, or the store is damaged.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        self.engine.check()
    }
}
