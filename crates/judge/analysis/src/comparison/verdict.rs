//! What one arm says against another: a ratio of costs, a verdict or the reason why there is none, and what
//! belongs beside it.

use std::fmt;

use plumb_model::{CommandEnd, CommandEnds, Verdict};
use plumb_stats::NoInterval;
use plumb_stats::pairs::FEWEST_PAIRS;
use plumb_stats::side_effects::RuleOfOneSide;

use crate::asked::Asked;
use crate::comparison::covariates::Covariate;
use crate::comparison::levels::LevelsCompared;
use crate::estimate::Estimate;

/// One arm against another.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What it rests on.
    pub basis: Basis,
    /// Cost over the other's cost: over 1 is slower, whatever the metric's direction. None when nothing was
    /// measured of both.
    pub ratio: Option<Estimate>,
    /// The verdict, or why there is none.
    pub verdict: Result<Verdict, NoVerdict>,
    /// What belongs beside the verdict.
    pub remarks: Vec<VerdictRemark>,
    /// What happened to the levels, where either has two.
    pub levels: Option<LevelsCompared>,
    /// What else changed: not asked if the interval does not exclude equality.
    pub covariates: Asked<Vec<Covariate>>,
}

impl Comparison {
    /// What pairs say beside the verdict; None where it rests on runs.
    #[must_use]
    pub fn by_pairs(&self) -> Option<&ByPairs> {
        match &self.basis {
            Basis::Pairs(pairs) => Some(pairs),
            Basis::Runs(_) => None,
        }
    }

    /// What is known of the noise between runs; None where the comparison rests on pairs.
    #[must_use]
    pub fn by_runs(&self) -> Option<&ByRuns> {
        match &self.basis {
            Basis::Runs(runs) => Some(runs),
            Basis::Pairs(_) => None,
        }
    }

    /// Whether there is a difference worth explaining: a ratio whose interval excludes 1, and that is not
    /// too small to matter.
    pub(crate) fn differs(&self) -> bool {
        let ends = self.ratio.as_ref().and_then(|ratio| ratio.interval.as_ref().ok());
        let excludes = ends.is_some_and(|ends| ends.low > 1.0 || ends.high < 1.0);
        excludes && self.verdict != Ok(Verdict::Equivalent)
    }
}

/// What a comparison rests on.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// Pairs in one run, whose members were measured side by side (docs/method.md, *Pairs*).
    Pairs(ByPairs),
    /// Stored runs, so that the noise between runs counts (docs/method.md, *Stored runs*).
    Runs(ByRuns),
}

/// What pairs say beside the verdict.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ByPairs {
    /// Units in which both were measured: pairs, or ABBA of two.
    pub pairs: usize,
    /// What was seen at each look on the way, the last one included; empty when there was one look.
    pub looks: Vec<LookFound>,
    /// Whether the looks that the strategy stored follow from the stored samples to the last bit; None
    /// when it stored none.
    pub rederived: Option<bool>,
    /// Pairs that an inconclusive comparison would still need in all, as far as can be told.
    pub pairs_needed: Option<usize>,
    /// How far pairs differ, as a relative deviation that a few wild ones hardly raise.
    pub pair_sd: Option<f64>,
    /// The relative change that the pairs of an inconclusive comparison show four times in five.
    pub told_apart: Option<f64>,
    /// The later point's spread over the first's.
    pub spread: SpreadRatio,
    /// Rounds that are left out because an invocation of either failed.
    pub left_out: usize,
    /// Rules of interference that one side meets more often than chance allows: work that this side causes elsewhere.
    pub side_effects: Vec<RuleOfOneSide>,
    /// Whether another build of the same source could differ as much as these two files.
    pub other_build: Option<OtherBuild>,
}

/// A difference between two files that is small enough to be due to their builds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OtherBuild {
    /// How far relinked copies of one program differ on this machine; None if no audit measured that.
    pub layout_effect: Option<f64>,
}

impl ByPairs {
    /// How often the comparison was looked at.
    #[must_use]
    pub fn looks_taken(&self) -> usize {
        self.looks.len().max(1)
    }
}

/// What is known of the noise between runs, as relative deviations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ByRuns {
    /// The deviation between runs above which the difference could be chance, where none is known.
    pub break_even: Option<f64>,
    /// The deviation between runs that the interval allows for.
    pub run_sd: Option<f64>,
    /// The blocks in which both were measured in turns, if these decide.
    pub blocks: Option<usize>,
}

/// What a comparison looked like on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct LookFound {
    /// Units of the comparison.
    pub pairs: usize,
    /// The ratio of costs.
    pub ratio: Estimate,
    /// The verdict, where there was one.
    pub verdict: Option<Verdict>,
}

/// How far results scatter, over how far the first's do: over 1 is less repeatable.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpreadRatio {
    /// From process to process; None where a cost is not positive, or there is no pair.
    pub between: Option<Estimate>,
    /// From sample to sample in a process; None where processes have few samples, or most are equal.
    pub within: Option<Estimate>,
}

/// What belongs beside a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictRemark {
    /// The noise between runs is not known.
    Uncalibrated,
    /// The series moved unlike the others of these runs.
    StandsOut,
    /// Equivalent, though the interval excludes equality.
    Negligible,
    /// The whole interval lies beyond the margin.
    BeyondMargin,
    /// All pairs have the same ratio, so that nothing was estimated.
    Exact,
    /// The pairs that count and all pairs, the excluded ones put back, do not agree.
    Contradicted,
    /// Processes of both failed alike, which was accepted.
    OfFailures,
}

impl VerdictRemark {
    /// The words that are shown and published.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Uncalibrated => "uncalibrated",
            Self::StandsOut => "stands out",
            Self::Negligible => "detectable but negligible",
            Self::BeyondMargin => "beyond margin",
            Self::Exact => "exact",
            Self::Contradicted => "disagrees with the excluded pairs",
            Self::OfFailures => "failed runs",
        }
    }

    /// Those that hold.
    pub(crate) fn those(all: &[(bool, Self)]) -> Vec<Self> {
        all.iter().filter(|(holds, _)| *holds).map(|(_, remark)| *remark).collect()
    }
}

impl fmt::Display for VerdictRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// Why a comparison has no verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoVerdict {
    /// One side fails more often than the other, or so many pairs have a failure that the times of the others are not
    /// all there is to say.
    Failures {
        /// Of the later point: those that failed, and all.
        later: (usize, usize),
        /// Of the first point.
        first: (usize, usize),
        /// The chance of so unequal shares if both fail equally often, by Fisher's exact test.
        p: f64,
        /// Whether that is too small a chance.
        differ: bool,
    },
    /// Failures are accepted, and the processes of one side ended otherwise than those of the other.
    EndedDifferently {
        /// The most frequent end of the later point.
        later: FrequentEnd,
        /// That of the first point.
        first: FrequentEnd,
    },
    /// Other work disturbed too many pairs.
    Disturbed {
        /// Pairs that do not count.
        excluded: usize,
        /// All pairs, those that do not count included.
        of: usize,
    },
    /// There are fewer pairs than a verdict takes.
    FewPairs,
    /// Both were measured at different times, and too few earlier runs show how much time alone changes.
    Uncalibrated {
        /// The blocks in which they were measured in turns, too few of them.
        blocks: usize,
    },
    /// Of this metric neither direction is better.
    NoDirection,
    /// A side was measured, and no invocation of it has a value of the metric that is compared.
    MetricMissing,
    /// Both are equally fast, but the clients of one were busy most of the time, so that their server may have become
    /// slower unseen.
    GeneratorBusy,
    /// A cost is not above 0, so that it has no log.
    NotPositive,
    /// The ratio has no interval.
    NoInterval(NoInterval),
}

/// The most frequent end of the processes of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrequentEnd {
    /// How they ended.
    pub end: CommandEnd,
    /// Processes that ended so.
    pub times: usize,
    /// All processes of the side.
    pub of: usize,
}

impl FrequentEnd {
    fn of(ends: &CommandEnds) -> Option<Self> {
        let (end, times) = ends.most_frequent()?;
        Some(Self { end, times, of: ends.total() })
    }
}

impl fmt::Display for FrequentEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { end, times, of } = self;
        write!(f, "{end} in {times} of {of} runs")
    }
}

impl NoVerdict {
    /// The reason not to compare times of processes that ended so; None if they ended alike.
    pub(crate) fn of_ends(first: &CommandEnds, later: &CommandEnds) -> Option<Self> {
        if !first.differ(later) {
            return None;
        }
        Some(Self::EndedDifferently {
            later: FrequentEnd::of(later)?,
            first: FrequentEnd::of(first)?,
        })
    }
}

impl From<NoInterval> for NoVerdict {
    /// The log of a cost is infinite or no number where the cost is not above 0.
    fn from(reason: NoInterval) -> Self {
        match reason {
            NoInterval::NotFinite => Self::NotPositive,
            reason => Self::NoInterval(reason),
        }
    }
}

impl fmt::Display for NoVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failures { later: (later, of_later), first: (first, of_first), p, differ } => {
                let later_share = later * of_first;
                let first_share = first * of_later;
                let says = match (differ, later_share > first_share) {
                    (true, true) => "it fails more often, so times are not compared",
                    (true, false) => "it fails less often, so times are not compared",
                    (false, _) => "too many to compare the times of the others",
                };
                write!(
                    f,
                    "{later} of its {of_later} invocations failed, compared with {first} of {of_first} for the first (p = \
                     {p:.2} by Fisher's test): {says}"
                )
            }
            Self::EndedDifferently { later, first } => write!(
                f,
                "its runs did not end as those of the first, so times are not compared: {later}, compared with {first}"
            ),
            Self::Disturbed { excluded, of } => write!(
                f,
                "other activity disturbed {excluded} of {of} pairs, too many for a verdict: use a quieter machine, or --on-interference keep"
            ),
            Self::FewPairs => write!(f, "a verdict needs {FEWEST_PAIRS} pairs"),
            Self::Uncalibrated { blocks: 0 | 1 } => {
                f.write_str("measured at different times, with too little history")
            }
            Self::Uncalibrated { blocks } => write!(
                f,
                "measured in turns, but only in {blocks} blocks of the {FEWEST_PAIRS} for a verdict"
            ),
            Self::NoDirection => f.write_str("neither direction is better"),
            Self::MetricMissing => {
                f.write_str("a side has no value of this metric here: compare another metric")
            }
            Self::GeneratorBusy => f.write_str(
                "no difference found, but busy clients may hide one (generator-busy): use more clients, or set a rate",
            ),
            Self::NotPositive => f.write_str("a value is zero, negative or not a number"),
            Self::NoInterval(reason) => reason.fmt(f),
        }
    }
}
