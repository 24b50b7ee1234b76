//! Checks of the events of a log before anything in them is used or stored: the machine that sent them may be broken or hostile.

use std::collections::BTreeMap;

use plumb_launch::{SampleShape, valid_ready};
use plumb_model::{
    Decision, Event, Id, Interference, Plan, Role, RunRecord, Samples, Stamped, Usage,
};
use plumb_protocol::SampleReply;

/// So many invocations may be open at once. Loads and servers are open next to the one that is measured.
const MOST_OPEN: usize = 4096;
/// An invocation has no more samples, which is the limit of the store.
const MOST_SAMPLES: usize = 1 << 20;
/// No count of a decision is larger.
const MOST_COUNTED: usize = 1 << 40;

/// The events of one log, in order.
#[derive(Debug)]
pub struct CheckedEvents {
    run: Id,
    next: u64,
    segment: u32,
    stage: LogStage,
    plan: Option<Box<Plan>>,
    /// The invocations that are open.
    open: BTreeMap<Id, OpenShape>,
    /// All measured invocations of the run so far, with whether they are excluded.
    measured: BTreeMap<Id, bool>,
}

/// How far a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogStage {
    /// The run has not begun.
    Empty,
    /// The next event begins a segment.
    Begun,
    /// The next event describes the machine.
    InSegment,
    /// Anything may come.
    Measuring,
    /// The run has ended.
    Ended,
}

/// What the samples of an open invocation have to look like.
#[derive(Debug)]
struct OpenShape {
    shape: SampleShape,
    samples: usize,
}

impl CheckedEvents {
    /// Of the log of this run, which has not begun, or of which so much is stored.
    #[must_use]
    pub fn of(run: Id, before: Option<&RunRecord>) -> Self {
        let Some(before) = before else {
            return Self {
                run,
                next: 0,
                segment: 0,
                stage: LogStage::Empty,
                plan: None,
                open: BTreeMap::new(),
                measured: BTreeMap::new(),
            };
        };
        let invocations = before.invocations.iter();
        Self {
            run,
            next: 0,
            segment: u32::try_from(before.segments.len()).unwrap_or(u32::MAX),
            stage: LogStage::Begun,
            plan: Some(Box::new(before.plan.clone())),
            open: BTreeMap::new(),
            measured: invocations
                .map(|known| (known.invocation, known.excluded_by.is_some()))
                .collect(),
        }
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
        if segment != self.segment {
            return Err(of_another_run());
        }
        match (self.stage, &stamped.event) {
            (LogStage::Empty, Event::RunStarted { run, plan, .. }) if *run == self.run => {
                self.plan = Some(plan.clone());
                self.stage = LogStage::Begun;
            }
            (LogStage::Begun, Event::SegmentStarted { run, segment, .. })
                if *run == self.run && *segment == self.segment =>
            {
                self.stage = LogStage::InSegment;
            }
            (
                LogStage::Empty | LogStage::Begun,
                Event::RunStarted { .. } | Event::SegmentStarted { .. },
            ) => {
                return Err(of_another_run());
            }
            (LogStage::InSegment, Event::TargetReady { target: 0, .. }) => {
                self.stage = LogStage::Measuring;
            }
            (LogStage::Measuring, Event::RunEnded { .. }) => self.stage = LogStage::Ended,
            (
                LogStage::Measuring,
                Event::RunStarted { .. } | Event::SegmentStarted { .. } | Event::TargetReady { .. },
            ) => return Err("the log begins a second time".to_owned()),
            (LogStage::Measuring, event) => self.while_measuring(event)?,
            (LogStage::Ended, _) => return Err("the log goes on after its end".to_owned()),
            _ => return Err("the log does not begin with its run, segment and machine".to_owned()),
        }
        self.next += 1;
        Ok(())
    }

    /// An event between the first and the last.
    fn while_measuring(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Unsupported(missing) => self.is_point(missing.point),
            Event::Progress { point, .. } => self.is_point(*point),
            Event::Decided(decision) => self.decision(decision),
            Event::RoundStarted { points, .. } => {
                points.iter().try_for_each(|point| self.is_point(*point))
            }
            Event::InvocationStarted {
                invocation, point, role, target, segment, ready, ..
            } => {
                valid_ready(ready).map_err(|refusal| refusal.to_string())?;
                if *target != 0 || *segment != self.segment {
                    return Err(of_another_run());
                }
                if self.open.contains_key(invocation) || self.measured.contains_key(invocation) {
                    return Err("the log starts an invocation twice".to_owned());
                }
                if self.open.len() >= MOST_OPEN {
                    return Err(format!("more than {MOST_OPEN} invocations are open"));
                }
                let plan = self.plan.as_ref();
                let planned = match role {
                    Role::Workload => plan.and_then(|plan| plan.points.get(*point)),
                    _ => plan
                        .and_then(|plan| plan.companions.get(*point))
                        .map(|companion| &companion.point),
                };
                let planned = planned.ok_or_else(|| unknown_point(*point))?;
                let shape = SampleShape::of(&planned.description, ready);
                self.open.insert(*invocation, OpenShape { shape, samples: 0 });
                self.measured.insert(*invocation, false);
                Ok(())
            }
            Event::Batch { invocation, samples, usage, .. } => {
                self.batch(*invocation, samples, usage)
            }
            Event::Monitored { invocation, interference, .. } => {
                let samples = self.open_invocation(*invocation)?.samples;
                let is_within =
                    |found: &Interference| found.first <= found.last && found.last <= samples;
                if interference.iter().all(is_within) { Ok(()) } else { Err(beyond_samples()) }
            }
            Event::InvocationEnded { invocation, end } => {
                let samples = self.open_invocation(*invocation)?.samples;
                if end.steady_start > samples {
                    return Err(beyond_samples());
                }
                self.open.remove(invocation);
                Ok(())
            }
            Event::Excluded { invocation, .. } => match self.measured.get_mut(invocation) {
                Some(is_excluded) if !*is_excluded => {
                    *is_excluded = true;
                    Ok(())
                }
                _ => Err("the log excludes an invocation that is not its own".to_owned()),
            },
            _ => Ok(()),
        }
    }

    fn decision(&self, decision: &Decision) -> Result<(), String> {
        self.is_point(decision.point)?;
        let mut counts = vec![decision.invocations, decision.samples];
        if let Some(compared) = &decision.compared {
            counts.push(compared.pairs);
            counts.extend(compared.pairs_needed);
        }
        if counts.iter().any(|count| *count > MOST_COUNTED) {
            return Err(format!("a decision counts more than {MOST_COUNTED}"));
        }
        Ok(())
    }

    fn batch(&mut self, invocation: Id, samples: &Samples, usage: &Usage) -> Result<(), String> {
        let open = self.open_invocation(invocation)?;
        open.samples += samples.len();
        if open.samples > MOST_SAMPLES {
            return Err(format!("an invocation has more than {MOST_SAMPLES} samples"));
        }
        let reply =
            SampleReply { samples: samples.clone(), usage: usage.clone(), flags: Vec::new() };
        open.shape.accept(reply).map(drop).map_err(|refusal| refusal.to_string())
    }

    fn open_invocation(&mut self, invocation: Id) -> Result<&mut OpenShape, String> {
        let open = self.open.get_mut(&invocation);
        open.ok_or_else(|| "the log is about an invocation that is not open".to_owned())
    }

    fn is_point(&self, point: usize) -> Result<(), String> {
        let is_planned = self.plan.as_ref().is_some_and(|plan| point < plan.points.len());
        if is_planned { Ok(()) } else { Err(unknown_point(point)) }
    }
}

fn of_another_run() -> String {
    "the log is of another run".to_owned()
}

fn unknown_point(point: usize) -> String {
    format!("the log has a point {point} that is not in its plan")
}

fn beyond_samples() -> String {
    "the log is about samples that it does not have".to_owned()
}

#[cfg(test)]
mod tests {
    use plumb_model::{
        AsJson, Decision, Environment, Event, Host, Id, Machine, Owner, Plan, Ready, Role, Samples,
        Stamped, Target, Usage,
    };
    use serde_json::json;

    use super::CheckedEvents;

    fn id(number: u64) -> Id {
        Id::from_u64_pair(7, number)
    }

    fn begin() -> Vec<Event> {
        let plan = Plan::of_json(json!({
            "suite": null, "points": [], "goal": {"strategy": "soak"}, "budget_ns": null, "seed": 0,
            "dir": "/"
        }));
        let machine = Machine { fingerprint: String::new(), facts: [].into() };
        let description = Target {
            name: "local".to_owned(),
            host: Host::UNKNOWN,
            machine,
            environment: Environment::default(),
        };
        vec![
            Event::RunStarted {
                run: id(1),
                started_unix_ns: 0,
                plumb: "1".to_owned(),
                command: Vec::new(),
                plan: Box::new(plan.unwrap()),
            },
            Event::SegmentStarted {
                run: id(1),
                segment: 0,
                started_unix_ns: 0,
                monotonic_ns: 0,
                owner: Owner { pid: 1, start_ticks: 0, boot_id: String::new() },
            },
            Event::TargetReady { target: 0, description: Box::new(description) },
        ]
    }

    /// What is said of the last of these events; all before are accepted.
    fn verdict(events: Vec<Event>) -> Result<(), String> {
        let mut checked = CheckedEvents::of(id(1), None);
        let last = events.len() as u64 - 1;
        for (ordinal, event) in events.into_iter().enumerate() {
            let ordinal = ordinal as u64;
            let accepted = checked.accept(0, ordinal, &Stamped { at_ns: 0, event });
            if ordinal == last {
                return accepted;
            }
            accepted.unwrap();
        }
        Ok(())
    }

    fn after_begin(event: Event) -> Result<(), String> {
        verdict(begin().into_iter().chain([event]).collect())
    }

    fn log() -> Event {
        Event::Log { text: "x".to_owned() }
    }

    #[test]
    fn a_log_begins_with_run_segment_and_machine_and_ends_once() {
        assert_eq!(verdict(begin()), Ok(()));
        assert_eq!(after_begin(log()), Ok(()));
        let first = begin();
        for (index, event) in [(0, log()), (1, log()), (2, log()), (1, first[0].clone())] {
            let mut events = begin();
            events.truncate(index);
            events.push(event);
            assert!(verdict(events).is_err(), "{index}");
        }
        for event in first {
            assert!(after_begin(event).is_err());
        }
        let end = Event::RunEnded { ended_unix_ns: 0, interrupted: false };
        assert_eq!(after_begin(end.clone()), Ok(()));
        assert!(verdict(begin().into_iter().chain([end, log()]).collect()).is_err());
    }

    #[test]
    fn what_is_not_of_this_run_is_refused() {
        let decision = Decision {
            point: 0,
            invocations: 0,
            samples: 0,
            look: None,
            stop: None,
            wanted: None,
            remaining_ns: None,
            compared: None,
            outlook: None,
        };
        let started = Event::InvocationStarted {
            invocation: id(2),
            point: 0,
            role: Role::Workload,
            round: 0,
            position: 0,
            segment: 0,
            target: 0,
            seed: 0,
            ready: Box::new(Ready::default()),
        };
        let batch = Event::Batch {
            invocation: id(2),
            samples: Box::new(Samples::default()),
            usage: Usage::default(),
            flags: Vec::new(),
        };
        for (event, why) in [
            (Event::Decided(Box::new(decision)), "a point 0 that is not in its plan"),
            (started, "a point 0 that is not in its plan"),
            (batch, "an invocation that is not open"),
            (
                Event::Excluded { invocation: id(2), by: "steal".to_owned() },
                "excludes an invocation that is not its own",
            ),
            (Event::RoundStarted { round: 0, points: vec![3] }, "a point 3"),
        ] {
            let error = after_begin(event).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
