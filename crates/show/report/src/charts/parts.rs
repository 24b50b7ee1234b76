//! Common parts of several kinds of charts: names of rows, estimates, and which direction is good.

use std::collections::BTreeMap;

use plumb_analysis::Estimate;
use plumb_chart::{Along, Draft, Mark, place};
use plumb_model::Better;

use crate::run::view::ResultRow;

/// Names that stand in one note.
const MOST_NAMES: usize = 6;

/// Which direction is good, as a sentence.
pub(super) fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "More is better.",
        Better::Lower => "Less is better.",
        Better::Neither => "Neither direction is better.",
    }
}

/// A row's name among those of its family.
pub(super) fn name(row: &ResultRow) -> String {
    format!("{}{}", row.label, row.on_target())
}

/// A row's name with its family.
pub(super) fn full_name(row: &ResultRow) -> String {
    let family = crate::run::labels::family(&row.finding.point.workload);
    let own = match crate::run::labels::metric(row.finding).as_str() {
        "" => name(row),
        metric => format!("{} {metric}", name(row)),
    };
    if row.finding.point.titled { own } else { format!("{family}: {own}") }
}

/// The estimates of rows, one below the other.
pub(super) fn intervals(rows: &[&ResultRow]) -> Mark {
    Mark::Intervals {
        along: Along::X,
        at: (0..rows.len()).map(place).collect(),
        low: rows.iter().map(|row| row.finding.shown().low()).collect(),
        estimate: rows.iter().map(|row| row.finding.estimate.value).collect(),
        high: rows.iter().map(|row| row.finding.shown().high()).collect(),
        tips: rows.iter().map(|row| row.figure.to_string()).collect(),
    }
}

/// The estimates of rows at their places.
pub(super) fn estimates(rows: &[(usize, &ResultRow)], beside: f64) -> Mark {
    let only: Vec<&ResultRow> = rows.iter().map(|(_, row)| *row).collect();
    let mut mark = intervals(&only);
    if let Mark::Intervals { at, .. } = &mut mark {
        *at = rows.iter().map(|(index, _)| place(*index) + beside).collect();
    }
    mark
}

/// Says why some of these have no interval, each reason with its names.
pub(super) fn without_interval<'e>(
    draft: &mut Draft,
    all: impl IntoIterator<Item = (String, &'e Estimate)>,
) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, estimate) in all {
        if let Err(why) = &estimate.interval {
            reasons.entry(why).or_default().push(name);
        }
    }
    // Grouped by reason: twenty points of one short run share theirs.
    for (why, names) in reasons {
        let first = names.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
        let rest = match names.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        draft.note(format!("no interval for {first}{rest}: {why}"));
    }
}
