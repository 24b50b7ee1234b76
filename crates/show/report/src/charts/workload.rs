//! Charts of a workload in a run.

use plumb_analysis::{CpuShares, samples};
use plumb_chart::{Along, AxisSpec, Chart, Draft, Fit, Mark, Tone, place};
use plumb_model::RunRecord;
use plumb_text::units::whole_percent;

use crate::charts::subject::{Point, Subject, estimates};
use crate::charts::{parameters, spread, warmup};
use crate::run::view::View;

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
