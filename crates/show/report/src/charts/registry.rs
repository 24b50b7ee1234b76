//! The kinds of charts, and who makes them. A new kind is a function and a line here.

use plumb_analysis::{ComparisonFinding, HistoryFinding, KindFinding, samples};
use plumb_chart::Chart;
use plumb_model::RunRecord;

use super::comparison::{arms_of_series, ratios_of, ratios_of_families, relative_ratios};
use super::monitors::{Monitored, counters, on_one_axis};
use super::restated::is_computed;
use super::subject::{ChartPoint, Subject};
use super::{
    fleet, groups, history, ladder, monitors, overview, parameters, scorecard, sides, spread,
    warmup, workload,
};
use crate::run::view::View;

/// A kind of chart.
#[derive(Debug)]
pub struct ChartKind {
    /// The form of their names: `WORKLOAD/boxes`.
    pub name: &'static str,
    of: Of,
}

/// What charts are made of, and by which function.
#[derive(Debug)]
enum Of {
    Run(fn(&View) -> Vec<Chart>),
    /// Of every metric of a workload.
    Metric(fn(&Subject) -> Vec<Chart>),
    /// Of the first metric of a workload.
    FirstMetric(fn(&Subject) -> Vec<Chart>),
    Workload(fn(&RunRecord, &str) -> Vec<Chart>),
    Monitors(fn(&str, &[Monitored], bool) -> Vec<Chart>),
    Comparison(fn(&ComparisonFinding) -> Vec<Chart>),
    /// Of the sides of one run.
    Sides(fn(&ComparisonFinding) -> Option<Chart>),
    History(fn(&HistoryFinding, Option<&str>) -> Vec<Chart>),
    /// Of the machines of one kind in a fleet.
    Kind(fn(&KindFinding) -> Option<Chart>),
}

/// All kinds, in the order in which they are shown.
pub static CHARTS: &[ChartKind] = &[
    kind(overview::OVERVIEW, Of::Run(|view| one(overview::overview(view)))),
    kind("run/of-baseline", Of::Run(|view| one(scorecard::of_baseline(view)))),
    kind("run/against-first", Of::Run(|view| one(scorecard::against_first(view)))),
    kind("FAMILY/METRIC", Of::Run(scorecard::medians)),
    kind("run/precision", Of::Run(|view| one(scorecard::precision(view)))),
    kind("POINT/parts", Of::FirstMetric(ladder::ladders)),
    kind("WORKLOAD/by-PARAMETER", Of::Metric(parameters::curves)),
    kind("WORKLOAD/by-PARAMETER-and-PARAMETER", Of::Metric(parameters::maps)),
    kind("WORKLOAD/boxes", Of::Metric(|of| one(spread::boxes(of)))),
    kind("WORKLOAD/bars", Of::Metric(|of| one(workload::bars(of)))),
    kind("WORKLOAD/ecdf", Of::FirstMetric(|of| one(spread::cumulative(of)))),
    kind("WORKLOAD/quantiles", Of::FirstMetric(|of| one(spread::quantiles(of)))),
    kind("WORKLOAD/cpu", Of::FirstMetric(|of| one(workload::shares(of)))),
    kind("POINT/invocations", Of::FirstMetric(|of| of_points(of, spread::invocations))),
    kind("POINT/warmup", Of::FirstMetric(|of| of_points(of, warmup::series))),
    kind("WORKLOAD/tail/METRIC", Of::Workload(spread::reported)),
    kind("WORKLOAD/monitor/samples", Of::Monitors(|of, runs, _| one(monitors::samples(of, runs)))),
    kind("WORKLOAD/monitor/COUNTER", Of::Monitors(counters)),
    kind("sides/boxes", Of::Sides(sides::boxes)),
    kind("sides/bars", Of::Sides(sides::bars)),
    kind("sides/cpu", Of::Sides(sides::shares)),
    kind("sides/parts", Of::Sides(sides::parts)),
    kind("comparison/ratios", Of::Comparison(|finding| one(ratios_of(finding, None)))),
    kind("comparison/ratios/FAMILY", Of::Comparison(ratios_of_families)),
    kind("comparison/relative", Of::Comparison(|finding| one(relative_ratios(finding)))),
    kind("comparison/by-PARAMETER/WORKLOAD", Of::Comparison(groups::curves)),
    kind("comparison/bars/WORKLOAD", Of::Comparison(groups::bars)),
    kind("comparison/cpu/WORKLOAD", Of::Comparison(groups::shares)),
    kind("comparison/parts/WORKLOAD", Of::Comparison(groups::parts)),
    kind("comparison/map/WORKLOAD", Of::Comparison(groups::maps)),
    kind("SERIES/arms", Of::Comparison(arms_of_series)),
    kind("fleet/map/KIND", Of::Kind(fleet::map)),
    kind("SERIES/history", Of::History(|finding, label| one(history::runs(finding, label)))),
];

const fn kind(name: &'static str, of: Of) -> ChartKind {
    ChartKind { name, of }
}

fn one(chart: Option<Chart>) -> Vec<Chart> {
    chart.into_iter().collect()
}

fn of_points(of: &Subject, make: fn(&ChartPoint) -> Option<Chart>) -> Vec<Chart> {
    of.points.iter().filter_map(make).collect()
}

/// The charts of all kinds that `make` has charts of.
fn all(make: impl Fn(&Of) -> Vec<Chart>) -> Vec<Chart> {
    CHARTS.iter().flat_map(|kind| make(&kind.of)).collect()
}

/// The charts of a run's scorecard: the whole run next to the last comparable one, what results are of what they
/// should be, how later points compare with the first, the medians of
/// each family, and how precise they are.
#[must_use]
pub fn of_run(view: &View) -> Vec<Chart> {
    all(|of| match of {
        Of::Run(make) => make(view),
        _ => Vec::new(),
    })
}

/// The charts of a workload's points in a run.
#[must_use]
pub fn of_workload(view: &View, record: &RunRecord, workload: &str) -> Vec<Chart> {
    let samples = samples(record, workload);
    let mut metrics: Vec<&str> = Vec::new();
    for point in &samples {
        if !metrics.contains(&point.metric.name.as_str()) {
            metrics.push(&point.metric.name);
        }
    }
    let mut charts: Vec<Chart> = Vec::new();
    for (index, metric) in metrics.iter().enumerate() {
        let points: Vec<ChartPoint> = samples
            .iter()
            .filter(|point| point.metric.name == *metric)
            .map(|samples| ChartPoint::new(view, samples))
            .collect();
        let subject = Subject {
            workload,
            metric,
            primary: index == 0,
            points: &points,
            finding: view.finding,
        };
        let mut own = of_metric(&subject);
        // A rate that is the inverse of a time has the same charts, mirrored: a page shows one of the two.
        if let Some(first) =
            (0..index).find(|&earlier| is_computed(&samples, metrics[earlier], metric))
        {
            let shown = Subject { metric: metrics[first], primary: first == 0, ..subject };
            instead(&mut own, &charts, &subject, &shown);
        }
        charts.extend(own);
    }
    charts.extend(all(|of| match of {
        Of::Workload(make) => make(record, workload),
        _ => Vec::new(),
    }));
    // A plug-in may name a metric like a kind of chart.
    distinct(&mut charts);
    charts
}

/// Marks the charts of a metric that show the same as one of another metric.
fn instead(charts: &mut [Chart], earlier: &[Chart], of: &Subject, first: &Subject) {
    for chart in charts {
        let kind = chart.id.strip_prefix(of.workload).and_then(|rest| rest.strip_suffix(of.metric));
        let Some(kind) = kind.map(|kind| kind.trim_matches('/')) else { continue };
        let id = first.id(kind);
        chart.instead_of = earlier.iter().any(|other| other.id == id).then_some(id);
    }
}

fn of_metric(of: &Subject) -> Vec<Chart> {
    all(|kind| match kind {
        Of::Metric(make) => make(of),
        Of::FirstMetric(make) if of.primary => make(of),
        _ => Vec::new(),
    })
}

/// Charts over time next to a workload, all on one time axis: the samples, and the counters that matter, or
/// every one. Several runs lie on top of each other, to compare kernels, machines or settings.
#[must_use]
pub fn of_monitors(workload: &str, runs: &[Monitored], every: bool) -> Vec<Chart> {
    let mut charts = all(|of| match of {
        Of::Monitors(make) => make(workload, runs, every),
        _ => Vec::new(),
    });
    on_one_axis(&mut charts);
    charts
}

/// The charts of the sides of one run: what each gives, side by side.
#[must_use]
pub fn of_sides(finding: &ComparisonFinding) -> Vec<Chart> {
    all(|of| if let Of::Sides(make) = of { one(make(finding)) } else { Vec::new() })
}

/// The charts of a comparison: all ratios, those of each family, and the arms of every series.
#[must_use]
pub fn of_comparison(finding: &ComparisonFinding) -> Vec<Chart> {
    all(|of| if let Of::Comparison(make) = of { make(finding) } else { Vec::new() })
}

/// The charts of a series over its runs; `label` is the key of the label that names runs.
#[must_use]
pub fn of_history(finding: &HistoryFinding, label: Option<&str>) -> Vec<Chart> {
    all(|of| if let Of::History(make) = of { make(finding, label) } else { Vec::new() })
}

/// The charts of the machines of one kind in a fleet.
#[must_use]
pub fn of_kind(finding: &KindFinding) -> Vec<Chart> {
    all(|of| if let Of::Kind(make) = of { one(make(finding)) } else { Vec::new() })
}

/// Two charts of one name would be one to those who type it.
fn distinct(charts: &mut [Chart]) {
    for index in 1..charts.len() {
        let (before, rest) = charts.split_at_mut(index);
        if is_taken(before, &rest[0].id) {
            let number = (2..)
                .find(|number| !is_taken(before, &format!("{}#{number}", rest[0].id)))
                .unwrap_or(index);
            rest[0].id = format!("{}#{number}", rest[0].id);
        }
    }
}

fn is_taken(charts: &[Chart], id: &str) -> bool {
    charts.iter().any(|chart| chart.id == id)
}
