//! References of one's own machines: the medians of the runs of each host.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{Better, Host, SeriesInRun};

use crate::file::{Reference, ReferenceFigure};

/// The runs of one series: its values by host.
struct SeriesOfHosts<'s> {
    first: &'s SeriesInRun,
    by_host: BTreeMap<&'s Host, Vec<f64>>,
}

/// The figures of these series, one per first metric, with the median of every run by host. Series of points that are
/// sides of a comparison of knobs do not count. The hosts' names are left out.
#[must_use]
pub fn of_runs(series: &[SeriesInRun]) -> Vec<ReferenceFigure> {
    let mut all: BTreeMap<String, SeriesOfHosts<'_>> = BTreeMap::new();
    let usable = series.iter().filter(|series| {
        series.primary
            && !series.is_side_of_knob
            && series.better != Better::Neither
            && series.estimate.value > 0.0
    });
    for one in usable {
        let Some(place) = &one.run.place else { continue };
        let entry = all
            .entry(one.comparable_name())
            .or_insert_with(|| SeriesOfHosts { first: one, by_host: BTreeMap::new() });
        entry.by_host.entry(&place.host).or_default().push(one.estimate.value);
    }
    let figures = all.into_values().map(|of| {
        let hosts: Vec<Vec<f64>> = of.by_host.into_values().collect();
        ReferenceFigure {
            name: of.first.name.clone(),
            printed: String::new(),
            value: median_of_hosts(&hosts),
            unit: of.first.unit.clone(),
            recomputed: String::new(),
            workload: of.first.point.workload.clone(),
            version: Some(of.first.point.version),
            metric: of.first.metric.clone(),
            settings: of.first.point.settings.clone(),
            differs: String::new(),
            not_comparable: String::new(),
            hosts,
        }
    });
    figures.collect()
}

/// Adds the hosts of another reference to a figure of the same name, version and settings; figures that only the other
/// has are added. The same host in both counts twice: references do not name hosts.
#[must_use]
pub fn merge(mut one: Reference, other: &Reference) -> Reference {
    let known: BTreeSet<String> = one.figures.iter().map(|figure| figure.name.clone()).collect();
    for figure in &mut one.figures {
        let same = other.figures.iter().find(|candidate| {
            candidate.name == figure.name
                && candidate.version == figure.version
                && candidate.settings == figure.settings
                && candidate.unit == figure.unit
        });
        if let Some(same) = same {
            figure.hosts.extend(same.hosts.iter().cloned());
            if !figure.hosts.is_empty() {
                figure.value = median_of_hosts(&figure.hosts);
            }
        }
    }
    one.figures
        .extend(other.figures.iter().filter(|figure| !known.contains(&figure.name)).cloned());
    one
}

/// The median over hosts of the median over their runs: a host with many runs counts once.
fn median_of_hosts(hosts: &[Vec<f64>]) -> f64 {
    let medians: Vec<f64> = hosts.iter().map(|runs| median(runs.clone())).collect();
    median(medians)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}
