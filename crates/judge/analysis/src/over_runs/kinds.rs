//! Machines that measured the same, by their kind: the range of their results, and which of them are slow for their kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{Better, Ends, Estimate, Id, Machine, PointFacts, SeriesInRun};
use plumb_stats::Interval;
use plumb_stats::describe::median;
use plumb_stats::distribution::two_sided_z;
use plumb_stats::outlying_hosts::{HostCost, HostDeviation, UsualCost, outlying_hosts};
use plumb_stats::regression_gate::CONFIRM_RUNS;

use crate::method::CONFIDENCE;
use crate::one_run::gate::CONFIRMS_LABEL;
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
    /// The name of the series, as it is stored.
    pub stored: String,
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

    /// The ratio of the machine with this index, if it is slow for its kind.
    #[must_use]
    pub fn slow_ratio(&self, machine: usize) -> Option<&RatioOfMachine> {
        self.usual.as_ref()?.ratios[machine].as_ref().filter(|ratio| ratio.is_slow)
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
    /// Whether fresh runs confirm that; None if it is not slow, or there are too few of them.
    pub is_confirmed: Option<bool>,
}

/// The results of a machine that are slow for its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowResults {
    /// The run of the machine.
    pub run: Id,
    /// The names of the series, as they are stored.
    pub series: Vec<String>,
}

/// The machines of a kind that have slow results.
#[must_use]
pub fn slow_results(kind: &KindFinding) -> Vec<SlowResults> {
    let mut all = Vec::new();
    for (index, machine) in kind.machines.iter().enumerate() {
        let series: Vec<String> = kind
            .series
            .iter()
            .filter(|series| series.slow_ratio(index).is_some())
            .map(|series| series.stored.clone())
            .collect();
        if !series.is_empty() {
            all.push(SlowResults { run: machine.run, series });
        }
    }
    all
}

/// The machines of a fleet by their kind, in the order in which kinds first occur. Machines that measured nothing are of none.
/// `all` has the series of their runs, and of the fresh runs that confirm them ([`CONFIRMS_LABEL`]).
#[must_use]
pub fn by_kind(machines: &[MachineOfFleet], all: &[SeriesInRun]) -> Vec<KindFinding> {
    let mut of_runs: BTreeMap<Id, Vec<&SeriesInRun>> = BTreeMap::new();
    for series in all.iter().filter(|series| series.primary && !series.is_side_of_knob) {
        of_runs.entry(series.run.run).or_default().push(series);
    }
    let fresh = FreshCosts::of(all);
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
    kinds.iter().map(|kind| kind.finding(&fresh)).collect()
}

/// Machines of one kind with their series.
struct MeasuredKind<'s> {
    fingerprint: &'s str,
    machines: Vec<(&'s MachineOfFleet, &'s Vec<&'s SeriesInRun>)>,
}

impl MeasuredKind<'_> {
    fn finding(&self, fresh: &FreshCosts) -> KindFinding {
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
        let mut usual: Vec<Option<UsualOfKind>> = outlying_hosts(&costs)
            .iter()
            .map(|usual| Some(usual_of_kind(usual.as_ref().ok()?)))
            .collect();
        let runs: Vec<Id> = self.machines.iter().map(|(machine, _)| machine.run).collect();
        confirm(&mut usual, &costs, &series, &runs, fresh);
        let first = self.machines.first().and_then(|(_, measured)| measured.first());
        KindFinding {
            machine: first.and_then(|one| Some(Arc::clone(&one.run.place.as_ref()?.machine))),
            machines: self.machines.iter().map(|(machine, _)| (*machine).clone()).collect(),
            series: series
                .iter()
                .zip(usual)
                .filter_map(|(series, usual)| series.finding(usual))
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

    fn finding(&self, usual: Option<UsualOfKind>) -> Option<SeriesOfKind> {
        let first = self.0.iter().flatten().next()?;
        let values: Vec<Option<f64>> =
            self.0.iter().map(|one| one.map(|series| series.estimate.value)).collect();
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        Some(SeriesOfKind {
            name: first.comparable_name(),
            stored: first.name.clone(),
            point: Arc::clone(&first.point),
            metric: first.metric.clone(),
            unit: first.unit.clone(),
            better: first.better,
            values,
            median: median(&known)?,
            usual,
        })
    }
}

fn usual_of_kind(usual: &UsualCost) -> UsualOfKind {
    UsualOfKind {
        spread: usual.spread.exp_m1(),
        ratios: usual.hosts.iter().map(|host| host.as_ref().map(ratio)).collect(),
    }
}

/// Looks whether fresh runs confirm that machines are slow: their costs take the place of the first ones, and the machine must be
/// slow for its kind again.
fn confirm(
    usual: &mut [Option<UsualOfKind>],
    costs: &[Vec<Option<HostCost>>],
    series: &[SeriesOfMachines<'_>],
    runs: &[Id],
    fresh: &FreshCosts,
) {
    let mut again = costs.to_vec();
    let mut confirmed: Vec<(usize, usize)> = Vec::new();
    for (place, usual) in usual.iter().enumerate() {
        let ratios = usual.iter().flat_map(|usual| usual.ratios.iter().enumerate());
        for (machine, _) in
            ratios.filter(|(_, ratio)| ratio.as_ref().is_some_and(|one| one.is_slow))
        {
            let Some(first) = series[place].0[machine] else { continue };
            let Some(cost) = fresh.median(runs[machine], &first.comparable_name()) else {
                continue;
            };
            let standard_error = costs[place][machine].and_then(|first| first.standard_error);
            again[place][machine] = Some(HostCost { log_cost: cost, standard_error });
            confirmed.push((place, machine));
        }
    }
    if confirmed.is_empty() {
        return;
    }
    let found = outlying_hosts(&again);
    for (place, machine) in confirmed {
        let host = found[place].as_ref().ok().and_then(|usual| usual.hosts[machine].as_ref());
        let ratio = usual[place].as_mut().and_then(|usual| usual.ratios[machine].as_mut());
        if let (Some(host), Some(ratio)) = (host, ratio) {
            ratio.is_confirmed = Some(host.is_slow);
        }
    }
}

/// The log costs of fresh runs, by the run that they confirm and the name of the series.
struct FreshCosts(BTreeMap<(Id, String), Vec<f64>>);

impl FreshCosts {
    fn of(all: &[SeriesInRun]) -> Self {
        let mut costs: BTreeMap<(Id, String), Vec<f64>> = BTreeMap::new();
        for series in all.iter().filter(|series| series.primary) {
            let confirms = series.run.labels.get(CONFIRMS_LABEL);
            let Some(run) = confirms.and_then(|run| Id::try_parse(run).ok()) else { continue };
            costs.entry((run, series.comparable_name())).or_default().extend(run_cost(series));
        }
        Self(costs)
    }

    /// The median of the fresh runs; None if there are too few.
    fn median(&self, run: Id, series: &str) -> Option<f64> {
        let costs = self.0.get(&(run, series.to_owned()))?;
        if costs.len() < CONFIRM_RUNS { None } else { median(costs) }
    }
}

fn ratio(host: &HostDeviation) -> RatioOfMachine {
    let Interval { estimate, low, high } = host.log_ratio;
    let ends = Ends { low: low.exp(), high: high.exp() };
    RatioOfMachine {
        ratio: Estimate { value: estimate.exp(), interval: Ok(ends) },
        is_slow: host.is_slow,
        is_confirmed: None,
    }
}

/// The standard error of the log of a result, by the width of its 95 % interval.
fn log_error(series: &SeriesInRun) -> Option<f64> {
    let ends = series.estimate.interval.as_ref().ok()?;
    let width = ends.high.ln() - ends.low.ln();
    (ends.low > 0.0 && width.is_finite()).then(|| width / (2.0 * two_sided_z(CONFIDENCE)))
}
