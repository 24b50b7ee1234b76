//! Addresses of places inside pages.

use plumb_report::run::ResultRow;

/// The address of a row in the page.
pub(crate) fn of_result(row: &ResultRow) -> String {
    let metric: String = row
        .finding
        .metric
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let target =
        if row.finding.target > 0 { format!("-{}", row.finding.target) } else { String::new() };
    format!("point-{}-{metric}{target}", row.finding.point.index)
}

/// The address of a point in its workload's page.
pub(crate) fn of_point(index: usize) -> String {
    format!("point-{index}")
}
