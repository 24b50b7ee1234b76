//! What runs next to everything, or next to one point, on purpose (`--with`), as the run's events tell it.

use std::collections::BTreeMap;

use plumb_model::{Id, Outcome, Plan, Ready, Role};

use crate::error::EngineError;
use crate::invocation::end_of;
use crate::stream::{EventStream, RunPosition, StartedProcess};
use plumb_launch::{LaunchRefusal, Launcher};

/// The companions that were started: index in the plan → invocation.
#[derive(Debug, Default)]
pub struct Companions {
    of_run: BTreeMap<usize, Id>,
    /// Those of one invocation.
    of_point: BTreeMap<usize, Id>,
}

impl Companions {
    /// Starts those of the run.
    pub fn start(
        &mut self,
        launcher: &mut dyn Launcher,
        stream: &mut EventStream<'_>,
        plan: &Plan,
        at: RunPosition,
    ) -> Result<(), EngineError> {
        let started = unless_interrupted(launcher.start_companions(None))?;
        self.of_run = tell(started, stream, plan, at)?;
        Ok(())
    }

    /// Starts those of a point's next invocation; the point is refused if one can't run.
    pub fn start_of_point(
        &mut self,
        launcher: &mut dyn Launcher,
        stream: &mut EventStream<'_>,
        (plan, point): (&Plan, usize),
        at: RunPosition,
    ) -> Result<Result<(), LaunchRefusal>, EngineError> {
        match launcher.start_companions(Some(&plan.points[point])) {
            Ok(started) => self.of_point = tell(started, stream, plan, at)?,
            Err(refusal) => return Ok(Err(refusal.of("with"))),
        }
        Ok(Ok(()))
    }

    /// Ends those of an invocation.
    pub fn end_of_point(
        &mut self,
        launcher: &mut dyn Launcher,
        stream: &mut EventStream<'_>,
    ) -> Result<(), EngineError> {
        unless_interrupted(launcher.end_companions().map(|()| Vec::<()>::new()))?;
        ended(std::mem::take(&mut self.of_point), stream)
    }

    /// Hands on what they reported since the last time.
    pub fn collect(
        &self,
        launcher: &mut dyn Launcher,
        stream: &mut EventStream<'_>,
    ) -> Result<(), EngineError> {
        for (index, reply) in unless_interrupted(launcher.companions())? {
            let of = self.of_point.get(&index).or_else(|| self.of_run.get(&index));
            let Some(&invocation) = of else { continue };
            stream.acknowledge(invocation, reply)?;
        }
        Ok(())
    }

    /// Tells that all have ended.
    pub fn end(self, stream: &mut EventStream<'_>) -> Result<(), EngineError> {
        ended(self.of_point, stream)?;
        ended(self.of_run, stream)
    }
}

/// Tells that these were started.
fn tell(
    started: Vec<(usize, Ready)>,
    stream: &mut EventStream<'_>,
    plan: &Plan,
    at: RunPosition,
) -> Result<BTreeMap<usize, Id>, EngineError> {
    let mut invocations = BTreeMap::new();
    for (point, ready) in started {
        let invocation = plumb_machine::fresh_id();
        invocations.insert(point, invocation);
        let role = plan.companions.get(point).map_or(Role::Load, |companion| companion.role);
        stream
            .started(at, StartedProcess { invocation, point, role, position: 0, seed: 0, ready })?;
    }
    Ok(invocations)
}

/// Tells that these have ended.
fn ended(
    invocations: BTreeMap<usize, Id>,
    stream: &mut EventStream<'_>,
) -> Result<(), EngineError> {
    for invocation in invocations.into_values() {
        stream.ended(invocation, end_of(Outcome::Done, 0, ""))?;
    }
    Ok(())
}

/// What companions answered; nothing when a signal came or the time is over, after which the loop ends by itself.
fn unless_interrupted<T>(answer: Result<Vec<T>, LaunchRefusal>) -> Result<Vec<T>, EngineError> {
    answer.or_else(|refusal| match refusal {
        LaunchRefusal::Unsupported { why, fix } => {
            Err(EngineError::Unsupported { why: format!("--with {why}"), fix })
        }
        LaunchRefusal::Failed(why) | LaunchRefusal::WrongResult(why) => {
            Err(EngineError::Companion(format!("--with {why}")))
        }
        LaunchRefusal::Fatal(why) => Err(EngineError::Fatal(why)),
        LaunchRefusal::Interrupted | LaunchRefusal::OutOfTime => Ok(Vec::new()),
    })
}
