//! The part of a record that one point's findings rest on.

use std::collections::BTreeMap;

use plumb_model::{
    Better, ClockSource, Decision, InvocationRecord, Metric, Plan, PlannedPoint, PointOnTarget,
    RunRecord, SampleIs, StopReason, Usage,
};
use plumb_stats::describe::median;

use crate::facts::CpuShares;

/// One point on one target: its good invocations and what was decided about it.
pub(crate) struct PointData<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) index: usize,
    pub(crate) planned: &'a PlannedPoint,
    pub(crate) target: usize,
    pub(crate) invocations: Vec<&'a InvocationRecord>,
    pub(crate) decisions: Vec<&'a Decision>,
}

impl<'a> PointData<'a> {
    /// The evidence of every point, a part for each target on which it was measured well.
    pub(crate) fn of(record: &'a RunRecord) -> Vec<Self> {
        let points = record.plan.points.iter().enumerate();
        points.flat_map(|(index, planned)| Self::of_point(record, index, planned)).collect()
    }

    fn of_point(record: &'a RunRecord, index: usize, planned: &'a PlannedPoint) -> Vec<Self> {
        let mut by_target: BTreeMap<u32, Vec<&InvocationRecord>> = BTreeMap::new();
        for invocation in record.good_invocations(index) {
            by_target.entry(invocation.target).or_default().push(invocation);
        }
        let decisions: Vec<_> = record.decisions.iter().filter(|d| d.point == index).collect();
        by_target
            .into_iter()
            .map(|(target, invocations)| Self {
                plan: &record.plan,
                index,
                planned,
                target: target as usize,
                invocations,
                decisions: decisions.clone(),
            })
            .collect()
    }

    /// The evidence of one point on one target; None if it was not measured well there.
    pub(crate) fn on(record: &'a RunRecord, place: PointOnTarget) -> Option<Self> {
        let planned = record.plan.points.get(place.point)?;
        Self::of_point(record, place.point, planned)
            .into_iter()
            .find(|data| data.target == place.target)
    }

    /// Whether a sample is a process of its own.
    pub(crate) fn samples_are_processes(&self) -> bool {
        self.planned.description.sample_is == SampleIs::Process
    }

    /// The steady values of a metric, an entry an independent process, in order. None when the
    /// samples do not carry it.
    pub(crate) fn processes(&self, metric: &Metric) -> Option<Vec<Vec<f64>>> {
        let steady: Vec<_> = self.invocations.iter().filter_map(|i| i.steady(metric)).collect();
        if steady.iter().all(Vec::is_empty) {
            return None;
        }
        if self.samples_are_processes() {
            return Some(steady.into_iter().flatten().map(|value| vec![value]).collect());
        }
        Some(steady.into_iter().filter(|values| !values.is_empty()).collect())
    }

    /// Whether more than a fifth of it was measured beside other work.
    pub(crate) fn is_beside(&self) -> bool {
        let beside = self
            .invocations
            .iter()
            .filter(|invocation| !invocation.interference.is_empty())
            .count();
        5 * beside > self.invocations.len()
    }

    /// Whether its samples are all that there are, of earlier times: their clock says only when they were read.
    pub(crate) fn has_supply(&self) -> bool {
        self.invocations.iter().any(|invocation| invocation.ready.supply.is_some())
    }

    /// From the first steady sample to the end of the last, in seconds, without what lay between segments; None
    /// where samples have no times, as those of other tools and those of a supply.
    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    pub(crate) fn seconds(&self) -> Option<f64> {
        if self.has_supply() {
            return None;
        }
        let mut spans: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for invocation in &self.invocations {
            let samples = &invocation.samples;
            let first = invocation.steady_start();
            let Some(&began) = samples.start_ns.get(first) else { continue };
            let (Some(&last), Some(&took)) = (samples.start_ns.last(), samples.elapsed_ns.last())
            else {
                continue;
            };
            let span = spans.entry(invocation.segment).or_insert((began, last));
            *span = (span.0.min(began), span.1.max(last.saturating_add(took)));
        }
        let ns: u64 = spans.values().map(|(began, ended)| ended.saturating_sub(*began)).sum();
        (ns > 0).then_some(ns as f64 * 1e-9)
    }

    /// Samples left out as warm-up.
    pub(crate) fn discarded(&self) -> usize {
        self.invocations.iter().map(|invocation| invocation.steady_start()).sum()
    }

    /// How many invocations have each class of warm-up.
    pub(crate) fn warmups(&self) -> BTreeMap<&'a str, usize> {
        let mut classes = BTreeMap::new();
        for end in self.invocations.iter().filter_map(|invocation| invocation.end.as_ref()) {
            if !end.warmup.is_empty() {
                *classes.entry(end.warmup.as_str()).or_default() += 1;
            }
        }
        classes
    }

    /// The class of most invocations; empty when no invocation has one.
    pub(crate) fn warmup(&self) -> String {
        let classes = self.warmups();
        let most = classes.into_iter().max_by_key(|&(_, count)| count);
        most.map_or_else(String::new, |(class, _)| class.to_owned())
    }

    /// Why the strategy stopped.
    pub(crate) fn stop(&self) -> Option<StopReason> {
        self.decisions.iter().rev().find_map(|decision| decision.stop)
    }

    /// Time that the point would still have taken when the strategy stopped, in seconds.
    pub(crate) fn needs_s(&self) -> Option<f64> {
        let last = self.decisions.iter().rev().find(|decision| decision.stop.is_some())?;
        last.remaining_ns.map(seconds)
    }

    /// The relative half-width that the strategy wanted.
    pub(crate) fn wanted(&self) -> Option<f64> {
        self.decisions.iter().rev().find_map(|decision| decision.wanted)
    }

    /// Resource use over all batches, as shares of their wall time.
    pub(crate) fn cpu(&self) -> Option<CpuShares> {
        let batches = || self.invocations.iter().flat_map(|invocation| &invocation.usage);
        let sum = |field: fn(&Usage) -> u64| seconds(batches().map(field).sum());
        let wall = sum(|usage| usage.wall_ns);
        (wall > 0.0).then(|| CpuShares {
            user: sum(|usage| usage.user_ns) / wall,
            system: sum(|usage| usage.system_ns) / wall,
            iowait: sum(|usage| usage.iowait_ns) / wall,
        })
    }

    /// What the first metric, a time, is made of: the other headline metrics in its unit, each with its median. Rates do
    /// not add up.
    pub(crate) fn parts_of(&self, first: &Metric) -> Vec<(String, f64)> {
        let mut metrics = self.planned.description.metrics.iter();
        let is_first = metrics
            .next()
            .is_some_and(|metric| metric.name == first.name && metric.better == Better::Lower);
        let mut parts = Vec::new();
        for metric in
            metrics.filter(|metric| is_first && metric.headline && metric.unit == first.unit)
        {
            let Some(processes) = self.processes(metric) else { continue };
            let medians: Vec<f64> = processes.iter().filter_map(|values| median(values)).collect();
            parts.extend(median(&medians).map(|middle| (metric.name.clone(), middle)));
        }
        parts
    }

    /// Largest peak of resident memory of a worker, in bytes.
    pub(crate) fn peak_memory_bytes(&self) -> Option<u64> {
        let ends = self.invocations.iter().filter_map(|invocation| invocation.end.as_ref());
        ends.map(|end| end.peak_memory_bytes).max().filter(|&bytes| bytes > 0)
    }

    /// The clock of the first invocation that names one.
    pub(crate) fn clock(&self) -> Option<ClockSource> {
        self.invocations.iter().find_map(|invocation| invocation.ready.clock.clone())
    }

    /// Versions of the components that do the work; where they changed within the run, all of them.
    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        let mut versions: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (name, version) in self.invocations.iter().flat_map(|i| &i.ready.versions) {
            let seen = versions.entry(name.clone()).or_default();
            if !seen.contains(&version.as_str()) {
                seen.push(version);
            }
        }
        versions.into_iter().map(|(name, seen)| (name, seen.join(", "))).collect()
    }

    /// The workload's remarks, each once.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for note in self.invocations.iter().flat_map(|invocation| &invocation.ready.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        notes
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "shares need no more than 53 bits of a nanosecond count"
)]
fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}
