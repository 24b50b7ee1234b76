//! What limits a point: parts of its work, each measured on its own in the same run.

use plumb_model::{
    MetricSource, PlannedPoint, Point, PossibleBottleneck, Role, RunRecord, Settings,
};

use crate::estimate::{Ends, Estimate};
use crate::one_run::bottleneck::{BottleneckFinding, PartOfWork};
use crate::one_run::curves::reciprocal;
use crate::one_run::finding::Finding;

/// Why there is no interval if a part has none.
const NO_INTERVAL: &str = "a part has no interval";

/// Of every point of which parts were measured in the same run, in the order of the results.
pub(crate) fn bottlenecks(results: &[Finding], record: &RunRecord) -> Vec<BottleneckFinding> {
    let mut found = Vec::new();
    for (result, finding) in results.iter().enumerate().filter(|(_, result)| result.primary) {
        let Some(planned) = record.plan.points.get(finding.point.index) else { continue };
        if planned.description.bottlenecks.is_empty() {
            continue;
        }
        if let Some(one) = bottleneck(result, results, planned, record) {
            found.push(one);
        }
    }
    found
}

fn bottleneck(
    result: usize,
    results: &[Finding],
    planned: &PlannedPoint,
    record: &RunRecord,
) -> Option<BottleneckFinding> {
    let finding = results.get(result)?;
    let first = record.good_invocations(finding.point.index).next()?;
    let work = first.ready.work.get(&finding.metric).copied().unwrap_or(1.0);
    let measured = time_s(finding, work, record)?;
    let mut parts = Vec::new();
    let mut missing = Vec::new();
    for possible in &planned.description.bottlenecks {
        let settings = possible.settings_for(&planned.point.settings, planned.far_end.is_some());
        let Some(settings) = settings else { continue };
        let other = results.iter().enumerate().find(|(_, other)| {
            other.target == finding.target
                && other.point.workload == possible.workload
                && other.metric == possible.metric
                && record.plan.points.get(other.point.index).is_some_and(|of| is_set(of, &settings))
                && is_at(other, planned, possible.is_local, record)
        });
        match other.and_then(|(index, other)| part(possible, index, other, work, record)) {
            Some(part) => parts.push(part),
            None => missing.push(possible.name.clone()),
        }
    }
    if parts.is_empty() {
        return None;
    }
    parts.sort_by(|one, other| other.time_s.value.total_cmp(&one.time_s.value));
    let predicted_s = predicted(&parts);
    Some(BottleneckFinding {
        result,
        bottleneck: longest_beyond_doubt(&parts),
        of_predicted: over(&predicted_s, &measured),
        predicted_s,
        parts,
        missing,
    })
}

/// Whether this is the point that its workload has with these settings, as people type them.
pub(super) fn is_set(planned: &PlannedPoint, settings: &Settings) -> bool {
    // The number of threads matters to none of them.
    let wanted = Point::new(&planned.description, settings, 1);
    wanted.is_ok_and(|wanted| wanted.settings == planned.point.settings)
}

/// Whether the server of a part is where that of its point is, or on this machine.
fn is_at(finding: &Finding, own: &PlannedPoint, is_local: bool, record: &RunRecord) -> bool {
    let Some(planned) = record.plan.points.get(finding.point.index) else { return false };
    let has_server = planned.description.can_be(Role::Server);
    let expected = own.far_end.as_ref().filter(|_| has_server && !is_local);
    planned.far_end.as_ref() == expected
}

/// A part's time for this much work, or for one operation if that comes first.
fn part(
    possible: &PossibleBottleneck,
    result: usize,
    finding: &Finding,
    work: f64,
    record: &RunRecord,
) -> Option<PartOfWork> {
    let is_first = possible.is_first;
    let time_s = time_s(finding, if is_first { 1.0 } else { work }, record)?;
    Some(PartOfWork { name: possible.name.clone(), result, time_s, is_first })
}

/// The time of so much work at a rate; a time is taken as it is.
fn time_s(finding: &Finding, work: f64, record: &RunRecord) -> Option<Estimate> {
    let planned = record.plan.points.get(finding.point.index)?;
    let shown = with_interval(finding);
    Some(match planned.description.metric(&finding.metric)?.source {
        MetricSource::Rate => reciprocal(&shown, work),
        MetricSource::Time | MetricSource::Value | MetricSource::Search => shown,
    })
}

/// A result with the interval that every output shows, or, if there is none, with that of the session, in which all parts
/// were measured.
pub(super) fn with_interval(finding: &Finding) -> Estimate {
    let shown = finding.shown();
    match shown.interval {
        Ok(_) => shown,
        Err(_) => finding.estimate.clone(),
    }
}

/// The time of those that come first, and the longest of the others.
fn predicted(parts: &[PartOfWork]) -> Estimate {
    let total = |time: &dyn Fn(&Estimate) -> Option<f64>| {
        let mut first = 0.0;
        let mut longest = 0.0_f64;
        for part in parts {
            let time = time(&part.time_s)?;
            match part.is_first {
                true => first += time,
                false => longest = longest.max(time),
            }
        }
        Some(first + longest)
    };
    let value = total(&|time| Some(time.value)).unwrap_or(0.0);
    let ends = total(&Estimate::low).zip(total(&Estimate::high));
    let interval = ends.map(|(low, high)| Ends { low, high });
    Estimate { value, interval: interval.ok_or_else(|| NO_INTERVAL.to_owned()) }
}

/// The first of these, which are sorted, unless the interval of another overlaps its own.
fn longest_beyond_doubt(parts: &[PartOfWork]) -> Option<usize> {
    let low = parts.first()?.time_s.low()?;
    let is_apart = |part: &PartOfWork| part.time_s.high().is_some_and(|high| high < low);
    parts[1..].iter().all(is_apart).then_some(0)
}

/// A ratio whose interval holds if both intervals do.
fn over(one: &Estimate, other: &Estimate) -> Estimate {
    let interval = match (&one.interval, &other.interval) {
        (Ok(above), Ok(below)) if below.low > 0.0 => {
            Ok(Ends { low: above.low / below.high, high: above.high / below.low })
        }
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        (Ok(_), Ok(_)) => Err("its interval includes zero".to_owned()),
    };
    Estimate { value: one.value / other.value, interval }
}

#[cfg(test)]
mod tests {
    use super::{longest_beyond_doubt, over, predicted, with_interval};
    use crate::estimate::{Ends, Estimate};
    use crate::one_run::bottleneck::PartOfWork;
    use crate::one_run::finding::Finding;
    use crate::summarise;
    use crate::testing::first_look;

    fn part(name: &str, time: f64, spread: f64, is_first: bool) -> PartOfWork {
        let interval = Ok(Ends { low: time * (1.0 - spread), high: time * (1.0 + spread) });
        let time_s = Estimate { value: time, interval };
        PartOfWork { name: name.into(), result: 0, time_s, is_first }
    }

    #[test]
    fn parts_that_overlap_take_the_time_of_the_longest() {
        let parts = [
            part("path", 4.0, 0.1, false),
            part("login", 1.0, 0.1, true),
            part("cipher", 0.5, 0.1, false),
        ];
        let found = predicted(&parts);
        assert_eq!(found.value, 5.0);
        let ends = found.interval.unwrap();
        assert!((ends.low - 4.5).abs() < 1e-9 && (ends.high - 5.5).abs() < 1e-9);
    }

    #[test]
    fn the_bottleneck_is_named_only_beyond_doubt() {
        let far = [part("path", 4.0, 0.1, false), part("cipher", 2.0, 0.1, false)];
        assert_eq!(longest_beyond_doubt(&far), Some(0));
        let near = [part("path", 4.0, 0.1, false), part("cipher", 3.5, 0.1, false)];
        assert_eq!(longest_beyond_doubt(&near), None);
        let mut unknown = far;
        unknown[1].time_s.interval = Err("too few processes".into());
        assert_eq!(longest_beyond_doubt(&unknown), None);
    }

    #[test]
    fn the_session_counts_if_it_was_too_noisy_for_the_machine() {
        let finding = &summarise(&first_look()).results[0];
        assert!(finding.estimate.interval.is_ok());
        let noisy = Finding { machine: Some(Err("too noisy".into())), ..finding.clone() };
        assert!(noisy.shown().interval.is_err());
        assert_eq!(with_interval(&noisy), finding.estimate);
        let machine = Ends { low: 1.0, high: 2.0 };
        let known = Finding { machine: Some(Ok(machine)), ..finding.clone() };
        assert_eq!(with_interval(&known).interval, Ok(machine));
    }

    #[test]
    fn a_ratio_without_an_end_has_no_interval() {
        let one = part("a", 1.0, 0.1, false).time_s;
        let other = part("b", 2.0, 0.1, false).time_s;
        let ends = over(&one, &other).interval.unwrap();
        assert!((ends.low - 0.9 / 2.2).abs() < 1e-9 && (ends.high - 1.1 / 1.8).abs() < 1e-9);
        let unknown = Estimate { value: 1.0, interval: Err("too few".into()) };
        assert_eq!(over(&one, &unknown).interval, Err("too few".into()));
    }
}
