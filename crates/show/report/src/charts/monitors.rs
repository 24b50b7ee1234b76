//! Charts of what monitors read over time.

use plumb_analysis::{Disturbed, PointTimeSeries, TimeOf, TimeSeries};
use plumb_chart::{Along, AxisFit, AxisSpec, Chart, Draft, Mark, Tone};
use plumb_model::{Counter, CounterKind};

use super::parts::better;

/// The counters that are drawn if not all are asked for, by the beginnings of their names.
const FIRST: [&str; 26] = [
    "stat.ctxt",
    "meminfo.Cached",
    "stat.user",
    "stat.system",
    "stat.iowait",
    "stat.steal",
    "stat.procs_running",
    "psi.",
    "worker.run",
    "worker.wait",
    "worker.minor_faults",
    "worker.voluntary_switches",
    "worker.involuntary_switches",
    "worker.migrations",
    "meminfo.Dirty",
    "meminfo.MemFree",
    "vmstat.pgmajfault",
    "vmstat.pgpgin",
    "vmstat.pgpgout",
    "cpufreq.",
    "thermal.",
    "powercap.",
    "perf.",
    "latency.",
    "diskstats.",
    "net.",
];
/// Bands of more lines than this hide each other.
const MOST_BANDS: usize = 4;

/// How to read a chart over this time.
fn says(of: TimeOf) -> &'static str {
    match of {
        TimeOf::Invocation => {
            "Time 0 is the start of an invocation's first sample; the line is the median over invocations, the band \
             their quartiles. Interference is hatched from below: the height of the hatched area is the share of invocations disturbed at that time."
        }
        TimeOf::Run => {
            "Time 0 is the start of the run's first sample: invocations are too short for ten readings, \
             so they appear in the order in which they ran. Interference is hatched at its time."
        }
    }
}

fn time_axis(of: TimeOf) -> AxisSpec {
    let label = match of {
        TimeOf::Invocation => "time in the invocation",
        TimeOf::Run => "time in the run",
    };
    AxisSpec::values(label, "s", AxisFit::Even)
}

/// The readings of monitors in a run.
#[derive(Debug, Clone)]
pub struct Monitored {
    /// The name of the run for people; it is not shown if there is only one.
    pub run: String,
    /// The time series of a workload's points.
    pub time_series: Vec<PointTimeSeries>,
}

/// A chart of each counter that matters, or of every one.
pub(super) fn counters(workload: &str, runs: &[Monitored], every: bool) -> Vec<Chart> {
    let mut counters: Vec<&Counter> =
        points(runs).flat_map(|(_, point)| &point.counters).map(|counter| &counter.0).collect();
    // By importance, and equal counters of several points next to each other, as `dedup` needs it.
    counters.sort_by_key(|counter| (place(counter), *counter));
    counters.dedup();
    counters.retain(|counter| every || place(counter) < FIRST.len());
    counters.iter().filter_map(|counter| of_counter(workload, runs, counter)).collect()
}

/// Where a counter stands among those that matter.
fn place(counter: &Counter) -> usize {
    FIRST.iter().position(|first| counter.name.starts_with(first)).unwrap_or(FIRST.len())
}

fn points(runs: &[Monitored]) -> impl Iterator<Item = (&Monitored, &PointTimeSeries)> {
    runs.iter().flat_map(|run| run.time_series.iter().map(move |series| (run, series)))
}

/// The run, the point, or both: whichever tells lines apart.
fn name(runs: &[Monitored], run: &Monitored, point: &PointTimeSeries) -> String {
    let several_points = runs.iter().any(|run| run.time_series.len() > 1);
    match (runs.len() > 1, several_points) {
        (true, true) => format!("{} · {}", run.run, short(point)),
        (true, false) => run.run.clone(),
        _ => short(point),
    }
}

/// The point if its workload is known.
fn short(point: &PointTimeSeries) -> String {
    match point.point.key.as_str() {
        _ if point.point.titled => point.point.name.clone(),
        "" => "default".to_owned(),
        key => key.to_owned(),
    }
}

/// The samples themselves on the same axis.
pub(super) fn samples(workload: &str, runs: &[Monitored]) -> Option<Chart> {
    let first = points(runs).find_map(|(_, point)| point.samples.as_ref());
    let (metric, of) = first.map(|(metric, series)| (metric.clone(), series.of))?;
    let mut draft = Draft::new(
        format!("{workload}/monitor/samples"),
        format!("{workload}: {} over time", metric.name.replace('_', " ")),
        format!("The samples, including warm-up. {} {}", says(of), better(metric.better)),
        time_axis(of),
        AxisSpec::values(&metric.name.replace('_', " "), &metric.unit, AxisFit::Free),
    );
    let all = points(runs).filter_map(|(run, point)| {
        let (own, series) = point.samples.as_ref()?;
        (own.name == metric.name).then(|| (name(runs, run, point), series))
    });
    lines(&mut draft, &all.collect::<Vec<_>>(), of, 1.0);
    interference(&mut draft, runs, of);
    draft.finish()
}

fn of_counter(workload: &str, runs: &[Monitored], counter: &Counter) -> Option<Chart> {
    let factor = counter.base().0;
    let unit = match counter.rate_unit().as_str() {
        plumb_units::SHARE | "s/s" => "%".to_owned(),
        unit => unit.to_owned(),
    };
    let what = match (counter.kind, unit.as_str()) {
        (CounterKind::Gauge, _) => "The value of the gauge.",
        (CounterKind::Counter, "%") => "The counted time as a share of wall time.",
        (CounterKind::Counter, _) => "The counter's rate per second.",
    };
    let of = points(runs).find_map(|(_, point)| Some(series_of(point, counter)?.of))?;
    let mut draft = Draft::new(
        format!("{workload}/monitor/{}", counter.name),
        format!("{workload}: {} over time", counter.name),
        format!("{what} {}", says(of)),
        time_axis(of),
        AxisSpec::values(&counter.name, &unit, AxisFit::FromZero),
    );
    let all = points(runs)
        .filter_map(|(run, point)| Some((name(runs, run, point), series_of(point, counter)?)));
    lines(&mut draft, &all.collect::<Vec<_>>(), of, factor);
    interference(&mut draft, runs, of);
    draft.finish()
}

fn series_of<'s>(point: &'s PointTimeSeries, counter: &Counter) -> Option<&'s TimeSeries> {
    point.counters.iter().find(|known| known.0 == *counter).map(|known| &known.1)
}

fn lines(draft: &mut Draft, all: &[(String, &TimeSeries)], of: TimeOf, factor: f64) {
    // One value is not a time series, and two kinds of time have no axis in common.
    let drawn: Vec<&(String, &TimeSeries)> =
        all.iter().filter(|(_, series)| series.of == of && series.at.len() > 1).collect();
    let seldom = all.len() - drawn.len();
    if seldom > 0 {
        draft
            .note(format!("{seldom} of {} series have too few readings to draw a line", all.len()));
    }
    // All bands before all lines: a band drawn later would cover the line of another series.
    for (name, series) in &drawn {
        let group = draft.group(name, Tone::Plain);
        if drawn.len() <= MOST_BANDS && !series.low.is_empty() {
            let x = series.at.clone();
            let low = scaled(&series.low, factor);
            let high = scaled(&series.high, factor);
            draft.layer(Some(group), Mark::Band { x, low, high });
        }
    }
    for (name, series) in &drawn {
        let group = draft.group(name, Tone::Plain);
        let x = series.at.clone();
        let medians = scaled(&series.median, factor);
        if of == TimeOf::Run {
            let tips = vec![String::new(); x.len()];
            draft.layer(Some(group), Mark::Dots { x: x.clone(), y: medians.clone(), tips });
        }
        let y = medians.into_iter().map(Some).collect();
        draft.layer(Some(group), Mark::Line { x, y, steps: false });
    }
    if drawn.len() > MOST_BANDS && of == TimeOf::Invocation {
        draft.note(format!("quartiles are not shown: {} bands would overlap", drawn.len()));
    }
}

fn scaled(values: &[f64], factor: f64) -> Vec<f64> {
    values.iter().map(|value| value * factor).collect()
}

/// When something else ran, next to how many of a point's invocations.
fn interference(draft: &mut Draft, runs: &[Monitored], of: TimeOf) {
    let mut from = vec![];
    let mut to = vec![];
    let mut share = vec![];
    let mut tips = vec![];
    for (run, point) in points(runs) {
        let found: &[Disturbed] = match of {
            TimeOf::Invocation => &point.disturbed,
            TimeOf::Run => &point.disturbed_in_run,
        };
        for disturbed in found {
            let name = name(runs, run, point);
            let beside = match of {
                TimeOf::Invocation => {
                    format!("{} of {} invocations", disturbed.invocations, disturbed.of)
                }
                TimeOf::Run => "an invocation".to_owned(),
            };
            from.push(disturbed.from);
            to.push(disturbed.to);
            share.push(
                plumb_chart::place(disturbed.invocations) / plumb_chart::place(disturbed.of.max(1)),
            );
            tips.push(format!(
                "{} during {beside} of {name}: {}",
                disturbed.rule, disturbed.evidence
            ));
        }
    }
    // Below the lines: what was measured must stay readable if something disturbed it.
    let group = draft.group("interference", Tone::Interference);
    draft.layer_below(Some(group), Mark::Spans { along: Along::X, from, to, share, tips });
}

/// One axis for all charts over the same time, so that what happens at one time stands at one place.
pub(super) fn on_one_axis(charts: &mut [Chart]) {
    let mut labels: Vec<String> = charts.iter().map(|chart| chart.x.label.clone()).collect();
    labels.sort();
    labels.dedup();
    for label in labels {
        let mut low = f64::INFINITY;
        let mut high = f64::NEG_INFINITY;
        for chart in charts.iter().filter(|chart| chart.x.label == label) {
            low = low.min(chart.x.low);
            high = high.max(chart.x.high);
        }
        let (unit, per) = plumb_units::scale_of(low.abs().max(high.abs()), "s");
        for chart in charts.iter_mut().filter(|chart| chart.x.label == label) {
            chart.x.low = low;
            chart.x.high = high;
            chart.x.unit.clone_from(&unit);
            chart.x.per = per;
        }
    }
}
