//! How points are called if room is short, and in sentences.

use std::collections::{BTreeMap, BTreeSet};

use plumb_analysis::{Finding, PointFacts, ShownParameter};
use plumb_model::ParameterType;

/// With more results than this, the brief scorecard keeps everything but results to one line, and hides ceilings.
pub(crate) const CROWDED: usize = 12;

/// Names of parameters that differ between the points of a workload, by workload. First those that tell all points
/// apart, so that they stay when a narrow column cuts the rest off.
type Differing<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// The part of a workload's id before the dot.
#[must_use]
pub fn family(workload: &str) -> &str {
    workload.split('.').next().unwrap_or(workload)
}

/// A label for every result that is unique among them: the workload without its family, and what
/// tells the point from its neighbours.
pub(crate) fn labels(results: &[Finding]) -> Vec<String> {
    // If the brief scorecard hides ceilings, what only they have otherwise says nothing about the points that were asked for.
    let hides_ceilings = results.len() > CROWDED;
    let of_asked =
        differing(results.iter().filter(|result| !(hides_ceilings && result.point.is_ceiling)));
    let of_all = differing(results.iter());
    let differing: Vec<&Differing> = results
        .iter()
        .map(|result| if result.point.is_ceiling { &of_all } else { &of_asked })
        .collect();
    let short: Vec<String> = results
        .iter()
        .zip(&differing)
        .map(|(result, differing)| label(&result.point, differing, short_value))
        .collect();
    let mut labels = Vec::with_capacity(results.len());
    for ((result, differing), own) in results.iter().zip(&differing).zip(&short) {
        // Two sizes are distinguished by their values alone unless two parameters have the same value.
        let is_ambiguous = results
            .iter()
            .zip(&short)
            .any(|(other, label)| other.point.index != result.point.index && label == own);
        labels.push(if is_ambiguous {
            label(&result.point, differing, full_value)
        } else {
            own.clone()
        });
    }
    labels
}

fn differing<'a>(results: impl Iterator<Item = &'a Finding>) -> Differing<'a> {
    let mut points: BTreeMap<&str, Vec<&PointFacts>> = BTreeMap::new();
    for finding in results {
        points.entry(&finding.point.workload).or_default().push(&finding.point);
    }
    points.into_iter().map(|(workload, points)| (workload, differing_of(&points))).collect()
}

/// The parameters in which these points of a workload differ.
fn differing_of<'a>(points: &[&'a PointFacts]) -> Vec<&'a str> {
    let mut needed = Vec::new();
    let mut others = Vec::new();
    let mut groups = vec![String::new(); points.len()];
    for setting in points.iter().flat_map(|point| &point.parameters) {
        let name = setting.name.as_str();
        if needed.contains(&name) || others.contains(&name) {
            continue;
        }
        let values: Vec<&str> = points.iter().map(|point| value_of(point, name)).collect();
        if count_distinct(&values) < 2 {
            continue;
        }
        let finer: Vec<String> =
            groups.iter().zip(&values).map(|(group, value)| format!("{group},{value}")).collect();
        if count_distinct(&finer) > count_distinct(&groups) {
            groups = finer;
            needed.push(name);
        } else {
            others.push(name);
        }
    }
    needed.extend(others);
    needed
}

fn value_of<'a>(point: &'a PointFacts, name: &str) -> &'a str {
    let setting = point.parameters.iter().find(|setting| setting.name == name);
    setting.map_or("", |setting| setting.value.as_str())
}

fn count_distinct<T: Ord>(values: &[T]) -> usize {
    values.iter().collect::<BTreeSet<_>>().len()
}

fn label(
    point: &PointFacts,
    differing: &Differing,
    value: fn(&ShownParameter) -> String,
) -> String {
    if point.titled {
        return point.name.clone();
    }
    let differs = differing.get(point.workload.as_str()).map_or(&[][..], Vec::as_slice);
    let place = |setting: &ShownParameter| differs.iter().position(|name| *name == setting.name);
    let workload = point.workload.split_once('.').map_or(point.workload.as_str(), |(_, name)| name);
    // A default is named, too, if another point of the run has another value.
    let mut settings: Vec<&ShownParameter> = point
        .parameters
        .iter()
        .filter(|setting| !setting.default || place(setting).is_some())
        .collect();
    settings.sort_by_key(|setting| place(setting).unwrap_or(differs.len()));
    let mut words = vec![workload.to_owned()];
    words.extend(settings.into_iter().map(value));
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
