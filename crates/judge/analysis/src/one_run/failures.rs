//! What could not be measured, what failed and what was never reached.

use plumb_model::{InvocationRecord, Outcome, Role, RunRecord};

use crate::comparison::ends::ends;
use crate::facts::{PointFacts, point_facts};
use crate::one_run::finding::{AcceptedFailures, FailedInvocations, Unsupported};
use crate::one_run::point_data::PointData;

/// Points that can't be measured here, each reason once.
pub(crate) fn unsupported(record: &RunRecord) -> Vec<Unsupported> {
    let stated = record.unsupported.iter().map(|m| (m.point, m.why.as_str(), m.fix.as_str()));
    let found = measured(record).filter_map(|invocation| match &invocation.end.as_ref()?.outcome {
        Outcome::Unsupported { why, fix } => Some((invocation.point, why.as_str(), fix.as_str())),
        Outcome::Done | Outcome::Failed(_) | Outcome::WrongResult(_) => None,
    });
    let mut all: Vec<Unsupported> = Vec::new();
    for (index, why, fix) in stated.chain(found) {
        let known = all.iter().any(|u| u.point.index == index && u.why == why);
        if let (Some(planned), false) = (record.plan.points.get(index), known) {
            let point = point_facts(index, planned);
            all.push(Unsupported { point, why: why.to_owned(), fix: fix.to_owned() });
        }
    }
    all.sort_by_key(|unsupported| unsupported.point.index);
    all
}

/// Invocations that failed, joined by point and reason.
pub(crate) fn failed(record: &RunRecord) -> Vec<FailedInvocations> {
    let mut all: Vec<FailedInvocations> = Vec::new();
    for invocation in measured(record) {
        let Some(end) = &invocation.end else { continue };
        let Some(why) = end.outcome.failure() else { continue };
        let Some(planned) = record.plan.points.get(invocation.point) else { continue };
        let known = all.iter_mut().find(|f| f.point.index == invocation.point && f.why == why);
        if let Some(failure) = known {
            failure.times += 1;
            failure.log.clone_from(&end.log);
            continue;
        }
        all.push(FailedInvocations {
            point: point_facts(invocation.point, planned),
            why: why.to_owned(),
            times: 1,
            of: measured(record).filter(|other| other.point == invocation.point).count(),
            log: end.log.clone(),
        });
    }
    all.sort_by_key(|failure| failure.point.index);
    all
}

/// Points of which some processes failed, and count all the same.
pub(crate) fn accepted(data: &[PointData]) -> Vec<AcceptedFailures> {
    let mut found = Vec::new();
    for point in data {
        let ends = ends(point.invocations.iter().copied());
        if ends.has_failures() {
            found.push(AcceptedFailures { point: point_facts(point.index, point.planned), ends });
        }
    }
    found
}

/// Metrics that have no finding because a value of theirs is infinite or no number.
pub(crate) fn no_numbers(data: &[PointData]) -> Vec<FailedInvocations> {
    let metrics = data
        .iter()
        .flat_map(|data| data.planned.description.metrics.iter().map(move |metric| (data, metric)));
    metrics
        .filter_map(|(data, metric)| {
            let nonsense = |i: &&&InvocationRecord| {
                i.steady(metric).is_some_and(|values| values.iter().any(|v| !v.is_finite()))
            };
            let times = data.invocations.iter().filter(nonsense).count();
            (times > 0).then(|| FailedInvocations {
                point: point_facts(data.index, data.planned),
                why: format!("metric `{}` has a value that is not a number", metric.name),
                times,
                of: data.invocations.len(),
                log: String::new(),
            })
        })
        .collect()
}

/// Planned points of which nothing is known: no invocation that ended, and no reason.
pub(crate) fn not_reached(record: &RunRecord) -> Vec<PointFacts> {
    let known = |index: usize| {
        record.unsupported.iter().any(|missing| missing.point == index)
            || measured(record).any(|i| i.point == index && i.end.is_some())
    };
    let points = record.plan.points.iter().enumerate();
    points.filter(|(index, _)| !known(*index)).map(|(i, planned)| point_facts(i, planned)).collect()
}

fn measured(record: &RunRecord) -> impl Iterator<Item = &InvocationRecord> {
    record.invocations.iter().filter(|invocation| invocation.role == Role::Workload)
}
