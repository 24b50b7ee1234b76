//! Bencher Metric Format: benchmark → measure → value with its bounds.
//!
//! A measure is named `metric-unit` (`bandwidth-B-s`), because Bencher's own `latency` and
//! `throughput` are nanoseconds and operations per second, and ours are base units.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::entry::{Export, ExportError, ExportedContent, ExportedRuns, Holds};
use plumb_report::run::{ResultRow, View};

pub(super) const BMF: Export = Export {
    name: "bmf",
    extension: "json",
    summary: "Bencher Metric Format, one run",
    content: ExportedContent::Text,
    holds: Holds::OneRun,
    write: one_run,
};

fn one_run(runs: &ExportedRuns) -> Result<Vec<u8>, ExportError> {
    let Some(view) = runs.views.first() else { return Ok(Vec::new()) };
    bmf(view).map(String::into_bytes).map_err(|error| ExportError::Broken(error.to_string()))
}

#[derive(Debug, Serialize)]
struct BmfMeasure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// The run as a JSON document.
///
/// # Errors
/// Should JSON not take it, which would be a bug.
pub fn bmf(view: &View) -> serde_json::Result<String> {
    let mut benchmarks: BTreeMap<String, BTreeMap<String, BmfMeasure>> = BTreeMap::new();
    for row in view.rows.iter().filter(|row| row.finding.estimate.value.is_finite()) {
        let estimate = &row.finding.estimate;
        // JSON has no infinity: an open end is left out.
        let measure = BmfMeasure {
            value: estimate.value,
            lower_value: estimate.low().filter(|low| low.is_finite()),
            upper_value: estimate.high().filter(|high| high.is_finite()),
        };
        let benchmark = format!("{}{}", row.finding.point.name, row.on_target());
        benchmarks.entry(benchmark).or_default().insert(slug(row), measure);
    }
    serde_json::to_string_pretty(&benchmarks)
}

/// The measure's name: letters, digits and single hyphens.
fn slug(row: &ResultRow) -> String {
    let text = format!("{} {}", row.finding.metric, row.finding.unit);
    let slug = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    if slug.is_empty() { "metric".to_owned() } else { slug }
}
