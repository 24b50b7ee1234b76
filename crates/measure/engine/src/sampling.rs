//! How many samples an invocation takes, and where its steady state begins.
//!
//! docs/method.md, *Samples*, *Warm-up* and *Variance components*. The pilot is three processes of 40 samples,
//! down to 5 if samples are long.

use plumb_model::{ClockSource, Plan, PlannedPoint, SampleIs, Samples, Sampling, StoppingRules};
use plumb_stats::batch::{self, batch_floor_ns};
use plumb_stats::components::{components, samples_per_process};
use plumb_stats::precision::PILOT;
use plumb_stats::rng::Rng;
use plumb_stats::warmup::{WarmupClass, fixed_discard, steady_state};

use crate::history::PointHistory;

/// Version of the method that finds where steady state begins; stored with its result.
pub const METHOD: u32 = 1;

/// Samples last about this long unless the clock needs more: long enough to hide reading the clock,
/// short enough that 40 of them are quick.
const SAMPLE_NS: u64 = 1_000_000;
/// Native code is given this long before a sample counts.
const DISCARD_NS: u64 = 100_000_000;
/// A sample longer than this counts as long: fewer are taken.
const LONG_SAMPLE_NS: u64 = 50_000_000;
/// A sample as long as this contains its warm-up, of which [`DISCARD_NS`] is a twentieth, and is a whole invocation: more of them in one
/// process would tell less than more processes.
const WHOLE_SAMPLE_NS: u64 = 2_000_000_000;
/// The same in a search, whose invocations are short: of such a sample, [`DISCARD_NS`] is a fifth.
const LONE_SAMPLE_NS: u64 = 500_000_000;
/// Samples of a pilot invocation.
const PILOT_SAMPLES: usize = 40;
/// The fewest of them, if samples are long; also the fewest of any later invocation.
const PILOT_LONG_SAMPLES: usize = 5;
/// Fewest samples of an invocation, if they are long.
const FEWEST_LONG_SAMPLES: usize = 3;
/// Samples of one invocation last no longer than this together, unless the fewest do: a round over all
/// points must stay short, since processes, not samples, are what narrows an interval in the end.
const MOST_SAMPLING_NS: u64 = 250_000_000;
/// The same for an invocation of the pilot.
const MOST_PILOT_NS: u64 = 400_000_000;
/// The most samples that are thrown away before the first that counts, and the most after it: their
/// columns then fit into one line of the protocol. Also what bounds the trust in a workload that says
/// that its samples take no time.
const MOST_DISCARDED: u64 = 10_000;
const MOST_KEPT: usize = 40_000;
/// The most samples of an invocation whose length is stated: each may carry histograms.
const MOST_STATED: u64 = 500;
/// Fresh processes that one worker starts, if a sample is a process: no longer than this together.
const PROCESS_BATCH_NS: u64 = 100_000_000;
/// The most fresh processes that one worker starts.
const PROCESS_BATCH: u64 = 10;
/// A fresh process shorter than this is preceded by some that do not count: what came between (the
/// store's commit, the worker's own start, an idle CPU) has cooled the caches. Of /bin/true the first read
/// 1.20 to 1.30 times a bare loop of posix_spawn and wait4, the second 1.08 to 1.13, the third 1.05 to 1.07,
/// later ones 1.02 (`make bench`).
const SHORT_PROCESS_NS: u64 = 20_000_000;
/// They last about this long together, and are no more than these.
const WARMING_NS: u64 = 3_000_000;
const MOST_WARMING: u64 = 3;

/// Wanted length of one sample, in nanoseconds.
pub fn target_ns(planned: &PlannedPoint, clock: Option<&ClockSource>) -> u64 {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a clock's step")]
    let floor = clock.map_or(0, |clock| {
        batch_floor_ns(batch::ClockCost {
            resolution_ns: clock.resolution_ns as f64,
            overhead_ns: clock.overhead_ns as f64,
        })
    });
    // In a sample shorter than the floor the clock's own step and cost would show in the result.
    let wanted = planned.sample_ns.unwrap_or(SAMPLE_NS).max(floor);
    match planned.sampling {
        Some(Sampling::Batch { length_ns } | Sampling::Short { length_ns }) => {
            wanted.max(length_ns / MOST_STATED)
        }
        Some(Sampling::Stream { .. }) | None => wanted,
    }
}

/// The samples of the next invocation of a point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// Samples before the first that may count.
    pub discard: usize,
    /// Samples after them.
    pub keep: usize,
}

impl SampleCounts {
    /// Iterations of every sample: k with its jitter.
    pub fn iterations(self, k: u64, rng: &mut Rng) -> Vec<u64> {
        // One iteration can't be varied by a tenth, and takes no random number.
        let samples = 0..self.discard + self.keep;
        samples.map(|_| if k == 1 { 1 } else { batch::jitter(k, rng) }).collect()
    }
}

/// How many fresh processes the next worker starts, when one lasts `sample_ns`. Where commands are
/// compared, a worker starts one at a time, so that each round is a pair; and never more than are
/// still wanted.
pub fn process_counts(
    plan: &Plan,
    planned: &PlannedPoint,
    known: &PointHistory,
    sample_ns: u64,
) -> SampleCounts {
    let batch = if plan.against_first {
        1
    } else {
        count((PROCESS_BATCH_NS / sample_ns.max(1)).clamp(1, PROCESS_BATCH))
    };
    let enough = match plan.rules_of(planned) {
        // With neither a precision nor a least time, the point ends at the minimum: more would be thrown away.
        Some(StoppingRules { precision: None, min_time_ns: 0, min_invocations, .. }) => {
            min_invocations
        }
        Some(rules) => rules.max_invocations.unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    let wanted = enough.saturating_sub(known.processes.len()).max(1);
    let warming = count((WARMING_NS / sample_ns.max(1)).clamp(1, MOST_WARMING));
    let discard = if sample_ns < SHORT_PROCESS_NS { warming } else { 0 };
    SampleCounts { discard, keep: batch.min(wanted) }
}

/// How many samples the next invocation takes, when a sample lasts `sample_ns`.
pub fn counts(planned: &PlannedPoint, known: &PointHistory, sample_ns: u64) -> SampleCounts {
    let sample_ns = sample_ns.max(1);
    let floor = count(DISCARD_NS.div_ceil(sample_ns).clamp(1, MOST_DISCARDED));
    // One sample is more than was asked for. To discard another one would double it.
    if let Some(Sampling::Short { length_ns }) = planned.sampling
        && sample_ns >= length_ns.max(LONE_SAMPLE_NS)
    {
        return SampleCounts { discard: 0, keep: 1 };
    }
    if let Some(Sampling::Batch { length_ns } | Sampling::Short { length_ns }) = planned.sampling {
        let keep = count(length_ns.div_ceil(sample_ns)).clamp(1, MOST_KEPT);
        return SampleCounts { discard: settled_discard(known).unwrap_or(0).max(floor), keep };
    }
    if sample_ns >= WHOLE_SAMPLE_NS {
        return SampleCounts { discard: 0, keep: 1 };
    }
    match settled_discard(known) {
        Some(discard) => SampleCounts {
            discard: discard.max(floor),
            keep: samples_after_pilot(known, sample_ns),
        },
        None => {
            let most = count(MOST_PILOT_NS / sample_ns);
            SampleCounts { discard: floor, keep: most.clamp(PILOT_LONG_SAMPLES, PILOT_SAMPLES) }
        }
    }
}

/// The discard on which the pilot agreed.
fn settled_discard(known: &PointHistory) -> Option<usize> {
    fixed_discard(known.steady_starts.get(..PILOT)?)
}

/// Samples a process that spend time best, from the pilot's variances and costs.
pub fn samples_after_pilot(known: &PointHistory, sample_ns: u64) -> usize {
    let fewest = if sample_ns > LONG_SAMPLE_NS { FEWEST_LONG_SAMPLES } else { PILOT_LONG_SAMPLES };
    let most = count(MOST_SAMPLING_NS / sample_ns).clamp(fewest, MOST_KEPT);
    // Of logarithms the variances are relative, so the split does not depend on the unit of the metric.
    let logs: Vec<Vec<f64>> = known
        .processes
        .iter()
        .map(|values| values.iter().map(|v| v.abs().ln()).collect())
        .collect();
    let clusters: Vec<&[f64]> = logs.iter().map(Vec::as_slice).collect();
    // A fresh process costs its discarded warm-up, too, not only its start.
    #[expect(clippy::cast_precision_loss, reason = "costs in nanoseconds")]
    let costs = (sample_ns as f64, (known.setup_ns + DISCARD_NS) as f64);
    match components(&clusters) {
        Ok(found) => samples_per_process(&found, costs.0, costs.1).clamp(fewest, most),
        Err(_) => fewest.max(most.min(10)),
    }
}

/// Where steady state begins in the samples of an invocation, and the word for its warm-up.
///
/// Never before `discard`, the least that is thrown away; if the pilot has settled it, exactly
/// there: the data are then only checked.
pub fn steady_start(
    planned: &PlannedPoint,
    known: &PointHistory,
    counts: SampleCounts,
    samples: &Samples,
) -> (usize, &'static str) {
    if planned.description.searched().is_some() {
        return (0, "");
    }
    let last = samples.len().saturating_sub(1);
    if planned.description.sample_is == SampleIs::Process {
        return (counts.discard.min(last), "");
    }
    // Per iteration: jitter gives each sample another number of them.
    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    let logs: Vec<f64> = samples
        .elapsed_ns
        .iter()
        .zip(&samples.iterations)
        .map(|(&t, &k)| (t as f64 / k as f64).ln())
        .collect();
    let Ok(found) = steady_state(&logs) else { return (counts.discard.min(last), "") };
    let start = match settled_discard(known) {
        Some(_) => counts.discard,
        None => found.start.max(counts.discard),
    };
    (start.min(last), class_word(found.class))
}

fn class_word(class: WarmupClass) -> &'static str {
    match class {
        WarmupClass::Flat => "flat",
        WarmupClass::WarmUp => "warm-up",
        WarmupClass::Slowdown => "slowdown",
        WarmupClass::Trend => "trend",
        WarmupClass::Unsteady => "unsteady",
    }
}

fn count(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
