//! What results cost on healthy machines: docs/method.md, *Quick check*.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{Better, HealthyPoint, Host, Id, SeriesInRun};
use plumb_stats::health::HealthyCosts;

use crate::over_runs::costs::process_costs;

/// From so many hosts on, each counts once, by its newest run: hosts differ more than the runs of one.
const FEWEST_HOSTS: usize = 8;

/// What healthy runs show of the points of a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HealthyResults {
    /// The points of the plan that can be compared, by their indices, each with what it costs on healthy machines.
    pub points: Vec<(usize, HealthyPoint)>,
    /// Points with too few healthy runs, with their number.
    pub uncalibrated: Vec<(String, usize)>,
    /// The healthy runs of the points that can be compared: of the point that has most.
    pub runs: usize,
    /// Hosts that these runs were measured on.
    pub hosts: usize,
}

/// Learns what the points of the plan of run `newest` cost from the first metrics of healthy runs, of which it is one.
#[must_use]
pub fn healthy_results(series: &[SeriesInRun], newest: Id) -> HealthyResults {
    let mut found = HealthyResults::default();
    let mut hosts = BTreeSet::new();
    let mut points = Vec::new();
    let mut learned = Vec::new();
    let of_newest = series.iter().filter(|series| series.run.run == newest && is_usable(series));
    for wanted in of_newest {
        let Some(point) = wanted.points.first() else { continue };
        let same: Vec<&SeriesInRun> =
            series.iter().filter(|other| is_usable(other) && other.is_comparable(wanted)).collect();
        let healthy = one_per_host(&same);
        let costs: Vec<Vec<f64>> = healthy.iter().map(|series| process_costs(series)).collect();
        let Some(costs) = HealthyCosts::learn(&costs) else {
            found.uncalibrated.push((wanted.comparable_name(), healthy.len()));
            continue;
        };
        found.runs = found.runs.max(healthy.len());
        hosts.extend(healthy.iter().map(|series| series.run.host().clone()));
        points.push(point.point);
        learned.push(costs);
    }
    HealthyCosts::draw_together(&mut learned);
    found.points = points.into_iter().zip(learned.into_iter().map(HealthyPoint::from)).collect();
    found.hosts = hosts.len();
    found
}

/// Whether a series can show that a machine is slow.
fn is_usable(series: &SeriesInRun) -> bool {
    series.primary
        && series.better != Better::Neither
        && !series.is_side_of_knob
        && !series.point.is_ceiling
        && series.estimate.value > 0.0
}

/// The newest run of each host if there are enough hosts, otherwise all runs.
fn one_per_host<'s>(series: &[&'s SeriesInRun]) -> Vec<&'s SeriesInRun> {
    let mut newest: BTreeMap<&Host, &SeriesInRun> = BTreeMap::new();
    for one in series {
        let host = newest.entry(one.run.host()).or_insert(one);
        if one.run.started_unix_ns > host.run.started_unix_ns {
            *host = one;
        }
    }
    if newest.len() < FEWEST_HOSTS {
        return series.to_vec();
    }
    newest.into_values().collect()
}
