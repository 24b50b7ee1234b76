//! References of one's own machines: the medians of the runs of each host.

use std::collections::BTreeMap;

use plumb_model::{Better, Host, PointFacts, SeriesInRun};

use crate::compare::{is_usual, shell_word};
use crate::file::{Reference, ReferenceFigure};

/// The runs of one series: its values by host.
struct SeriesOfHosts<'s> {
    first: &'s SeriesInRun,
    by_host: BTreeMap<&'s Host, Vec<f64>>,
}

/// The figures of these series, one per first metric, with the median of every run by host. Series that were measured next to a
/// load or with other settings of the machine do not count. Points that only show ceilings do not count
/// either. The hosts' names are left out.
#[must_use]
pub fn of_runs(series: &[SeriesInRun]) -> Vec<ReferenceFigure> {
    let mut all: BTreeMap<String, SeriesOfHosts<'_>> = BTreeMap::new();
    let usable = series.iter().filter(|series| {
        series.primary
            && !series.point.is_ceiling
            && is_usual(series)
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
            measure: format!("plumb run {}", shell_word(&point_name(&of.first.point))),
            differs: String::new(),
            not_comparable: String::new(),
            hosts,
        }
    });
    figures.collect()
}

/// `memory.copy:method=libc`, even if a person gave the point another name.
fn point_name(point: &PointFacts) -> String {
    match point.key.as_str() {
        "" => point.workload.clone(),
        key => format!("{}:{key}", point.workload),
    }
}

/// Why two references cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// One is not of a kind of machine that plumb knows.
    #[error("the reference {0} was not measured by plumb")]
    NotMeasured(String),
    /// They are of different kinds of machines.
    #[error("the reference {name} is of another kind of machine ({machine})")]
    OtherKind {
        /// The name of the other reference.
        name: String,
        /// Its machine in words.
        machine: String,
    },
    /// The machines were prepared differently.
    #[error("the machines of the reference {name} were prepared differently ({prepared})")]
    OtherPreparation {
        /// The name of the other reference.
        name: String,
        /// How they were prepared.
        prepared: String,
    },
    /// A host is in both.
    #[error("the reference {name} has the same runs of {figure}")]
    SameRuns {
        /// The name of the other reference.
        name: String,
        /// The figure whose runs are equal.
        figure: String,
    },
}

/// Adds the hosts of another reference to the figures that are of the same point and metric; figures that only the other has
/// are added. References do not name hosts: fresh runs of a host that is in both count as another host.
///
/// # Errors
/// When they cannot be merged; runs that are equal to the last digit are the same runs.
pub fn merge(mut one: Reference, other: &Reference) -> Result<Reference, MergeError> {
    if other.kind.is_none() {
        return Err(MergeError::NotMeasured(other.name.clone()));
    }
    if other.kind != one.kind {
        return Err(MergeError::OtherKind {
            name: other.name.clone(),
            machine: other.machine.clone(),
        });
    }
    if other.prepared != one.prepared {
        return Err(MergeError::OtherPreparation {
            name: other.name.clone(),
            prepared: other.prepared.clone().unwrap_or_default(),
        });
    }
    for figure in &other.figures {
        let same = one.figures.iter_mut().find(|candidate| is_same(candidate, figure));
        let Some(same) = same else {
            one.figures.push(figure.clone());
            continue;
        };
        if figure.hosts.iter().any(|runs| same.hosts.contains(runs)) {
            return Err(MergeError::SameRuns {
                name: other.name.clone(),
                figure: figure.name.clone(),
            });
        }
        same.hosts.extend(figure.hosts.iter().cloned());
        same.value = median_of_hosts(&same.hosts);
    }
    if other.date > one.date {
        one.date.clone_from(&other.date);
    }
    Ok(one)
}

/// Whether both are of the same metric of the same point, measured in the same way.
fn is_same(one: &ReferenceFigure, other: &ReferenceFigure) -> bool {
    one.workload == other.workload
        && one.version == other.version
        && one.settings == other.settings
        && one.metric == other.metric
        && one.unit == other.unit
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
