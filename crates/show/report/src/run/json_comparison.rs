//! A comparison with the first point, as a part of `plumb.run/1`.

use plumb_analysis::{Estimate, LookFound, PointComparison};
use serde::Serialize;

use crate::comparison::covariates::{MovedPart, covariate_part};
use crate::comparison::levels::{LevelsComparedPart, levels_part};

/// A comparison with the first point, or with the one above.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparisonPart {
    /// What people call the point that it is compared with.
    pub first: String,
    /// Cost over the first's cost: over 1 is slower.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// By how much values exceed the first's, by pairs (Hodges-Lehmann): over 0 is more, whatever the metric's direction; null where nothing was measured of both, or their units differ.
    pub difference: Option<InUnit>,
    /// The throughput of this side, in B/s, where its medium encrypts and the first's does not: a device that is slower
    /// than this is not slowed down by the encryption.
    pub encrypted: Option<InUnit>,
    /// Level of the interval.
    pub confidence: f64,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// `faster`, `slower`, `equivalent`, `inconclusive`; null without a verdict.
    #[cfg_attr(test, schemars(extend("enum" = ["faster", "slower", "equivalent", "inconclusive", null])))]
    pub verdict: Option<&'static str>,
    /// Why there is no verdict.
    pub no_verdict: Option<String>,
    /// Remarks on the verdict.
    pub flags: Vec<String>,
    /// Rounds in which both were measured.
    pub pairs: usize,
    /// Rounds that are left out because an invocation of either failed.
    pub left_out: usize,
    /// Looks at the data; 1 for a fixed number of pairs.
    pub looks: usize,
    /// What each look saw; empty for a fixed number of pairs.
    pub path: Vec<LookPart>,
    /// Whether the stored looks follow from the stored samples to the last bit; null without looks.
    pub rederived: Option<bool>,
    /// Pairs that would settle an inconclusive comparison.
    pub pairs_needed: Option<usize>,
    /// How far pairs differ, as a relative deviation that a few wild ones hardly raise; null where all are alike.
    pub pair_sd: Option<f64>,
    /// The relative change that these pairs show four times in five; null unless inconclusive.
    pub told_apart: Option<f64>,
    /// Run-to-run deviation at which this could be chance; null for pairs.
    pub break_even: Option<f64>,
    /// What happened to the levels; null where neither has two.
    pub levels: Option<LevelsComparedPart>,
    /// What else changed, where the interval excludes equality, the farthest apart first.
    pub moved: Vec<MovedPart>,
    /// How far results scatter from process to process, over how far the first's do; null where that
    /// can't be told.
    pub spread_between: Option<SpreadPart>,
    /// The same from sample to sample inside processes.
    pub spread_within: Option<SpreadPart>,
}

/// A value of a comparison in the metric's unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InUnit {
    /// The estimate.
    pub value: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Its unit, an SI base unit.
    pub unit: String,
}

/// A ratio of spreads: over 1 is less repeatable.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpreadPart {
    /// The ratio.
    pub ratio: f64,
    /// Lower end of its interval, at 95 %.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

/// What a look at a comparison saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LookPart {
    /// Pairs.
    pub pairs: usize,
    /// Cost over the first's cost.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The verdict; null where there was none yet.
    pub verdict: Option<&'static str>,
}

fn look(look: &LookFound) -> LookPart {
    LookPart {
        pairs: look.pairs,
        ratio: look.ratio.value,
        low: look.ratio.low(),
        high: look.ratio.high(),
        verdict: look.verdict.map(plumb_model::Verdict::word),
    }
}

/// The part of a document.
pub(crate) fn comparison(of_point: &PointComparison) -> ComparisonPart {
    let comparison = &of_point.found;
    let ratio = comparison.ratio.as_ref();
    let pairs = comparison.by_pairs().cloned().unwrap_or_default();
    ComparisonPart {
        first: of_point.first.name.clone(),
        ratio: ratio.map(|ratio| ratio.value),
        low: ratio.and_then(Estimate::low),
        high: ratio.and_then(Estimate::high),
        difference: of_point.difference.as_ref().map(|it| in_unit(it, &of_point.unit)),
        encrypted: of_point.encrypted.as_ref().map(|it| in_unit(it, &of_point.unit)),
        confidence: of_point.confidence,
        margin: of_point.margin,
        verdict: comparison.verdict.as_ref().ok().map(|verdict| verdict.word()),
        no_verdict: comparison.verdict.err().map(|why| why.to_string()),
        flags: comparison.remarks.iter().map(ToString::to_string).collect(),
        pairs: pairs.pairs,
        left_out: pairs.left_out,
        looks: pairs.looks_taken(),
        path: pairs.looks.iter().map(look).collect(),
        rederived: pairs.rederived,
        pairs_needed: pairs.pairs_needed,
        pair_sd: pairs.pair_sd,
        told_apart: pairs.told_apart,
        break_even: comparison.by_runs().and_then(|it| it.break_even),
        levels: comparison.levels.as_ref().map(levels_part),
        moved: comparison.covariates.iter().map(covariate_part).collect(),
        spread_between: pairs.spread.between.as_ref().map(spread),
        spread_within: pairs.spread.within.as_ref().map(spread),
    }
}

fn in_unit(found: &Estimate, unit: &str) -> InUnit {
    InUnit { value: found.value, low: found.low(), high: found.high(), unit: unit.to_owned() }
}

fn spread(ratio: &Estimate) -> SpreadPart {
    SpreadPart { ratio: ratio.value, low: ratio.low(), high: ratio.high() }
}
