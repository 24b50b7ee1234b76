//! What is found when arms are compared: the sides of one paired run, or stored runs. Both have this one form.

use std::sync::Arc;

use plumb_model::{Better, CommandEnds, PointFacts, RunOfSeries};
use plumb_stats::describe::{BoxPlot, box_plot};

use crate::asked::Asked;
use crate::comparison::verdict::Comparison;
use crate::estimate::Estimate;
use crate::facts::CpuShares;
use crate::over_runs::environment_diff::Difference;
use crate::over_runs::rank_arms::{ArmRanking, NoArmRanking};
use crate::over_runs::standing_out::StandingOut;

/// What is found when arms are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonFinding {
    /// Version of the method that found it.
    pub method: u32,
    /// The runs in the order in which they were named, with those that measured nothing.
    pub runs: Vec<Arc<RunOfSeries>>,
    /// What people call each arm; the first is what the others are compared with.
    pub arms: Vec<String>,
    /// What runs were grouped by, when they were.
    pub by: Option<String>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Level of every interval.
    pub confidence: f64,
    /// Whether the arms were measured in pairs.
    pub paired: bool,
    /// Whether the arms were measured on different machines.
    pub machines_differ: bool,
    /// What differs between the arms' machines, environments and plans.
    pub differences: Vec<Difference>,
    /// A comparison for every series that the first arm has in common with another.
    pub results: Vec<SeriesComparison>,
    /// Each later arm against the first over all series that both have: the geometric mean of their
    /// ratios, which speaks of these series and no others. None for fewer than two, for pairs, and where
    /// several metrics of one point would count.
    pub overall: Vec<Option<Estimate>>,
    /// Which series of each later arm moved unlike the others, from the first arm on; None for pairs and where
    /// machines differ.
    pub standing_out: Vec<Option<StandingOut>>,
    /// Series that only some arms have, with the arms that have them.
    pub not_in_all: Vec<(String, Vec<String>)>,
    /// The series that ratios are relative to, if one was named.
    pub normalised_by: Option<NormalisedBy>,
}

/// The series that the ratios of the others are divided by.
#[derive(Debug, Clone, PartialEq)]
pub struct NormalisedBy {
    /// The comparable name of that series.
    pub series: String,
    /// Components that did its work and whose versions differ between arms: then its own ratio may be one of two versions.
    pub changed_versions: Vec<String>,
}

/// One series in every arm.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesComparison {
    /// Name of the series.
    pub series: String,
    /// The point; of the first arm where the arms are points.
    pub point: PointFacts,
    /// Name of the metric, without that of the point.
    pub metric: String,
    /// Whether it is the workload's first.
    pub primary: bool,
    /// Unit of the metric, an SI base unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// The arms; None where one lacks the series.
    pub arms: Vec<Option<Arm>>,
    /// Each later arm against the first.
    pub against_first: Vec<Option<Comparison>>,
    /// Each later arm against the one before it, where there are more than two.
    pub against_previous: Vec<Option<Comparison>>,
    /// The ranks of the arms, or why they have none; None for pairs, for two arms without prices, and if neither direction
    /// of the metric is better.
    pub ranking: Option<Result<ArmRanking, NoArmRanking>>,
}

/// One arm of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// The estimate with its interval.
    pub estimate: Estimate,
    /// Runs that it rests on.
    pub runs: usize,
    /// Processes that it rests on.
    pub processes: usize,
    /// How they ended, if failures are accepted.
    pub ends: CommandEnds,
    /// What the arm gives for its price; None without a price.
    pub for_price: Option<ForPrice>,
    /// Its ratio to the first arm, divided by that of the series that all are normalised by; None of the first arm, of
    /// that series, and without such a series.
    pub normalised: Option<Estimate>,
    /// What charts draw of it, if that was asked.
    pub samples: Asked<ArmSamples>,
}

/// What an arm gives for its price.
#[derive(Debug, Clone, PartialEq)]
pub struct ForPrice {
    /// A rate divided by the price; of other metrics the value times the price, of which less is better. In the metric's
    /// unit.
    pub value: Estimate,
    /// The currency as the label names it (`USD`); empty if it is a number alone.
    pub currency: String,
}

/// What charts draw of an arm, from its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmSamples {
    /// The box plot of its steady samples.
    pub box_plot: Option<BoxPlot>,
    /// These samples, sorted.
    pub sorted: Vec<f64>,
    /// Resource use as shares of wall time, the mean over runs; None if it is not known.
    pub cpu: Option<CpuShares>,
    /// What the metric is made of: the other headline metrics in its unit, each with its mean over runs.
    pub parts: Vec<(String, f64)>,
}

impl ArmSamples {
    /// Of the steady values of every process.
    pub(crate) fn of(
        processes: &[Vec<f64>],
        cpu: Option<CpuShares>,
        parts: Vec<(String, f64)>,
    ) -> Self {
        let mut sorted: Vec<f64> = processes.iter().flatten().copied().collect();
        let box_plot = box_plot(&sorted);
        sorted.retain(|value| value.is_finite());
        sorted.sort_unstable_by(f64::total_cmp);
        Self { box_plot, sorted, cpu, parts }
    }
}
