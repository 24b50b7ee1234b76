//! What is read beside invocations, and which of them something else spoiled.

use plumb_model::{
    Event, Goal, Id, Interference, InvocationRecord, OnInterference, Plan, Readings, Samples,
};
use plumb_monitors::Recorder;
use plumb_monitors::interference;

use crate::run::{EngineError, Runner};

/// Reads counters beside invocations: monitors on this machine, made-up ones in tests.
pub trait Watch {
    /// A process is ready to be measured at a point of the plan; its number where it is known.
    fn begin(&mut self, point: usize, worker: Option<u32>);

    /// Its samples are taken: what was read meanwhile.
    fn end(&mut self) -> Readings;
}

impl Watch for Recorder {
    fn begin(&mut self, _: usize, worker: Option<u32>) {
        Recorder::begin(self, worker);
    }

    fn end(&mut self) -> Readings {
        Recorder::end(self)
    }
}

impl Runner<'_> {
    /// Tells what was read beside an invocation and what that says; a monitor that fails is told once.
    pub(crate) fn monitored(
        &mut self,
        invocation: Id,
        readings: Readings,
        samples: &Samples,
    ) -> Result<Vec<Interference>, EngineError> {
        for gap in &readings.gaps {
            if self.gaps.insert(gap.monitor.clone()) {
                self.log(format!("monitor {} has a gap: {}", gap.monitor, gap.why))?;
            }
        }
        let found = interference::find(&readings);
        let found: Vec<_> = found.iter().map(|it| interference::touched(it, samples)).collect();
        if !readings.traces.is_empty() {
            let (readings, interference) = (Box::new(readings), found.clone());
            self.emit(Event::Monitored { invocation, readings, interference })?;
        }
        Ok(found)
    }

    /// The invocations of a round become part of what is known, but for those that are excluded.
    pub(crate) fn settle_round(&mut self) -> Result<(), EngineError> {
        let round = std::mem::take(&mut self.unsettled);
        for (record, by) in round.iter().zip(exclusions(self.plan, &round)) {
            match by {
                Some(by) => {
                    self.history.points[record.point].excluded += 1;
                    self.emit(Event::Excluded { invocation: record.invocation, by })?;
                }
                None => self.history.points[record.point].add(self.plan, record),
            }
        }
        Ok(())
    }
}

/// The rules by which each invocation of a round does not count. Where sides are compared, a neighbour
/// that disturbs all of a round is no reason to repeat it: one that was there for some of it could be
/// taken for a difference between the sides, and then the whole round goes (docs/method.md, *Order*).
fn exclusions(plan: &Plan, round: &[InvocationRecord]) -> Vec<Option<String>> {
    let rules = |record: &InvocationRecord| {
        let rules: Vec<&str> = record.interference.iter().map(|it| it.rule.as_str()).collect();
        rules.join(", ")
    };
    let rules: Vec<String> = round.iter().map(rules).collect();
    let by = |own: &String| (!own.is_empty()).then(|| own.clone());
    match (plan.on_interference, &plan.goal) {
        (OnInterference::Keep, _) => vec![None; round.len()],
        (OnInterference::Retry, Goal::Verdict { .. }) => {
            let all_alike = rules.windows(2).all(|pair| pair[0].is_empty() == pair[1].is_empty());
            let partner = || Some("the other side's".to_owned());
            let one = |own: &String| if all_alike { None } else { by(own).or_else(partner) };
            rules.iter().map(one).collect()
        }
        (OnInterference::Retry, _) => rules.iter().map(by).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::Watch;
    use plumb_machine::Root;
    use plumb_monitors::{Recorder, wanted};

    #[test]
    fn a_recorder_watches() {
        let wanted = wanted(&["none".into(), "stat".into()]).unwrap();
        let mut recorder = Recorder::start(&Root::default(), &wanted);
        let watch: &mut dyn Watch = &mut recorder;
        watch.begin(0, None);
        assert!(watch.end().trace("stat.procs_running").is_some());
    }
}
