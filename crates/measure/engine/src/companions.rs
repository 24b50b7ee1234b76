//! What runs beside everything on purpose (`--with`), as the run's events tell it.

use std::collections::BTreeMap;

use plumb_model::{Id, Outcome, Plan, Role};

use crate::error::EngineError;
use crate::invocation::end_of;
use crate::launch::{Launcher, Refusal};
use crate::stream::{EventStream, RunPosition, Started};

/// The companions that were started: index in the plan → invocation.
#[derive(Debug, Default)]
pub struct Companions(BTreeMap<usize, Id>);

impl Companions {
    /// Starts all of them.
    pub fn start(
        &mut self,
        launcher: &mut dyn Launcher,
        stream: &mut EventStream<'_>,
        plan: &Plan,
        at: RunPosition,
    ) -> Result<(), EngineError> {
        for (point, ready) in unless_interrupted(launcher.start_companions())? {
            let invocation = plumb_machine::fresh_id();
            self.0.insert(point, invocation);
            let role = plan.companions.get(point).map_or(Role::Load, |it| it.role);
            stream.started(at, Started { invocation, point, role, position: 0, seed: 0, ready })?;
        }
        Ok(())
    }

    /// Hands on what they reported since the last time.
    pub fn collect(
        &self,
        launcher: &mut dyn Launcher,
        stream: &mut EventStream<'_>,
    ) -> Result<(), EngineError> {
        for (index, reply) in unless_interrupted(launcher.companions())? {
            let Some(&invocation) = self.0.get(&index) else { continue };
            stream.acknowledge(invocation, reply)?;
        }
        Ok(())
    }

    /// Tells that they have ended.
    pub fn end(self, stream: &mut EventStream<'_>) -> Result<(), EngineError> {
        self.0
            .into_values()
            .try_for_each(|invocation| stream.ended(invocation, end_of(Outcome::Done, 0, "")))
    }
}

/// What companions answered; nothing when a signal came, after which the loop ends by itself.
fn unless_interrupted<T>(answer: Result<Vec<T>, Refusal>) -> Result<Vec<T>, EngineError> {
    answer.or_else(|refusal| match refusal {
        Refusal::Unsupported { why, fix } => {
            Err(EngineError::Unsupported { why: format!("--with {why}"), fix })
        }
        Refusal::Failed(why) => Err(EngineError::Companion(format!("--with {why}"))),
        Refusal::Fatal(why) => Err(EngineError::Fatal(why)),
        Refusal::Interrupted => Ok(Vec::new()),
    })
}
