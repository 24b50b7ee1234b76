//! The runs of one baseline, ready to tell which series of a fresh run differ from them.

use std::collections::BTreeSet;
use std::sync::Arc;

use plumb_model::{By, RunOfSeries, SeriesInRun};
use plumb_stats::describe::mean;
use plumb_stats::gate_power::GatePower;
use plumb_stats::regression_gate::{RegressionGate, Shift, SlowDown};
use plumb_stats::rng::Rng;
use plumb_stats::stored_runs::{DatedRun, DifferenceNoise, FEWEST_RUNS, noise_between_times};
use plumb_stats::{Interval, NoInterval};

use crate::comparison::ends::ends_of_runs;
use crate::one_run::fresh_run::FreshRun;
use crate::over_runs::costs::{began_s, run_cost};
use crate::over_runs::noise::RunsNoise;

const NS_PER_S: f64 = 1e9;

/// The runs of a baseline with their series.
#[derive(Debug, Clone, Copy)]
pub struct BaselineRuns<'b> {
    /// Its runs, the oldest first.
    pub runs: &'b [Arc<RunOfSeries>],
    /// The series of these runs, in the same order.
    pub series: &'b [SeriesInRun],
}

/// Earlier runs of the same machine, which show how much runs differ by themselves.
#[derive(Debug, Clone, Copy)]
pub struct OtherRuns<'b> {
    /// The series of these runs, in any order.
    pub series: &'b [SeriesInRun],
    /// Whose runs count.
    pub by: By,
}

/// When the runs of a baseline began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaselineTimes {
    /// From the first to the last, in seconds.
    pub span_s: f64,
    /// From the middle of these to the check, in seconds.
    pub age_s: f64,
    /// How many times as wide the interval of one fresh run is as if the baseline covered the time since; 1 where
    /// it does.
    pub widened: f64,
}

impl BaselineTimes {
    /// Of runs with these starts and a check at this moment; None where a start or an order of them is not known.
    #[expect(clippy::cast_precision_loss, reason = "lengths of time")]
    fn of(baseline: &[Arc<RunOfSeries>], now_unix_ns: i64) -> Option<Self> {
        let starts = || baseline.iter().map(|run| run.started_unix_ns);
        let first = starts().min()?;
        let last = starts().max()?;
        // Imports may not know when they were measured.
        if first <= 0 || now_unix_ns < last {
            return None;
        }
        let span_s = (last - first) as f64 / NS_PER_S;
        let age_s = (now_unix_ns - last) as f64 / NS_PER_S + 0.5 * span_s;
        Some(Self { span_s, age_s, widened: 1.0 })
    }
}

/// A first metric in the runs of a baseline.
#[derive(Debug)]
pub(crate) struct BaselineSeries<'b> {
    pub(crate) name: String,
    pub(crate) in_runs: Vec<&'b SeriesInRun>,
    /// Log cost of every run that has one.
    pub(crate) logs: Vec<f64>,
}

/// Sessions that confirm what a screening run flags. Their runs share what differs between times.
#[derive(Debug, Clone, Default)]
pub struct ConfirmingSessions {
    /// The runs of each.
    pub sessions: Vec<Vec<FreshRun>>,
    /// From the screening run to the first of them, and from each to the next, in seconds.
    pub apart_s: f64,
}

impl ConfirmingSessions {
    pub(crate) fn runs(&self) -> impl DoubleEndedIterator<Item = &FreshRun> {
        self.sessions.iter().flatten()
    }
}

/// A series that a screening run flags.
pub(crate) struct FlaggedSeries {
    pub(crate) index: usize,
    /// Whether noise between times of which nothing is known could explain the shift.
    pub(crate) could_be_the_time: bool,
}

/// A baseline, ready to compare runs with.
#[derive(Debug)]
pub(crate) struct BaselineGate<'b> {
    pub(crate) runs: &'b [Arc<RunOfSeries>],
    pub(crate) times: Option<BaselineTimes>,
    /// Those that enough of its runs have.
    pub(crate) series: Vec<BaselineSeries<'b>>,
    /// The others, with the number of runs that have them.
    pub(crate) uncalibrated: Vec<(String, usize)>,
    gate: RegressionGate,
}

impl<'b> BaselineGate<'b> {
    /// For a check at this moment, in nanoseconds since 1970 (UTC).
    ///
    /// # Errors
    /// Why nothing can be compared with it: too few runs, or values that are no numbers.
    pub(crate) fn new(
        baseline: BaselineRuns<'b>,
        earlier: OtherRuns<'_>,
        now_unix_ns: i64,
    ) -> Result<Self, String> {
        let all = baseline_series(baseline.series);
        let (series, few): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|series| series.logs.len() >= FEWEST_RUNS);
        let uncalibrated = few.into_iter().map(|series| (series.name, series.logs.len())).collect();
        let runs = baseline.runs;
        if series.is_empty() {
            return Err(format!("needs {FEWEST_RUNS} runs of a series, but has {}", runs.len()));
        }
        let logs: Vec<&[f64]> = series.iter().map(|series| series.logs.as_slice()).collect();
        let fresh = RegressionGate::new(&logs).map_err(|reason| reason.to_string())?;
        let known_times = BaselineTimes::of(runs, now_unix_ns);
        let gate = match known_times {
            Some(times) => {
                let noise = noise_of_times(&series, baseline.series, earlier, now_unix_ns);
                fresh.after(times.span_s, times.age_s).with_noise_between_times(&noise)
            }
            None => fresh,
        };
        let widened = gate.widened(runs.len());
        let times = known_times.map(|times| BaselineTimes { widened, ..times });
        Ok(Self { runs, times, series, uncalibrated, gate })
    }

    /// The series that the screening run flags.
    pub(crate) fn flagged(&self, run: &FreshRun) -> Vec<FlaggedSeries> {
        let mut flagged = Vec::new();
        for index in 0..self.series.len() {
            let Some(cost) = self.in_run(index, run).and_then(run_cost) else { continue };
            let Ok(shift) = self.gate.shift(index, &[cost]) else { continue };
            if shift.is_flagged() {
                let could_be_the_time = self.gate.could_be_the_time(index, &shift);
                flagged.push(FlaggedSeries { index, could_be_the_time });
            }
        }
        flagged
    }

    /// The series among these that confirming sessions find changed, too, if the chance of any false alarm is to be at
    /// most `alpha`.
    pub(crate) fn confirmed(
        &self,
        flagged: &[FlaggedSeries],
        confirming: &ConfirmingSessions,
        alpha: f64,
    ) -> BTreeSet<usize> {
        let mut again: Vec<(usize, Shift)> = Vec::new();
        for series in flagged.iter().filter(|series| !series.could_be_the_time) {
            let shift = self.shift_of_sessions(series.index, confirming);
            again.extend(shift.ok().map(|shift| (series.index, shift)));
        }
        self.gate.confirm(&again, alpha).into_iter().collect()
    }

    /// How far a run's series is from the baseline.
    pub(crate) fn shift_of_run(&self, index: usize, run: &FreshRun) -> Result<Shift, NoInterval> {
        self.gate.shift(index, &self.costs_of(index, std::slice::from_ref(run)))
    }

    /// How far the sessions' series is from the baseline.
    pub(crate) fn shift_of_sessions(
        &self,
        index: usize,
        confirming: &ConfirmingSessions,
    ) -> Result<Shift, NoInterval> {
        let costs: Vec<f64> = confirming
            .sessions
            .iter()
            .filter_map(|session| mean(&self.costs_of(index, session)))
            .collect();
        self.gate.shift_of_sessions(index, &costs, confirming.apart_s)
    }

    /// Whether noise between times of which nothing is known could explain the shift.
    pub(crate) fn could_be_the_time(&self, index: usize, shift: &Shift) -> bool {
        self.gate.could_be_the_time(index, shift)
    }

    /// How far the machine and its environment moved a series whose log cost is this if the program of the baseline is
    /// measured again.
    pub(crate) fn environment(&self, index: usize, again: f64) -> Result<Interval, NoInterval> {
        self.gate.environment(index, again)
    }

    /// The probability that a check reports a slow-down of this series.
    pub(crate) fn power(&self, index: usize, slow_down: SlowDown, rng: &mut Rng) -> GatePower {
        self.gate.power(index, slow_down, rng)
    }

    /// The number of the series of this name among comparable ones.
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        self.series.iter().position(|series| series.name == name)
    }

    /// A series of the baseline in a fresh run, if its processes ended as those of the baseline.
    pub(crate) fn in_run<'f>(&self, index: usize, run: &'f FreshRun) -> Option<&'f SeriesInRun> {
        self.named(index, run)
            .filter(|found| !found.ends.differ(&ends_of_runs(&self.series[index].in_runs)))
    }

    /// How the processes of a series ended in a fresh run and in the baseline, if these differ.
    pub(crate) fn ended_differently(&self, index: usize, run: &FreshRun) -> Option<String> {
        let found = self.named(index, run)?;
        let before = ends_of_runs(&self.series[index].in_runs);
        let differ = found.ends.differ(&before);
        differ.then(|| format!("{}, but in the baseline {before}", found.ends))
    }

    fn named<'f>(&self, index: usize, run: &'f FreshRun) -> Option<&'f SeriesInRun> {
        let name = &self.series[index].name;
        let mut first_metrics = run.series.iter().filter(|series| series.primary);
        first_metrics.find(|series| series.comparable_name() == *name)
    }

    /// The log costs of a series in those of the runs that have it.
    pub(crate) fn costs_of<'f>(
        &self,
        index: usize,
        runs: impl IntoIterator<Item = &'f FreshRun>,
    ) -> Vec<f64> {
        runs.into_iter().filter_map(|run| run_cost(self.in_run(index, run)?)).collect()
    }
}

/// What earlier runs that are as far apart as the baseline and the check show of each series.
fn noise_of_times(
    series: &[BaselineSeries<'_>],
    baseline: &[SeriesInRun],
    earlier: OtherRuns<'_>,
    now_unix_ns: i64,
) -> Vec<Option<DifferenceNoise>> {
    let noise = RunsNoise::of(baseline, earlier.series, earlier.by);
    let mut found = Vec::with_capacity(series.len());
    for one in series {
        let mut runs = Vec::with_capacity(one.in_runs.len());
        for in_run in &one.in_runs {
            let Some(cost) = run_cost(in_run) else { continue };
            runs.push(DatedRun { began_s: began_s(&in_run.run), cost });
        }
        // Only the time of the check counts here.
        #[expect(clippy::cast_precision_loss, reason = "a date")]
        let check = [DatedRun { began_s: Some(now_unix_ns as f64 / NS_PER_S), cost: 0.0 }];
        let between = noise_between_times(&runs, &check, noise.runs(&one.name));
        found.push(between.ok().flatten());
    }
    found
}

/// The first metrics of a baseline by their names among comparable ones, in the order in which they first occur. Points that only
/// show ceilings are no results to watch.
fn baseline_series(series: &[SeriesInRun]) -> Vec<BaselineSeries<'_>> {
    let mut found: Vec<BaselineSeries> = Vec::new();
    for one in series.iter().filter(|series| series.primary && !series.point.is_ceiling) {
        let name = one.comparable_name();
        let log = run_cost(one);
        match found.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.in_runs.push(one);
                known.logs.extend(log);
            }
            None => found.push(BaselineSeries {
                name,
                in_runs: vec![one],
                logs: log.into_iter().collect(),
            }),
        }
    }
    found
}
