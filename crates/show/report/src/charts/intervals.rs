//! Results as intervals, and what they are called.

use plumb_chart::{Along, Mark, place};

use crate::run::view::Row;

/// A row's name among those of its family.
pub(super) fn name(row: &Row) -> String {
    format!("{}{}", row.label, row.on_target())
}

/// The estimates of rows, one below the other.
pub(super) fn intervals(rows: &[&Row]) -> Mark {
    Mark::Intervals {
        along: Along::X,
        at: (0..rows.len()).map(place).collect(),
        low: rows.iter().map(|row| row.finding.estimate.low()).collect(),
        estimate: rows.iter().map(|row| row.finding.estimate.value).collect(),
        high: rows.iter().map(|row| row.finding.estimate.high()).collect(),
        tips: rows.iter().map(|row| row.figure.to_string()).collect(),
    }
}
