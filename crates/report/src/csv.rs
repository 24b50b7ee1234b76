//! Results and samples as CSV (RFC 4180), for spreadsheets and scripts. No precision is lost:
//! numbers are written with as many digits as it takes to read the same number back.

use std::io;

use plumb_model::{InvocationRecord, Metric, Outcome, PlannedPoint, Role, RunRecord};

use crate::json::better;
use crate::text::clean;
use crate::view::{Row, View};

const RESULT_COLUMNS: &[&str] = &[
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
];

const SAMPLE_COLUMNS: &[&str] = &[
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

/// A row a result, with a header.
#[must_use]
pub fn csv(view: &View) -> String {
    let run = view.finding.run.id.to_string();
    let mut out = line(RESULT_COLUMNS.iter().map(|column| text(column)));
    for row in &view.rows {
        out.push_str(&line(result(&run, row)));
    }
    out
}

fn result(run: &str, row: &Row) -> Vec<String> {
    let finding = row.finding;
    let words: Vec<&str> = finding.flags.iter().map(|flag| flag.flag.word()).collect();
    let share = |of: fn(plumb_analysis::CpuShares) -> f64| optional(finding.cpu.map(of));
    vec![
        text(run),
        text(&finding.series),
        text(&finding.point.workload),
        finding.point.version.to_string(),
        text(&finding.point.key),
        text(&finding.metric),
        text(&finding.unit),
        better(finding.better).to_owned(),
        text(&finding.statistic),
        number(finding.estimate.value),
        optional(finding.estimate.low()),
        optional(finding.estimate.high()),
        text(finding.estimate.interval.as_ref().err().map_or("", String::as_str)),
        number(finding.confidence),
        finding.invocations.to_string(),
        finding.samples.to_string(),
        optional(finding.n_eff),
        text(&finding.warmup),
        finding.discarded.to_string(),
        text(finding.stop.as_deref().unwrap_or("")),
        optional(finding.reached),
        optional(finding.wanted),
        finding.target.to_string(),
        share(|cpu| cpu.user),
        share(|cpu| cpu.system),
        share(|cpu| cpu.iowait),
        finding.peak_memory_bytes.map_or_else(String::new, |bytes| bytes.to_string()),
        text(&words.join(" ")),
    ]
}

/// Writes a row a sample and metric, with a header, one invocation after the other.
///
/// Samples of every measured invocation are written; `phase` is `warm-up` or `steady`, or `failed`
/// or `unfinished` for an invocation whose samples do not count.
///
/// # Errors
/// Those of `out`.
pub fn samples_csv(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(line(SAMPLE_COLUMNS.iter().map(|column| text(column))).as_bytes())?;
    let run = text(&record.run.to_string());
    for invocation in record.invocations.iter().filter(|i| i.role == Role::Workload) {
        let Some(planned) = record.plan.points.get(invocation.point) else { continue };
        for metric in &planned.description.metrics {
            write_metric(&run, planned, metric, invocation, out)?;
        }
    }
    Ok(())
}

fn write_metric(
    run: &str,
    planned: &PlannedPoint,
    metric: &Metric,
    invocation: &InvocationRecord,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let work = invocation.ready.work.get(&metric.name).copied().unwrap_or(1.0);
    let samples = &invocation.samples;
    let Some(values) = samples.metric(metric, work) else { return Ok(()) };
    let place = line([
        run.to_owned(),
        text(&planned.point.series(&metric.name)),
        text(&planned.point.workload),
        text(&planned.point.key),
        text(&metric.name),
        invocation.invocation.to_string(),
        invocation.round.to_string(),
    ]);
    let place = place.trim_end();
    for (i, value) in values.into_iter().enumerate() {
        let (start, elapsed) = (at(&samples.start_ns, i), at(&samples.elapsed_ns, i));
        let (iterations, cpu) = (at(&samples.iterations, i), at(&samples.cpu, i));
        let (phase, value) = (phase(invocation, i), number(value));
        write!(out, "{place},{i},{phase},{start},{elapsed},{iterations},{cpu},{value}\r\n")?;
    }
    Ok(())
}

fn at<T: ToString>(column: &[T], index: usize) -> String {
    column.get(index).map_or_else(String::new, T::to_string)
}

fn phase(invocation: &InvocationRecord, sample: usize) -> &'static str {
    match &invocation.end {
        None => "unfinished",
        Some(end) if end.outcome != Outcome::Done => "failed",
        Some(_) if sample < invocation.steady_start() => "warm-up",
        Some(_) => "steady",
    }
}

fn line(fields: impl IntoIterator<Item = String>) -> String {
    let fields: Vec<String> = fields.into_iter().collect();
    fields.join(",") + "\r\n"
}

/// A text field. Control characters are written out, and what a spreadsheet would take for a formula
/// gets an apostrophe before it.
fn text(value: &str) -> String {
    let mut value = clean(value);
    if value.starts_with(['=', '+', '-', '@']) {
        value.insert(0, '\'');
    }
    if value.contains([',', '"', ' ']) {
        return format!("\"{}\"", value.replace('"', "\"\""));
    }
    value
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

/// The shortest text that reads back as the same number.
fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        String::new()
    } else if size == 0.0 || (1e-5..1e16).contains(&size) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{number, text};

    #[test]
    fn fields_are_quoted_and_harmless() {
        assert_eq!(text("a,b"), "\"a,b\"");
        assert_eq!(text("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(text("=cmd|'/c calc'!A1"), "\"'=cmd|'/c calc'!A1\"");
        assert_eq!(text("two\r\nlines\u{1b}[2J"), "\"two  lines\\u{1b}[2J\"");
    }

    proptest! {
        #[test]
        fn numbers_read_back_the_same(value in any::<f64>()) {
            if value.is_finite() {
                let read: f64 = number(value).parse().unwrap();
                assert!(read.to_bits() == value.to_bits());
            }
        }

        #[test]
        fn a_field_is_one_field(value in any::<String>()) {
            let field = text(&value);
            assert!(!field.chars().any(char::is_control));
            let inner = field.strip_prefix('"').and_then(|f| f.strip_suffix('"')).map(|f| f.replace("\"\"", ""));
            assert!(inner.map_or_else(|| !field.contains([',', '"']), |inner| !inner.contains('"')), "{field}");
        }
    }
}
