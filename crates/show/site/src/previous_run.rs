//! How a run compares with the newest comparable one before it.

use plumb_analysis::Comparison;
use plumb_model::Id;
use plumb_report::figure;
use plumb_report::run::{Row, View};

use crate::html::Tag;
use crate::parts::{cell, nothing, verdict};

/// How a run compares with the newest comparable one before it.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviousRun {
    /// That run.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// This run against that one, a place for every result of the finding; None where that one lacks the
    /// series.
    pub against: Vec<Option<Comparison>>,
}

/// How a row compares with the last comparable run.
pub(crate) fn since<'l>(
    view: &View,
    row: &Row,
    previous: Option<&'l PreviousRun>,
) -> Option<&'l Comparison> {
    let index = view.rows.iter().position(|other| std::ptr::eq(other.finding, row.finding))?;
    previous?.against.get(index)?.as_ref()
}

/// A verdict with its ratio.
pub(crate) fn change(against: Option<&Comparison>) -> Tag {
    let Some(against) = against else { return nothing() };
    let ratio = against.ratio.as_ref().map(|ratio| figure(ratio, ""));
    let text = ratio.map_or_else(String::new, |it| format!(" {}× {}", it.estimate, it.brackets()));
    let made = cell(verdict(&against.verdict).and(text));
    match &against.ratio {
        Some(ratio) => made.with("data-value", &ratio.value.to_string()),
        None => made,
    }
}
