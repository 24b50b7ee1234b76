//! Charts of a workload in a run.

use plumb_analysis::{CpuShares, PointSamples, samples};
use plumb_chart::{Along, AxisSpec, Chart, Draft, Fit, Mark, Tone, place};
use plumb_model::{Better, RunRecord};
use plumb_text::units::whole_percent;

use super::scorecard::{intervals, name};
use super::{parameters, spread, warmup};
use crate::run::view::{Row, View};

/// The charts of a workload's points in a run.
#[must_use]
pub fn of_workload(view: &View, record: &RunRecord, workload: &str) -> Vec<Chart> {
    let all = samples(record, workload);
    let mut metrics: Vec<&str> = Vec::new();
    for it in &all {
        if !metrics.contains(&it.metric.name.as_str()) {
            metrics.push(&it.metric.name);
        }
    }
    let mut charts: Vec<Chart> = Vec::new();
    for (index, metric) in metrics.into_iter().enumerate() {
        let points = all.iter().filter(|it| it.metric.name == metric);
        let points: Vec<Point> = points.map(|samples| Point::new(view, samples)).collect();
        let of = Subject { workload, metric, primary: index == 0, points: &points };
        charts.extend(spread::boxes(&of));
        charts.extend(bars(&of));
        charts.extend(parameters::of(&of));
        if of.primary {
            charts.extend(spread::cumulative(&of));
            charts.extend(spread::quantiles(&of));
            charts.extend(shares(&of));
            charts.extend(points.iter().filter_map(spread::invocations));
            charts.extend(points.iter().filter_map(warmup::series));
        }
    }
    charts.extend(spread::reported(record, workload));
    distinct(&mut charts);
    charts
}

/// A point with its samples, and its row where it has a result.
pub(super) struct Point<'a> {
    pub(super) samples: &'a PointSamples,
    pub(super) row: Option<&'a Row<'a>>,
    pub(super) label: String,
}

impl<'a> Point<'a> {
    fn new(view: &'a View<'a>, samples: &'a PointSamples) -> Self {
        let is_of = |row: &&Row| {
            let it = row.finding;
            it.point.index == samples.point.index
                && it.target == samples.target
                && it.metric == samples.metric.name
        };
        let row = view.rows.iter().find(is_of);
        let label = row.map_or_else(|| samples.point.name.clone(), name);
        Self { samples, row, label }
    }

    pub(super) fn unit(&self) -> &str {
        &self.samples.metric.unit
    }
}

/// What charts are of: one metric of all points of a workload.
pub(super) struct Subject<'a> {
    pub(super) workload: &'a str,
    pub(super) metric: &'a str,
    pub(super) primary: bool,
    pub(super) points: &'a [Point<'a>],
}

impl Subject<'_> {
    /// `memory.copy/boxes`; of metrics other than the first `memory.copy/boxes/latency`.
    pub(super) fn id(&self, kind: &str) -> String {
        let metric = if self.primary { String::new() } else { format!("/{}", self.metric) };
        format!("{}/{kind}{metric}", self.workload)
    }

    pub(super) fn title(&self, what: &str) -> String {
        format!("{}: {what}", self.workload)
    }

    pub(super) fn values(&self, fit: Fit) -> AxisSpec {
        let unit = self.points.first().map_or("", Point::unit);
        AxisSpec::values(&self.metric.replace('_', " "), unit, fit)
    }

    pub(super) fn names(&self) -> AxisSpec {
        AxisSpec::Names(self.points.iter().map(|it| it.label.clone()).collect())
    }

    pub(super) fn better(&self) -> &'static str {
        self.points.first().map_or("", |it| better(it.samples.metric.better))
    }

    /// The rows of the points, each with its place.
    pub(super) fn rows(&self) -> Vec<(usize, &Row<'_>)> {
        let rows = self.points.iter().enumerate();
        rows.filter_map(|(index, point)| Some((index, point.row?))).collect()
    }
}

/// Which direction is good, as a sentence.
pub(super) fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "More is better.",
        Better::Lower => "Less is better.",
        Better::Neither => "Neither direction is better.",
    }
}

/// Two charts of one name would be one to those who type it.
fn distinct(charts: &mut [Chart]) {
    for index in 1..charts.len() {
        let (before, rest) = charts.split_at_mut(index);
        let alike = |id: &str| before.iter().any(|it| it.id == id);
        if alike(&rest[0].id) {
            let numbered = |number: &usize| !alike(&format!("{}#{number}", rest[0].id));
            let number = (2..).find(numbered).unwrap_or(index);
            rest[0].id = format!("{}#{number}", rest[0].id);
        }
    }
}

/// The estimates of rows at their places.
pub(super) fn estimates(rows: &[(usize, &Row)], beside: f64) -> Mark {
    let only: Vec<&Row> = rows.iter().map(|(_, row)| *row).collect();
    let mut mark = intervals(&only);
    if let Mark::Intervals { at, .. } = &mut mark {
        *at = rows.iter().map(|(index, _)| place(*index) + beside).collect();
    }
    mark
}

/// Bars with intervals: levels beside each other from 0.
fn bars(of: &Subject) -> Option<Chart> {
    let rows = of.rows();
    if rows.len() < 2 || rows.iter().any(|(_, row)| row.finding.estimate.value < 0.0) {
        return None;
    }
    let mut draft = Draft::new(
        of.id("bars"),
        of.title("levels"),
        format!(
            "The median of each point as a bar from 0, with its 95 % interval. {}",
            of.better()
        ),
        of.values(Fit::FromZero),
        of.names(),
    );
    let bar = draft.group("median", Tone::Plain);
    let bars = Mark::Bars {
        along: Along::X,
        at: rows.iter().map(|(index, _)| place(*index)).collect(),
        from: vec![0.0; rows.len()],
        to: rows.iter().map(|(_, row)| row.finding.estimate.value).collect(),
    };
    draft.layer(Some(bar), bars);
    draft.layer(None, estimates(&rows, 0.0));
    draft.finish()
}

/// What the time went into: CPU in user and kernel mode, and waiting for devices.
fn shares(of: &Subject) -> Option<Chart> {
    let rows = of.rows();
    let rows = rows.iter().filter_map(|(index, row)| Some((place(*index), row.finding.cpu?)));
    let rows: Vec<_> = rows.collect();
    let mut draft = Draft::new(
        of.id("cpu"),
        of.title("what the time went into"),
        "CPU time in user mode and in kernel mode, and time that CPUs idled while devices worked, as shares \
         of the time of all batches, warm-up included. Several threads add up to more than 100 %."
            .to_owned(),
        AxisSpec::values("of wall time", "%", Fit::FromZero),
        of.names(),
    );
    let parts = |cpu: &CpuShares| [cpu.user, cpu.system, cpu.iowait];
    let mut from = vec![0.0; rows.len()];
    for (part, name) in ["user", "system", "iowait"].into_iter().enumerate() {
        let to: Vec<f64> =
            from.iter().zip(&rows).map(|(from, (_, cpu))| from + parts(cpu)[part]).collect();
        let group = draft.group(name, Tone::Plain);
        let at = rows.iter().map(|(at, _)| *at).collect();
        draft.layer(Some(group), Mark::Bars { along: Along::X, at, from, to: to.clone() });
        from = to;
    }
    let over = rows.iter().filter(|(_, cpu)| cpu.total() > 1.05).count();
    if over > 0 {
        let most = rows.iter().map(|(_, cpu)| cpu.total()).fold(0.0, f64::max);
        draft.note(format!("more than one CPU at work: up to {}", whole_percent(most)));
    }
    draft.finish()
}
