//! What comparisons of a program with itself say about a machine: METHOD 1.10.

use plumb_model::RunRecord;
use plumb_stats::audit::{detectable, noise_floor, share_interval};
use plumb_stats::describe::variance;
use plumb_stats::verdict::{Confidence, Schedule};

use crate::against::{against_first, log_ratios_of};
use crate::{CONFIDENCE, Ends, Verdict};

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
    /// Times a second that the scheduler took the CPU away from the work.
    pub preemptions_per_s: f64,
    /// From the first to the last comparison, the level changed by this share.
    pub drift: Option<f64>,
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
    /// Its interval.
    pub ends: Option<Ends>,
}

/// What comparisons of one point with itself show, in the order in which they were made.
#[must_use]
pub fn audit_class(class: &str, records: &[RunRecord]) -> ClassAudit {
    let compared: Vec<_> =
        records.iter().filter_map(|it| against_first(it).into_iter().next()).collect();
    let logs: Vec<Vec<f64>> = records.iter().filter_map(log_ratios_of).collect();
    let centres: Vec<f64> =
        compared.iter().filter_map(|it| Some(it.ratio.as_ref()?.value.ln())).collect();
    let wrong = |verdict: &Result<Verdict, String>| {
        matches!(verdict, Ok(Verdict::Faster | Verdict::Slower))
    };
    let wrong = compared.iter().filter(|it| wrong(&it.verdict)).count();
    let schedule = Schedule::Forty;
    let pairs = schedule.most_pairs();
    let pair_sd = variance(&logs.concat()).map(f64::sqrt);
    let share = share_interval(wrong as u64, centres.len() as u64, CONFIDENCE).ok();
    ClassAudit {
        class: class.to_owned(),
        point: compared.first().map_or_else(String::new, |it| it.first.name.clone()),
        comparisons: centres.len(),
        wrong,
        wrong_share: share.map(|share| Ends { low: share.low, high: share.high }),
        noise_floor: noise_floor(&centres).ok().map(f64::exp_m1),
        pair_sd: pair_sd.map(f64::exp_m1),
        detectable: pair_sd
            .map(|sd| detectable(sd, pairs, schedule.level(Confidence::NinetyFive)).exp_m1()),
        pairs,
        preemptions_per_s: preemptions(records),
        drift: drift(records),
    }
}

/// Whether this comparison found what was put in.
#[must_use]
pub fn audit_injected(share: f64, record: &RunRecord) -> Injected {
    let compared = against_first(record).into_iter().next();
    let ratio = compared.as_ref().and_then(|it| it.ratio.clone());
    Injected {
        share,
        verdict: compared.and_then(|it| it.verdict.ok()),
        ends: ratio.as_ref().and_then(|it| it.interval.clone().ok()),
        ratio: ratio.map(|it| it.value),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
fn preemptions(records: &[RunRecord]) -> f64 {
    let usage = || records.iter().flat_map(|it| &it.invocations).flat_map(|it| &it.usage);
    let switches: u64 = usage().map(|it| it.involuntary_switches).sum();
    let wall_ns: u64 = usage().map(|it| it.wall_ns).sum();
    switches as f64 / (wall_ns.max(1) as f64 * 1e-9)
}

/// The level of the last comparison over that of the first, less 1.
fn drift(records: &[RunRecord]) -> Option<f64> {
    let level = |record: &RunRecord| {
        let found = crate::summarise(record);
        found.results.into_iter().find(|it| it.primary).map(|it| it.estimate.value)
    };
    let (first, last) = (level(records.first()?)?, level(records.last()?)?);
    (records.len() > 1 && first > 0.0).then(|| last / first - 1.0)
}
