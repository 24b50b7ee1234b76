//! One side compared with another, as a part of every document: pairs of one run and stored runs alike.

use plumb_analysis::{ByPairs, Comparison, Estimate, LookFound, PointComparison};
use serde::Serialize;

use crate::comparison::covariates::{MovedPart, covariate_part};
use crate::comparison::levels::{LevelsComparedPart, levels_part};
use crate::comparison::other_build;

/// A comparison with the first point or arm, or with the one before.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerdictPart {
    /// The name of the point or arm that it is compared with.
    pub first: String,
    /// Cost over the first's cost: over 1 is slower.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// By how much values exceed the first's, by pairs (Hodges-Lehmann): over 0 is more, whatever the metric's direction; null if nothing was measured of both, their units differ, or they were not measured in pairs.
    pub difference: Option<InUnit>,
    /// The throughput of this side, in B/s, if its medium encrypts and the first's does not: a device that is slower
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
    /// Rounds in which both were measured; null if they were not measured in pairs.
    pub pairs: Option<usize>,
    /// Rounds that are left out because an invocation of either failed; null if they were not measured in pairs.
    pub left_out: Option<usize>,
    /// Rules of interference that one side meets more often than chance allows: its work outside the measured processes.
    pub side_effects: Vec<SideEffectPart>,
    /// What the difference of two program files does not say of their sources; null if they are one file, or differ by
    /// more than a build commonly does.
    pub other_build: Option<OtherBuildPart>,
    /// Looks at the pairs; 1 for a fixed number of them, null if they were not measured in pairs.
    pub looks: Option<usize>,
    /// The data of each look; empty for a fixed number of pairs.
    pub path: Vec<LookPart>,
    /// Whether the stored looks follow from the stored samples to the last bit; null without looks.
    pub rederived: Option<bool>,
    /// Pairs that would settle an inconclusive comparison.
    pub pairs_needed: Option<usize>,
    /// How far pairs differ, as a relative deviation that a few wild ones hardly raise; null if they were not measured
    /// in pairs, or all pairs are alike.
    pub pair_sd: Option<f64>,
    /// The relative change that these pairs show four times in five; null unless inconclusive.
    pub told_apart: Option<f64>,
    /// The relative deviation between runs above which the difference could be chance; null for pairs.
    pub break_even: Option<f64>,
    /// The relative deviation between runs that the interval allows for; null for pairs.
    pub run_sd: Option<f64>,
    /// Blocks of stored runs that were measured in turns, if these decide; null otherwise.
    pub blocks: Option<usize>,
    /// Changes of the levels; null if neither side has two.
    pub levels: Option<LevelsComparedPart>,
    /// Other changes, if the interval excludes equality: facts first, then rates, the farthest apart first.
    pub moved: Vec<MovedPart>,
    /// How far results scatter from process to process, over how far the first's do; null if that
    /// can't be computed.
    pub spread_between: Option<SpreadPart>,
    /// The same from sample to sample inside processes.
    pub spread_within: Option<SpreadPart>,
}

/// A value of a comparison in the metric's unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InUnit {
    /// The estimate, in the unit.
    pub value: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Its unit, an SI base unit.
    pub unit: String,
}

/// A rule of interference that belongs to a side, so that no pair is excluded for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SideEffectPart {
    /// The name of the rule, as monitors report it.
    pub rule: String,
    /// Pairs in which only the first side met it.
    pub first: usize,
    /// Pairs in which only this side met it.
    pub later: usize,
    /// Pairs in which both sides were measured.
    pub pairs: usize,
}

/// A difference of two program files that is small enough to be due to their builds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OtherBuildPart {
    /// How far relinked copies of one program differ on this machine, by its last audit; null without one.
    pub layout_effect: Option<f64>,
    /// The same in words.
    pub note: String,
}

/// A ratio of spreads: over 1 is less repeatable.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpreadPart {
    /// Spread of the later arm over that of the first.
    pub ratio: f64,
    /// Lower end of its interval, at 95 %.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

/// The data of one look at a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LookPart {
    /// Pairs that were measured until then.
    pub pairs: usize,
    /// Cost over the first's cost.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The verdict; null if there was none yet.
    pub verdict: Option<&'static str>,
}

/// The terms of a comparison.
pub(crate) struct Terms<'t> {
    /// What people call the side that it is compared with.
    pub(crate) first: &'t str,
    /// Level of the interval.
    pub(crate) confidence: f64,
    /// Smallest relative change that matters.
    pub(crate) margin: f64,
}

/// A comparison as a part of a document.
pub(crate) fn verdict_part(found: &Comparison, terms: &Terms<'_>) -> VerdictPart {
    let ratio = found.ratio.as_ref();
    let pairs = found.by_pairs();
    let runs = found.by_runs();
    VerdictPart {
        first: terms.first.to_owned(),
        ratio: ratio.map(|ratio| ratio.value),
        low: ratio.and_then(Estimate::low),
        high: ratio.and_then(Estimate::high),
        difference: None,
        encrypted: None,
        confidence: terms.confidence,
        margin: terms.margin,
        verdict: found.verdict.as_ref().ok().map(|verdict| verdict.word()),
        no_verdict: found.verdict.err().map(|why| why.to_string()),
        flags: found.remarks.iter().map(ToString::to_string).collect(),
        pairs: pairs.map(|pairs| pairs.pairs),
        left_out: pairs.map(|pairs| pairs.left_out),
        side_effects: pairs.map_or_else(Vec::new, side_effects),
        other_build: pairs.and_then(other_build_part),
        looks: pairs.map(ByPairs::looks_taken),
        path: pairs.map_or_else(Vec::new, |pairs| pairs.looks.iter().map(look).collect()),
        rederived: pairs.and_then(|pairs| pairs.rederived),
        pairs_needed: pairs.and_then(|pairs| pairs.pairs_needed),
        pair_sd: pairs.and_then(|pairs| pairs.pair_sd),
        told_apart: pairs.and_then(|pairs| pairs.told_apart),
        break_even: runs.and_then(|runs| runs.break_even),
        run_sd: runs.and_then(|runs| runs.run_sd),
        blocks: runs.and_then(|runs| runs.blocks),
        levels: found.levels.as_ref().map(levels_part),
        moved: found.covariates.items().iter().map(covariate_part).collect(),
        spread_between: pairs.and_then(|pairs| pairs.spread.between.as_ref().map(spread)),
        spread_within: pairs.and_then(|pairs| pairs.spread.within.as_ref().map(spread)),
    }
}

/// A comparison of points of one run: the same with what is known of a pair's values.
pub(crate) fn point_verdict_part(of_point: &PointComparison) -> VerdictPart {
    let terms = Terms {
        first: &of_point.first.name,
        confidence: of_point.confidence,
        margin: of_point.margin,
    };
    VerdictPart {
        difference: of_point.difference.as_ref().map(|found| in_unit(found, &of_point.unit)),
        encrypted: of_point.encrypted.as_ref().map(|found| in_unit(found, &of_point.unit)),
        ..verdict_part(&of_point.found, &terms)
    }
}

fn side_effects(pairs: &ByPairs) -> Vec<SideEffectPart> {
    let mut parts = Vec::new();
    for found in &pairs.side_effects {
        parts.push(SideEffectPart {
            rule: found.rule.clone(),
            first: found.first,
            later: found.later,
            pairs: found.units,
        });
    }
    parts
}

fn other_build_part(pairs: &ByPairs) -> Option<OtherBuildPart> {
    let found = pairs.other_build?;
    Some(OtherBuildPart { layout_effect: found.layout_effect, note: other_build(found) })
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

fn in_unit(found: &Estimate, unit: &str) -> InUnit {
    InUnit { value: found.value, low: found.low(), high: found.high(), unit: unit.to_owned() }
}

fn spread(ratio: &Estimate) -> SpreadPart {
    SpreadPart { ratio: ratio.value, low: ratio.low(), high: ratio.high() }
}
