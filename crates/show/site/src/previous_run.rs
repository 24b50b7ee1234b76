//! How a run compares with the newest comparable one before it.

use plumb_analysis::Comparison;
use plumb_report::figure;
use plumb_report::run::{ResultRow, View};

use crate::html::{Tag, wrap};
use crate::parts::{cell, nothing, verdict};

/// How a row compares with the last comparable run.
pub(crate) fn since<'v>(view: &'v View, row: &ResultRow) -> Option<&'v Comparison> {
    // Verdicts have the order of the rows, and a row does not know its place.
    let index = view.rows.iter().position(|other| std::ptr::eq(other.finding, row.finding))?;
    view.finding.since_last.found()?.against.get(index)?.as_ref()
}

/// A verdict with its ratio.
pub(crate) fn change(against: Option<&Comparison>) -> Tag {
    let Some(against) = against else { return nothing() };
    let mut text = verdict(&against.verdict);
    if let Some(ratio) = &against.ratio {
        let shown = figure(ratio, "");
        // A narrow column breaks between the ratio and its interval, not within.
        text.push(format!(" {}× ", shown.estimate));
        text.push(wrap("span", shown.brackets()).class("whole"));
    }
    let made = cell(text);
    match &against.ratio {
        Some(ratio) => made.with("data-value", &ratio.value.to_string()),
        None => made,
    }
}
