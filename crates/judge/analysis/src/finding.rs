//! What analysis finds in a record: plain data, in SI base units, with every reason in words.

use std::collections::BTreeMap;

use plumb_model::{
    Better, ClockSource, Flag, Goal, Id, OnInterference, ParameterType, PreparationRecord,
    RunStatus, SampleIs, Settings, StopReason, Target, Verdict,
};

use crate::Covariate;

/// Everything that is found in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFinding {
    /// Version of the method that found it.
    pub method: u32,
    /// The run itself.
    pub run: RunFacts,
    /// Where it was measured.
    pub targets: Vec<Target>,
    /// A finding for every point and metric that has good samples, in the plan's order.
    pub results: Vec<Finding>,
    /// How points that differ only in their number of threads compare.
    pub scaling: Vec<Scaling>,
    /// Comparisons with the plan's first point, when the plan asks for them.
    pub against_first: Vec<Comparison>,
    /// What can't be measured here.
    pub unsupported: Vec<Unsupported>,
    /// What went wrong.
    pub failed: Vec<Failure>,
    /// Points that were planned and never reached.
    pub not_reached: Vec<PointFacts>,
    /// What else ran beside.
    pub interference: Disturbances,
    /// Reasons to distrust the whole run; each result carries them too.
    pub flags: Vec<Flag>,
}

/// How often something else disturbed a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disturbances {
    /// What was done with the invocations that were disturbed.
    pub on_interference: OnInterference,
    /// Measured invocations.
    pub invocations: usize,
    /// Those of them that something else disturbed.
    pub disturbed: usize,
    /// Those that do not count.
    pub excluded: usize,
    /// Rule → invocations in which it found something.
    pub rules: BTreeMap<String, usize>,
}

/// What is known of the run as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// Its identity.
    pub id: Id,
    /// Wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Wall-clock end, when it has one.
    pub ended_unix_ns: Option<i64>,
    /// Whether it is complete, running or interrupted.
    pub status: RunStatus,
    /// The suite's name, when it came from one.
    pub suite: Option<String>,
    /// Labels: `k=v`.
    pub labels: BTreeMap<String, String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Version of plumb that measured.
    pub plumb: String,
    /// The command line.
    pub command: Vec<String>,
    /// The target directory.
    pub dir: String,
    /// When a point was to be done.
    pub goal: Goal,
    /// Time that the run had, in nanoseconds.
    pub budget_ns: Option<u64>,
    /// Stretches without interruption.
    pub segments: usize,
    /// Loads that ran beside on purpose.
    pub loads: Vec<String>,
    /// What was prepared, in order.
    pub preparations: Vec<PreparationRecord>,
}

/// A point as people know it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PointFacts {
    /// Its index in the plan.
    pub index: usize,
    /// The workload's id.
    pub workload: String,
    /// The workload's version.
    pub version: u32,
    /// What tells it from other points; empty for the default point.
    pub key: String,
    /// What people call it.
    pub name: String,
    /// Whether a person gave it that name.
    pub titled: bool,
    /// Every parameter with its value.
    pub settings: Settings,
    /// The parameters as people write them, without paths, in the order of the description.
    pub parameters: Vec<Setting>,
}

/// One parameter's value as people write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The parameter's name.
    pub name: String,
    /// Its value (`8MiB`).
    pub value: String,
    /// What kind of value it is.
    pub kind: ParameterType,
    /// Whether the point's key leaves it out.
    pub default: bool,
}

/// One metric of one point on one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name of the series: `memory.copy:method=libc/bandwidth`.
    pub series: String,
    /// The point.
    pub point: PointFacts,
    /// The metric's name.
    pub metric: String,
    /// What the metric counts, in one line.
    pub summary: String,
    /// Its unit, an SI base unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// Whether it is the metric that precision and scorecards are about.
    pub primary: bool,
    /// What the estimate is of the samples: `median`.
    pub statistic: String,
    /// The estimate with its interval, or why it has none.
    pub estimate: Estimate,
    /// Level of the interval, repeated looks paid for.
    pub confidence: f64,
    /// Independent processes that the interval counts.
    pub invocations: usize,
    /// Steady samples.
    pub samples: usize,
    /// Independent samples that they are worth, where that is known.
    pub n_eff: Option<f64>,
    /// Whether a sample is a stretch of a process or a process of its own.
    pub sample_is: SampleIs,
    /// The class of most invocations' warm-up; empty when no invocation has one.
    pub warmup: String,
    /// Samples left out as warm-up.
    pub discarded: usize,
    /// Why the strategy stopped, when it did.
    pub stop: Option<StopReason>,
    /// Relative half-width of the interval.
    pub reached: Option<f64>,
    /// Relative half-width wanted.
    pub wanted: Option<f64>,
    /// Index of the target.
    pub target: usize,
    /// Shares of wall time, where resource use is known.
    pub cpu: Option<CpuShares>,
    /// Largest peak of resident memory of a worker, in bytes, where it is known.
    pub peak_memory_bytes: Option<u64>,
    /// The clock that it was timed by; None means CLOCK_MONOTONIC.
    pub clock: Option<ClockSource>,
    /// Median of every process, in the order in which they ran.
    pub process_medians: Vec<f64>,
    /// The steady samples, sorted and thinned to evenly spaced quantiles, for sketches.
    pub distribution: Vec<f64>,
    /// Versions of the components that do the work.
    pub versions: BTreeMap<String, String>,
    /// The workload's remarks.
    pub notes: Vec<String>,
    /// What it is of what it should be, where somebody or something says what that is.
    pub of_baseline: Option<OfBaseline>,
    /// Reasons to distrust it.
    pub flags: Vec<Flag>,
}

/// A result beside what it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct OfBaseline {
    /// What it should be, in the metric's unit.
    pub value: f64,
    /// Performance over that of the baseline: under 1 is worse, whatever the metric's direction.
    pub share: Estimate,
    /// Who says so.
    pub source: BaselineSource,
}

/// Who says what a result should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaselineSource {
    /// The user, or the suite.
    Expectation,
    /// This point, measured in the same run: the machine gives no more.
    Ceiling(String),
}

/// An estimate with its interval, or with the reason why it has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The interval's ends, or why there is none.
    pub interval: Result<Ends, String>,
}

/// The ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// Lower end, if there is an interval.
    #[must_use]
    pub fn low(&self) -> Option<f64> {
        self.interval.as_ref().ok().map(|ends| ends.low)
    }

    /// Upper end, if there is an interval.
    #[must_use]
    pub fn high(&self) -> Option<f64> {
        self.interval.as_ref().ok().map(|ends| ends.high)
    }

    /// Larger distance from the estimate to an end, relative to the estimate.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let ends = self.interval.as_ref().ok()?;
        let half = (ends.high - self.value).max(self.value - ends.low);
        let relative = if half == 0.0 { 0.0 } else { half / self.value.abs() };
        relative.is_finite().then_some(relative)
    }
}

/// Shares of wall time; several threads add up to more than 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuShares {
    /// CPU time in user mode over wall time.
    pub user: f64,
    /// CPU time in kernel mode over wall time.
    pub system: f64,
    /// Time that the machine's CPUs idled with I/O under way, summed over CPUs, over wall time.
    pub iowait: f64,
}

impl CpuShares {
    /// User and system together.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.user + self.system
    }
}

/// How several threads compare with one.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Index into the results of the point with several threads.
    pub result: usize,
    /// Index into the results of the point with one thread.
    pub single: usize,
    /// Number of threads.
    pub threads: u64,
    /// Rate of all threads over the rate of one.
    pub speedup: Estimate,
    /// The same per thread: 1 is perfect.
    pub efficiency: Estimate,
}

/// A later point compared with the plan's first.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The first point.
    pub first: PointFacts,
    /// The later point.
    pub point: PointFacts,
    /// The metric.
    pub metric: String,
    /// Cost over the first's cost: over 1 is slower, whatever the metric's direction. None when no
    /// round has both.
    pub ratio: Option<Estimate>,
    /// Level of the interval.
    pub confidence: f64,
    /// Units in which both were measured: pairs, or ABBA of two.
    pub pairs: usize,
    /// What was seen at each look on the way, the last one included; empty when there was one look.
    pub looks: Vec<LookFinding>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// The verdict, or why there is none.
    pub verdict: Result<Verdict, String>,
    /// Whether the looks that the strategy stored follow from the stored samples to the last bit; None
    /// when it stored none.
    pub rederived: Option<bool>,
    /// Pairs that an inconclusive comparison would still need in all, as far as can be told.
    pub pairs_needed: Option<usize>,
    /// Remarks on the verdict: `exact`, `beyond margin`, `detectable but negligible`.
    pub tags: Vec<String>,
    /// What else changed, where the interval excludes equality.
    pub covariates: Vec<Covariate>,
    /// The later point's spread over the first's.
    pub spread: SpreadRatio,
    /// Whether the sides are one point at several values of a knob.
    pub of_knob: bool,
}

/// How far results scatter, over how far the first's do: over 1 is less repeatable.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpreadRatio {
    /// From process to process; None where a cost is not positive, or there is no pair.
    pub between: Option<Estimate>,
    /// From sample to sample in a process; None where processes have few samples, or most are equal.
    pub within: Option<Estimate>,
}

/// What a comparison looked like on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct LookFinding {
    /// Units of the comparison.
    pub pairs: usize,
    /// The ratio of costs.
    pub ratio: Estimate,
    /// The verdict, where there was one.
    pub verdict: Option<Verdict>,
}

/// A point that can't be measured here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The point.
    pub point: PointFacts,
    /// What is missing.
    pub why: String,
    /// What would mend it.
    pub fix: String,
}

/// Invocations of a point that failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The point.
    pub point: PointFacts,
    /// What went wrong.
    pub why: String,
    /// How many invocations failed so.
    pub times: usize,
    /// How many invocations of the point were started.
    pub of: usize,
    /// The last lines that the last of them wrote to stderr.
    pub log: String,
}
