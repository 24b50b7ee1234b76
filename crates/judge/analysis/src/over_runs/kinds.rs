//! Machines that measured the same, by their kind: the range of their results, and which of them are slow for their kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{Better, Ends, Estimate, Id, Machine, PointFacts, SeriesInRun};
use plumb_stats::Interval;
use plumb_stats::describe::median;
use plumb_stats::distribution::two_sided_z;
use plumb_stats::multiple::benjamini_hochberg;
use plumb_stats::outlying_hosts::{
    FALSE_SHARE, HostCost, HostDeviation, Uncalibrated, UsualCost, outlying_hosts,
};
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
    for series in all.iter().filter(|series| is_shown(series)) {
        of_runs.entry(series.run.run).or_default().push(series);
    }
    let mut kinds: Vec<MeasuredKind<'_>> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for machine in machines {
        let Some(measured) = of_runs.get(&machine.run) else { continue };
        let Some(first) = measured.first() else { continue };
        let place = *places.entry(first.run.machine()).or_insert(kinds.len());
        if place == kinds.len() {
            kinds.push(MeasuredKind { machines: Vec::new(), series: Vec::new() });
        }
        kinds[place].machines.push((machine, measured));
    }
    for kind in &mut kinds {
        kind.sort_series();
    }
    let costs: Vec<KindCosts> = kinds.iter().map(MeasuredKind::costs).collect();
    let usual = usual_costs(&costs);
    let mut found: Vec<KindFinding> = Vec::new();
    for ((kind, costs), usual) in kinds.iter().zip(&costs).zip(&usual) {
        found.push(kind.finding(costs, usual));
    }
    confirm(&mut found, &kinds, costs, &FreshCosts::of(all));
    found
}

/// The first metric of a point that somebody asked for. Ceilings and sides of a knob are not how the machine usually runs, and only
/// what is positive has a ratio.
fn is_shown(series: &SeriesInRun) -> bool {
    let value = series.estimate.value;
    series.primary
        && !series.is_side_of_knob
        && !series.point.is_ceiling
        && series.better != Better::Neither
        && value.is_finite()
        && value > 0.0
        && run_cost(series).is_some_and(f64::is_finite)
}

/// The cost of each machine of a kind in each series: `costs[series][machine]`.
type KindCosts = Vec<Vec<Option<HostCost>>>;

/// What is usual in each series of a kind.
type UsualCosts = Vec<Result<UsualCost, Uncalibrated>>;

/// What is usual for each kind, and which machines are slow: the share of false ones is that over all kinds together.
fn usual_costs(kinds: &[KindCosts]) -> Vec<UsualCosts> {
    let mut all: Vec<UsualCosts> = kinds.iter().map(|costs| outlying_hosts(costs)).collect();
    let mut hosts: Vec<&mut HostDeviation> = all
        .iter_mut()
        .flatten()
        .filter_map(|usual| usual.as_mut().ok())
        .flat_map(|usual| usual.hosts.iter_mut().flatten())
        .collect();
    let p_values: Vec<f64> = hosts.iter().map(|host| host.p_value).collect();
    let slow = benjamini_hochberg(&p_values, FALSE_SHARE);
    for (host, is_slow) in hosts.iter_mut().zip(slow) {
        host.is_slow = is_slow;
    }
    drop(hosts);
    all
}

/// Machines of one kind with their series.
struct MeasuredKind<'s> {
    machines: Vec<(&'s MachineOfFleet, &'s Vec<&'s SeriesInRun>)>,
    /// The series of all machines, in the order in which they first occur.
    series: Vec<MeasuredSeries<'s>>,
}

/// One series on the machines of a kind.
struct MeasuredSeries<'s> {
    /// Its name among comparable series.
    name: String,
    /// One per machine; None for a machine that lacks it.
    machines: Vec<Option<&'s SeriesInRun>>,
}

impl<'s> MeasuredKind<'s> {
    fn sort_series(&mut self) {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (index, (_, measured)) in self.machines.iter().enumerate() {
            for series in measured.iter() {
                let name = series.comparable_name();
                let place = *places.entry(name.clone()).or_insert(self.series.len());
                if place == self.series.len() {
                    let machines = vec![None; self.machines.len()];
                    self.series.push(MeasuredSeries { name, machines });
                }
                // Of equal points, such as two sides with the same program, the first counts.
                self.series[place].machines[index].get_or_insert(series);
            }
        }
    }

    fn costs(&self) -> KindCosts {
        self.series.iter().map(MeasuredSeries::costs).collect()
    }

    fn finding(&self, costs: &KindCosts, usual: &UsualCosts) -> KindFinding {
        let first = self.machines.first().and_then(|(_, measured)| measured.first());
        let mut series = Vec::with_capacity(self.series.len());
        for ((measured, costs), usual) in self.series.iter().zip(costs).zip(usual) {
            let usual = usual.as_ref().ok().map(|usual| usual_of_kind(usual, costs));
            series.extend(measured.finding(usual));
        }
        KindFinding {
            machine: first.and_then(|series| Some(Arc::clone(&series.run.place.as_ref()?.machine))),
            machines: self.machines.iter().map(|(machine, _)| (*machine).clone()).collect(),
            series,
        }
    }
}

impl MeasuredSeries<'_> {
    /// The costs of whole runs: a run that broke off, or still goes on, is not judged.
    fn costs(&self) -> Vec<Option<HostCost>> {
        let measured = self.machines.iter().flatten();
        let errors: Vec<f64> = measured.filter_map(|series| log_error(series)).collect();
        // A result with too few processes for an interval is as uncertain as the most uncertain of the others.
        let largest = errors.iter().copied().reduce(f64::max);
        let mut costs = Vec::with_capacity(self.machines.len());
        for series in &self.machines {
            let whole = series.filter(|series| series.run.is_complete());
            costs.push(whole.and_then(|series| {
                let standard_error = log_error(series).or(largest);
                Some(HostCost { log_cost: run_cost(series)?, standard_error })
            }));
        }
        costs
    }

    fn finding(&self, usual: Option<UsualOfKind>) -> Option<SeriesOfKind> {
        let first = self.machines.iter().flatten().next()?;
        let mut values = Vec::with_capacity(self.machines.len());
        for series in &self.machines {
            values.push(series.map(|series| series.estimate.value));
        }
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        Some(SeriesOfKind {
            name: self.name.clone(),
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

fn usual_of_kind(usual: &UsualCost, costs: &[Option<HostCost>]) -> UsualOfKind {
    let mut ratios = Vec::with_capacity(costs.len());
    for (host, cost) in usual.hosts.iter().zip(costs) {
        let has_error = cost.is_some_and(|cost| cost.standard_error.is_some());
        ratios.push(host.as_ref().map(|host| ratio(host, has_error)));
    }
    UsualOfKind { spread: usual.spread.exp_m1(), ratios }
}

fn ratio(host: &HostDeviation, has_error: bool) -> RatioOfMachine {
    let Interval { estimate, low, high } = host.log_ratio;
    RatioOfMachine {
        ratio: Estimate {
            value: estimate.exp(),
            interval: if has_error {
                Ok(Ends { low: low.exp(), high: high.exp() })
            } else {
                Err("too few processes".to_owned())
            },
        },
        is_slow: host.is_slow,
        is_confirmed: None,
    }
}

/// Looks whether fresh runs confirm that machines are slow: their costs take the place of the first ones, and the machine must be
/// slow for its kind again.
fn confirm(
    found: &mut [KindFinding],
    kinds: &[MeasuredKind<'_>],
    costs: Vec<KindCosts>,
    fresh: &FreshCosts,
) {
    let mut again = costs;
    let mut measured_again: Vec<(usize, usize, usize)> = Vec::new();
    for (kind, finding) in found.iter().enumerate() {
        for (place, series) in finding.series.iter().enumerate() {
            let slow =
                (0..finding.machines.len()).filter(|index| series.slow_ratio(*index).is_some());
            for machine in slow {
                let run = kinds[kind].machines[machine].0.run;
                let cost = again[kind][place][machine].as_mut();
                if let (Some(cost), Some(median)) = (cost, fresh.median(run, &series.name)) {
                    cost.log_cost = median;
                    measured_again.push((kind, place, machine));
                }
            }
        }
    }
    if measured_again.is_empty() {
        return;
    }
    let usual = usual_costs(&again);
    for (kind, place, machine) in measured_again {
        let host = usual[kind][place].as_ref().ok().and_then(|usual| usual.hosts[machine].as_ref());
        let ratios = found[kind].series[place].usual.as_mut().map(|usual| &mut usual.ratios);
        let ratio = ratios.and_then(|ratios| ratios[machine].as_mut());
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
        for series in all.iter().filter(|series| is_shown(series) && series.run.is_complete()) {
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

/// The standard error of the log of a result, by the width of its 95 % interval.
fn log_error(series: &SeriesInRun) -> Option<f64> {
    let ends = series.estimate.interval.as_ref().ok()?;
    let width = ends.high.ln() - ends.low.ln();
    (ends.low > 0.0 && width.is_finite()).then(|| width / (2.0 * two_sided_z(CONFIDENCE)))
}
