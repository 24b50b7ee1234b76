//! How points are called if room is short, and in sentences.

use std::collections::{BTreeMap, BTreeSet};

use plumb_analysis::{Finding, PointFacts, ShownParameter};
use plumb_model::ParameterType;

/// Names of parameters that differ between the points of a workload, by workload.
type Differing<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The part of a workload's id before the dot.
#[must_use]
pub fn family(workload: &str) -> &str {
    workload.split('.').next().unwrap_or(workload)
}

/// A label for every result that is unique among them: the workload without its family, and what
/// tells the point from its neighbours.
pub(crate) fn labels(results: &[Finding]) -> Vec<String> {
    let differing = differing(results);
    let short: Vec<String> =
        results.iter().map(|result| label(&result.point, &differing, short_value)).collect();
    let mut labels = Vec::with_capacity(results.len());
    for (result, own) in results.iter().zip(&short) {
        // Two sizes are distinguished by their values alone unless two parameters have the same value.
        let is_ambiguous = results
            .iter()
            .zip(&short)
            .any(|(other, label)| other.point.index != result.point.index && label == own);
        labels.push(if is_ambiguous {
            label(&result.point, &differing, full_value)
        } else {
            own.clone()
        });
    }
    labels
}

fn differing(results: &[Finding]) -> Differing<'_> {
    let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut differing = Differing::new();
    for point in results.iter().map(|finding| &finding.point) {
        for setting in &point.parameters {
            let key = (point.workload.as_str(), setting.name.as_str());
            if *first.entry(key).or_insert(&setting.value) != setting.value {
                differing.entry(&point.workload).or_default().insert(&setting.name);
            }
        }
    }
    differing
}

fn label(
    point: &PointFacts,
    differing: &Differing,
    value: fn(&ShownParameter) -> String,
) -> String {
    if point.titled {
        return point.name.clone();
    }
    let differs = differing.get(point.workload.as_str());
    let workload = point.workload.split_once('.').map_or(point.workload.as_str(), |(_, name)| name);
    let mut words = vec![workload.to_owned()];
    // A default is named, too, if another point of the run has another value.
    words.extend(
        point
            .parameters
            .iter()
            .filter(|setting| {
                !setting.default
                    || differs.is_some_and(|names| names.contains(setting.name.as_str()))
            })
            .map(value),
    );
    words.join(" ")
}

fn full_value(setting: &ShownParameter) -> String {
    format!("{}={}", setting.name, setting.value)
}

pub(crate) fn short_value(setting: &ShownParameter) -> String {
    match setting.kind {
        ParameterType::Choice | ParameterType::Bytes => setting.value.clone(),
        ParameterType::Threads => threads(&setting.value),
        _ => full_value(setting),
    }
}

/// A count of threads in words: `1 thread`, `2 threads`.
pub(crate) fn threads(count: &str) -> String {
    if count == "1" { "1 thread".to_owned() } else { format!("{count} threads") }
}

/// `8MiB` as `8 MiB`.
pub(crate) fn spaced(bytes: &str) -> String {
    let digits = bytes.find(|c: char| !c.is_ascii_digit()).unwrap_or(bytes.len());
    let (number, unit) = bytes.split_at(digits);
    format!("{number} {unit}").trim_end().to_owned()
}

/// A metric's name as words; empty if the unit says it all.
#[must_use]
pub fn metric(finding: &Finding) -> String {
    let generic =
        ["bandwidth", "rate", "throughput", "time", "latency", "duration", "elapsed", "wall"];
    if generic.contains(&finding.metric.as_str()) {
        return String::new();
    }
    finding.metric.replace('_', " ")
}
