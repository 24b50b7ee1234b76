//! `plumb.comparison/1`: the document for machines. Fields may be added, never changed.

use std::collections::BTreeMap;

use plumb_analysis::{
    ByPairs, Comparison, ComparisonFinding, Difference, Estimate, SeriesComparison,
};
use serde::Serialize;

use crate::json_parts::text::pretty;

use crate::comparison::covariates::{MovedPart, covariate_part};
use crate::comparison::levels::{LevelsComparedPart, levels_part};
use crate::json_parts::point::{ValuePart, settings};
use crate::standing_out::{StandingOutPart, standing_out_part};

/// Name of the document's form.
pub const COMPARISON_SCHEMA: &str = "plumb.comparison/1";

/// A comparison as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.comparison/1"))]
pub struct ComparisonDocument {
    /// `plumb.comparison/1`.
    #[cfg_attr(test, schemars(extend("const" = COMPARISON_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// The runs' ids.
    pub runs: Vec<String>,
    /// What people call the arms; the first is what the others are compared with.
    pub arms: Vec<String>,
    /// What runs were grouped by.
    pub by: Option<String>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Level of the intervals.
    pub confidence: f64,
    /// Whether the arms were measured in pairs.
    pub paired: bool,
    /// Whether the arms were measured on different machines.
    pub machines_differ: bool,
    /// What differs besides what is compared.
    pub differences: Vec<DifferencePart>,
    /// A comparison for every series in common.
    pub results: Vec<ComparedPart>,
    /// Each later arm against the first, as the geometric mean over the series that both have.
    pub overall: Vec<Option<OverallPart>>,
    /// Which series of each later arm moved unlike the others since the first; null for pairs and where machines
    /// differ.
    pub standing_out: Vec<Option<StandingOutPart>>,
    /// Series that only some arms have, with those.
    pub not_in_all: BTreeMap<String, Vec<String>>,
}

/// A field that is not the same in all arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DifferencePart {
    /// The field.
    pub field: String,
    /// Its value in every arm.
    pub values: Vec<String>,
    /// How bad that is.
    #[cfg_attr(test, schemars(extend("enum" = ["harmless", "relevant", "fatal"])))]
    pub grade: &'static str,
}

/// One series in every arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedPart {
    /// Name of the series.
    pub series: String,
    /// Every parameter with its value; of the first arm where the arms are points.
    pub point: BTreeMap<String, ValuePart>,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The arms; null where one lacks the series.
    pub arms: Vec<Option<ArmPart>>,
    /// Each later arm against the first; null where one of them lacks the series.
    pub against_first: Vec<Option<AgainstPart>>,
    /// Each later arm against the one before it; empty with two arms.
    pub against_previous: Vec<Option<AgainstPart>>,
}

/// A geometric mean of ratios.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverallPart {
    /// Cost over the first's: over 1 is slower.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

/// One arm of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArmPart {
    /// What people call it.
    pub label: String,
    /// The median.
    pub estimate: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Processes that it rests on.
    pub n: usize,
    /// Runs that it rests on.
    pub runs: usize,
    /// The median per price (rates), or times price (costs); null without a price.
    pub for_price: Option<f64>,
}

/// One arm against another.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgainstPart {
    /// Cost over the other's cost: over 1 is slower.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// `faster`, `slower`, `equivalent`, `inconclusive`; null without a verdict.
    #[cfg_attr(test, schemars(extend("enum" = ["faster", "slower", "equivalent", "inconclusive", null])))]
    pub verdict: Option<&'static str>,
    /// Why there is no verdict.
    pub no_verdict: Option<String>,
    /// Remarks on the verdict.
    pub flags: Vec<String>,
    /// Pairs; null where arms were not measured in pairs.
    pub pairs: Option<usize>,
    /// Pairs that are left out because an invocation of either failed.
    pub left_out: Option<usize>,
    /// Looks at the pairs.
    pub looks: Option<usize>,
    /// Pairs that would settle it.
    pub pairs_needed: Option<usize>,
    /// How far pairs differ, as a relative deviation that a few wild ones hardly raise; null where arms were not
    /// measured in pairs, or all pairs are alike.
    pub pair_sd: Option<f64>,
    /// The relative change that these pairs show four times in five; null unless inconclusive.
    pub told_apart: Option<f64>,
    /// The relative deviation between runs above which the difference could be chance.
    pub break_even: Option<f64>,
    /// The relative deviation between runs that the interval allows for.
    pub run_sd: Option<f64>,
    /// What happened to the levels; null where neither arm has two.
    pub levels: Option<LevelsComparedPart>,
    /// What else changed, where the interval excludes equality: facts first, then rates, the farthest apart first.
    pub moved: Vec<MovedPart>,
}

/// The comparison as a document.
#[must_use]
pub fn comparison_document(finding: &ComparisonFinding) -> ComparisonDocument {
    let named = |place: usize| finding.results.get(place).map(|it| it.series.clone());
    ComparisonDocument {
        schema: COMPARISON_SCHEMA,
        method: finding.method,
        runs: finding.runs.iter().map(|run| run.id.to_string()).collect(),
        arms: finding.arms.clone(),
        by: finding.by.clone(),
        margin: finding.margin,
        confidence: finding.confidence,
        paired: finding.paired,
        machines_differ: finding.machines_differ,
        differences: finding.differences.iter().map(difference).collect(),
        results: finding.results.iter().map(|it| compared(it, &finding.arms)).collect(),
        overall: finding.overall.iter().map(|it| it.as_ref().map(overall)).collect(),
        standing_out: finding
            .standing_out
            .iter()
            .map(|it| it.as_ref().map(|it| standing_out_part(it, named)))
            .collect(),
        not_in_all: finding.not_in_all.iter().cloned().collect(),
    }
}

fn overall(ratio: &Estimate) -> OverallPart {
    OverallPart { ratio: ratio.value, low: ratio.low(), high: ratio.high() }
}

/// The document as text.
///
/// # Errors
/// When it can't be written as JSON.
pub fn comparison_json(finding: &ComparisonFinding) -> serde_json::Result<String> {
    pretty(&comparison_document(finding))
}

/// A difference as a part of a document.
pub(crate) fn difference(it: &Difference) -> DifferencePart {
    DifferencePart { field: it.field.clone(), values: it.values.clone(), grade: it.impact.word() }
}

fn compared(result: &SeriesComparison, labels: &[String]) -> ComparedPart {
    let all =
        |them: &[Option<Comparison>]| them.iter().map(|it| it.as_ref().map(against)).collect();
    let arm = |(arm, label): (&Option<plumb_analysis::Arm>, &String)| {
        arm.as_ref().map(|arm| ArmPart {
            label: label.clone(),
            estimate: arm.estimate.value,
            low: arm.estimate.low(),
            high: arm.estimate.high(),
            n: arm.processes,
            runs: arm.runs,
            for_price: arm.for_price,
        })
    };
    ComparedPart {
        series: result.series.clone(),
        point: settings(&result.point),
        metric: result.metric.clone(),
        unit: result.unit.clone(),
        arms: result.arms.iter().zip(labels).map(arm).collect(),
        against_first: all(&result.against_first),
        against_previous: all(&result.against_previous),
    }
}

fn against(against: &Comparison) -> AgainstPart {
    let ratio = against.ratio.as_ref();
    let (pairs, noise) = (against.by_pairs(), against.by_runs().copied().unwrap_or_default());
    AgainstPart {
        ratio: ratio.map(|ratio| ratio.value),
        low: ratio.and_then(plumb_analysis::Estimate::low),
        high: ratio.and_then(plumb_analysis::Estimate::high),
        verdict: against.verdict.as_ref().ok().map(|verdict| verdict.word()),
        no_verdict: against.verdict.err().map(|why| why.to_string()),
        flags: against.remarks.iter().map(ToString::to_string).collect(),
        pairs: pairs.map(|it| it.pairs),
        left_out: pairs.map(|it| it.left_out),
        looks: pairs.map(ByPairs::looks_taken),
        pairs_needed: pairs.and_then(|it| it.pairs_needed),
        pair_sd: pairs.and_then(|it| it.pair_sd),
        told_apart: pairs.and_then(|it| it.told_apart),
        break_even: noise.break_even,
        run_sd: noise.run_sd,
        levels: against.levels.as_ref().map(levels_part),
        moved: against.covariates.iter().map(covariate_part).collect(),
    }
}
