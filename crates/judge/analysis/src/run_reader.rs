//! Samples and counters of stored runs, read only if an answer needs them.
//!
//! Verdicts of stored runs rest on series without samples. Three things do not: the median of an arm of several runs,
//! which counts the samples of all of them; the samples that charts draw; and what else changed. For these the records
//! of the runs concerned are read, each once.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use plumb_model::{Id, InvocationRecord, RunRecord, SeriesInRun};
use plumb_stats::precision::PER_LOOK_LEVEL;

use crate::asked::Asked;
use crate::comparison::covariates::{CounterMeans, Covariate, rates_that_differ};
use crate::comparison::ends::ends_of_runs;
use crate::comparison::finding::{Arm, ArmSamples};
use crate::estimate::median_of_processes;
use crate::facts::CpuShares;
use crate::one_run::point_data::PointData;
use crate::one_run::series_in_run::processes;

/// Reads the record of a run.
pub type RecordOf<'r, E> = &'r dyn Fn(Id) -> Result<Cow<'r, RunRecord>, E>;

/// Reads what monitors counted next to the invocations of a run.
pub type CountersOf<'r, E> = &'r dyn Fn(Id) -> Result<CounterMeans, E>;

/// Reads what one comparison or check of stored runs needs besides their series.
pub struct RunReader<'r, E> {
    record: RecordOf<'r, E>,
    counters: Option<CountersOf<'r, E>>,
    wants_samples: bool,
    records: BTreeMap<Id, Cow<'r, RunRecord>>,
    runs_with_counters: BTreeSet<Id>,
    known_counters: CounterMeans,
}

impl<E> fmt::Debug for RunReader<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunReader").field("runs", &self.records.keys()).finish_non_exhaustive()
    }
}

impl<'r, E> RunReader<'r, E> {
    /// Reads records alone: no samples for charts, and it is not asked what else changed.
    #[must_use]
    pub fn new(record: RecordOf<'r, E>) -> Self {
        Self {
            record,
            counters: None,
            wants_samples: false,
            records: BTreeMap::new(),
            runs_with_counters: BTreeSet::new(),
            known_counters: CounterMeans::new(),
        }
    }

    /// The same, and asks what else changed.
    #[must_use]
    pub fn with_counters(self, counters: CountersOf<'r, E>) -> Self {
        Self { counters: Some(counters), ..self }
    }

    /// The same with the samples of every arm, for charts.
    #[must_use]
    pub fn with_samples(self) -> Self {
        Self { wants_samples: true, ..self }
    }

    /// Whether it is asked what else changed.
    pub(crate) fn asks_what_changed(&self) -> bool {
        self.counters.is_some()
    }

    /// What an arm gives, of one series in all its runs; None if a value is not a number.
    pub(crate) fn arm(&mut self, in_runs: &[&SeriesInRun]) -> Result<Option<Arm>, E> {
        let pooled = match in_runs {
            // One run has the estimate of its series: there is nothing to read.
            [_] if !self.wants_samples => None,
            _ => Some(self.pooled(in_runs)?),
        };
        let estimate = match (in_runs, &pooled) {
            ([one], _) => Some(one.estimate.clone()),
            (_, Some(pooled)) => {
                let slices: Vec<&[f64]> = pooled.processes.iter().map(Vec::as_slice).collect();
                median_of_processes(&slices, PER_LOOK_LEVEL).map(|median| median.estimate)
            }
            (_, None) => None,
        };
        let samples = match pooled {
            Some(pooled) if self.wants_samples => Asked::Found(pooled.samples()),
            _ => Asked::NotAsked,
        };
        let processes = in_runs.iter().map(|series| series.process_medians.len()).sum();
        Ok(estimate.map(|estimate| Arm {
            estimate,
            runs: in_runs.len(),
            processes,
            ends: ends_of_runs(in_runs),
            for_price: None,
            normalised: None,
            samples,
        }))
    }

    /// The rates that differ between the invocations of a series in two groups of runs, the farthest apart first; none
    /// if it is not asked what else changed.
    pub(crate) fn rates(
        &mut self,
        first: &[&SeriesInRun],
        later: &[&SeriesInRun],
    ) -> Result<Vec<Covariate>, E> {
        let Some(counters) = self.counters else { return Ok(Vec::new()) };
        for series in first.iter().chain(later) {
            let run = series.run.run;
            self.read(run)?;
            if self.runs_with_counters.insert(run) {
                self.known_counters.extend(counters(run)?);
            }
        }
        Ok(rates_that_differ(
            &self.invocations(first),
            &self.invocations(later),
            &self.known_counters,
        ))
    }

    fn read(&mut self, run: Id) -> Result<(), E> {
        if !self.records.contains_key(&run) {
            self.records.insert(run, (self.record)(run)?);
        }
        Ok(())
    }

    /// The series with the records of their runs, which were read before.
    fn with_records<'s>(
        &'s self,
        in_runs: &'s [&SeriesInRun],
    ) -> impl Iterator<Item = (&'s SeriesInRun, &'s RunRecord)> {
        in_runs.iter().filter_map(|series| {
            let record = self.records.get(&series.run.run)?;
            Some((*series, record.as_ref()))
        })
    }

    /// The invocations behind a series in runs that were read before.
    fn invocations(&self, in_runs: &[&SeriesInRun]) -> Vec<&InvocationRecord> {
        let mut found = Vec::new();
        for series in in_runs {
            let Some(record) = self.records.get(&series.run.run) else { continue };
            for place in &series.points {
                let good = record.good_invocations(place.point);
                found.extend(good.filter(|found| found.target as usize == place.target));
            }
        }
        found
    }

    fn pooled(&mut self, in_runs: &[&SeriesInRun]) -> Result<Pooled, E> {
        for series in in_runs {
            self.read(series.run.run)?;
        }
        let mut pooled = Pooled::default();
        for (series, record) in self.with_records(in_runs) {
            let parts: Vec<PointData> =
                series.points.iter().filter_map(|place| PointData::on(record, *place)).collect();
            let part_refs: Vec<&PointData> = parts.iter().collect();
            pooled.processes.extend(processes(record, &part_refs, &series.metric));
            let Some(first) = parts.first() else { continue };
            pooled.cpu.extend(first.cpu());
            let metric = first.planned.description.metric(&series.metric);
            pooled.parts.push(metric.map_or_else(Vec::new, |metric| first.parts_of(metric)));
        }
        Ok(pooled)
    }
}

/// What records say of one series in the runs of an arm.
#[derive(Default)]
struct Pooled {
    /// Steady values of every process, over all runs of the arm.
    processes: Vec<Vec<f64>>,
    /// Resource use, of every run in which it is known.
    cpu: Vec<CpuShares>,
    /// Of every run, what the metric is made of.
    parts: Vec<Vec<(String, f64)>>,
}

impl Pooled {
    fn samples(self) -> ArmSamples {
        let mut parts = Vec::new();
        // The first run says which parts there are; a run of another version of the workload may lack one.
        for (name, _) in self.parts.first().into_iter().flatten() {
            let in_runs = self.parts.iter().flatten().filter(|(other, _)| other == name);
            let values: Vec<f64> = in_runs.map(|(_, value)| *value).collect();
            let mean = plumb_stats::describe::mean(&values);
            parts.extend(mean.map(|mean| (name.clone(), mean)));
        }
        ArmSamples::of(&self.processes, CpuShares::mean_of(&self.cpu), parts)
    }
}
