//! What limits a point, in words and as a part of the document.

use plumb_analysis::{BottleneckFinding, Finding, PartOfWork};
use plumb_units::quantity;
use serde::Serialize;

use crate::figure::figure;
use crate::json_parts::estimate::{EstimatePart, estimate};
use crate::run::curves::CurveText;
use crate::run::levels::share_text;

/// The parts of a point, the longest first, and which of them is the bottleneck.
pub(crate) fn bottleneck_text(found: &BottleneckFinding, results: &[Finding]) -> CurveText {
    let point = results.get(found.result).map(|finding| &finding.point);
    CurveText {
        name: format!("{}: bottleneck", point.map_or("", |point| &point.name)),
        workload: point.map(|point| point.workload.clone()).unwrap_or_default(),
        lines: lines(found, results),
        is_ladder: false,
    }
}

fn lines(found: &BottleneckFinding, results: &[Finding]) -> Vec<String> {
    let mut lines = vec![verdict(found), prediction(found)];
    lines.extend(found.parts.iter().map(|part| part_text(part, results)));
    if !found.missing.is_empty() {
        lines.push(format!("not measured: {}", found.missing.join(", ")));
    }
    lines
}

/// `all parts predict 3.8 [3.7, 3.9] s; the measured speed is 97 % [95, 99] of that`.
fn prediction(found: &BottleneckFinding) -> String {
    format!(
        "all parts predict {}; the measured speed is {} of that",
        figure(&found.predicted_s, "s"),
        share_text(&found.of_predicted)
    )
}

/// `the path is the bottleneck`, or the parts that may be it.
fn verdict(found: &BottleneckFinding) -> String {
    if let Some(part) = found.bottleneck.and_then(|index| found.parts.get(index)) {
        return format!("the bottleneck is: {}", part.name);
    }
    let longest = found.parts.first().and_then(|part| part.time_s.low());
    let may_be = |part: &&PartOfWork| match (part.time_s.high(), longest) {
        (Some(high), Some(low)) => high >= low,
        _ => true,
    };
    let names: Vec<&str> =
        found.parts.iter().filter(may_be).map(|part| part.name.as_str()).collect();
    format!("no part is the longest beyond doubt; the bottleneck may be: {}", names.join(", "))
}

/// `path: 11.9 MB/s [11.8, 12.0], so 3.61 s`.
fn part_text(part: &PartOfWork, results: &[Finding]) -> String {
    let time = quantity(part.time_s.value, "s");
    match results.get(part.result) {
        Some(result) if result.unit != "s" && !part.is_first => {
            format!("{}: {}, so {time}", part.name, figure(&result.shown(), &result.unit))
        }
        _ => format!("{}: {}", part.name, figure(&part.time_s, "s")),
    }
}

/// A point with the times of its parts; times are of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BottleneckPart {
    /// The series of the point's first result.
    pub series: String,
    /// The parts, the longest first.
    pub parts: Vec<PartOfWorkPart>,
    /// The names of parts that were not measured.
    pub missing: Vec<String>,
    /// The name of the part that takes longest; null if the intervals of two overlap.
    pub bottleneck: Option<String>,
    /// The time that the parts predict, in seconds.
    pub predicted_s: EstimatePart,
    /// The predicted time over the measured one.
    pub of_predicted: EstimatePart,
}

/// A part of the work of a point, measured on its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PartOfWorkPart {
    /// What it is called.
    pub name: String,
    /// The series that shows it.
    pub series: String,
    /// Its time for the work of one iteration, in seconds.
    pub time_s: EstimatePart,
    /// Whether its time is spent before the others begin.
    pub is_first: bool,
}

impl BottleneckPart {
    pub(crate) fn of(found: &BottleneckFinding, results: &[Finding]) -> Self {
        let series = |index: usize| {
            results.get(index).map(|result| result.series.clone()).unwrap_or_default()
        };
        let parts = found.parts.iter().map(|part| PartOfWorkPart {
            name: part.name.clone(),
            series: series(part.result),
            time_s: estimate(&part.time_s),
            is_first: part.is_first,
        });
        let bottleneck = found.bottleneck.and_then(|index| found.parts.get(index));
        Self {
            series: series(found.result),
            parts: parts.collect(),
            missing: found.missing.clone(),
            bottleneck: bottleneck.map(|part| part.name.clone()),
            predicted_s: estimate(&found.predicted_s),
            of_predicted: estimate(&found.of_predicted),
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_analysis::{BottleneckFinding, Ends, Estimate, PartOfWork};

    use super::lines;

    fn estimate(value: f64) -> Estimate {
        Estimate { value, interval: Ok(Ends { low: value * 0.95, high: value * 1.05 }) }
    }

    fn found(times: &[(&str, f64)], bottleneck: Option<usize>) -> BottleneckFinding {
        let part = |&(name, time): &(&str, f64)| PartOfWork {
            name: name.into(),
            result: 9,
            time_s: estimate(time),
            is_first: name == "login",
        };
        BottleneckFinding {
            result: 9,
            parts: times.iter().map(part).collect(),
            missing: Vec::new(),
            bottleneck,
            predicted_s: estimate(4.0),
            of_predicted: estimate(0.97),
        }
    }

    #[test]
    fn a_bottleneck_beyond_doubt_is_named_first() {
        let lines = lines(&found(&[("path", 3.8), ("login", 0.2)], Some(0)), &[]);
        assert_eq!(
            lines,
            [
                "the bottleneck is: path",
                "all parts predict 4.0 [3.8, 4.2] s; the measured speed is 97 % [92, 102] of that",
                "path: 3.80 [3.61, 3.99] s",
                "login: 200 [190, 210] ms",
            ]
        );
    }

    #[test]
    fn parts_that_overlap_are_listed_together() {
        let mut both = found(&[("path", 3.8), ("cipher", 3.7), ("login", 0.2)], None);
        both.missing = vec!["disk".into()];
        let lines = lines(&both, &[]);
        assert_eq!(
            lines[0],
            "no part is the longest beyond doubt; the bottleneck may be: path, cipher"
        );
        assert_eq!(lines.last().unwrap(), "not measured: disk");
    }
}
