//! `plumb.crosscheck/1`: the document for machines. Fields may be added, never changed.

use plumb_analysis::Estimate;
use serde::Serialize;

use crate::finding::{Agreement, Crosschecked};

/// Name of the document's form.
pub const CROSSCHECK_SCHEMA: &str = "plumb.crosscheck/1";

/// A crosscheck as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.crosscheck/1"))]
pub struct CrosscheckDocument {
    /// The name of this form, always `plumb.crosscheck/1`.
    #[cfg_attr(test, schemars(extend("const" = CROSSCHECK_SCHEMA)))]
    pub schema: &'static str,
    /// Every pair of points.
    pub rows: Vec<RowPart>,
}

/// A classic's point next to ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RowPart {
    /// The family that it is about.
    pub family: &'static str,
    /// The classic's point.
    pub classic: &'static str,
    /// The point of plumb that should read the same.
    pub ours: &'static str,
    /// The metric that is compared.
    pub metric: &'static str,
    /// Its unit; empty if nothing was measured.
    pub unit: String,
    /// How far they may lie apart, relative; null if both are only shown.
    pub band: Option<f64>,
    /// Why they differ, if that is known.
    pub known_difference: Option<&'static str>,
    /// The figure of the classic tool; null if it was not measured.
    pub classic_reads: Option<FigurePart>,
    /// The figure of the plumb workload.
    pub plumb_reads: Option<FigurePart>,
    /// Cost measured by plumb over that measured by the classic: over 1, plumb's is higher.
    pub ratio: Option<FigurePart>,
    /// Pairs that were compared.
    pub pairs: usize,
    /// The classic tool with its version.
    pub tool: String,
    /// `agrees`, `disagrees`, `shown`, `inconclusive`, `unsupported` or `failed`.
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["agrees", "disagrees", "shown", "inconclusive", "unsupported", "failed"]))
    )]
    pub outcome: &'static str,
    /// Why, if the figures do not say it.
    pub why: Option<String>,
    /// What would mend it, if it is unsupported.
    pub fix: Option<String>,
    /// Id of the run that measured it.
    pub run: String,
}

/// An estimate with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FigurePart {
    /// The median over processes, in the row's unit.
    pub estimate: f64,
    /// Lower end; null without an interval.
    pub low: Option<f64>,
    /// Upper end; null without an interval.
    pub high: Option<f64>,
}

/// The document of these rows.
#[must_use]
pub fn crosscheck_document(all: &[Crosschecked]) -> CrosscheckDocument {
    CrosscheckDocument { schema: CROSSCHECK_SCHEMA, rows: all.iter().map(part).collect() }
}

fn part(checked: &Crosschecked) -> RowPart {
    let row = &checked.row;
    let [classic, ours] = &checked.figures;
    let (why, fix) = match &checked.outcome {
        Agreement::Agrees | Agreement::Disagrees | Agreement::Shown => (None, None),
        Agreement::Inconclusive(why) | Agreement::Failed(why) => (Some(why.clone()), None),
        Agreement::Unsupported { why, fix } => (Some(why.clone()), Some(fix.clone())),
    };
    RowPart {
        family: row.family(),
        classic: row.classic,
        ours: row.ours,
        metric: row.metric,
        unit: checked.unit.clone(),
        band: row.band,
        known_difference: (!row.known.is_empty()).then_some(row.known),
        classic_reads: classic.as_ref().map(figure),
        plumb_reads: ours.as_ref().map(figure),
        ratio: checked.ratio.as_ref().map(figure),
        pairs: checked.pairs,
        tool: checked.tool.clone(),
        outcome: checked.outcome.word(),
        why,
        fix,
        run: checked.run.to_string(),
    }
}

fn figure(estimate: &Estimate) -> FigurePart {
    FigurePart { estimate: estimate.value, low: estimate.low(), high: estimate.high() }
}
