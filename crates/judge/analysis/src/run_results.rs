//! What is left of a run when its samples are gone: enough for the history of its series, and to say how it
//! compares with the run before.
//!
//! A store of a thousand runs is read once, a run at a time; what is kept of each is small. The figures are
//! those that [`crate::history()`] and [`crate::compare`] find from the samples, because both rest on the
//! medians of processes alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{Better, By, ClockSource, Host, Id, Metric, RunRecord, RunStatus, Target};
use plumb_stats::describe::median;
use plumb_stats::precision::PER_LOOK_LEVEL;

use crate::common_movement::CommonMovements;
use crate::comparison::noise::RunsNoise;
use crate::comparison::runs::by_runs;
use crate::comparison::standing_out::{Candidate, StandingOut, standing_out};
use crate::comparison::verdict::Comparison;
use crate::estimate::{Estimate, median_of_processes};
use crate::facts::run_facts;
use crate::finding::{Finding, RunFinding};
use crate::history::{
    HistoryEntry, HistoryFinding, HistoryRun, facts_of_place, facts_of_work, history_of_entries,
};
use crate::point_data::PointData;
use crate::run_costs::{LogCost, RunCosts, place};
use crate::series::{Series, environment, is_one_machine, series_where};

/// A run without its samples.
#[derive(Debug, Clone)]
pub struct RunResults {
    /// The run.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Whether it is complete, running or interrupted.
    pub status: RunStatus,
    /// The suite's name, when it came from one.
    pub suite: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Where it was measured, when that is known.
    pub target: Option<Target>,
    /// Its series that histories are made of.
    pub series: Vec<SeriesResults>,
    plumb: String,
    loads: Vec<String>,
    /// Of the environments, what may move numbers.
    environments: Vec<Arc<BTreeMap<String, String>>>,
    /// Of the environment that it began in, what may move numbers.
    began_in: BTreeMap<String, String>,
}

/// A run against an earlier one.
#[derive(Debug, Clone, PartialEq)]
pub struct SinceRun {
    /// A place for every result of its finding; None where the earlier one lacks the series.
    pub against: Vec<Option<Comparison>>,
    /// Which results moved unlike the others.
    pub standing_out: StandingOut,
}

/// A series in one run, without its samples.
#[derive(Debug, Clone)]
pub struct SeriesResults {
    /// Its name in the store: `memory.copy:method=libc/bandwidth`.
    pub name: String,
    /// The workload's id.
    pub workload: String,
    /// A name that a person gave the point.
    pub title: Option<String>,
    /// Its unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// Whether it is of the workload's first metric.
    pub primary: bool,
    /// The estimate with its interval.
    pub estimate: Estimate,
    /// Processes that it rests on.
    pub processes: usize,
    /// Steady samples that it rests on.
    pub samples: usize,
    /// Its name among series that may be compared.
    comparable: String,
    /// The finding's results that it is made of.
    results: Vec<usize>,
    /// The log cost of every process.
    logs: Vec<f64>,
    /// Whether values of a knob are compared, whose sides are no part of a history; they are no conditions of
    /// their points.
    of_knob: bool,
    /// Labels of the point's own.
    labels: BTreeMap<String, String>,
    version: u32,
    clock: String,
    versions: BTreeMap<String, String>,
    environment: usize,
}

impl SeriesResults {
    /// The first of the finding's results that it is made of.
    #[must_use]
    pub fn first_result(&self) -> usize {
        self.results.first().copied().unwrap_or(0)
    }
}

impl RunResults {
    /// What is kept of a run and of what was found in it.
    #[must_use]
    pub fn of(record: &RunRecord, finding: &RunFinding) -> Self {
        let target = record.targets.first();
        let facts = run_facts(record);
        let environments = record.environments.iter();
        Self {
            run: record.run,
            started_unix_ns: record.started_unix_ns,
            status: record.status,
            suite: record.plan.suite.clone(),
            labels: record.plan.labels.clone(),
            target: target.cloned(),
            series: series(record, finding),
            plumb: record.plumb.clone(),
            loads: facts.loads,
            environments: target.map_or_else(Vec::new, |target| {
                environments.map(|it| Arc::new(facts_of_place(&target.machine, it))).collect()
            }),
            began_in: environment(record).into_iter().map(|(a, b)| (a.into(), b.into())).collect(),
        }
    }

    /// The fingerprint of its first machine.
    #[must_use]
    pub fn machine(&self) -> &str {
        self.target.as_ref().map_or("", |target| target.machine.fingerprint.as_str())
    }

    /// Which one of the machines of its kind that is.
    #[must_use]
    pub fn host(&self) -> &Host {
        self.target.as_ref().map_or(&Host::UNKNOWN, |target| &target.host)
    }

    fn is_one_with(&self, other: &Self) -> bool {
        is_one_machine(self.target.as_ref(), other.target.as_ref(), By::Host)
    }

    /// Whether another run may tell how this one's numbers changed: of the same suite with something in
    /// common, or without one with all in common, on the same machine.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let has = |it: &SeriesResults| other.series.iter().any(|of| of.comparable == it.comparable);
        let here = self.suite == other.suite && self.is_one_with(other);
        let alike = match &self.suite {
            Some(_) => self.series.iter().any(has),
            None => !self.series.is_empty() && self.series.iter().all(has),
        };
        here && alike
    }

    /// This run against an earlier one. `others` tell how much runs differ by themselves.
    #[must_use]
    pub fn since<'r>(
        &self,
        before: &Self,
        others: impl IntoIterator<Item = &'r Self>,
        margin: f64,
    ) -> SinceRun {
        let noise = Self::noise(Some(before.costs()), before.target.as_ref(), others, By::Host);
        let places = self.series.iter().flat_map(|it| &it.results).max().map_or(0, |last| last + 1);
        let mut found: Vec<Option<Comparison>> = vec![None; places];
        let mut both = Vec::new();
        for this in &self.series {
            let same = |it: &&SeriesResults| it.comparable == this.comparable;
            let Some(first) = before.series.iter().find(same) else { continue };
            let runs = (&[first.logs.clone()][..], &[this.logs.clone()][..]);
            let against = by_runs(runs, this.better, noise.logs(&this.comparable), margin);
            for &result in &this.results {
                found[result] = Some(against.clone());
            }
            if this.primary {
                both.push((first, this, against));
            }
        }
        let candidates = both.iter().map(|(first, this, against)| Candidate {
            place: this.first_result(),
            against,
            estimates: (&first.estimate, &this.estimate),
            earlier: noise.beside_common(&this.comparable),
        });
        let standing_out = standing_out(candidates);
        for (_, this, _) in both.iter().filter(|it| standing_out.has(it.1.first_result())) {
            for &result in &this.results {
                found[result].as_mut().into_iter().for_each(Comparison::mark_standing_out);
            }
        }
        SinceRun { against: found, standing_out }
    }

    /// What runs on this machine tell of the noise between runs.
    pub(crate) fn noise<'r>(
        first: Option<RunCosts>,
        target: Option<&Target>,
        runs: impl IntoIterator<Item = &'r Self>,
        by: By,
    ) -> RunsNoise {
        let is_here = |run: &&Self| is_one_machine(target, run.target.as_ref(), by);
        let here = runs.into_iter().filter(is_here);
        RunsNoise::gathered(first, here.map(Self::costs).collect())
    }

    /// Its environment, and every series with the run's log cost.
    pub(crate) fn costs(&self) -> RunCosts {
        let log = |it: &SeriesResults| {
            let cost = LogCost { log: median(&it.logs)?, first: it.primary };
            Some((it.comparable.clone(), cost))
        };
        let costs = self.series.iter().filter_map(log).collect();
        RunCosts { place: place(self.target.as_ref()), environment: self.began_in.clone(), costs }
    }

    /// What histories of a series are made of, or of all series: each with the name of its series.
    pub fn entries<'r>(
        &'r self,
        series: Option<&'r str>,
    ) -> impl Iterator<Item = (&'r str, HistoryEntry)> {
        let is_wanted =
            move |it: &&SeriesResults| !it.of_knob && series.is_none_or(|wanted| wanted == it.name);
        self.series.iter().filter(is_wanted).map(|it| (it.name.as_str(), self.entry(it)))
    }

    fn entry(&self, series: &SeriesResults) -> HistoryEntry {
        let run = HistoryRun {
            run: self.run,
            started_unix_ns: self.started_unix_ns,
            labels: self.labels.clone().into_iter().chain(series.labels.clone()).collect(),
            host: self.host().clone(),
            estimate: series.estimate.clone(),
            processes: series.processes,
            samples: series.samples,
        };
        let of_series = [
            ("clock", series.clock.clone()),
            ("plumb", self.plumb.clone()),
            ("workload version", series.version.to_string()),
        ];
        HistoryEntry {
            run: Some(run),
            log_cost: median(&series.logs).unwrap_or(f64::NAN),
            machine: self.machine().to_owned(),
            host: self.host().clone(),
            place: self.environments.get(series.environment).cloned().unwrap_or_default(),
            work: facts_of_work(&series.versions, &self.loads, of_series),
            unit: series.unit.clone(),
            better: series.better,
            title: series.title.clone(),
        }
    }
}

/// By how much all series of each of these runs moved together.
#[must_use]
pub fn common_movements_of_results<'r>(
    runs: impl IntoIterator<Item = &'r RunResults>,
) -> CommonMovements {
    CommonMovements::of(runs.into_iter().map(|run| (run.run, run.costs())).collect())
}

/// What these runs say of a series on this host, oldest first; None where none of them has it.
#[must_use]
pub fn history_of_results<'r>(
    series: &str,
    runs: impl IntoIterator<Item = &'r RunResults>,
    host: &Host,
    margin: f64,
    common: &CommonMovements,
) -> Option<HistoryFinding> {
    let of_run = |run: &'r RunResults| run.entries(Some(series)).map(|it| it.1).collect::<Vec<_>>();
    history_of_entries(series, runs.into_iter().flat_map(of_run).collect(), host, margin, common)
}

/// The series of a run: every metric but distributions. Results of one series, as where a program was
/// compared with itself, are one: what they have in common is the run.
fn series(record: &RunRecord, finding: &RunFinding) -> Vec<SeriesResults> {
    let is_found = |data: &PointData, metric: &Metric| {
        result_of(finding, (data.index, data.target), &metric.name).is_some()
    };
    let all = series_where(record, usize::MAX, is_found).into_iter();
    all.filter(|it| !it.logs.is_empty()).filter_map(|it| one(record, finding, it)).collect()
}

/// Where the result of a metric of a point on a target stands.
fn result_of(finding: &RunFinding, of: (usize, usize), metric: &str) -> Option<usize> {
    let is_it = |it: &Finding| (it.point.index, it.target) == of && it.metric == metric;
    finding.results.iter().position(is_it)
}

fn one(record: &RunRecord, finding: &RunFinding, series: Series) -> Option<SeriesResults> {
    let metric = &series.metric;
    let place = |of: &(usize, usize)| result_of(finding, *of, &metric.name);
    let results: Vec<usize> = series.parts.iter().filter_map(place).collect();
    let result = finding.results.get(*results.first()?)?;
    let planned = record.plan.points.get(series.point.index)?;
    let first = record.good_invocations(series.point.index).next()?;
    let clock = result.clock.as_ref().map_or(ClockSource::MONOTONIC, |clock| clock.id.as_str());
    Some(SeriesResults {
        workload: series.point.workload.clone(),
        title: planned.title.clone(),
        unit: metric.unit.clone(),
        better: metric.better,
        primary: result.primary,
        estimate: estimate_of(record, result, &series),
        processes: series.processes.len(),
        samples: series.processes.iter().map(Vec::len).sum(),
        results,
        of_knob: !planned.preparation.is_empty() && planned.point.conditions.is_empty(),
        labels: planned.labels.clone(),
        version: series.point.version,
        clock: clock.to_owned(),
        versions: first.ready.versions.clone(),
        environment: first.environment,
        comparable: series.name,
        name: series.stored,
        logs: series.logs,
    })
}

/// The result's estimate, but where that is not of the whole series, or is made to hold at any time.
fn estimate_of(record: &RunRecord, result: &Finding, series: &Series) -> Estimate {
    let whole = series.parts.len() == 1 && record.status == RunStatus::Complete;
    let slices: Vec<&[f64]> = series.processes.iter().map(Vec::as_slice).collect();
    let found = (!whole).then(|| median_of_processes(&slices, PER_LOOK_LEVEL)).flatten();
    found.map_or_else(|| result.estimate.clone(), |found| found.estimate)
}

#[cfg(test)]
mod tests {
    use plumb_model::{Id, RunRecord};

    use super::RunResults;
    use crate::testing::first_look;
    use crate::{CompareSettings, compare, summarise};

    /// A first look whose work took longer by so much.
    fn slower(number: u128, by: u64) -> RunRecord {
        let mut record = first_look();
        record.run = Id::from_u128(number);
        for samples in record.invocations.iter_mut().map(|it| &mut it.samples) {
            samples.elapsed_ns.iter_mut().for_each(|ns| *ns += *ns * by / 1000);
        }
        record
    }

    fn results(record: &RunRecord) -> RunResults {
        RunResults::of(record, &summarise(record))
    }

    #[test]
    fn a_run_since_another_is_what_a_comparison_finds() {
        let (before, now) = (slower(1, 0), slower(2, 50));
        let others: Vec<RunRecord> =
            (3..10).map(|n| slower(n, u64::try_from(n).unwrap())).collect();
        let settings = CompareSettings {
            by: None,
            margin: 0.01,
            every_metric: true,
            across: false,
            price: "price".into(),
        };
        for others in [&others[..], &others[..2]] {
            let compared = compare(&[before.clone(), now.clone()], others, &settings);
            let all_results: Vec<RunResults> = others.iter().map(results).collect();
            let found = results(&now).since(&results(&before), &all_results, 0.01);
            let finding = summarise(&now);
            assert!(compared.results.len() > 20, "{}", compared.results.len());
            for result in &compared.results {
                let of = |it: &crate::Finding| {
                    it.point.index == result.point.index && it.metric == result.metric
                };
                let place = finding.results.iter().position(of).unwrap();
                assert_eq!(found.against[place], result.against_first[0], "{}", result.series);
            }
            let of_runs = compared.standing_out[0].as_ref().unwrap();
            let common = |it: &crate::StandingOut| it.found.as_ref().ok().map(|it| it.common);
            assert_eq!(common(of_runs), common(&found.standing_out));
            assert_eq!(of_runs.of, found.standing_out.of);
        }
    }

    #[test]
    fn runs_are_alike_by_suite_and_machine() {
        let one = results(&slower(1, 0));
        let mut other = slower(2, 0);
        assert!(one.is_like(&results(&other)));
        other.targets[0].machine.fingerprint = "fp1:other".into();
        assert!(!one.is_like(&results(&other)));
        other = slower(2, 0);
        other.targets[0].host = "web1".parse().unwrap();
        assert!(one.is_like(&results(&other)), "one host is unknown");
        let mut third = other.clone();
        third.targets[0].host = "web2".parse().unwrap();
        assert!(!results(&third).is_like(&results(&other)));
        other = slower(2, 0);
        other.plan.suite = None;
        assert!(!one.is_like(&results(&other)));
    }
}
