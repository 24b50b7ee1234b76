//! How a run compares with the newest comparable one before it.

use plumb_analysis::Comparison;
use plumb_report::figure;
use plumb_report::run::{Row, View};

use crate::html::Tag;
use crate::parts::{cell, nothing, verdict};

/// How a row compares with the last comparable run.
pub(crate) fn since<'v>(view: &'v View, row: &Row) -> Option<&'v Comparison> {
    // Verdicts have the order of the rows, and a row does not know its place.
    let index = view.rows.iter().position(|other| std::ptr::eq(other.finding, row.finding))?;
    view.finding.since_last.found()?.against.get(index)?.as_ref()
}

/// A verdict with its ratio.
pub(crate) fn change(against: Option<&Comparison>) -> Tag {
    let Some(against) = against else { return nothing() };
    let ratio = against.ratio.as_ref().map(|ratio| figure(ratio, ""));
    let text = ratio
        .map_or_else(String::new, |shown| format!(" {}× {}", shown.estimate, shown.brackets()));
    let made = cell(verdict(&against.verdict).and(text));
    match &against.ratio {
        Some(ratio) => made.with("data-value", &ratio.value.to_string()),
        None => made,
    }
}
