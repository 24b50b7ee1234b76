//! A result next to parts of its work, each measured on its own in the same run: how much of the time each step adds.
//!
//! A part is the same work with another value of the parameter that the workload declares (a file in memory), a rung (a copy of
//! the bytes that TCP carries), or what a link carries at most. The time of a part is its share of the time of the whole, as in
//! [`share_of`]; a step is the difference between two neighbours. The interval of a step is MOVER as if the two were
//! independent. Both are divided by the same whole, and results of one run rise and fall together, so it is rather too wide.

use plumb_model::{Better, RunRecord};
use plumb_stats::Interval;

use crate::estimate::{Ends, Estimate};
use crate::one_run::bottlenecks::with_interval;
use crate::one_run::expectations::{best_of_others, ceiling_parameter, limit_of};
use crate::one_run::finding::Finding;
use crate::one_run::ladder::{Ladder, LadderRung};
use crate::one_run::rungs::{measured_part, multiplied};
use crate::one_run::share_of_baseline::{share, share_of};

/// The ladder of every result of a point that was asked for and of which a part was measured.
pub(crate) fn ladders(results: &[Finding], record: &RunRecord) -> Vec<Ladder> {
    let mut found = Vec::new();
    for (index, finding) in results.iter().enumerate() {
        let Some(planned) = record.plan.points.get(finding.point.index) else { continue };
        let is_first = planned.description.primary().is_some_and(|own| own.name == finding.metric);
        if !is_first || planned.is_ceiling || finding.better == Better::Neither {
            continue;
        }
        let parts = parts(finding, results, record);
        if !parts.is_empty() {
            found.push(Ladder { result: index, rungs: with_steps(parts, finding) });
        }
    }
    found
}

/// The parts that take less time than the whole, each with its time as a share of it.
fn parts(finding: &Finding, results: &[Finding], record: &RunRecord) -> Vec<LadderRung> {
    let Some(planned) = record.plan.points.get(finding.point.index) else { return Vec::new() };
    let whole = with_interval(finding);
    let mut parts = Vec::new();
    if let Some(free) = ceiling_parameter(&planned.description)
        && let Ok((best, setting)) = best_of_others(finding, free, results)
        && is_for_comparison(best, record)
    {
        let result = with_interval(best);
        let of_whole = share_of(&whole, &result, finding.better);
        parts.extend(of_whole.map(|of_whole| part(setting, result, of_whole)));
    }
    // A part is measured on this machine, so it says nothing of another one.
    for rung in planned.description.rungs.iter().filter(|_| planned.far_end.is_none()) {
        let Ok(measured) = measured_part(finding, planned, rung, results, record) else { continue };
        if !is_for_comparison(measured.finding, record) {
            continue;
        }
        let result = multiplied(&with_interval(measured.finding), measured.factor);
        let of_whole = share_of(&whole, &result, finding.better);
        parts.extend(of_whole.map(|of_whole| part(measured.name, result, of_whole)));
    }
    if let Some((name, value)) = limit_of(finding, record) {
        let exactly = Ends { low: value, high: value };
        let result = Estimate { value, interval: Ok(exactly) };
        let of_whole = share(&whole, value, finding.better);
        parts.extend(of_whole.map(|of_whole| part(name, result, of_whole)));
    }
    // What may take as long as the whole is no part of it.
    parts.retain(|part| part.of_whole.high().unwrap_or(part.of_whole.value) < 1.0);
    parts.sort_by(|one, other| one.of_whole.value.total_cmp(&other.of_whole.value));
    parts
}

/// Whether a point was measured only for comparison. Points that were asked for have curves and rankings.
fn is_for_comparison(finding: &Finding, record: &RunRecord) -> bool {
    record.plan.points.get(finding.point.index).is_some_and(|planned| planned.is_ceiling)
}

/// A part whose step is not known yet: as if nothing were below it.
fn part(name: String, result: Estimate, of_whole: Estimate) -> LadderRung {
    LadderRung { name, result, step: of_whole.clone(), of_whole }
}

/// These parts and the whole above them, each with its step.
fn with_steps(parts: Vec<LadderRung>, finding: &Finding) -> Vec<LadderRung> {
    let one = Estimate { value: 1.0, interval: Ok(Ends { low: 1.0, high: 1.0 }) };
    let whole = part(finding.point.name.clone(), with_interval(finding), one);
    let mut rungs: Vec<LadderRung> = Vec::new();
    for mut rung in parts.into_iter().chain([whole]) {
        if let Some(below) = rungs.last() {
            rung.step = difference(&rung.of_whole, &below.of_whole);
        }
        rungs.push(rung);
    }
    rungs
}

/// One share less another.
fn difference(one: &Estimate, other: &Estimate) -> Estimate {
    let ends = match (interval_of(one), interval_of(other)) {
        (Ok(one), Ok(other)) => {
            let difference = one.minus(&other);
            Ok(Ends { low: difference.low, high: difference.high })
        }
        (Err(why), _) | (_, Err(why)) => Err(why),
    };
    Estimate { value: one.value - other.value, interval: ends }
}

fn interval_of(estimate: &Estimate) -> Result<Interval, String> {
    let ends = estimate.interval.clone()?;
    Ok(Interval { estimate: estimate.value, low: ends.low, high: ends.high })
}

#[cfg(test)]
mod tests {
    use plumb_model::Better;
    use plumb_stats::distribution::two_sided_t;
    use plumb_stats::rng::Rng;

    use super::{Ends, Estimate, difference, share_of};

    /// Processes of each simulated result.
    const PROCESSES: u32 = 8;
    const SESSIONS: u32 = 1_000;

    /// The time of a result in a session: its processes differ by `noise`, and the session makes all results slower or faster by
    /// `common`.
    fn measured(truth: f64, noise: f64, common: f64, rng: &mut Rng) -> Estimate {
        let logs: Vec<f64> =
            (0..PROCESSES).map(|_| truth.ln() + common + noise * rng.normal()).collect();
        let count = f64::from(PROCESSES);
        let mean = logs.iter().sum::<f64>() / count;
        let squares = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        let error = (squares / (count - 1.0) / count).sqrt();
        let half = two_sided_t(0.95, count - 1.0) * error;
        let ends = Ends { low: (mean - half).exp(), high: (mean + half).exp() };
        Estimate { value: mean.exp(), interval: Ok(ends) }
    }

    fn covers(found: &Estimate, truth: f64) -> bool {
        found.interval.as_ref().is_ok_and(|ends| ends.low <= truth && truth <= ends.high)
    }

    /// Two parts that take 50 and 80 % of the time of the whole: the steps are 50, 30 and 20 %.
    #[test]
    fn the_interval_of_a_step_contains_the_truth_in_95_of_100_sessions() {
        let mut rng = Rng::new(7);
        for (noise, drift) in [(0.02, 0.0), (0.1, 0.0), (0.02, 0.1), (0.3, 0.2)] {
            let mut covered = [0; 3];
            for _ in 0..SESSIONS {
                let common = drift * rng.normal();
                let whole = measured(1.0, noise, common, &mut rng);
                let short = measured(0.5, noise, common, &mut rng);
                let long = measured(0.8, noise, common, &mut rng);
                let short = share_of(&whole, &short, Better::Lower).unwrap();
                let long = share_of(&whole, &long, Better::Lower).unwrap();
                let exactly = Ends { low: 1.0, high: 1.0 };
                let all = Estimate { value: 1.0, interval: Ok(exactly) };
                let steps = [
                    (&short, 0.5),
                    (&difference(&long, &short), 0.3),
                    (&difference(&all, &long), 0.2),
                ];
                for (count, (step, truth)) in covered.iter_mut().zip(steps) {
                    *count += u32::from(covers(step, truth));
                }
            }
            // 95 % less three standard errors of 1,000 sessions.
            assert!(covered.iter().all(|count| *count >= 929), "{noise} {drift}: {covered:?}");
        }
    }
}
