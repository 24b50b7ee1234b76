//! What charts of several kinds have in common: names of rows, estimates, and which direction is good.

use plumb_chart::{Along, Mark, place};
use plumb_model::Better;

use crate::run::view::Row;

/// Which direction is good, as a sentence.
pub(super) fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "More is better.",
        Better::Lower => "Less is better.",
        Better::Neither => "Neither direction is better.",
    }
}

/// A row's name among those of its family.
pub(super) fn name(row: &Row) -> String {
    format!("{}{}", row.label, row.on_target())
}

/// A row's name with its family.
pub(super) fn full_name(row: &Row) -> String {
    let family = crate::run::labels::family(&row.finding.point.workload);
    let metric = crate::run::labels::metric(row.finding);
    let metric = if metric.is_empty() { metric } else { format!(" {metric}") };
    let own = format!("{}{metric}", name(row));
    if row.finding.point.titled { own } else { format!("{family}: {own}") }
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

/// The estimates of rows at their places.
pub(super) fn estimates(rows: &[(usize, &Row)], beside: f64) -> Mark {
    let only: Vec<&Row> = rows.iter().map(|(_, row)| *row).collect();
    let mut mark = intervals(&only);
    if let Mark::Intervals { at, .. } = &mut mark {
        *at = rows.iter().map(|(index, _)| place(*index) + beside).collect();
    }
    mark
}
