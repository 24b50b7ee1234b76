//! Checks of the events of a log before anything in them is used or stored: the machine that sent them may be broken or hostile.

use std::collections::BTreeMap;

use plumb_launch::{SampleShape, valid_ready};
use plumb_model::{Event, Id, Plan, Role, Samples, Stamped, Usage};
use plumb_protocol::SampleReply;

/// So many invocations may be open at once. Loads and servers are open next to the one that is measured.
const MOST_OPEN: usize = 4096;

/// The events of one log, in order.
#[derive(Debug)]
pub struct CheckedEvents {
    run: Id,
    next: u64,
    segment: u32,
    plan: Option<Box<Plan>>,
    /// What the samples of open invocations have to look like.
    open: BTreeMap<Id, SampleShape>,
}

impl CheckedEvents {
    /// Of the log of this run; a run that is completed has its plan already.
    #[must_use]
    pub fn of(run: Id, plan: Option<Plan>) -> Self {
        Self { run, next: 0, segment: 0, plan: plan.map(Box::new), open: BTreeMap::new() }
    }

    /// Whether this event may come now.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn accept(&mut self, segment: u32, ordinal: u64, stamped: &Stamped) -> Result<(), String> {
        if ordinal != self.next {
            return Err(format!(
                "event {ordinal} of the log came where {} was expected",
                self.next
            ));
        }
        match &stamped.event {
            Event::RunStarted { run, plan, .. } => {
                if *run != self.run || self.plan.is_some() {
                    return Err(of_another_run());
                }
                self.plan = Some(plan.clone());
            }
            Event::SegmentStarted { run, segment, .. } => {
                if *run != self.run {
                    return Err(of_another_run());
                }
                self.segment = *segment;
            }
            event => self.within_run(event)?,
        }
        if segment != self.segment {
            return Err(of_another_run());
        }
        self.next += 1;
        Ok(())
    }

    /// An event between the first and the last.
    fn within_run(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Unsupported(missing) => self.is_point(missing.point),
            Event::Progress { point, .. } => self.is_point(*point),
            Event::Decided(decision) => self.is_point(decision.point),
            Event::RoundStarted { points, .. } => {
                points.iter().try_for_each(|point| self.is_point(*point))
            }
            Event::InvocationStarted { invocation, point, role, target, ready, .. } => {
                valid_ready(ready).map_err(|refusal| refusal.to_string())?;
                if *target != 0 {
                    return Err(format!("the log has a target {target}; it is of one machine"));
                }
                if self.open.len() >= MOST_OPEN {
                    return Err(format!("more than {MOST_OPEN} invocations are open"));
                }
                let planned = match role {
                    Role::Workload => self.plan.as_ref().and_then(|plan| plan.points.get(*point)),
                    _ => self
                        .plan
                        .as_ref()
                        .and_then(|plan| plan.companions.get(*point))
                        .map(|companion| &companion.point),
                };
                let planned = planned.ok_or_else(|| {
                    format!("the log has a point {point} that is not in its plan")
                })?;
                let shape = SampleShape::of(&planned.description, ready);
                self.open.insert(*invocation, shape);
                Ok(())
            }
            Event::Batch { invocation, samples, usage, .. } => {
                self.batch(*invocation, samples, usage)
            }
            Event::InvocationEnded { invocation, .. } => {
                self.open.remove(invocation);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn batch(&mut self, invocation: Id, samples: &Samples, usage: &Usage) -> Result<(), String> {
        let shape = self
            .open
            .get_mut(&invocation)
            .ok_or_else(|| "the log has samples of an invocation that is not open".to_owned())?;
        let reply =
            SampleReply { samples: samples.clone(), usage: usage.clone(), flags: Vec::new() };
        shape.accept(reply).map(drop).map_err(|refusal| refusal.to_string())
    }

    fn is_point(&self, point: usize) -> Result<(), String> {
        let is_planned = self.plan.as_ref().is_some_and(|plan| point < plan.points.len());
        if is_planned {
            return Ok(());
        }
        Err(format!("the log has a point {point} that is not in its plan"))
    }
}

fn of_another_run() -> String {
    "the log is of another run".to_owned()
}
