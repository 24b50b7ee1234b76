//! What monitors read over time, beside the samples and over all invocations of a point.
//!
//! Every invocation has a time of its own that is 0 where its first sample begins. It is cut into equal
//! stretches, no shorter than the time from one reading to the next; in each a counter has a rate and a
//! gauge a level, and what is found in it is the median over invocations with the quartiles. Stretches that
//! fewer than half of the invocations reach are left out: they would be about the longest ones.

use std::collections::BTreeMap;

use plumb_model::{Counter, CounterKind, Id, InvocationRecord, Metric, RunRecord, Trace};
use plumb_stats::describe::{median, quantile};

use crate::facts::{PointFacts, point_facts};

/// What monitors read beside each invocation.
pub type Traces = BTreeMap<Id, Vec<Trace>>;

/// The most stretches.
const STRETCHES: f64 = 60.0;
/// A distance between readings of more than this many usual ones hides readings that changed nothing.
const MISSED: f64 = 1.5;

/// What monitors read beside one point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointTimeSeries {
    /// The point.
    pub point: PointFacts,
    /// The invocations that count and that were read beside.
    pub invocations: usize,
    /// The point's first metric over the same time; None where it has no value a sample.
    pub samples: Option<(Metric, TimeSeries)>,
    /// Every counter that was read often enough, by name.
    pub counters: Vec<(Counter, TimeSeries)>,
    /// When something else ran, by rule.
    pub disturbed: Vec<Disturbed>,
}

/// A quantity over time, in columns; times are seconds after the first sample began.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeSeries {
    /// The middle of each stretch.
    pub at: Vec<f64>,
    /// The median over invocations: of a counter its rate, of a gauge its level.
    pub median: Vec<f64>,
    /// First quartile.
    pub low: Vec<f64>,
    /// Third quartile.
    pub high: Vec<f64>,
}

/// A stretch of time in which something else ran beside at least one invocation.
#[derive(Debug, Clone, PartialEq)]
pub struct Disturbed {
    /// The rule that found it.
    pub rule: String,
    /// Seconds after the first sample began.
    pub from: f64,
    /// Seconds after the first sample began.
    pub to: f64,
    /// Invocations beside which the rule found it.
    pub invocations: usize,
    /// What was seen beside the first of them.
    pub evidence: String,
}

/// What monitors read beside the points of a workload, over time.
#[must_use]
pub fn time_series(record: &RunRecord, traces: &Traces, workload: &str) -> Vec<PointTimeSeries> {
    let points = record.plan.points.iter().enumerate();
    let points = points.filter(|(_, planned)| planned.point.workload == workload);
    let of_point = |(index, planned)| {
        let seen: Vec<Seen> =
            record.good_invocations(index).filter_map(|it| Seen::new(it, traces)).collect();
        PointTimeSeries {
            point: point_facts(index, planned),
            invocations: seen.len(),
            samples: planned.description.primary().and_then(|metric| {
                let course = of_samples(&seen, metric);
                (!course.at.is_empty()).then(|| (metric.clone(), course))
            }),
            counters: of_counters(&seen),
            disturbed: disturbed(record, index),
        }
    };
    points.map(of_point).filter(|it| it.invocations > 0).collect()
}

/// An invocation with the readings beside it.
struct Seen<'r> {
    invocation: &'r InvocationRecord,
    traces: &'r [Trace],
    zero_ns: u64,
}

impl<'r> Seen<'r> {
    fn new(invocation: &'r InvocationRecord, traces: &'r Traces) -> Option<Self> {
        let traces = traces.get(&invocation.invocation)?;
        Some(Self { invocation, traces, zero_ns: *invocation.samples.start_ns.first()? })
    }

    fn of_monitor(&self, monitor: &str) -> impl Iterator<Item = &'r Trace> {
        self.traces.iter().filter(move |trace| self::monitor(&trace.counter) == monitor)
    }

    /// What a counter read; where its monitor read and it did not move, a level course.
    fn path(&self, counter: &Counter, usual: f64) -> Option<Path> {
        let own = self.traces.iter().find(|trace| trace.counter == *counter);
        match own {
            Some(trace) => Some(Path::of(trace, self.zero_ns, usual)),
            None if counter.kind == CounterKind::Gauge => None,
            None => {
                let beside = self.of_monitor(monitor(counter));
                let times = beside.flat_map(|trace| &trace.readings).map(|it| it.at_ns);
                let (first, last) = times.fold((u64::MAX, 0), |(a, b), at| (a.min(at), b.max(at)));
                (first < last).then(|| Path {
                    steps: vec![
                        (seconds(first, self.zero_ns), 0.0),
                        (seconds(last, self.zero_ns), 0.0),
                    ],
                })
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
            let (at, value) = (seconds(reading.at_ns, zero_ns), reading.value as f64);
            if let Some(&(before, held)) = steps.last()
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
        match (after.checked_sub(1).and_then(|it| self.steps.get(it)), self.steps.get(after)) {
            (Some(&(t0, v0)), Some(&(t1, v1))) => v0 + (v1 - v0) * (at - t0) / (t1 - t0),
            (Some(&(_, value)), None) | (None, Some(&(_, value))) => value,
            (None, None) => 0.0,
        }
    }

    /// The last reading at that time.
    fn held(&self, at: f64) -> f64 {
        let after = self.steps.partition_point(|(time, _)| *time <= at);
        self.steps.get(after.saturating_sub(1)).map_or(0.0, |it| it.1)
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

fn of_counters(seen: &[Seen]) -> Vec<(Counter, TimeSeries)> {
    let mut counters: Vec<&Counter> =
        seen.iter().flat_map(|it| it.traces).map(|trace| &trace.counter).collect();
    counters.sort();
    counters.dedup();
    let mut usual: BTreeMap<&str, f64> = BTreeMap::new();
    for counter in &counters {
        let name = monitor(counter);
        usual.entry(name).or_insert_with(|| usual_distance(seen, name));
    }
    let of = |counter: &Counter| {
        let usual = usual.get(monitor(counter)).copied().filter(|it| *it > 0.0)?;
        let paths: Vec<Path> = seen.iter().filter_map(|it| it.path(counter, usual)).collect();
        let course = of_paths(&paths, counter.kind, usual);
        (!course.at.is_empty()).then(|| (counter.clone(), course))
    };
    counters.into_iter().filter_map(of).collect()
}

/// The usual time from one reading of a monitor to the next, in seconds: the least of every counter, as
/// readings that changed nothing are not kept.
fn usual_distance(seen: &[Seen], monitor: &str) -> f64 {
    let least = |trace: &Trace| {
        // The last reading is taken when the invocation ends, whatever the time.
        let timed = trace.readings.split_last().map_or(&[][..], |(_, timed)| timed);
        let gaps = timed.windows(2).map(|two| seconds(two[1].at_ns, two[0].at_ns));
        gaps.filter(|gap| *gap > 0.0).reduce(f64::min)
    };
    let all: Vec<f64> =
        seen.iter().flat_map(|it| it.of_monitor(monitor)).filter_map(least).collect();
    quantile(&all, 0.25).unwrap_or(0.0)
}

#[expect(clippy::cast_possible_truncation, reason = "a few stretches")]
fn of_paths(paths: &[Path], kind: CounterKind, usual: f64) -> TimeSeries {
    let ends = || paths.iter().filter_map(Path::ends);
    let longest = ends().map(|(from, to)| to - from).fold(0.0, f64::max);
    let width = (longest / STRETCHES).max(usual);
    let mut stretches: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (path, (from, to)) in paths.iter().zip(ends()) {
        let (first, last) = ((from / width).ceil() as i64, (to / width).floor() as i64);
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
fn of_samples(seen: &[Seen], metric: &Metric) -> TimeSeries {
    let values = |it: &Seen| {
        let work = it.invocation.ready.work.get(&metric.name).copied().unwrap_or(1.0);
        let samples = &it.invocation.samples;
        let values = samples.metric(metric, work).unwrap_or_default();
        let middle = |(start, elapsed): (&u64, &u64)| seconds(start + elapsed / 2, it.zero_ns);
        let times = samples.start_ns.iter().zip(&samples.elapsed_ns).map(middle);
        times.zip(values).collect::<Vec<(f64, f64)>>()
    };
    let all: Vec<Vec<(f64, f64)>> = seen.iter().map(values).collect();
    let longest = all.iter().flatten().map(|it| it.0).fold(0.0, f64::max);
    let samples: Vec<f64> = all.iter().map(|it| it.len() as f64).collect();
    let width = longest / median(&samples).unwrap_or(1.0).clamp(1.0, STRETCHES);
    let mut stretches: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (at, value) in all.into_iter().flatten().filter(|_| width > 0.0) {
        stretches.entry((at / width).floor() as i64).or_default().push(value);
    }
    course(stretches, width)
}

/// When something else ran beside the point's invocations, by rule; stretches that touch are one.
fn disturbed(record: &RunRecord, point: usize) -> Vec<Disturbed> {
    let measured = record.invocations.iter().filter(|it| it.point == point);
    let mut all: Vec<Disturbed> = Vec::new();
    for invocation in measured.filter(|it| it.role == plumb_model::Role::Workload) {
        let Some(&zero) = invocation.samples.start_ns.first() else { continue };
        for it in &invocation.interference {
            let samples = &invocation.samples;
            let start = samples.start_ns.get(it.first);
            let end = samples.start_ns.get(it.last).zip(samples.elapsed_ns.get(it.last));
            let Some((start, (last, elapsed))) = start.zip(end) else { continue };
            all.push(Disturbed {
                rule: it.rule.clone(),
                from: seconds(*start, zero),
                to: seconds(last + elapsed, zero),
                invocations: 1,
                evidence: it.evidence.clone(),
            });
        }
    }
    all.sort_by(|a, b| a.rule.cmp(&b.rule).then(a.from.total_cmp(&b.from)));
    let mut joined: Vec<Disturbed> = Vec::new();
    for it in all {
        match joined.last_mut() {
            Some(last) if last.rule == it.rule && it.from <= last.to => {
                last.to = last.to.max(it.to);
                last.invocations += 1;
            }
            _ => joined.push(it),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use plumb_model::{Counter, CounterKind, Interference, Reading, RunRecord, Trace};

    use super::{Traces, time_series};
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
            readings.retain(|it| {
                let i = kept.next().unwrap_or(0);
                let changed = i == 0 || it.value != before[i - 1].value;
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
        let (_, course) = found[0].counters.iter().find(|it| it.0.name == "vmstat.pswpin").unwrap();
        let moved: Vec<f64> = course.median.iter().copied().filter(|rate| *rate > 1.0).collect();
        assert!((1..=2).contains(&moved.len()), "{course:?}");
    }

    #[test]
    fn interference_that_touches_is_one_stretch() {
        let record = Builder::new(None)
            .measured(&SPEC)
            .invocations(|i, it| {
                let (first, last) = (10 * i, 10 * i + 15);
                let (rule, evidence) = ("steal".to_owned(), format!("seen {i}"));
                it.interference.push(Interference { rule, first, last, evidence });
            })
            .build();
        let traces = traced(&record, "stat.ctxt", CounterKind::Counter, |i| i);
        let found = time_series(&record, &traces, "memory.copy");
        let all = &found[0].disturbed;
        assert_eq!((all.len(), all[0].invocations, all[0].from), (1, 5, 0.0));
        assert_eq!(all[0].evidence, "seen 0");
    }

    #[test]
    fn without_readings_there_is_nothing() {
        let record = Builder::new(None).measured(&SPEC).build();
        assert_eq!(time_series(&record, &Traces::new(), "memory.copy"), []);
    }
}
