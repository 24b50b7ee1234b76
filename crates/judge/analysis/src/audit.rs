//! What comparisons of a program with itself say about a machine: docs/method.md, *Audit*.

use plumb_model::{RunRecord, Usage, Verdict};
use plumb_stats::audit::{
    BuildEstimate, BuildSpread, build_spread, detectable, noise_floor, share_interval,
};
use plumb_stats::components::{Components, components};
use plumb_stats::describe::variance;
use plumb_stats::long_run::long_run;
use plumb_stats::outlook::pair_scale;
use plumb_stats::verdict::{Confidence, LookSchedule};

use crate::comparison::pairs::{against_first, log_ratios_of};
use crate::estimate::Ends;
use crate::method::CONFIDENCE;
use crate::one_run::summarise::summarise;

/// What one kind of work shows of the machine's noise.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassAudit {
    /// The kind of work: `cpu`, `memory`, `scheduler`, `process`.
    pub class: String,
    /// The point that was compared with itself.
    pub point: String,
    /// Comparisons that gave a ratio.
    pub comparisons: usize,
    /// Those that called it faster or slower than itself.
    pub wrong: usize,
    /// Interval of the share of wrong ones.
    pub wrong_share: Option<Ends>,
    /// The largest relative difference that a comparison of equals showed, at 95 %; None with too few.
    pub noise_floor: Option<f64>,
    /// Relative deviation of one pair.
    pub pair_sd: Option<f64>,
    /// The smallest relative change that all pairs of a comparison show four times in five.
    pub detectable: Option<f64>,
    /// Pairs that `detectable` speaks of.
    pub pairs: usize,
    /// Where the noise comes from; None with too few samples.
    pub levels: Option<VarianceComponents>,
    /// Times a second that the scheduler took the CPU away from the work.
    pub preemptions_per_s: f64,
    /// Page faults a second during the work.
    pub faults_per_s: f64,
    /// From the first to the last comparison, the level changed by this share.
    pub drift: Option<f64>,
}

/// Relative deviations at every level of repetition: docs/method.md, *Variance components*.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarianceComponents {
    /// Of samples within a process.
    pub samples: f64,
    /// Of processes, beyond what their samples explain.
    pub processes: f64,
    /// Of the levels of whole comparisons; None with fewer than two.
    pub comparisons: Option<f64>,
    /// Samples in a row that tell as much as one independent one.
    pub tau: f64,
}

/// Whether a slow-down that was put in on purpose was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Injected {
    /// The relative slow-down.
    pub share: f64,
    /// What the comparison said.
    pub verdict: Option<Verdict>,
    /// The ratio that it found.
    pub ratio: Option<f64>,
    /// Ends of the interval of that ratio; None if there is no interval.
    pub ends: Option<Ends>,
}

/// What comparisons of one point with itself show, in the order in which they were made.
#[must_use]
pub fn audit_class(class: &str, records: &[RunRecord]) -> ClassAudit {
    let compared: Vec<_> =
        records.iter().filter_map(|record| against_first(record).into_iter().next()).collect();
    let logs: Vec<Vec<f64>> = records.iter().filter_map(log_ratios_of).collect();
    let centres: Vec<f64> = compared
        .iter()
        .filter_map(|comparison| Some(comparison.found.ratio.as_ref()?.value.ln()))
        .collect();
    // Both sides are one point: every difference that was found is wrong.
    let wrong = compared
        .iter()
        .filter(|comparison| {
            matches!(comparison.found.verdict, Ok(Verdict::Faster | Verdict::Slower))
        })
        .count();
    let schedule = LookSchedule::Forty;
    let pairs = schedule.most_pairs();
    let pair_sd = variance(&logs.concat()).map(f64::sqrt);
    let share = share_interval(wrong as u64, centres.len() as u64, CONFIDENCE).ok();
    ClassAudit {
        class: class.to_owned(),
        point: compared
            .first()
            .map_or_else(String::new, |comparison| comparison.first.name.clone()),
        comparisons: centres.len(),
        wrong,
        wrong_share: share.map(|share| Ends { low: share.low, high: share.high }),
        noise_floor: noise_floor(&centres).ok().map(f64::exp_m1),
        pair_sd: pair_sd.map(f64::exp_m1),
        detectable: pair_sd.map(|sd| {
            detectable(sd, pairs, schedule.level(Confidence::NinetyFive, pairs)).exp_m1()
        }),
        pairs,
        levels: levels(records),
        preemptions_per_s: per_second(records, |usage| usage.involuntary_switches),
        faults_per_s: per_second(records, |usage| usage.minor_faults + usage.major_faults),
        drift: drift(records),
    }
}

/// The fewest relinked copies that give a figure of their own.
pub const FEWEST_LINKS: usize = 10;

/// How far copies of one program differ that are linked again.
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutAudit {
    /// Copies whose comparison with the first gave a ratio.
    pub links: usize,
    /// Those that were called faster or slower.
    pub told_apart: usize,
    /// The ratio that is farthest from 1.
    pub largest: Option<f64>,
    /// The interval of that ratio.
    pub ends: Option<Ends>,
    /// The largest relative difference of one more copy, at 95 %; None if [`Self::no_effect`] says why.
    pub effect: Option<f64>,
    /// Why there is no bound.
    pub no_effect: Option<NoLayoutEffect>,
}

/// Why an audit gives no bound for relinked copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLayoutEffect {
    /// It had fewer than [`FEWEST_LINKS`] copies.
    FewCopies,
    /// Noise explains all differences, and is so large that a bound would say nothing of builds.
    Noise,
}

/// How far relinked copies differ, or why there are none.
#[derive(Debug, Clone, PartialEq)]
pub enum LayoutFinding {
    /// Copies were compared.
    Measured(LayoutAudit),
    /// No copy could be linked, for this reason.
    Unsupported(String),
}

/// A bound that is due to noise is published up to here: builds commonly differ by less.
const LARGEST_NOISE_BOUND: f64 = 0.05;

/// What comparisons of one program with relinked copies of it show.
#[must_use]
pub fn audit_layout(records: &[RunRecord]) -> LayoutAudit {
    let mut ratios = Vec::new();
    let mut builds = Vec::new();
    let mut told_apart = 0;
    for record in records {
        let Some(comparison) = against_first(record).into_iter().next() else { continue };
        if matches!(comparison.found.verdict, Ok(Verdict::Faster | Verdict::Slower)) {
            told_apart += 1;
        }
        let scale = log_ratios_of(record).and_then(|logs| Some((pair_scale(&logs)?, logs.len())));
        if let (Some(ratio), Some((scale, pairs))) = (&comparison.found.ratio, scale) {
            builds.push(build_estimate(ratio.value.ln(), scale, pairs));
        }
        ratios.extend(comparison.found.ratio);
    }
    let effect = layout_effect(&builds);
    let largest = ratios.iter().max_by(|a, b| a.value.ln().abs().total_cmp(&b.value.ln().abs()));
    LayoutAudit {
        links: ratios.len(),
        told_apart,
        largest: largest.map(|ratio| ratio.value),
        ends: largest.and_then(|ratio| ratio.interval.clone().ok()),
        effect: effect.ok(),
        no_effect: effect.err(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn build_estimate(log_ratio: f64, scale: f64, pairs: usize) -> BuildEstimate {
    BuildEstimate { log_ratio, error: scale / (pairs as f64).sqrt(), pairs }
}

fn layout_effect(builds: &[BuildEstimate]) -> Result<f64, NoLayoutEffect> {
    if builds.len() < FEWEST_LINKS {
        return Err(NoLayoutEffect::FewCopies);
    }
    match build_spread(builds) {
        Ok(BuildSpread::BeyondNoise(log)) => Ok(log.exp_m1()),
        Ok(BuildSpread::WithinNoise(log)) if log.exp_m1() <= LARGEST_NOISE_BOUND => {
            Ok(log.exp_m1())
        }
        _ => Err(NoLayoutEffect::Noise),
    }
}

/// Whether this comparison found what was put in.
#[must_use]
pub fn audit_injected(share: f64, record: &RunRecord) -> Injected {
    let compared = against_first(record).into_iter().next();
    let ratio = compared.as_ref().and_then(|comparison| comparison.found.ratio.clone());
    Injected {
        share,
        verdict: compared.and_then(|comparison| comparison.found.verdict.ok()),
        ends: ratio.as_ref().and_then(|ratio| ratio.interval.clone().ok()),
        ratio: ratio.map(|ratio| ratio.value),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
fn per_second(records: &[RunRecord], count: fn(&Usage) -> u64) -> f64 {
    let usage = || {
        records
            .iter()
            .flat_map(|record| &record.invocations)
            .flat_map(|invocation| &invocation.usage)
    };
    let counted: u64 = usage().map(count).sum();
    let wall_ns: u64 = usage().map(|usage| usage.wall_ns).sum();
    counted as f64 / (wall_ns.max(1) as f64 * 1e-9)
}

/// The noise of every level. Both sides of a comparison are equals, so all its processes are alike; from one
/// comparison to the next the machine may move, so variances are taken inside each and averaged.
fn levels(records: &[RunRecord]) -> Option<VarianceComponents> {
    let processes: Vec<Vec<Vec<f64>>> = records.iter().map(log_costs).collect();
    let found: Vec<Components> = processes
        .iter()
        .filter_map(|logs| components(&logs.iter().map(Vec::as_slice).collect::<Vec<_>>()).ok())
        .collect();
    let taus: Vec<f64> = processes
        .iter()
        .flatten()
        .filter_map(|logs| Some(long_run(logs).ok()?.tau.max(1.0)))
        .collect();
    let deviation = |variances: Vec<f64>| Some(mean(&variances)?.sqrt().exp_m1());
    let centres: Vec<f64> = records
        .iter()
        .filter_map(|record| Some(level(record)?.ln()))
        .filter(|log| log.is_finite())
        .collect();
    Some(VarianceComponents {
        samples: deviation(found.iter().map(|deviations| deviations.within).collect())?,
        processes: deviation(found.iter().map(|deviations| deviations.between).collect())?,
        comparisons: variance(&centres).map(|variance| variance.sqrt().exp_m1()),
        tau: mean(&taus)?,
    })
}

/// Logarithms of the steady costs of every process.
fn log_costs(record: &RunRecord) -> Vec<Vec<f64>> {
    let Some(plan) = record.plan.comparison() else { return Vec::new() };
    let points = record.plan.points.iter().enumerate();
    let costs = points.flat_map(|(index, planned)| {
        record
            .good_invocations(index)
            .filter_map(|invocation| invocation.costs(planned, plan.metric))
    });
    costs.map(|costs| costs.iter().map(|cost| cost.ln()).collect()).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn level(record: &RunRecord) -> Option<f64> {
    let found = summarise(record);
    found.results.into_iter().find(|result| result.primary).map(|result| result.estimate.value)
}

/// The level of the last comparison over that of the first, less 1.
fn drift(records: &[RunRecord]) -> Option<f64> {
    let first = level(records.first()?)?;
    let last = level(records.last()?)?;
    (records.len() > 1 && first > 0.0).then(|| last / first - 1.0)
}
