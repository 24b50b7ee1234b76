//! What monitors read over time, beside the samples and over all invocations of a point.
//!
//! Every invocation has a time of its own that is 0 where its first sample begins. It is cut into equal
//! stretches, no shorter than the time from one reading to the next; in each a counter has a rate and a
//! gauge a level, and what is found in it is the median over invocations with the quartiles. Stretches that
//! fewer than half of the invocations reach are left out: they would be about the longest ones.
//!
//! Where an invocation is too short for a monitor to be read ten times, such a time says little. What that monitor
//! read is laid on the time of the run instead, reading by reading.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{
    Counter, CounterKind, Id, Interference, InvocationRecord, Metric, PlannedPoint, Role,
    RunRecord, Trace,
};
use plumb_stats::describe::{median, quantile};

use crate::facts::{PointFacts, point_facts};

/// What monitors read beside each invocation.
pub type Traces = BTreeMap<Id, Vec<Trace>>;

/// The most stretches.
const STRETCHES: f64 = 60.0;
/// Of more readings than this a drawing shows nothing more.
const MOST_READ: usize = 300;
/// Fewest readings in an invocation to have its own time.
const FEWEST_READINGS: f64 = 10.0;
/// A distance between readings of more than this many usual ones hides readings that changed nothing.
const MISSED: f64 = 1.5;

/// What monitors read beside one point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointTimeSeries {
    /// The measured point with its settings.
    pub point: PointFacts,
    /// The invocations that count and that were read beside.
    pub invocations: usize,
    /// The point's first metric over the same time; None where it has no value a sample.
    pub samples: Option<(Metric, TimeSeries)>,
    /// Every counter that was read often enough, by name.
    pub counters: Vec<(Counter, TimeSeries)>,
    /// When something else ran in the time of invocations, by rule.
    pub disturbed: Vec<Disturbed>,
    /// The same in the time of the run.
    pub disturbed_in_run: Vec<Disturbed>,
}

/// What time 0 is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeOf {
    /// The start of an invocation's first sample.
    #[default]
    Invocation,
    /// The start of the run's first sample.
    Run,
}

/// A quantity over time, in columns; times are seconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeSeries {
    /// What time 0 is.
    pub of: TimeOf,
    /// The middle of each stretch, or of two readings.
    pub at: Vec<f64>,
    /// The median over invocations: of a counter its rate, of a gauge its level. In the time of the run, what was
    /// read.
    pub median: Vec<f64>,
    /// First quartile; empty in the time of the run.
    pub low: Vec<f64>,
    /// Third quartile; empty in the time of the run.
    pub high: Vec<f64>,
}

/// A stretch of time in which something else ran beside at least one invocation.
#[derive(Debug, Clone, PartialEq)]
pub struct Disturbed {
    /// The rule that found it.
    pub rule: String,
    /// When it begins, in seconds after time 0.
    pub from: f64,
    /// When it ends, in seconds after time 0.
    pub to: f64,
    /// Invocations beside which the rule found it at this time.
    pub invocations: usize,
    /// Invocations that lasted until then.
    pub of: usize,
    /// What was seen beside the first of them.
    pub evidence: String,
}

/// What monitors read beside the points of a workload, over time.
#[must_use]
pub fn time_series(record: &RunRecord, traces: &Traces, workload: &str) -> Vec<PointTimeSeries> {
    let mut points: Vec<(usize, &PlannedPoint, Vec<MonitoredInvocation>)> = Vec::new();
    for (index, planned) in record.plan.points.iter().enumerate() {
        if planned.point.workload != workload {
            continue;
        }
        let invocations = record.good_invocations(index);
        let seen: Vec<MonitoredInvocation> = invocations
            .filter_map(|invocation| MonitoredInvocation::new(invocation, traces))
            .collect();
        if !seen.is_empty() {
            points.push((index, planned, seen));
        }
    }
    // One kind of time for a monitor beside all points, so that they can be drawn on one axis.
    let all: Vec<&MonitoredInvocation> = points.iter().flat_map(|(_, _, seen)| seen).collect();
    let monitors = Monitors::of(&all);
    let starts =
        record.invocations.iter().filter_map(|invocation| invocation.samples.start_ns.first());
    let run_zero_ns = starts.min().copied().unwrap_or(0);
    points
        .iter()
        .map(|(index, planned, seen)| PointTimeSeries {
            point: point_facts(*index, planned),
            invocations: seen.len(),
            samples: planned.description.primary().and_then(|metric| {
                let zero = monitors.all_seldom().then_some(run_zero_ns);
                let course = of_samples(seen, metric, zero);
                (!course.at.is_empty()).then(|| (metric.clone(), course))
            }),
            counters: of_counters(seen, &monitors, run_zero_ns),
            disturbed: disturbed(record, *index),
            disturbed_in_run: disturbed_in_run(record, *index, run_zero_ns),
        })
        .collect()
}

/// How often each monitor was read.
struct Monitors {
    /// The usual time between two readings, in seconds, and whether an invocation holds too few of them.
    by_name: BTreeMap<String, (f64, bool)>,
}

impl Monitors {
    fn of(seen: &[&MonitoredInvocation]) -> Self {
        let traces = seen.iter().flat_map(|seen| seen.traces);
        let names: BTreeSet<&str> = traces.map(|trace| monitor(&trace.counter)).collect();
        let mut by_name = BTreeMap::new();
        for name in names {
            let usual = usual_distance(seen, name);
            // Readings that changed nothing are not kept, so their number follows from the time that they span.
            let spans = seen.iter().filter_map(|seen| seen.span_of_monitor(name));
            let readings: Vec<f64> =
                spans.map(|(first, last)| seconds(last, first) / usual + 1.0).collect();
            let is_seldom = usual <= 0.0 || median(&readings).unwrap_or(0.0) < FEWEST_READINGS;
            by_name.insert(name.to_owned(), (usual, is_seldom));
        }
        Self { by_name }
    }

    fn all_seldom(&self) -> bool {
        self.by_name.values().all(|(_, seldom)| *seldom)
    }
}

/// An invocation with the readings beside it.
struct MonitoredInvocation<'r> {
    invocation: &'r InvocationRecord,
    traces: &'r [Trace],
    zero_ns: u64,
}

impl<'r> MonitoredInvocation<'r> {
    fn new(invocation: &'r InvocationRecord, traces: &'r Traces) -> Option<Self> {
        let traces = traces.get(&invocation.invocation)?;
        Some(Self { invocation, traces, zero_ns: *invocation.samples.start_ns.first()? })
    }

    fn of_monitor(&self, monitor: &str) -> impl Iterator<Item = &'r Trace> {
        self.traces.iter().filter(move |trace| self::monitor(&trace.counter) == monitor)
    }

    /// The middle of every sample, in seconds, with its value of a metric.
    fn values(&self, metric: &Metric, zero_ns: u64) -> Vec<(f64, f64)> {
        let work = self.invocation.ready.work.get(&metric.name).copied().unwrap_or(1.0);
        let samples = &self.invocation.samples;
        let values = samples.metric(metric, work).unwrap_or_default();
        let times = samples.start_ns.iter().zip(&samples.elapsed_ns);
        times.map(|(start, elapsed)| seconds(start + elapsed / 2, zero_ns)).zip(values).collect()
    }

    /// The first and the last time at which a monitor read, in nanoseconds; None if it read fewer than two times.
    fn span_of_monitor(&self, monitor: &str) -> Option<(u64, u64)> {
        let traces = self.of_monitor(monitor);
        let times = traces.flat_map(|trace| &trace.readings).map(|reading| reading.at_ns);
        let (first, last) = times.fold((u64::MAX, 0), |(a, b), at| (a.min(at), b.max(at)));
        (first < last).then_some((first, last))
    }

    /// What a counter read; if its monitor read and it did not move, a level course.
    fn path(&self, counter: &Counter, usual: f64, zero_ns: u64) -> Option<Path> {
        let own = self.traces.iter().find(|trace| trace.counter == *counter);
        match own {
            Some(trace) => Some(Path::of(trace, zero_ns, usual)),
            None if counter.kind == CounterKind::Gauge => None,
            None => {
                let (first, last) = self.span_of_monitor(monitor(counter))?;
                let steps = vec![(seconds(first, zero_ns), 0.0), (seconds(last, zero_ns), 0.0)];
                Some(Path { steps })
            }
        }
    }
}

fn monitor(counter: &Counter) -> &str {
    counter.name.split('.').next().unwrap_or(&counter.name)
}

#[expect(clippy::cast_precision_loss, reason = "times within a run, to the nanosecond")]
fn seconds(at_ns: u64, zero_ns: u64) -> f64 {
    if at_ns >= zero_ns {
        (at_ns - zero_ns) as f64 * 1e-9
    } else {
        (zero_ns - at_ns) as f64 * -1e-9
    }
}

/// Readings over time.
struct Path {
    steps: Vec<(f64, f64)>,
}

impl Path {
    /// A counter's readings are kept where they changed; the one before a change is put back.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn of(trace: &Trace, zero_ns: u64, usual: f64) -> Self {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for reading in &trace.readings {
            let at = seconds(reading.at_ns, zero_ns);
            let value = reading.value as f64;
            if let Some(&(before, held)) = steps.last()
                && usual > 0.0
                && at - before > MISSED * usual
                && trace.counter.kind == CounterKind::Counter
            {
                steps.push((at - usual, held));
            }
            steps.push((at, value));
        }
        Self { steps }
    }

    fn ends(&self) -> Option<(f64, f64)> {
        Some((self.steps.first()?.0, self.steps.last()?.0))
    }

    /// Along the straight line from reading to reading.
    fn between(&self, at: f64) -> f64 {
        let after = self.steps.partition_point(|(time, _)| *time <= at);
        match (after.checked_sub(1).and_then(|last| self.steps.get(last)), self.steps.get(after)) {
            (Some(&(t0, v0)), Some(&(t1, v1))) => v0 + (v1 - v0) * (at - t0) / (t1 - t0),
            (Some(&(_, value)), None) | (None, Some(&(_, value))) => value,
            (None, None) => 0.0,
        }
    }

    /// The last reading at that time.
    fn held(&self, at: f64) -> f64 {
        let after = self.steps.partition_point(|(time, _)| *time <= at);
        self.steps.get(after.saturating_sub(1)).map_or(0.0, |step| step.1)
    }

    /// What the stretch from one time to another comes to.
    fn in_stretch(&self, kind: CounterKind, from: f64, to: f64) -> f64 {
        match kind {
            // A counter that was set back did not count backwards.
            CounterKind::Counter => {
                ((self.between(to) - self.between(from)) / (to - from)).max(0.0)
            }
            CounterKind::Gauge => self.held(f64::midpoint(from, to)),
        }
    }
}

fn of_counters(
    seen: &[MonitoredInvocation],
    monitors: &Monitors,
    run_zero_ns: u64,
) -> Vec<(Counter, TimeSeries)> {
    let mut counters: Vec<&Counter> =
        seen.iter().flat_map(|seen| seen.traces).map(|trace| &trace.counter).collect();
    counters.sort();
    counters.dedup();
    let mut found = Vec::new();
    for counter in counters {
        let Some(&(usual, is_seldom)) = monitors.by_name.get(monitor(counter)) else { continue };
        // One invocation holds too few readings of a monitor that reads seldom: those are shown over the whole run.
        let mut paths: Vec<Path> = Vec::new();
        for seen in seen {
            let zero_ns = if is_seldom { run_zero_ns } else { seen.zero_ns };
            paths.extend(seen.path(counter, usual, zero_ns));
        }
        let course = if is_seldom {
            as_read(&paths, counter.kind)
        } else {
            of_paths(&paths, counter.kind, usual)
        };
        if !course.at.is_empty() {
            found.push((counter.clone(), course));
        }
    }
    found
}

/// What was read, in the time of the run: a rate between every two readings of an invocation, a gauge's level at
/// each. Of more invocations than can be drawn each has one rate, or its last level.
fn as_read(paths: &[Path], kind: CounterKind) -> TimeSeries {
    let mut course = TimeSeries { of: TimeOf::Run, ..TimeSeries::default() };
    let readings: usize = paths.iter().map(|path| path.steps.len()).sum();
    for path in paths {
        let ends: Vec<(f64, f64)> = match (path.steps.first(), path.steps.last()) {
            (Some(first), Some(last)) if readings > MOST_READ => vec![*first, *last],
            _ => path.steps.clone(),
        };
        match kind {
            CounterKind::Gauge => {
                let levels =
                    if readings > MOST_READ { &ends[ends.len().min(1)..] } else { &ends[..] };
                course.at.extend(levels.iter().map(|level| level.0));
                course.median.extend(levels.iter().map(|level| level.1));
            }
            CounterKind::Counter => {
                for two in ends.windows(2).filter(|two| two[1].0 > two[0].0) {
                    let (from, before) = two[0];
                    let (to, after) = two[1];
                    course.at.push(f64::midpoint(from, to));
                    // A counter that was set back did not count backwards.
                    course.median.push(((after - before) / (to - from)).max(0.0));
                }
            }
        }
    }
    course
}

/// The usual time from one reading of a monitor to the next, in seconds: the least of every counter, as
/// readings that changed nothing are not kept.
fn usual_distance(seen: &[&MonitoredInvocation], monitor: &str) -> f64 {
    let traces = seen.iter().flat_map(|seen| seen.of_monitor(monitor));
    let all: Vec<f64> = traces.filter_map(least_distance).collect();
    quantile(&all, 0.25).unwrap_or(0.0)
}

/// The least time from one reading of a counter to the next, in seconds.
fn least_distance(trace: &Trace) -> Option<f64> {
    // The last reading is taken when the invocation ends, whatever the time.
    let timed = trace.readings.split_last().map_or(&[][..], |(_, timed)| timed);
    let gaps = timed.windows(2).map(|two| seconds(two[1].at_ns, two[0].at_ns));
    gaps.filter(|gap| *gap > 0.0).reduce(f64::min)
}

#[expect(clippy::cast_possible_truncation, reason = "a few stretches")]
fn of_paths(paths: &[Path], kind: CounterKind, usual: f64) -> TimeSeries {
    let ends: Vec<(f64, f64)> = paths.iter().filter_map(Path::ends).collect();
    let longest = ends.iter().map(|(from, to)| to - from).fold(0.0, f64::max);
    let width = (longest / STRETCHES).max(usual);
    let mut stretches: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (path, (from, to)) in paths.iter().zip(ends) {
        let first = (from / width).ceil() as i64;
        let last = (to / width).floor() as i64;
        for number in first..last {
            let from = number_of(number) * width;
            let value = path.in_stretch(kind, from, from + width);
            stretches.entry(number).or_default().push(value);
        }
    }
    course(stretches, width)
}

#[expect(clippy::cast_precision_loss, reason = "a few stretches")]
fn number_of(stretch: i64) -> f64 {
    stretch as f64
}

/// Median and quartiles of the stretches that half of the invocations reach.
fn course(stretches: BTreeMap<i64, Vec<f64>>, width: f64) -> TimeSeries {
    let most = stretches.values().map(Vec::len).max().unwrap_or(0);
    let mut course = TimeSeries::default();
    for (number, values) in stretches {
        let quartiles = (quantile(&values, 0.25), median(&values), quantile(&values, 0.75));
        let (Some(low), Some(median), Some(high)) = quartiles else { continue };
        if 2 * values.len() >= most {
            course.at.push((number_of(number) + 0.5) * width);
            course.median.push(median);
            course.low.push(low);
            course.high.push(high);
        }
    }
    course
}

/// The samples' own values over the same time.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a few stretches, and times within a run"
)]
fn of_samples(
    seen: &[MonitoredInvocation],
    metric: &Metric,
    run_zero_ns: Option<u64>,
) -> TimeSeries {
    let all: Vec<Vec<(f64, f64)>> =
        seen.iter().map(|seen| seen.values(metric, run_zero_ns.unwrap_or(seen.zero_ns))).collect();
    if run_zero_ns.is_some() {
        let middles = all.into_iter().filter_map(|samples| {
            let (times, values): (Vec<f64>, Vec<f64>) = samples.into_iter().unzip();
            median(&times).zip(median(&values))
        });
        let (at, median) = middles.unzip();
        return TimeSeries { of: TimeOf::Run, at, median, ..TimeSeries::default() };
    }
    let longest = all.iter().flatten().map(|sample| sample.0).fold(0.0, f64::max);
    let samples: Vec<f64> = all.iter().map(|process| process.len() as f64).collect();
    let width = longest / median(&samples).unwrap_or(1.0).clamp(1.0, STRETCHES);
    let mut stretches: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (at, value) in all.into_iter().flatten().filter(|_| width > 0.0) {
        stretches.entry((at / width).floor() as i64).or_default().push(value);
    }
    course(stretches, width)
}

/// The invocations of a point in which samples were taken, each with what disturbed it: the finding, and when it
/// began and ended on the monotonic clock, in nanoseconds.
fn found_beside(
    record: &RunRecord,
    point: usize,
) -> impl Iterator<Item = (&InvocationRecord, Vec<(&Interference, u64, u64)>)> {
    let invocations = record
        .invocations
        .iter()
        .filter(move |invocation| invocation.point == point && invocation.role == Role::Workload);
    invocations.map(|invocation| {
        let mut found = Vec::new();
        for interference in &invocation.interference {
            if let Some((from, to)) = span(invocation, interference) {
                found.push((interference, from, to));
            }
        }
        (invocation, found)
    })
}

/// When the samples begin and end that something else disturbed, in nanoseconds of the monotonic clock.
fn span(invocation: &InvocationRecord, interference: &Interference) -> Option<(u64, u64)> {
    let samples = &invocation.samples;
    let start = samples.start_ns.get(interference.first)?;
    let last = samples.start_ns.get(interference.last)?;
    let elapsed = samples.elapsed_ns.get(interference.last)?;
    Some((*start, last + elapsed))
}

/// When something else ran beside the point's invocations in the time of the run: each where it was.
fn disturbed_in_run(record: &RunRecord, point: usize, zero_ns: u64) -> Vec<Disturbed> {
    let found = found_beside(record, point).flat_map(|(_, found)| found);
    found
        .map(|(interference, from, to)| Disturbed {
            rule: interference.rule.clone(),
            from: seconds(from, zero_ns),
            to: seconds(to, zero_ns),
            invocations: 1,
            of: 1,
            evidence: interference.evidence.clone(),
        })
        .collect()
}

/// The same in the time of invocations, by rule: a stretch for as long as it is beside as many of them.
fn disturbed(record: &RunRecord, point: usize) -> Vec<Disturbed> {
    let mut lengths: Vec<f64> = Vec::new();
    let mut by_rule: BTreeMap<&str, Vec<(f64, f64, &str)>> = BTreeMap::new();
    for (invocation, found) in found_beside(record, point) {
        let samples = &invocation.samples;
        let last = samples.start_ns.last().zip(samples.elapsed_ns.last());
        let Some((zero, (last, elapsed))) = samples.start_ns.first().copied().zip(last) else {
            continue;
        };
        lengths.push(seconds(last + elapsed, zero));
        for (interference, from, to) in found {
            let stretch = (seconds(from, zero), seconds(to, zero), interference.evidence.as_str());
            by_rule.entry(&interference.rule).or_default().push(stretch);
        }
    }
    by_rule.into_iter().flat_map(|(rule, found)| stretches(rule, &found, &lengths)).collect()
}

/// A rule's stretches, cut where their number changes.
fn stretches(rule: &str, found: &[(f64, f64, &str)], lengths: &[f64]) -> Vec<Disturbed> {
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    let width = longest / STRETCHES;
    let mut all: Vec<Disturbed> = Vec::new();
    for number in 0..60 {
        let from = f64::from(number) * width;
        let to = f64::from(number + 1) * width;
        let mut beside = found.iter().filter(|span| span.0 < to && span.1 > from).peekable();
        let Some(first) = beside.peek() else { continue };
        let evidence = first.2.to_owned();
        let of = lengths.iter().filter(|length| **length > from).count();
        let invocations = beside.count().min(of);
        match all.last_mut() {
            Some(last)
                if from - last.to < width / 2.0
                    && (last.invocations, last.of) == (invocations, of) =>
            {
                last.to = to;
            }
            _ => all.push(Disturbed { rule: rule.to_owned(), from, to, invocations, of, evidence }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use plumb_model::{Counter, CounterKind, Interference, Reading, RunRecord, Trace};

    use super::{TimeOf, Traces, time_series};
    use crate::testing::{Builder, COPY, Spec};

    const SPEC: Spec = Spec { processes: 5, samples: 100, ..COPY };

    /// Readings every 50 ms from 100 ms before the first sample, for a second.
    fn traced(record: &RunRecord, name: &str, kind: CounterKind, value: fn(u64) -> u64) -> Traces {
        let of = |invocation: &plumb_model::InvocationRecord| {
            let from = invocation.samples.start_ns[0] - 100_000_000;
            let counter = Counter { name: name.into(), unit: String::new(), kind };
            let all = (0..=20).map(|i| Reading { at_ns: from + i * 50_000_000, value: value(i) });
            let mut readings: Vec<Reading> = all.collect();
            let last = readings.len() - 1;
            let mut kept = 0..;
            let before = readings.clone();
            readings.retain(|reading| {
                let i = kept.next().unwrap_or(0);
                let changed = i == 0 || reading.value != before[i - 1].value;
                changed || i == last || kind == CounterKind::Gauge
            });
            (invocation.invocation, vec![Trace { counter, readings }])
        };
        record.invocations.iter().map(of).collect()
    }

    #[test]
    fn a_counter_has_rates_and_a_gauge_levels() {
        let record = Builder::new(None).measured(&SPEC).build();
        let traces = traced(&record, "stat.ctxt", CounterKind::Counter, |i| 10 * i);
        let found = time_series(&record, &traces, "memory.copy");
        assert_eq!((found.len(), found[0].invocations), (1, 5));
        let (counter, course) = &found[0].counters[0];
        assert_eq!(counter.name, "stat.ctxt");
        assert!(course.median.iter().all(|rate| (rate - 200.0).abs() < 1e-6), "{course:?}");
        assert!(course.at[0] < 0.0 && course.at.is_sorted() && course.at.len() > 15);
        let traces = traced(&record, "meminfo.Cached", CounterKind::Gauge, |i| 1000 + i);
        let found = time_series(&record, &traces, "memory.copy");
        assert!(found[0].counters[0].1.median.is_sorted());
        let (metric, samples) = found[0].samples.as_ref().unwrap();
        assert!(metric.name == "bandwidth" && samples.median.len() > 20, "{samples:?}");
    }

    #[test]
    fn what_moved_once_moved_then_and_not_all_the_time() {
        let record = Builder::new(None).measured(&SPEC).build();
        let traces =
            traced(&record, "vmstat.pswpin", CounterKind::Counter, |i| u64::from(i >= 12) * 50);
        let traces: Traces = traces
            .into_iter()
            .map(|(id, mut all)| {
                let fast = traced(&record, "vmstat.pgfault", CounterKind::Counter, |i| i);
                all.extend(fast[&id].clone());
                (id, all)
            })
            .collect();
        let found = time_series(&record, &traces, "memory.copy");
        let (_, course) =
            found[0].counters.iter().find(|shown| shown.0.name == "vmstat.pswpin").unwrap();
        let moved: Vec<f64> = course.median.iter().copied().filter(|rate| *rate > 1.0).collect();
        assert!((1..=2).contains(&moved.len()), "{course:?}");
    }

    #[test]
    fn interference_stands_where_it_was_beside_as_many_invocations_as_it_was() {
        let record = Builder::new(None)
            .measured(&SPEC)
            .invocations(|i, invocation| {
                if i < 2 {
                    let first = 50 * i;
                    let last = 50 + 49 * i;
                    let rule = "steal".to_owned();
                    let evidence = format!("seen {i}");
                    invocation.interference.push(Interference { rule, first, last, evidence });
                }
            })
            .build();
        let traces = traced(&record, "stat.ctxt", CounterKind::Counter, |i| i);
        let found = time_series(&record, &traces, "memory.copy");
        let all = &found[0].disturbed;
        assert!(
            all.iter().all(|disturbed| disturbed.of > 0
                && disturbed.of <= 5
                && disturbed.invocations <= 2),
            "{all:?}"
        );
        assert_eq!((all[0].from, all[0].invocations, all[0].evidence.as_str()), (0.0, 1, "seen 0"));
        assert!(all.is_sorted_by(|a, b| a.to <= b.from), "{all:?}");
        let in_run = &found[0].disturbed_in_run;
        assert_eq!(in_run.len(), 2);
        assert!(in_run[1].from > in_run[0].to, "{in_run:?}");
    }

    /// Four readings beside each of five invocations.
    #[test]
    fn what_is_seldom_read_is_laid_on_the_time_of_the_run() {
        let record = Builder::new(None).measured(&SPEC).build();
        let mut traces = traced(&record, "stat.ctxt", CounterKind::Counter, |i| 10 * i);
        traces.values_mut().flatten().for_each(|trace| trace.readings.truncate(4));
        let found = time_series(&record, &traces, "memory.copy");
        let (_, course) = &found[0].counters[0];
        assert_eq!((course.of, course.at.len()), (TimeOf::Run, 5 * 3));
        assert!(course.at.is_sorted() && course.low.is_empty(), "{course:?}");
        assert!(course.median.iter().all(|rate| (rate - 200.0).abs() < 1e-6), "{course:?}");
        let (_, samples) = found[0].samples.as_ref().unwrap();
        assert_eq!((samples.of, samples.at.len()), (TimeOf::Run, 5));
    }

    #[test]
    fn without_readings_there_is_nothing() {
        let record = Builder::new(None).measured(&SPEC).build();
        assert_eq!(time_series(&record, &Traces::new(), "memory.copy"), []);
    }
}
