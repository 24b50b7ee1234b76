//! `plumb.comparison/1`: the document for machines. Fields may be added, never changed.

use std::collections::BTreeMap;

use plumb_analysis::{Arm, Comparison, ComparisonFinding, Difference, Estimate, SeriesComparison};
use serde::Serialize;

use crate::json_parts::text::pretty;

use crate::comparison::ranks::ArmRanksPart;
use crate::comparison::verdict::{Terms, VerdictPart, verdict_part};
use crate::json_parts::ended::{EndedPart, ended};
use crate::json_parts::point::{ValuePart, settings};
use crate::standing_out::{StandingOutPart, standing_out_part};

/// Name of the document's form.
pub const COMPARISON_SCHEMA: &str = "plumb.comparison/1";

/// A comparison as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.comparison/1"))]
pub struct ComparisonDocument {
    /// Name of the schema: `plumb.comparison/1`.
    #[cfg_attr(test, schemars(extend("const" = COMPARISON_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// The runs' ids.
    pub runs: Vec<String>,
    /// The names of the arms for people; the others are compared with the first.
    pub arms: Vec<String>,
    /// The label or fact by which runs were grouped.
    pub by: Option<String>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Level of the intervals.
    pub confidence: f64,
    /// Whether the arms were measured in pairs.
    pub paired: bool,
    /// Whether the arms were measured on different machines.
    pub machines_differ: bool,
    /// Other differences between the arms.
    pub differences: Vec<DifferencePart>,
    /// A comparison for every series in common.
    pub results: Vec<ComparedPart>,
    /// Each later arm against the first, as the geometric mean over the series that both have.
    pub overall: Vec<Option<OverallPart>>,
    /// Which series of each later arm moved unlike the others since the first; null for pairs and if machines
    /// differ.
    pub standing_out: Vec<Option<StandingOutPart>>,
    /// Series that only some arms have, with those.
    pub not_in_all: BTreeMap<String, Vec<String>>,
    /// The series that the normalised ratios are relative to (`--normalise-by`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalised_by: Option<NormalisedByPart>,
}

/// The series that the ratios of the others are divided by.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NormalisedByPart {
    /// Name of the series.
    pub series: String,
    /// Components that did its work and whose versions differ between arms.
    pub changed_versions: Vec<String>,
}

/// A field that is not the same in all arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DifferencePart {
    /// Name of the field.
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
    /// Every parameter with its value; of the first arm if the arms are points.
    pub point: BTreeMap<String, ValuePart>,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the metric, an SI base unit.
    pub unit: String,
    /// The arms; null if one lacks the series.
    pub arms: Vec<Option<ArmPart>>,
    /// Each later arm against the first; null if one of them lacks the series.
    pub against_first: Vec<Option<VerdictPart>>,
    /// Each later arm against the one before it; empty with two arms.
    pub against_previous: Vec<Option<VerdictPart>>,
}

/// A ratio that was not measured itself: a geometric mean, or a relative one.
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
    /// The name for people.
    pub label: String,
    /// The median, in the unit of the metric.
    pub estimate: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Processes that it rests on.
    pub n: usize,
    /// Runs that it rests on.
    pub runs: usize,
    /// How its processes ended, if failures are accepted (`--ignore-failure`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedPart>,
    /// The median per price (rates), or times price (costs); null without a price.
    pub for_price: Option<f64>,
    /// Lower end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_price_low: Option<f64>,
    /// Upper end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_price_high: Option<f64>,
    /// The currency of the price, if its label names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Its ratio to the first arm divided by that of the series in `normalised_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalised: Option<OverallPart>,
    /// Its possible ranks among the arms, if they can be ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<ArmRanksPart>,
}

/// The comparison as a document.
#[must_use]
pub fn comparison_document(finding: &ComparisonFinding) -> ComparisonDocument {
    let named = |place: usize| finding.results.get(place).map(|result| result.series.clone());
    ComparisonDocument {
        schema: COMPARISON_SCHEMA,
        method: finding.method,
        runs: finding.runs.iter().map(|run| run.run.to_string()).collect(),
        arms: finding.arms.clone(),
        by: finding.by.clone(),
        margin: finding.margin,
        confidence: finding.confidence,
        paired: finding.paired,
        machines_differ: finding.machines_differ,
        differences: finding.differences.iter().map(difference).collect(),
        results: finding.results.iter().map(|result| compared(result, finding)).collect(),
        overall: finding.overall.iter().map(|arm| arm.as_ref().map(overall)).collect(),
        standing_out: finding
            .standing_out
            .iter()
            .map(|arm| arm.as_ref().map(|found| standing_out_part(found, named)))
            .collect(),
        not_in_all: finding.not_in_all.iter().cloned().collect(),
        normalised_by: finding.normalised_by.as_ref().map(|by| NormalisedByPart {
            series: by.series.clone(),
            changed_versions: by.changed_versions.clone(),
        }),
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
pub(crate) fn difference(difference: &Difference) -> DifferencePart {
    DifferencePart {
        field: difference.field.clone(),
        values: difference.values.clone(),
        grade: difference.impact.word(),
    }
}

fn compared(result: &SeriesComparison, finding: &ComparisonFinding) -> ComparedPart {
    let against = |found: &Option<Comparison>, first: usize| {
        let terms = Terms {
            first: finding.arms.get(first).map_or("", String::as_str),
            confidence: finding.confidence,
            margin: finding.margin,
        };
        found.as_ref().map(|found| verdict_part(found, &terms))
    };
    let previous = result.against_previous.iter().enumerate();
    let ranking = result.ranking.as_ref().and_then(|ranking| ranking.as_ref().ok());
    let mut arms = Vec::new();
    for (index, (arm, label)) in result.arms.iter().zip(&finding.arms).enumerate() {
        let ranks = ranking.and_then(|ranking| ArmRanksPart::of(ranking, index));
        arms.push(arm.as_ref().map(|arm| arm_part(arm, label, ranks)));
    }
    ComparedPart {
        series: result.series.clone(),
        point: settings(&result.point),
        metric: result.metric.clone(),
        unit: result.unit.clone(),
        arms,
        against_first: result.against_first.iter().map(|found| against(found, 0)).collect(),
        against_previous: previous.map(|(first, found)| against(found, first)).collect(),
    }
}

fn arm_part(arm: &Arm, label: &str, ranks: Option<ArmRanksPart>) -> ArmPart {
    let for_price = arm.for_price.as_ref();
    ArmPart {
        label: label.to_owned(),
        estimate: arm.estimate.value,
        low: arm.estimate.low(),
        high: arm.estimate.high(),
        n: arm.processes,
        runs: arm.runs,
        ended: ended(&arm.ends),
        for_price: for_price.map(|price| price.value.value),
        for_price_low: for_price.and_then(|price| price.value.low()),
        for_price_high: for_price.and_then(|price| price.value.high()),
        currency: for_price
            .map(|price| price.currency.clone())
            .filter(|currency| !currency.is_empty()),
        normalised: arm.normalised.as_ref().map(overall),
        ranks,
    }
}
