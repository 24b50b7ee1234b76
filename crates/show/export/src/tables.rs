//! The two tables of a run: a row per result, and a row per sample.

use std::borrow::Cow;

use plumb_model::{InvocationRecord, Metric, Outcome, PlannedPoint, Role, RunRecord, StopReason};

use plumb_report::run::{ResultRow, View};

pub(crate) const RESULT_COLUMNS: &[&str] = &[
    "run",
    "series",
    "workload",
    "version",
    "point",
    "metric",
    "unit",
    "better",
    "statistic",
    "estimate",
    "low",
    "high",
    "no_interval",
    "confidence",
    "invocations",
    "samples",
    "n_eff",
    "warmup",
    "discarded",
    "stop",
    "reached",
    "wanted",
    "target",
    "cpu_user",
    "cpu_system",
    "cpu_iowait",
    "peak_memory_bytes",
    "flags",
    "host",
    "labels",
    "machine_low",
    "machine_high",
    "is_ceiling",
    "baseline",
    "of_baseline",
    "of_baseline_low",
    "of_baseline_high",
];

pub(crate) const SAMPLE_COLUMNS: &[&str] = &[
    "run",
    "series",
    "workload",
    "point",
    "metric",
    "invocation",
    "round",
    "sample",
    "phase",
    "start_ns",
    "elapsed_ns",
    "iterations",
    "cpu",
    "value",
];

/// One field of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TableCell<'a> {
    /// Text, as it is.
    Text(Cow<'a, str>),
    /// A whole number.
    Whole(i128),
    /// A number; one that is no number is an empty field.
    Number(f64),
    /// An empty field: the value does not exist.
    Empty,
}

impl<'a> From<&'a str> for TableCell<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(Cow::Borrowed(value))
    }
}

impl From<String> for TableCell<'_> {
    fn from(value: String) -> Self {
        Self::Text(Cow::Owned(value))
    }
}

impl From<f64> for TableCell<'_> {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

/// A count as a whole number; counts beyond the type's range, which do not occur, become its largest number.
pub(crate) fn whole(value: usize) -> TableCell<'static> {
    TableCell::Whole(i128::try_from(value).unwrap_or(i128::MAX))
}

pub(crate) fn optional<'a, T: Into<TableCell<'a>>>(value: Option<T>) -> TableCell<'a> {
    value.map_or(TableCell::Empty, Into::into)
}

/// A row a result, in the order of [`RESULT_COLUMNS`].
pub(crate) fn result_rows<'a>(view: &'a View) -> impl Iterator<Item = Vec<TableCell<'a>>> {
    view.rows.iter().map(move |row| result(view, row))
}

fn result<'a>(view: &'a View, row: &'a ResultRow) -> Vec<TableCell<'a>> {
    let run = &view.finding.run;
    let finding = row.finding;
    let host = view.finding.targets.get(finding.target).and_then(|target| target.host.known());
    let labels: Vec<String> = run
        .labels
        .iter()
        .chain(&finding.point.labels)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let baseline = finding.of_baseline.as_ref().ok();
    let words: Vec<&str> = finding.flags.iter().map(|flag| flag.flag.word()).collect();
    vec![
        run.id.to_string().into(),
        finding.series.as_str().into(),
        finding.point.workload.as_str().into(),
        TableCell::Whole(finding.point.version.into()),
        finding.point.key.as_str().into(),
        finding.metric.as_str().into(),
        finding.unit.as_str().into(),
        finding.better.word().into(),
        finding.statistic.as_str().into(),
        finding.estimate.value.into(),
        optional(finding.estimate.low()),
        optional(finding.estimate.high()),
        finding.shown().interval.err().unwrap_or_default().into(),
        finding.confidence.into(),
        whole(finding.invocations),
        whole(finding.samples),
        optional(finding.n_eff),
        finding.warmup.as_str().into(),
        whole(finding.discarded),
        finding.stop.map_or("", StopReason::word).into(),
        optional(finding.reached),
        optional(finding.wanted),
        whole(finding.target),
        optional(finding.cpu.map(|cpu| cpu.user)),
        optional(finding.cpu.map(|cpu| cpu.system)),
        optional(finding.cpu.map(|cpu| cpu.iowait)),
        finding.peak_memory_bytes.map_or(TableCell::Empty, |bytes| TableCell::Whole(bytes.into())),
        words.join(" ").into(),
        host.unwrap_or_default().into(),
        labels.join(" ").into(),
        optional(finding.machine_ends().map(|ends| ends.low)),
        optional(finding.machine_ends().map(|ends| ends.high)),
        if finding.point.is_ceiling { "yes" } else { "no" }.into(),
        optional(baseline.map(|of| of.source.word())),
        optional(baseline.map(|of| of.share.value)),
        optional(baseline.and_then(|of| of.share.low())),
        optional(baseline.and_then(|of| of.share.high())),
    ]
}

/// Gives `take` a row a sample and metric, in the order of [`SAMPLE_COLUMNS`].
///
/// # Errors
/// The first of `take`.
pub(crate) fn sample_rows<E>(
    record: &RunRecord,
    take: &mut dyn FnMut(&[TableCell]) -> Result<(), E>,
) -> Result<(), E> {
    let run = record.run.to_string();
    for invocation in record.invocations.iter().filter(|i| i.role == Role::Workload) {
        let Some(planned) = record.plan.points.get(invocation.point) else { continue };
        for metric in &planned.description.metrics {
            metric_rows(&run, planned, metric, invocation, take)?;
        }
    }
    Ok(())
}

fn metric_rows<E>(
    run: &str,
    planned: &PlannedPoint,
    metric: &Metric,
    invocation: &InvocationRecord,
    take: &mut dyn FnMut(&[TableCell]) -> Result<(), E>,
) -> Result<(), E> {
    // Without declared work an iteration counts as one unit.
    let work = invocation.ready.work.get(&metric.name).copied().unwrap_or(1.0);
    let samples = &invocation.samples;
    let Some(values) = samples.metric(metric, work) else { return Ok(()) };
    let series = planned.point.series(&metric.name);
    let id = invocation.invocation.to_string();
    for (i, value) in values.into_iter().enumerate() {
        take(&[
            run.into(),
            series.as_str().into(),
            planned.point.workload.as_str().into(),
            planned.point.key.as_str().into(),
            metric.name.as_str().into(),
            id.as_str().into(),
            TableCell::Whole(invocation.round.into()),
            whole(i),
            phase(invocation, i).into(),
            at(&samples.start_ns, i),
            at(&samples.elapsed_ns, i),
            at(&samples.iterations, i),
            at(&samples.cpu, i),
            value.into(),
        ])?;
    }
    Ok(())
}

fn at<T: Copy + Into<i128>>(column: &[T], index: usize) -> TableCell<'static> {
    column.get(index).map_or(TableCell::Empty, |&value| TableCell::Whole(value.into()))
}

fn phase(invocation: &InvocationRecord, sample: usize) -> &'static str {
    match &invocation.end {
        None => "unfinished",
        Some(end) if end.outcome != Outcome::Done => "failed",
        Some(_) if sample < invocation.steady_start() => "warm-up",
        Some(_) => "steady",
    }
}
