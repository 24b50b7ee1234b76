//! Charts of the sides of one run, side by side.

use plumb_analysis::ComparisonFinding;
use plumb_chart::Chart;

use super::comparison::arms_of_series;
use super::groups;

/// The samples of every side, with their box plots and estimates.
pub(super) fn boxes(finding: &ComparisonFinding) -> Option<Chart> {
    of_sides(arms_of_series(finding), "boxes", "every side")
}

/// The level of every side, from 0.
pub(super) fn bars(finding: &ComparisonFinding) -> Option<Chart> {
    of_sides(groups::bars(finding), "bars", "medians of every side")
}

/// What the time of every side went into.
pub(super) fn shares(finding: &ComparisonFinding) -> Option<Chart> {
    of_sides(groups::shares(finding), "cpu", "CPU and I/O time of every side")
}

/// The parts of the compared metric of every side.
pub(super) fn parts(finding: &ComparisonFinding) -> Option<Chart> {
    of_sides(groups::parts(finding), "parts", "the parts of every side")
}

/// The one chart of the one series that sides are compared by.
fn of_sides(charts: Vec<Chart>, kind: &str, what: &str) -> Option<Chart> {
    let chart = charts.into_iter().next()?;
    let metric = &chart.x.label;
    let title = match kind {
        "cpu" => what.to_owned(),
        _ => format!("{metric}: {what}"),
    };
    // The groups of stored runs are arms, those of one run are sides.
    let says = chart.says.replace(" of each arm", " of each side");
    Some(Chart { id: format!("sides/{kind}"), title, says, ..chart })
}
