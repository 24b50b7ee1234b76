//! How a run compares with the last comparable one, in words and as a part of its document.

use plumb_analysis::RunFinding;
use plumb_text::time::{date, rfc3339};
use serde::Serialize;

use crate::run::phrases;
use crate::standing_out::{
    StandingOutPart, StandingOutResult, standing_out_part, standing_out_text,
};

/// What heads the sentences: `Since the last comparable run, 2026-11-23 05:54 UTC`.
pub(crate) fn heading(finding: &RunFinding) -> Option<String> {
    let since = finding.since_last.found()?;
    Some(format!("Since the last comparable run, {}", date(since.started_unix_ns)))
}

/// The number of unchanged results and those that stand out, one sentence per line; empty without a comparable run.
#[must_use]
pub fn since_last_text(finding: &RunFinding) -> Vec<String> {
    let Some(since) = finding.since_last.found() else { return Vec::new() };
    let named = |place: usize| {
        let result = finding.results.get(place)?;
        let ratio = since.against.get(place)?.as_ref()?.ratio.as_ref()?.value;
        let name = phrases::spoken(&result.point);
        Some(StandingOutResult { name, unit: &result.unit, better: result.better, ratio })
    };
    standing_out_text(&since.standing_out, ("point", "points"), "unchanged", named)
}

/// The last comparable run, and what stands out since then.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SinceLastPart {
    /// That run's id.
    pub run: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// The series that stand out.
    #[serde(flatten)]
    pub standing_out: StandingOutPart,
}

/// The part of a document.
pub(crate) fn since_last_part(finding: &RunFinding) -> Option<SinceLastPart> {
    let since = finding.since_last.found()?;
    let named = |place: usize| finding.results.get(place).map(|result| result.series.clone());
    Some(SinceLastPart {
        run: since.run.to_string(),
        started: rfc3339(since.started_unix_ns),
        standing_out: standing_out_part(&since.standing_out, named),
    })
}
