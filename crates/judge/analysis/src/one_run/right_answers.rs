//! How many known answers a run has checked, if none of them was wrong.

use plumb_model::{Outcome, Role, RunRecord};

/// The workload that checks answers, its metric for answers per second, and its metric for CPUs.
const WORKLOAD: &str = "cpu.answers";
const RATE: &str = "rate";
const CPUS: &str = "cpus";

/// Known answers that were all right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RightAnswers {
    /// Answers that were checked, those of warm-ups and of excluded invocations included.
    pub answers: f64,
    /// CPUs that computed them.
    pub cpus: f64,
}

impl RightAnswers {
    /// Answers of each CPU.
    #[must_use]
    pub fn answers_per_cpu(&self) -> f64 {
        self.answers / self.cpus.max(1.0)
    }

    /// The largest share of wrong answers of one CPU, to the inputs of this run, at which so many right ones in a row still have a
    /// probability of 5 %: the rule of three (Hanley and Lippman-Hand 1983).
    #[must_use]
    pub fn largest_share_wrong(&self) -> f64 {
        3.0 / self.answers_per_cpu()
    }

    /// Of a run; None if it has checked nothing, or if an invocation that did has failed.
    pub(crate) fn of(record: &RunRecord) -> Option<Self> {
        let mut answers = 0.0;
        let mut cpus = 0.0_f64;
        let checks = record.invocations.iter().filter(|invocation| {
            let planned = record.plan.points.get(invocation.point);
            invocation.role == Role::Workload
                && planned.is_some_and(|planned| planned.point.workload == WORKLOAD)
        });
        for invocation in checks {
            match invocation.end.as_ref().map(|end| &end.outcome) {
                Some(Outcome::Failed(_) | Outcome::WrongResult(_)) => return None,
                Some(Outcome::Done) => {}
                // Samples without an end were checked as well, but the point may still fail.
                Some(Outcome::Unsupported { .. }) | None => continue,
            }
            let samples = &invocation.samples;
            let iterations: u64 = samples.iterations.iter().sum();
            let each = invocation.ready.work.get(RATE).copied().unwrap_or(1.0);
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            {
                answers += iterations as f64 * each;
            }
            cpus = samples.values.get(CPUS).into_iter().flatten().copied().fold(cpus, f64::max);
        }
        (answers > 0.0).then_some(Self { answers, cpus })
    }
}

#[cfg(test)]
mod tests {
    use crate::summarise;
    use crate::testing::{Builder, COPY, Spec, fail};

    #[test]
    fn answers_are_counted_unless_one_is_wrong() {
        let spec = Spec { id: "cpu.answers", metric: "rate", unit: "answers/s", ..COPY };
        let answers = || {
            Builder::new(None).measured(&spec).invocations(|_, invocation| {
                invocation.ready.work.insert("rate".into(), 640.0);
                let count = invocation.samples.len();
                invocation.samples.values.insert("cpus".into(), vec![2.0; count]);
                // What is excluded was checked all the same.
                invocation.excluded_by = Some("steal".into());
            })
        };
        let record = answers().build();
        let iterations: u64 =
            record.invocations.iter().flat_map(|one| &one.samples.iterations).sum();
        let right = summarise(&record).right_answers.unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a small count")]
        let wanted = 640.0 * iterations as f64;
        assert!((right.answers - wanted).abs() < 0.5, "{right:?}");
        assert!((right.cpus - 2.0).abs() < 1e-9);
        assert!((right.largest_share_wrong() * wanted / 2.0 - 3.0).abs() < 1e-9);
        let wrong = answers().invocations(|index, invocation| {
            if index == 1 {
                fail(invocation, "CPU 1: 1 of 640 answers wrong", "");
            }
        });
        assert_eq!(summarise(&wrong.build()).right_answers, None);
        assert_eq!(summarise(&Builder::new(None).measured(&COPY).build()).right_answers, None);
    }
}
