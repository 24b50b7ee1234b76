//! What analysis finds in a record: plain data, in SI base units, with every reason in words.

use std::collections::BTreeMap;

use plumb_model::{
    Better, ClockSource, CommandEnds, Flag, Id, OnInterference, SampleIs, StopReason, Target,
};

use plumb_stats::precision::half_after;
use plumb_units::of_session_alone;

use crate::asked::Asked;
use crate::comparison::pairs::PointComparison;
use crate::comparison::verdict::Comparison;
use crate::estimate::{Ends, Estimate};
use crate::facts::{CpuShares, PointFacts, RunFacts};
use crate::one_run::bottleneck::BottleneckFinding;
use crate::one_run::burst::Burst;
use crate::one_run::curve::Curve;
use crate::one_run::gate::GateFinding;
use crate::one_run::ladder::Ladder;
use crate::one_run::levels::TwoLevels;
use crate::one_run::link_fit::LinkFit;
use crate::one_run::pauses::Pauses;
use crate::one_run::ranking::VariantRanking;
use crate::one_run::right_answers::RightAnswers;
use crate::one_run::start_ups::PointStartUp;
use crate::over_runs::standing_out::StandingOut;

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
    /// Curves over the parameters of which workloads say what that means.
    pub curves: Vec<Curve>,
    /// What of the time of points behind a link is bandwidth, and what round trips.
    pub links: Vec<LinkFit>,
    /// What limits points of which the parts were measured, too.
    pub bottlenecks: Vec<BottleneckFinding>,
    /// Results next to parts of their work, if those were measured, too.
    pub ladders: Vec<Ladder>,
    /// Rankings of points that differ in one parameter whose values have no order.
    pub rankings: Vec<VariantRanking>,
    /// Comparisons with the plan's first point, when the plan asks for them.
    pub against_first: Vec<PointComparison>,
    /// Comparisons of every later point but the second with the one above it, when the plan asks for them.
    pub against_above: Vec<PointComparison>,
    /// Whether the comparison works here, with its control sides (`ab --prove`); None if there are none.
    pub proof: Option<GateFinding>,
    /// What the starts of commands load, for every point that has it.
    pub start_ups: Vec<PointStartUp>,
    /// What moved since the last comparable run.
    pub since_last: Asked<SinceLast>,
    /// What can't be measured here.
    pub unsupported: Vec<Unsupported>,
    /// What went wrong.
    pub failed: Vec<FailedInvocations>,
    /// Points whose figures include processes that failed.
    pub accepted_failures: Vec<AcceptedFailures>,
    /// Points that were planned but not reached.
    pub not_reached: Vec<PointFacts>,
    /// What else ran beside.
    pub interference: Disturbances,
    /// Known answers that were checked, if none was wrong.
    pub right_answers: Option<RightAnswers>,
    /// Reasons to distrust the whole run; each result carries them too.
    pub flags: Vec<Flag>,
}

/// How a run compares with the last comparable one before it.
#[derive(Debug, Clone, PartialEq)]
pub struct SinceLast {
    /// Identity of the earlier run.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// A place for every result; None where that run lacks the series.
    pub against: Vec<Option<Comparison>>,
    /// Which results moved unlike the others.
    pub standing_out: StandingOut,
}

/// How often something else disturbed a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disturbances {
    /// What was done with the invocations that were disturbed.
    pub on_interference: OnInterference,
    /// Measured invocations of the whole run.
    pub invocations: usize,
    /// Those of them that something else disturbed.
    pub disturbed: usize,
    /// Those that do not count.
    pub excluded: usize,
    /// Rule → invocations in which it found something.
    pub rules: BTreeMap<String, usize>,
}

/// One metric of one point on one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name of the series: `memory.copy:method=libc/bandwidth`.
    pub series: String,
    /// The measured point with its settings.
    pub point: PointFacts,
    /// The metric's name.
    pub metric: String,
    /// What the metric counts, in one line.
    pub summary: String,
    /// Its unit, an SI base unit.
    pub unit: String,
    /// What holds up to it, in words (`p99 under 1 ms`); only of limits.
    pub goal: Option<String>,
    /// Which direction is good.
    pub better: Better,
    /// Whether it is of the workload's first metric.
    pub primary: bool,
    /// Whether precision and scorecards are about it: the first metric, and those that are marked.
    pub headline: bool,
    /// What the estimate is of the samples: `median`.
    pub statistic: String,
    /// The estimate with its interval, or why it has none.
    pub estimate: Estimate,
    /// The interval of this machine over ten minutes, or that the session is too noisy for one; None where the session
    /// says nothing of that. It decides nothing.
    pub machine: Option<Result<Ends, String>>,
    /// What the best quarter of the processes reaches: an estimand of its own, which decides nothing. None for other
    /// metrics than the workload's first, and for fewer than 13 processes.
    pub best_quarter: Option<Estimate>,
    /// The two levels on which processes or samples lie, which say more than a median between them; only of each
    /// workload's first metric, and None where there is one.
    pub levels: Option<TwoLevels>,
    /// The burst that ended; None for other metrics than the workload's first.
    pub burst: Option<Burst>,
    /// How long the session was that the estimate's interval speaks of, in seconds, where samples have times.
    pub session_s: Option<f64>,
    /// Neighbours in time that make one independent unit: 1 where they are no more alike than by chance.
    pub stretch: Option<usize>,
    /// Whether the session was long enough to know its own memory.
    pub resolved: bool,
    /// What pauses between its invocations do, where the run is spread over a time.
    pub pauses: Option<Pauses>,
    /// Level of the interval, repeated looks paid for.
    pub confidence: f64,
    /// Independent processes that the interval counts.
    pub invocations: usize,
    /// Steady samples of these processes, without those of the warm-up.
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
    /// Time that the wanted precision would still have taken where the time was over first, in seconds, if the noise
    /// stays as it is.
    pub needs_s: Option<f64>,
    /// Relative half-width of the interval.
    pub reached: Option<f64>,
    /// Relative half-width wanted.
    pub wanted: Option<f64>,
    /// Index of the target.
    pub target: usize,
    /// Shares of wall time, where resource use is known.
    pub cpu: Option<CpuShares>,
    /// CPU time of other processes in each run of a command, or each invocation of others, in seconds, if it is a cost next to that of the work itself: work
    /// that it may cause elsewhere. Not asked without counters, and of first metrics alone.
    pub other_cpu: Option<Estimate>,
    /// CPU time of the servers of plumb's own media, such as nbdkit, as a share of one CPU during the invocations. Neither the
    /// workload's CPU time nor `other_cpu` contains it. None if there is none worth mentioning, if it was not asked for, and for
    /// other metrics than the first.
    pub media_cpu: Option<Estimate>,
    /// The energy that the CPU packages used, or why there is no figure; None if it was not asked for (`--energy`), and for other
    /// metrics than the first.
    pub energy: Option<Result<ResultEnergy, String>>,
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
    /// What it is of what it should be, or why there is no such figure.
    pub of_baseline: Result<ShareOfBaseline, NoBaseline>,
    /// Reasons to distrust it.
    pub flags: Vec<Flag>,
}

impl Finding {
    /// The estimate as every output shows it: with what the session says of the machine. The interval of a session that
    /// is too short to describe the machine is not shown: readers would take it for that of the machine.
    #[must_use]
    pub fn shown(&self) -> Estimate {
        let interval = match (&self.machine, self.session_s) {
            (Some(machine), _) => machine.clone(),
            (None, seconds) => self.of_session(seconds),
        };
        Estimate { value: self.estimate.value, interval }
    }

    /// The interval of a session that is too short to describe the machine. What never varies is known for certain.
    fn of_session(&self, seconds: Option<f64>) -> Result<Ends, String> {
        let ends = self.estimate.interval.clone()?;
        match seconds {
            Some(seconds) if ends.low < ends.high => Err(of_session_alone(seconds)),
            _ => Ok(ends),
        }
    }

    /// The interval of this machine over ten minutes, if there is one.
    #[must_use]
    pub fn machine_ends(&self) -> Option<Ends> {
        self.machine.as_ref()?.as_ref().ok().copied()
    }

    /// Relative half-width that a run so many times as long is to reach; None without an interval.
    #[must_use]
    pub fn reached_after(&self, times: f64) -> Option<f64> {
        Some(half_after(self.reached?, self.stretch.unwrap_or(1), times))
    }
}

/// The energy of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultEnergy {
    /// Mean power during the invocations, in watts.
    pub power: Estimate,
    /// Power of the idle machine, in watts; the mean if it was measured several times.
    pub idle_w: f64,
    /// Energy of a unit of work.
    pub per_work: Estimate,
    /// The same without the energy that the idle machine would have used in that time.
    pub net_per_work: Estimate,
    /// Unit of both: `J/op`, `J/B`, or `J` for one iteration or one run of a command.
    pub unit: String,
}

/// A result beside what it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareOfBaseline {
    /// What it should be, in the metric's unit.
    pub value: f64,
    /// Performance over that of the baseline: under 1 is worse, whatever the metric's direction. Its interval is that of the
    /// result.
    pub share: Estimate,
    /// The worst value that is as expected, in the metric's unit: `value`, the worst run of a reference or of earlier ones, or what
    /// the most cycles of a microarchitecture take.
    pub worst: f64,
    /// Whether the result is as good as expected; None for a ceiling, which nothing has to reach, and for earlier runs.
    pub verdict: Option<ExpectationVerdict>,
    /// The source of the value.
    pub source: BaselineSource,
}

/// Whether a result is as good as expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectationVerdict {
    /// Its whole interval is at least as good.
    Reached,
    /// Its whole interval is worse.
    Below,
    /// Its interval contains the expectation, or it has none.
    Undecided,
}

/// Who says what a result should be.
#[derive(Debug, Clone, PartialEq)]
pub enum BaselineSource {
    /// The user, or the suite.
    Expectation,
    /// The reference of this name.
    Reference(String),
    /// Another point of the same run, which is the same work with another setting: the machine gives no more.
    Ceiling {
        /// The name of the point.
        point: String,
        /// The setting: `place=memory`.
        setting: String,
    },
    /// Part of the work, which was measured on its own in the same run: the whole can hardly be faster.
    Rung {
        /// The name of its point.
        point: String,
        /// What it is, with the number by which it is multiplied: `2 × one thread`.
        name: String,
    },
    /// A part of the hardware, by what it carries at most: `PCIe 4.0 ×4 of nvme0n1`.
    Limit {
        /// What it is.
        name: String,
    },
    /// The microarchitecture, at the clock that the same run measured.
    Hardware {
        /// The name of its core: `Zen 3`.
        core: String,
        /// Cycles per unit of work.
        cycles: f64,
        /// The measured clock, in Hz.
        clock_hz: f64,
    },
    /// Earlier runs of the same series on this machine, of which the value is the median.
    EarlierRuns {
        /// How many there are, at least six.
        runs: usize,
        /// The lowest of them, in the metric's unit.
        lowest: f64,
        /// The highest of them, in the metric's unit.
        highest: f64,
        /// Whether the whole interval of the result is outside their range.
        is_outside: bool,
    },
}

impl BaselineSource {
    /// The word that documents have for it: `expectation`, `reference`, `ceiling`, `limit`, `hardware` or
    /// `earlier-runs`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Expectation => "expectation",
            Self::Reference(_) => "reference",
            Self::Ceiling { .. } | Self::Rung { .. } => "ceiling",
            Self::Limit { .. } => "limit",
            Self::Hardware { .. } => "hardware",
            Self::EarlierRuns { .. } => "earlier-runs",
        }
    }
}

/// Why there is no figure for what a result should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBaseline {
    /// Neither an expectation nor a reference has a figure for it, and its workload declares no ceiling.
    Unknown,
    /// Its ceiling was not measured: `other values of method`, `one thread`.
    NotMeasured(String),
    /// Its ceiling gave no result: `other values of method`, `one thread`.
    NoResult(String),
    /// No other value of this parameter that was measured gives more.
    Best(String),
    /// It cannot be told from the best: the point with this setting.
    AsGoodAs(String),
    /// It is not below this part of its work: `2 × one thread`.
    NotBelow(String),
    /// It was measured to show the ceiling of others.
    OfOthers,
    /// Neither a higher nor a lower value of its metric is better.
    Undirected,
    /// It or what it should be is not a positive number.
    NotPositive,
}

/// A point that can't be measured here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The point that cannot be measured.
    pub point: PointFacts,
    /// What is missing.
    pub why: String,
    /// What would mend it.
    pub fix: String,
}

/// A point of which some processes failed, which was accepted: its figures include them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedFailures {
    /// The point whose processes failed.
    pub point: PointFacts,
    /// How all of its processes ended, those that succeeded included.
    pub ends: CommandEnds,
}

/// Invocations of a point that failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedInvocations {
    /// The point that failed.
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
