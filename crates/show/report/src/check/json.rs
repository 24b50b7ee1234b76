//! `plumb.check/1`: the document for machines. Fields may be added, never changed.

use std::collections::BTreeMap;

use plumb_analysis::{
    CauseFinding, CheckDoubt, CheckFinding, CheckProof, CheckedSeries, RegressionCause,
    WhichBaseline,
};
use plumb_text::time::rfc3339;
use serde::Serialize;

use crate::comparison::covariates::{MovedPart, covariate_part};
use crate::comparison::gate::{PowerPart, RatioPart, power_part, ratio_part};
use crate::json_parts::text::pretty;

/// Name of the document's form.
pub const CHECK_SCHEMA: &str = "plumb.check/1";

/// A check as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.check/1"))]
pub struct CheckDocument {
    /// Name of the schema: `plumb.check/1`.
    #[cfg_attr(test, schemars(extend("const" = CHECK_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// The baseline's name.
    pub baseline: String,
    /// Runs of the baseline.
    pub baseline_runs: usize,
    /// From the first to the last of them, in seconds; null if that is not known.
    pub baseline_span_s: Option<f64>,
    /// From the middle of these to the check, in seconds; null if that is not known.
    pub baseline_age_s: Option<f64>,
    /// How many times as wide the interval of one fresh run is as if the baseline covered the time since; 1 if it
    /// does, or the times are not known.
    pub widened: f64,
    /// When the first baseline of this name was set (RFC 3339), if it was another and is compared, too.
    pub first_baseline: Option<String>,
    /// Ids of the fresh runs; the first screened, the others confirmed.
    pub runs: Vec<String>,
    /// Sessions of those that confirmed.
    pub sessions: usize,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// `regression`, `clean`, `inconclusive`, or `abstained` if its proof (`--prove`) failed.
    #[cfg_attr(test, schemars(extend("enum" = ["regression", "clean", "inconclusive", "abstained"])))]
    pub outcome: &'static str,
    /// The relative shift of all series, if they moved together.
    pub common_shift: Option<f64>,
    /// Why alerts do not count.
    pub vetoes: Vec<String>,
    /// By how much unchanged work moved meanwhile, relative: smaller alerts do not count.
    pub canary_shift: Option<f64>,
    /// Whether the check works; null unless that was asked (`--prove`).
    pub proof: Option<CheckProofPart>,
    /// Every series, what matters most first.
    pub series: Vec<CheckedPart>,
    /// Series that the baseline has in too few runs.
    pub uncalibrated: Vec<String>,
    /// Series of the baseline that could not be measured now, with the reason.
    pub not_measured: BTreeMap<String, String>,
}

/// One series of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedPart {
    /// Name of the series.
    pub series: String,
    /// The name of the point for people.
    pub name: String,
    /// Unit of the metric, an SI base unit.
    pub unit: String,
    /// What it is compared with: the baseline, or the first one of this name.
    #[cfg_attr(test, schemars(extend("enum" = ["baseline", "first baseline"])))]
    pub against: &'static str,
    /// The geometric mean of the baseline's runs.
    pub baseline: f64,
    /// That of the fresh runs that decided.
    pub now: f64,
    /// Fresh runs that decided.
    pub fresh_runs: usize,
    /// Cost over the baseline's: over 1 is slower.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The verdict from the interval alone; `inconclusive` instead of `equivalent` if clients were busy.
    #[cfg_attr(test, schemars(extend("enum" = ["faster", "slower", "equivalent", "inconclusive"])))]
    pub verdict: &'static str,
    /// Whether the clients used most of their CPU time. If so, a slower server may not show in the result.
    pub busy_clients: bool,
    /// `confirmed`, `undecided`, `not confirmed` or `as usual`.
    #[cfg_attr(test, schemars(extend("enum" = ["confirmed", "undecided", "not confirmed", "as usual"])))]
    pub state: &'static str,
    /// The run with which a confirmed change began, if history tells.
    pub since_run: Option<String>,
    /// Other changes, if the change is confirmed: facts first, then rates, the farthest apart first.
    pub moved: Vec<MovedPart>,
    /// Where a regression comes from; null unless the baseline keeps what it measured (`baseline set --keep`).
    pub cause: Option<CausePart>,
}

/// Where a regression comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CausePart {
    /// The answer, in one word.
    #[cfg_attr(test, schemars(extend("enum" = ["code", "environment", "both", "undecided"])))]
    pub answer: &'static str,
    /// The present program's cost over that of the kept one, next to each other; null if one was not measured.
    pub code: Option<RatioPart>,
    /// The kept program's cost now over the baseline's; null if it was not measured.
    pub environment: Option<RatioPart>,
    /// Why there is no answer, if something is missing.
    pub why: Option<String>,
}

/// The proof of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckProofPart {
    /// The point that was measured again and with extra work.
    pub point: String,
    /// The extra work, as a share.
    pub planted: f64,
    /// The point measured again: its cost over its own.
    pub again: Option<RatioPart>,
    /// The point with the extra work: its cost over its own.
    pub slower: Option<RatioPart>,
    /// The probability that the check reports a slow-down of this point by the share.
    pub power: Option<PowerPart>,
    /// Why the check does not count; null if it does.
    pub doubt: Option<&'static str>,
}

/// The check as a document.
#[must_use]
pub fn check_document(finding: &CheckFinding) -> CheckDocument {
    let outcome = if finding.abstains().is_some() {
        "abstained"
    } else if finding.regressions().next().is_some() {
        "regression"
    } else if finding.is_inconclusive() {
        "inconclusive"
    } else {
        "clean"
    };
    CheckDocument {
        schema: CHECK_SCHEMA,
        method: finding.method,
        baseline: finding.baseline.clone(),
        baseline_runs: finding.baseline_runs,
        baseline_span_s: finding.baseline_times.map(|times| times.span_s),
        baseline_age_s: finding.baseline_times.map(|times| times.age_s),
        widened: finding.baseline_times.map_or(1.0, |times| times.widened),
        first_baseline: finding.first_baseline_unix_ns.map(rfc3339),
        runs: finding.runs.iter().map(|run| run.run.to_string()).collect(),
        sessions: finding.sessions,
        margin: finding.margin,
        outcome,
        common_shift: finding.common_shift,
        vetoes: finding.vetoes.clone(),
        canary_shift: finding.canary_shift,
        proof: finding.proof.as_ref().map(proof_part),
        series: finding.series.iter().map(part).collect(),
        uncalibrated: finding.uncalibrated.iter().map(|(name, _)| name.clone()).collect(),
        not_measured: finding
            .not_measured
            .iter()
            .map(|lost| (lost.series.clone(), lost.why.clone()))
            .collect(),
    }
}

fn part(series: &CheckedSeries) -> CheckedPart {
    CheckedPart {
        series: series.series.clone(),
        name: series.point.name.clone(),
        unit: series.unit.clone(),
        against: match series.against {
            WhichBaseline::Current => "baseline",
            WhichBaseline::First => "first baseline",
        },
        baseline: series.baseline,
        now: series.now,
        fresh_runs: series.fresh_runs,
        ratio: series.ratio.value,
        low: series.ratio.low(),
        high: series.ratio.high(),
        verdict: series.verdict.word(),
        busy_clients: series.busy_clients,
        state: series.state.word(),
        since_run: series.since.found().map(|since| since.run.to_string()),
        moved: series.covariates.items().iter().map(covariate_part).collect(),
        cause: series.cause.found().map(cause_part),
    }
}

fn cause_part(found: &CauseFinding) -> CausePart {
    CausePart {
        answer: match found.cause {
            RegressionCause::Code => "code",
            RegressionCause::Environment => "environment",
            RegressionCause::Both => "both",
            RegressionCause::Undecided => "undecided",
        },
        code: found.code.as_ref().map(ratio_part),
        environment: found.environment.as_ref().map(ratio_part),
        why: found.why.clone(),
    }
}

fn proof_part(proof: &CheckProof) -> CheckProofPart {
    CheckProofPart {
        point: proof.point.clone(),
        planted: proof.planted,
        again: proof.again.as_ref().map(ratio_part),
        slower: proof.slower.as_ref().map(ratio_part),
        power: proof.power.map(power_part),
        doubt: proof.doubt.map(CheckDoubt::why),
    }
}

/// The document as text.
///
/// # Errors
/// When it can't be written as JSON.
pub fn check_json(finding: &CheckFinding) -> serde_json::Result<String> {
    pretty(&check_document(finding))
}
