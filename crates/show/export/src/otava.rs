//! A table for Apache Otava: a row a run, a column a series.
//!
//! Otava looks for changes over time, so several runs belong into one file. It takes no empty field
//! for a number: what a run did not measure is `nan`. Its configuration names the columns: `time`,
//! the attributes, and each series.

use std::collections::BTreeMap;

use plumb_text::csv::{line, number, text};
use plumb_text::time::rfc3339;

use crate::entry::{Export, ExportedContent, Holds};
use plumb_report::run::{ResultRow, View};

pub(super) const OTAVA: Export = Export {
    name: "otava",
    extension: "csv",
    summary: "A table for Apache Otava, with one row per run and one column per series",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: |runs| Ok(otava(runs.views).into_bytes()),
};

/// The runs in the order of their start, with a header.
#[must_use]
pub fn otava(views: &[View]) -> String {
    let mut views: Vec<&View> = views.iter().collect();
    // Otava looks for changes from row to row: they must be in order of time, however the runs were named.
    views.sort_by_key(|view| view.finding.run.started_unix_ns);
    let labels = columns(&views, |view| view.finding.run.labels.keys().cloned().collect());
    let series = columns(&views, |view| view.rows.iter().map(column).collect());
    let mut header = ["time", "run", "plumb", "machine", "environment"].map(str::to_owned).to_vec();
    header.extend(labels.iter().chain(&series).cloned());
    let mut out = line(header.iter().map(|name| text(name)));
    for view in views {
        out.push_str(&line(fields(view, &labels, &series)));
    }
    out
}

/// All names that a view has, each once, in the order in which they first occur.
fn columns(views: &[&View], names: impl Fn(&View) -> Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in views.iter().flat_map(|view| names(view)) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The name of a series; the target is part of it if there are several.
fn column(row: &ResultRow) -> String {
    format!("{}{}", row.finding.series, row.on_target())
}

fn fields(view: &View, labels: &[String], series: &[String]) -> Vec<String> {
    let run = &view.finding.run;
    let target = view.finding.targets.first();
    let machine = target.map_or("", |target| target.machine.fingerprint.as_str());
    let environment = target.map_or("", |target| target.environment.fingerprint.as_str());
    let estimates: BTreeMap<String, f64> =
        view.rows.iter().map(|row| (column(row), row.finding.estimate.value)).collect();
    let mut fields = vec![
        text(&rfc3339(run.started_unix_ns)),
        text(&run.id.to_string()),
        text(&run.plumb),
        text(machine),
        text(environment),
    ];
    fields.extend(labels.iter().map(|name| text(run.labels.get(name).map_or("", String::as_str))));
    fields.extend(series.iter().map(|name| match estimates.get(name) {
        Some(value) if value.is_finite() => number(*value),
        _ => "nan".to_owned(),
    }));
    fields
}
