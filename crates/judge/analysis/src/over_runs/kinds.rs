//! Machines that measured the same, by their kind: the range of their results, and which of them are slow for their kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{Better, Ends, Estimate, Id, Machine, PointFacts, SeriesInRun};
use plumb_stats::Interval;
use plumb_stats::describe::median;
use plumb_stats::distribution::two_sided_z;
use plumb_stats::outlying_hosts::{HostCost, HostDeviation, UsualCost, outlying_hosts};

use crate::method::CONFIDENCE;
use crate::over_runs::costs::run_cost;

/// A machine of a fleet and its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineOfFleet {
    /// The name by which the user asked for it.
    pub name: String,
    /// The run that it made.
    pub run: Id,
}

/// The machines of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindFinding {
    /// The kind of machine; None if the runs do not say where they were measured.
    pub machine: Option<Arc<Machine>>,
    /// The machines, in the order in which they were asked.
    pub machines: Vec<MachineOfFleet>,
    /// The first metric of each point, in the order of the points.
    pub series: Vec<SeriesOfKind>,
}

/// One result of the machines of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesOfKind {
    /// The name of the series, with the version and clock if they are not the usual ones.
    pub name: String,
    /// The measured point.
    pub point: Arc<PointFacts>,
    /// The metric's name.
    pub metric: String,
    /// Its unit, an SI base unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// The value of each machine, in the order of the machines; None if it has none.
    pub values: Vec<Option<f64>>,
    /// The median of the machines.
    pub median: f64,
    /// What is usual for this kind, and who is not; None with too few machines.
    pub usual: Option<UsualOfKind>,
}

impl SeriesOfKind {
    /// A value's cost over the cost of the median: over 1 is slower, whatever the metric's direction.
    #[must_use]
    pub fn cost_ratio(&self, value: f64) -> f64 {
        if self.better == Better::Higher { self.median / value } else { value / self.median }
    }
}

/// What is usual for a kind of machine.
#[derive(Debug, Clone, PartialEq)]
pub struct UsualOfKind {
    /// The standard deviation between machines, as a share, beyond the errors of their own results.
    pub spread: f64,
    /// The cost of each machine over the usual one; None if it has no value.
    pub ratios: Vec<Option<RatioOfMachine>>,
}

/// A machine compared with what is usual for its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioOfMachine {
    /// Cost over the usual cost: over 1 is slower, whatever the metric's direction.
    pub ratio: Estimate,
    /// Whether it is slow for its kind.
    pub is_slow: bool,
}

/// The machines of a fleet by their kind, in the order in which kinds first occur. Machines that measured nothing are of none.
#[must_use]
pub fn by_kind(machines: &[MachineOfFleet], all: &[SeriesInRun]) -> Vec<KindFinding> {
    let mut of_runs: BTreeMap<Id, Vec<&SeriesInRun>> = BTreeMap::new();
    for series in all.iter().filter(|series| series.primary && !series.is_side_of_knob) {
        of_runs.entry(series.run.run).or_default().push(series);
    }
    let mut kinds: Vec<MeasuredKind<'_>> = Vec::new();
    for machine in machines {
        let Some(measured) = of_runs.get(&machine.run) else { continue };
        let Some(first) = measured.first() else { continue };
        let fingerprint = first.run.machine();
        let known = kinds.iter().position(|kind| kind.fingerprint == fingerprint);
        let index = known.unwrap_or_else(|| {
            kinds.push(MeasuredKind { fingerprint, machines: Vec::new() });
            kinds.len() - 1
        });
        kinds[index].machines.push((machine, measured));
    }
    kinds.iter().map(MeasuredKind::finding).collect()
}

/// Machines of one kind with their series.
struct MeasuredKind<'s> {
    fingerprint: &'s str,
    machines: Vec<(&'s MachineOfFleet, &'s Vec<&'s SeriesInRun>)>,
}

impl MeasuredKind<'_> {
    fn finding(&self) -> KindFinding {
        // The series of all machines, in the order in which they first occur.
        let mut series: Vec<SeriesOfMachines<'_>> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (index, (_, measured)) in self.machines.iter().enumerate() {
            for one in measured.iter().filter(|one| is_positive(one)) {
                let place = *places.entry(one.comparable_name()).or_insert(series.len());
                if place == series.len() {
                    series.push(SeriesOfMachines(vec![None; self.machines.len()]));
                }
                series[place].0[index] = Some(*one);
            }
        }
        let costs: Vec<Vec<Option<HostCost>>> =
            series.iter().map(SeriesOfMachines::costs).collect();
        let usual = outlying_hosts(&costs);
        let first = self.machines.first().and_then(|(_, measured)| measured.first());
        KindFinding {
            machine: first.and_then(|one| Some(Arc::clone(&one.run.place.as_ref()?.machine))),
            machines: self.machines.iter().map(|(machine, _)| (*machine).clone()).collect(),
            series: series
                .iter()
                .zip(usual)
                .filter_map(|(series, usual)| series.finding(usual.ok().as_ref()))
                .collect(),
        }
    }
}

/// Only what is positive has a ratio.
fn is_positive(series: &SeriesInRun) -> bool {
    let value = series.estimate.value;
    value.is_finite() && value > 0.0 && run_cost(series).is_some_and(f64::is_finite)
}

/// One series on each machine of a kind; None for a machine that lacks it.
struct SeriesOfMachines<'s>(Vec<Option<&'s SeriesInRun>>);

impl SeriesOfMachines<'_> {
    fn costs(&self) -> Vec<Option<HostCost>> {
        self.0
            .iter()
            .map(|one| {
                let series = (*one)?;
                Some(HostCost { log_cost: run_cost(series)?, standard_error: log_error(series) })
            })
            .collect()
    }

    fn finding(&self, usual: Option<&UsualCost>) -> Option<SeriesOfKind> {
        let first = self.0.iter().flatten().next()?;
        let values: Vec<Option<f64>> =
            self.0.iter().map(|one| one.map(|series| series.estimate.value)).collect();
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        Some(SeriesOfKind {
            name: first.comparable_name(),
            point: Arc::clone(&first.point),
            metric: first.metric.clone(),
            unit: first.unit.clone(),
            better: first.better,
            values,
            median: median(&known)?,
            usual: usual.map(|usual| UsualOfKind {
                spread: usual.spread.exp_m1(),
                ratios: usual.hosts.iter().map(|host| host.as_ref().map(ratio)).collect(),
            }),
        })
    }
}

fn ratio(host: &HostDeviation) -> RatioOfMachine {
    let Interval { estimate, low, high } = host.log_ratio;
    let ends = Ends { low: low.exp(), high: high.exp() };
    RatioOfMachine {
        ratio: Estimate { value: estimate.exp(), interval: Ok(ends) },
        is_slow: host.is_slow,
    }
}

/// The standard error of the log of a result, by the width of its 95 % interval.
fn log_error(series: &SeriesInRun) -> Option<f64> {
    let ends = series.estimate.interval.as_ref().ok()?;
    let width = ends.high.ln() - ends.low.ln();
    (ends.low > 0.0 && width.is_finite()).then(|| width / (2.0 * two_sided_z(CONFIDENCE)))
}
