//! Prepares the slots of a run and undoes them, and shows what was made and undone.

use plumb_model::{Event, Plan, PlannedPoint, PreparationSlot, Target};

use crate::error::EngineError;
use crate::stream::EventStream;
use plumb_launch::{LaunchRefusal, Launcher, SlotReport};

/// The fact of an environment that says which knobs were set.
const PREPARED: &str = "prepared";

/// The slots of a run, and the machine in the state in which it was told last.
#[derive(Debug)]
pub struct Slots<'r> {
    plan: &'r Plan,
    target: Target,
}

impl<'r> Slots<'r> {
    /// On this machine.
    pub fn on(plan: &'r Plan, target: Target) -> Self {
        Self { plan, target }
    }

    /// Prepares a slot, for a point's own invocation if it is one.
    pub fn apply(
        &mut self,
        launcher: &mut dyn Launcher,
        stream: &mut EventStream<'_>,
        slot: PreparationSlot,
        point: Option<usize>,
    ) -> Result<(), EngineError> {
        let planned = point.map(|point| &self.plan.points[point]);
        tell(stream, launcher.apply(slot, planned).or_else(unless_interrupted)?)?;
        match point {
            Some(point) => self.environment_of(stream, point),
            None => Ok(()),
        }
    }

    /// Undoes a slot.
    pub fn undo(
        &self,
        launcher: &mut dyn Launcher,
        stream: &mut EventStream<'_>,
        slot: PreparationSlot,
    ) -> Result<(), EngineError> {
        tell(stream, launcher.undo(slot).or_else(unless_interrupted)?)
    }

    /// Where points have their own preparations, the environment of an invocation says which.
    fn environment_of(
        &mut self,
        stream: &mut EventStream<'_>,
        point: usize,
    ) -> Result<(), EngineError> {
        let is_alike =
            |planned: &PlannedPoint| planned.preparation.is_empty() && planned.beside.is_empty();
        if self.plan.points.iter().all(is_alike) {
            return Ok(());
        }
        let prepared = self.plan.prepared(Some(&self.plan.points[point]));
        let environment = plumb_machine::with_fact(&self.target.environment, PREPARED, prepared);
        if environment == self.target.environment {
            return Ok(());
        }
        self.target.environment = environment;
        let description = Box::new(self.target.clone());
        stream.emit(Event::TargetReady { target: 0, description })
    }
}

/// Tells the listeners what came of preparing.
pub fn tell(stream: &mut EventStream<'_>, report: SlotReport) -> Result<(), EngineError> {
    for prepared in report.prepared {
        stream.emit(Event::Prepared(prepared))?;
    }
    for setting in report.restored {
        stream.emit(Event::Restored { setting })?;
    }
    report.notes.into_iter().try_for_each(|note| stream.log(note))
}

/// Nothing when a signal came or the time is over, after which the loop ends by itself.
fn unless_interrupted(refusal: LaunchRefusal) -> Result<SlotReport, EngineError> {
    match refusal {
        LaunchRefusal::Unsupported { why, fix } => Err(EngineError::Unsupported { why, fix }),
        LaunchRefusal::Failed(why) | LaunchRefusal::WrongResult(why) => {
            Err(EngineError::Companion(format!("a preparation failed: {why}")))
        }
        LaunchRefusal::Fatal(why) => Err(EngineError::Fatal(why)),
        LaunchRefusal::Interrupted | LaunchRefusal::OutOfTime => Ok(SlotReport::default()),
    }
}
