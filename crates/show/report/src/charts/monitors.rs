//! Charts of what monitors read over time.

use plumb_analysis::{Disturbed, PointTimeSeries, TimeSeries};
use plumb_chart::{Along, AxisSpec, Chart, Draft, Fit, Mark, Tone};
use plumb_model::{Counter, CounterKind};
use plumb_text::counted;

use super::parts::better;

/// The counters that are drawn where not all are asked for, by the beginnings of their names.
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
const SAYS: &str = "Time 0 is the start of an invocation's first sample; the line is the median over \
     invocations, the band their quartiles.";

/// What monitors read in a run.
#[derive(Debug, Clone)]
pub struct Monitored {
    /// What people call the run; it is not shown where there is only one.
    pub run: String,
    /// The time series of a workload's points.
    pub time_series: Vec<PointTimeSeries>,
}

/// A chart of each counter that matters, or of every one.
pub(super) fn counters(workload: &str, runs: &[Monitored], every: bool) -> Vec<Chart> {
    let mut counters: Vec<&Counter> =
        points(runs).flat_map(|(_, it)| &it.counters).map(|it| &it.0).collect();
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

/// The point where its workload is known.
fn short(point: &PointTimeSeries) -> String {
    match point.point.key.as_str() {
        _ if point.point.titled => point.point.name.clone(),
        "" => "default".to_owned(),
        key => key.to_owned(),
    }
}

/// The samples themselves on the same axis.
pub(super) fn samples(workload: &str, runs: &[Monitored]) -> Option<Chart> {
    let metric = points(runs).find_map(|(_, point)| Some(point.samples.as_ref()?.0.clone()))?;
    let mut draft = Draft::new(
        format!("{workload}/monitor/samples"),
        format!("{workload}: {} over time", metric.name.replace('_', " ")),
        format!("The samples, including warm-up. {SAYS} {}", better(metric.better)),
        AxisSpec::values("time", "s", Fit::Even),
        AxisSpec::values(&metric.name.replace('_', " "), &metric.unit, Fit::Free),
    );
    let all = points(runs).filter_map(|(run, point)| {
        let (of, series) = point.samples.as_ref()?;
        (of.name == metric.name).then(|| (name(runs, run, point), series))
    });
    lines(&mut draft, &all.collect::<Vec<_>>(), 1.0);
    interference(&mut draft, runs);
    draft.finish()
}

fn of_counter(workload: &str, runs: &[Monitored], counter: &Counter) -> Option<Chart> {
    let factor = counter.base().0;
    let unit = match counter.rate_unit().as_str() {
        "s/s" => "%".to_owned(),
        unit => unit.to_owned(),
    };
    let what = match (counter.kind, unit.as_str()) {
        (CounterKind::Gauge, _) => "The value of the gauge.",
        (CounterKind::Counter, "%") => "The counted time as a share of wall time.",
        (CounterKind::Counter, _) => "The counter's rate per second.",
    };
    let mut draft = Draft::new(
        format!("{workload}/monitor/{}", counter.name),
        format!("{workload}: {} over time", counter.name),
        format!("{what} {SAYS}"),
        AxisSpec::values("time", "s", Fit::Even),
        AxisSpec::values(&counter.name, &unit, Fit::FromZero),
    );
    let all = points(runs).filter_map(|(run, point)| {
        let (_, series) = point.counters.iter().find(|it| it.0 == *counter)?;
        Some((name(runs, run, point), series))
    });
    lines(&mut draft, &all.collect::<Vec<_>>(), factor);
    interference(&mut draft, runs);
    draft.finish()
}

fn lines(draft: &mut Draft, all: &[(String, &TimeSeries)], factor: f64) {
    // One value is no time series.
    let is_line = |it: &&(String, &TimeSeries)| it.1.at.len() > 1;
    let seldom = all.len() - all.iter().filter(is_line).count();
    if seldom > 0 {
        draft
            .note(format!("{seldom} of {} series have too few readings to draw a line", all.len()));
    }
    let all: Vec<&(String, &TimeSeries)> = all.iter().filter(is_line).collect();
    let times = |values: &[f64]| values.iter().map(|value| value * factor).collect::<Vec<f64>>();
    for (name, series) in &all {
        let group = draft.group(name, Tone::Plain);
        if all.len() <= MOST_BANDS {
            let (x, low, high) = (series.at.clone(), times(&series.low), times(&series.high));
            draft.layer(Some(group), Mark::Band { x, low, high });
        }
    }
    for (name, series) in &all {
        let group = draft.group(name, Tone::Plain);
        let y = times(&series.median).into_iter().map(Some).collect();
        draft.layer(Some(group), Mark::Line { x: series.at.clone(), y, steps: false });
    }
    if all.len() > MOST_BANDS {
        draft.note(format!("quartiles are not shown: {} bands would overlap", all.len()));
    }
}

/// When something else ran beside any of the invocations; what overlaps is one.
fn interference(draft: &mut Draft, runs: &[Monitored]) {
    let mut all: Vec<(String, &Disturbed)> = points(runs)
        .flat_map(|(run, point)| point.disturbed.iter().map(move |it| (name(runs, run, point), it)))
        .collect();
    all.sort_by(|a, b| a.1.from.total_cmp(&b.1.from));
    let (mut from, mut to, mut tips) = (Vec::new(), Vec::new(), Vec::<String>::new());
    for (name, it) in all {
        let beside = counted(it.invocations, "invocation", "invocations");
        let tip = format!("{} during {beside} of {name}: {}", it.rule, it.evidence);
        match (to.last_mut(), tips.last_mut()) {
            (Some(end), Some(tips)) if it.from <= *end => {
                *end = it.to.max(*end);
                tips.push_str("; ");
                tips.push_str(&tip);
            }
            _ => {
                from.push(it.from);
                to.push(it.to);
                tips.push(tip);
            }
        }
    }
    let group = draft.group("interference", Tone::Interference);
    draft.layer_below(Some(group), Mark::Spans { along: Along::X, from, to, tips });
}

/// One time axis for all, so that what happens at one time stands at one place.
pub(super) fn on_one_axis(charts: &mut [Chart]) {
    let low = charts.iter().map(|chart| chart.x.low).fold(f64::INFINITY, f64::min);
    let high = charts.iter().map(|chart| chart.x.high).fold(f64::NEG_INFINITY, f64::max);
    let (unit, per) = plumb_text::units::scale_of(low.abs().max(high.abs()), "s");
    for chart in charts {
        (chart.x.low, chart.x.high) = (low, high);
        (chart.x.unit, chart.x.per) = (unit.clone(), per);
    }
}
