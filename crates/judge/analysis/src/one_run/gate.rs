//! A comparison that proves that it works: docs/method.md, *A gate that proves itself*.
//!
//! Next to the sides that the user compares, the first side runs again, and again with a known share of extra work. The
//! first must not be found different, the second must be found slower by that share. Only then does the verdict count.

use plumb_model::{ProofRole, RunRecord, SeriesInRun, Verdict};
use plumb_stats::gate_power::{GatePower, RepeatedLooks, gate_power};
use plumb_stats::rng::Rng;
use plumb_stats::verdict::LookSchedule;

use crate::comparison::pairs::{PointComparison, against_first, log_ratios_between};
use crate::estimate::Estimate;
use crate::one_run::series_in_run::series_in_run;

/// Keeps the draws of the power apart from the other random choices of the run's seed.
const POWER: u64 = 0x706f_7765;

/// The index of the user's later side.
const LATER_SIDE: usize = 1;

/// The proof of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct GateFinding {
    /// The extra work, as a share.
    pub planted: f64,
    /// The first side, measured again, compared with itself.
    pub again: Option<Estimate>,
    /// The first side with the extra work, compared with itself.
    pub slower: Option<Estimate>,
    /// The probability that a side that is slower by the share is reported; None without enough pairs of the first side
    /// with itself.
    pub power: Option<GatePower>,
    /// Why the verdict does not count; None if it does.
    pub doubt: Option<GateDoubt>,
    /// The later side of the user.
    pub side: Option<PointComparison>,
    /// The same on fresh pairs; None if that was not asked.
    pub confirmation: Option<PointComparison>,
}

/// What a gate decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateOutcome {
    /// The later side is slower, and fresh pairs say so, too.
    Regression,
    /// It looked slower, but fresh pairs do not say so.
    NotConfirmed,
    /// It is not slower.
    NoRegression,
    /// Neither is shown.
    Inconclusive,
    /// The gate does not work here.
    Abstained,
}

impl GateOutcome {
    /// The words that are shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::NotConfirmed => "not confirmed",
            Self::NoRegression => "no regression",
            Self::Inconclusive => "inconclusive",
            Self::Abstained => "abstained",
        }
    }
}

impl GateFinding {
    /// Whether the later side looks slower, so that fresh pairs must decide.
    #[must_use]
    pub fn needs_confirmation(&self) -> bool {
        self.doubt.is_none() && self.side.as_ref().is_some_and(is_slower)
    }

    /// Adds what fresh pairs of the user's sides found: the comparisons of their run.
    pub fn confirm(&mut self, fresh: &[PointComparison]) {
        self.confirmation = fresh.first().cloned();
    }

    /// What the gate decides.
    #[must_use]
    pub fn outcome(&self) -> GateOutcome {
        if self.doubt.is_some() {
            return GateOutcome::Abstained;
        }
        if self.needs_confirmation() {
            return match self.confirmation.as_ref().is_some_and(is_slower) {
                true => GateOutcome::Regression,
                false => GateOutcome::NotConfirmed,
            };
        }
        match self.side.as_ref().map(|side| side.found.verdict) {
            Some(Ok(Verdict::Equivalent | Verdict::Faster)) => GateOutcome::NoRegression,
            // Slower by less than matters.
            Some(Ok(Verdict::Slower)) => GateOutcome::NoRegression,
            _ => GateOutcome::Inconclusive,
        }
    }
}

/// Whether the later side is slower by the margin or more.
fn is_slower(comparison: &PointComparison) -> bool {
    let ratio = comparison.found.ratio.as_ref();
    comparison.found.verdict == Ok(Verdict::Slower)
        && ratio.is_some_and(|ratio| ratio.value >= 1.0 + comparison.margin)
}

/// Why the verdict of a gate does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateDoubt {
    /// The first side was found different from itself.
    NullFound,
    /// The extra work was not found.
    PlantNotFound,
    /// A difference was found, but not of the size of the extra work.
    PlantMissed,
    /// One of the two was not measured.
    NotMeasured,
}

impl GateDoubt {
    /// The reason in words.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::NullFound => "the first side differs from itself",
            Self::PlantNotFound => "the extra work was not found: more pairs would find it",
            Self::PlantMissed => "the difference that was found is not that of the extra work",
            Self::NotMeasured => "the control sides could not be measured",
        }
    }
}

/// The label of a run of fresh pairs, which confirm what another run found: that run's id.
pub const CONFIRMS_LABEL: &str = "confirms";

/// The proof in a run's record, from the comparisons with its first point; None if no proof was asked for.
pub(crate) fn gate(record: &RunRecord, against_first: &[PointComparison]) -> Option<GateFinding> {
    // A check proves itself for one point of its plan, without a later side.
    let later = record.plan.points.get(LATER_SIDE)?;
    later.proof.filter(|proof| proof.role == ProofRole::Side)?;
    let controls = controls(record, against_first)?;
    let again = point_of(record, ProofRole::Again)?;
    Some(GateFinding {
        planted: controls.planted,
        again: controls.again,
        slower: controls.slower,
        power: power(record, against_first, again, controls.planted),
        doubt: controls.doubt,
        side: compared(against_first, LATER_SIDE).cloned(),
        confirmation: None,
    })
}

/// What was measured of the first side again, and with extra work.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Controls {
    /// The extra work, as a share.
    pub(crate) planted: f64,
    /// The first side, measured again, compared with itself.
    pub(crate) again: Option<Estimate>,
    /// The first side with the extra work, compared with itself.
    pub(crate) slower: Option<Estimate>,
    /// What is wrong with them.
    pub(crate) doubt: Option<GateDoubt>,
}

/// The controls in a run's record; None if it has none.
pub(crate) fn controls(record: &RunRecord, against_first: &[PointComparison]) -> Option<Controls> {
    let again = point_of(record, ProofRole::Again)?;
    let planted = point_of(record, ProofRole::Planted)?;
    let share = record.plan.points[planted].proof?.extra_work.share;
    let null = compared(against_first, again);
    let plant = compared(against_first, planted);
    Some(Controls {
        planted: share,
        again: null.and_then(|null| null.found.ratio.clone()),
        slower: plant.and_then(|plant| plant.found.ratio.clone()),
        doubt: doubt(null, plant, share),
    })
}

/// The controls of one point of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct PointControls {
    /// The point's name for people.
    pub(crate) point: String,
    /// Its series by its name among comparable ones.
    pub(crate) series: String,
    /// What was measured.
    pub(crate) controls: Controls,
    /// The seed of the run.
    pub(crate) seed: u64,
}

impl PointControls {
    /// Those in the record of a run whose first point is the point; None if it has none.
    #[must_use]
    pub fn of(record: &RunRecord) -> Option<Self> {
        let first = record.plan.points.first()?;
        let stored = first.point.series(&first.description.primary()?.name);
        let all = series_in_run(record);
        let series = all.iter().find(|series| series.name == stored);
        Some(Self {
            point: first.name(),
            series: series.map_or(stored, SeriesInRun::comparable_name),
            controls: controls(record, &against_first(record))?,
            seed: record.plan.seed,
        })
    }
}

/// A point compared with the first.
fn compared(against_first: &[PointComparison], point: usize) -> Option<&PointComparison> {
    against_first.iter().find(|comparison| comparison.point.index == point)
}

fn point_of(record: &RunRecord, role: ProofRole) -> Option<usize> {
    record.plan.points.iter().position(|point| point.proof.is_some_and(|proof| proof.role == role))
}

fn doubt(
    null: Option<&PointComparison>,
    plant: Option<&PointComparison>,
    share: f64,
) -> Option<GateDoubt> {
    let (Some(null), Some(plant)) = (null, plant) else { return Some(GateDoubt::NotMeasured) };
    let interval = |comparison: &PointComparison| {
        let ratio = comparison.found.ratio.as_ref()?;
        Some((ratio.low()?, ratio.high()?))
    };
    let (Some((low, high)), Some(_)) = (interval(plant), interval(null)) else {
        return Some(GateDoubt::NotMeasured);
    };
    if matches!(null.found.verdict, Ok(Verdict::Slower | Verdict::Faster)) {
        Some(GateDoubt::NullFound)
    } else if low <= 1.0 {
        Some(GateDoubt::PlantNotFound)
    } else if !(low..=high).contains(&(1.0 + share)) {
        Some(GateDoubt::PlantMissed)
    } else {
        None
    }
}

/// How likely the comparison reports a side that is slower by the share, in as many pairs as the longest of this run's
/// comparisons had.
fn power(
    record: &RunRecord,
    against_first: &[PointComparison],
    again: usize,
    share: f64,
) -> Option<GatePower> {
    let plan = record.plan.comparison()?;
    let null = log_ratios_between(record, again)?;
    let pairs = against_first.iter().filter_map(|comparison| comparison.found.by_pairs());
    let looks = RepeatedLooks {
        schedule: plan.looks.unwrap_or(LookSchedule::Fixed(null.len())),
        confidence: plan.confidence,
        comparisons: plan.comparisons,
        margin: plan.margin,
        pairs: pairs.map(|pairs| pairs.pairs).max()?,
    };
    let mut rng = Rng::new(record.plan.seed ^ POWER);
    gate_power(&null, share.ln_1p(), looks, &mut rng).ok()
}
