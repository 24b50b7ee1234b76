//! Prepares slots of a run, and tells what was made and undone.

use plumb_model::{Event, Slot};

use crate::launch::{Done, Launcher, Refusal};
use crate::run::{EngineError, Runner};

/// The fact of an environment that says which knobs were set.
pub(crate) const PREPARED: &str = "prepared";

impl Runner<'_> {
    /// Prepares a slot, for a point's own invocation where it is one.
    pub(crate) fn apply(
        &mut self,
        launcher: &mut dyn Launcher,
        slot: Slot,
        point: Option<usize>,
    ) -> Result<(), EngineError> {
        let planned = point.map(|point| &self.plan.points[point]);
        let done = launcher.apply(slot, planned).or_else(unless_interrupted)?;
        self.tell(done)?;
        match point {
            Some(point) => self.surround(point),
            None => Ok(()),
        }
    }

    /// Undoes a slot.
    pub(crate) fn undo(
        &mut self,
        launcher: &mut dyn Launcher,
        slot: Slot,
    ) -> Result<(), EngineError> {
        let done = launcher.undo(slot).or_else(unless_interrupted)?;
        self.tell(done)
    }

    /// Tells the listeners what came of preparing.
    pub(crate) fn tell(&mut self, done: Done) -> Result<(), EngineError> {
        for prepared in done.prepared {
            self.emit(Event::Prepared(prepared))?;
        }
        for setting in done.restored {
            self.emit(Event::Restored { setting })?;
        }
        for note in done.notes {
            self.log(note)?;
        }
        Ok(())
    }

    /// Where points have preparations of their own, the environment of an invocation says which.
    fn surround(&mut self, point: usize) -> Result<(), EngineError> {
        if self.plan.points.iter().all(|planned| planned.preparation.is_empty()) {
            return Ok(());
        }
        let prepared = self.plan.prepared(&self.plan.points[point].preparation);
        let environment = plumb_machine::with_fact(&self.target.environment, PREPARED, prepared);
        if environment == self.target.environment {
            return Ok(());
        }
        self.target.environment = environment;
        let description = Box::new(self.target.clone());
        self.emit(Event::TargetReady { target: 0, description })
    }
}

/// Nothing when a signal came, after which the loop ends by itself.
fn unless_interrupted(refusal: Refusal) -> Result<Done, EngineError> {
    match refusal {
        Refusal::Unsupported { why, fix } => Err(EngineError::Unsupported { why, fix }),
        Refusal::Failed(why) => Err(EngineError::Companion(format!("a preparation failed: {why}"))),
        Refusal::Fatal(why) => Err(EngineError::Fatal(why)),
        Refusal::Interrupted => Ok(Done::default()),
    }
}
