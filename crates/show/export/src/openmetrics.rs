//! OpenMetrics text, for Prometheus and its text-file collector.
//!
//! Estimate and ends of the interval are gauges in base units, a family a unit; what has no interval
//! has no ends. Labels tell runs, points and metrics apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plumb_text::clean;
use plumb_text::csv::number;

use crate::entry::{Export, ExportedContent, Holds};
use plumb_report::run::{ResultRow, View};

pub(super) const OPENMETRICS: Export = Export {
    name: "openmetrics",
    extension: "prom",
    summary: "OpenMetrics text, for Prometheus",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: |runs| Ok(openmetrics(runs.views).into_bytes()),
};

/// A gauge: its name, what it is, and its value of a result.
type Gauge = (&'static str, &'static str, fn(&ResultRow) -> Option<f64>);

const GAUGES: [Gauge; 3] = [
    ("estimate", "Estimate of the metric", |row| Some(row.finding.estimate.value)),
    ("low", "Lower end of the estimate's interval", |row| row.finding.estimate.low()),
    ("high", "Upper end of the estimate's interval", |row| row.finding.estimate.high()),
];

/// The runs as one exposition.
#[must_use]
pub fn openmetrics(views: &[View]) -> String {
    // The format allows each family only once, so the rows of all runs are collected before any is written.
    let mut by_unit: BTreeMap<String, Vec<(&View, &ResultRow)>> = BTreeMap::new();
    for view in views {
        for row in &view.rows {
            by_unit.entry(unit(&row.finding.unit)).or_default().push((view, row));
        }
    }
    let mut out = String::new();
    for (unit, rows) in &by_unit {
        for gauge in GAUGES {
            family(unit, rows, gauge, &mut out);
        }
    }
    out + "# EOF\n"
}

fn family(unit: &str, rows: &[(&View, &ResultRow)], (gauge, help, value): Gauge, out: &mut String) {
    // OpenMetrics requires that the name ends with the unit.
    let name = format!("plumb_{gauge}_{unit}");
    let _ = writeln!(out, "# TYPE {name} gauge\n# UNIT {name} {unit}\n# HELP {name} {help}.");
    for (view, row) in rows {
        if let Some(value) = value(row).filter(|value| value.is_finite()) {
            let _ = writeln!(out, "{name}{{{}}} {}", labels(view, row), number(value));
        }
    }
}

fn labels(view: &View, row: &ResultRow) -> String {
    let finding = row.finding;
    let target = view.finding.targets.get(row.finding.target);
    let labels = [
        ("run", view.finding.run.id.to_string()),
        ("position", finding.point.index.to_string()),
        ("target", target.map_or_else(String::new, |target| target.name.clone())),
        ("series", finding.series.clone()),
        ("workload", finding.point.workload.clone()),
        ("point", finding.point.key.clone()),
        ("metric", finding.metric.clone()),
        ("better", finding.better.word().to_owned()),
    ];
    labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(&value))).join(",")
}

fn escaped(value: &str) -> String {
    clean(value).replace('\\', r"\\").replace('"', "\\\"")
}

/// The unit in OpenMetrics's words: `s` is `seconds`, `B/s` is `bytes_per_second`.
fn unit(unit: &str) -> String {
    let words: Vec<String> = unit
        .split('/')
        .map(|part| match part.trim() {
            "s" => "seconds".to_owned(),
            "B" => "bytes".to_owned(),
            "J" => "joules".to_owned(),
            "ops" => "operations".to_owned(),
            "" | plumb_units::SHARE => "ratio".to_owned(),
            other => other.chars().map(word_character).collect(),
        })
        .collect();
    // Only the first word of a unit is in the plural: `bytes_per_second`.
    words.join("_per_").replace("per_seconds", "per_second")
}

fn word_character(c: char) -> char {
    if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }
}

#[cfg(test)]
mod tests {
    use super::{escaped, unit};

    #[test]
    fn units_are_words() {
        assert_eq!(
            ["s", "B/s", "ops/s", "", "share", "msg/s"].map(unit).join(" "),
            "seconds bytes_per_second operations_per_second ratio ratio msg_per_second"
        );
    }

    #[test]
    fn labels_stay_inside_their_quotes() {
        assert_eq!(escaped("a\"} 1\n# EOF\\"), "a\\\"} 1 # EOF\\\\");
    }
}
