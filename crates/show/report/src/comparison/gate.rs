//! The proof of a comparison (`ab --prove`): text, and a part of the document.

use plumb_analysis::{ComparisonFinding, Estimate, GateDoubt, GateFinding, GateOutcome, GatePower};
use plumb_text::{Style, Terminal, TextLine};
use plumb_units::{percent, quantity};
use serde::Serialize;

use crate::comparison::json::{ComparisonDocument, comparison_document};
use crate::comparison::verdict::{VerdictPart, point_verdict_part};
use crate::figure::figure;
use crate::json_parts::text::pretty;

/// Name of the document's form.
pub const GATE_SCHEMA: &str = "plumb.gate/1";

/// A comparison that proves itself, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.gate/1"))]
pub struct GateDocument {
    /// Name of the schema: `plumb.gate/1`.
    #[cfg_attr(test, schemars(extend("const" = GATE_SCHEMA)))]
    pub schema: &'static str,
    /// What the gate decides.
    #[cfg_attr(test, schemars(extend("enum" = ["regression", "not confirmed", "no regression", "inconclusive", "abstained"])))]
    pub outcome: &'static str,
    /// Whether the comparison works here.
    pub proof: GatePart,
    /// The later side on fresh pairs; null if it did not look slower.
    pub confirmation: Option<VerdictPart>,
    /// All sides, the control sides included.
    pub comparison: ComparisonDocument,
}

/// A comparison that proves itself, as text.
///
/// # Errors
/// When it can't be written as JSON.
pub fn gate_json(gate: &GateFinding, comparison: &ComparisonFinding) -> serde_json::Result<String> {
    pretty(&GateDocument {
        schema: GATE_SCHEMA,
        outcome: gate.outcome().word(),
        proof: gate_part(gate),
        confirmation: gate.confirmation.as_ref().map(point_verdict_part),
        comparison: comparison_document(comparison),
    })
}

/// The proof of a comparison as a part of a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GatePart {
    /// The extra work of the planted side, as a share.
    pub planted: f64,
    /// The first side measured again: its cost over the first's.
    pub again: Option<RatioPart>,
    /// The first side with the extra work: its cost over the first's.
    pub slower: Option<RatioPart>,
    /// The probability that a side that is slower by the share is reported.
    pub power: Option<PowerPart>,
    /// Why the verdict does not count; null if it does.
    pub doubt: Option<&'static str>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RatioPart {
    /// The estimate: over 1 is slower.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

/// A probability with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PowerPart {
    /// The estimated probability.
    pub probability: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

pub(crate) fn gate_part(gate: &GateFinding) -> GatePart {
    GatePart {
        planted: gate.planted,
        again: gate.again.as_ref().map(ratio_part),
        slower: gate.slower.as_ref().map(ratio_part),
        power: gate.power.map(power_part),
        doubt: gate.doubt.map(GateDoubt::why),
    }
}

pub(crate) fn ratio_part(ratio: &Estimate) -> RatioPart {
    RatioPart { ratio: ratio.value, low: ratio.low(), high: ratio.high() }
}

pub(crate) fn power_part(power: GatePower) -> PowerPart {
    PowerPart { probability: power.probability, low: power.low, high: power.high }
}

/// The proof in sentences; none without one.
#[must_use]
pub fn proof_lines(gate: Option<&GateFinding>) -> Vec<String> {
    let Some(gate) = gate else { return Vec::new() };
    let planted = percent(gate.planted);
    let mut lines = vec![
        format!("the first side compared with itself: {}", ratio_text(gate.again.as_ref())),
        format!("with {planted} extra work: {}", ratio_text(gate.slower.as_ref())),
    ];
    if let Some(power) = gate.power {
        lines.push(format!("this gate reports +{planted} {}", power_text(power)));
    }
    lines.push(decision(gate));
    lines
}

/// The proof in lines of a terminal's width.
pub(crate) fn proof(gate: Option<&GateFinding>, terminal: &Terminal) -> String {
    let lines = proof_lines(gate);
    if lines.is_empty() {
        return String::new();
    }
    let text = lines.iter().map(|line| terminal.lines(2, &TextLine::new(Style::Plain, line)));
    terminal.lines(0, &TextLine::new(Style::Heading, "Proof")) + &text.collect::<String>()
}

/// What a comparison that proves itself decides, as the first sentence of an answer: the verdicts of its sides do not count
/// without the proof. None without one.
#[must_use]
pub fn proof_answer(gate: Option<&GateFinding>) -> Option<String> {
    gate.map(|gate| format!("Proof: {}.", decision(gate)))
}

/// What the gate decides, in a sentence.
fn decision(gate: &GateFinding) -> String {
    let why = gate.doubt.map_or("", GateDoubt::why);
    let fresh = gate.confirmation.as_ref().and_then(|fresh| fresh.found.ratio.as_ref());
    match gate.outcome() {
        GateOutcome::Abstained => format!("the gate abstains: {why}"),
        GateOutcome::Regression => {
            format!("regression, confirmed on fresh pairs at 99 %: {}", ratio_text(fresh))
        }
        GateOutcome::NotConfirmed => {
            format!("not confirmed on fresh pairs at 99 %: {}", ratio_text(fresh))
        }
        GateOutcome::NoRegression => "the gate works, and found no regression".to_owned(),
        GateOutcome::Inconclusive => "the gate works, but there is no verdict".to_owned(),
    }
}

/// `with probability 0.93 [0.85, 0.97]`.
pub(crate) fn power_text(power: GatePower) -> String {
    let [probability, low, high] =
        [power.probability, power.low, power.high].map(|value| quantity(value, ""));
    format!("with probability {probability} [{low}, {high}]")
}

/// `1.02 [1.01, 1.03] × cost`.
pub(crate) fn ratio_text(ratio: Option<&Estimate>) -> String {
    let Some(ratio) = ratio else { return "not measured".to_owned() };
    let shown = figure(ratio, "");
    format!("{} {} × cost", shown.estimate, shown.brackets())
}
