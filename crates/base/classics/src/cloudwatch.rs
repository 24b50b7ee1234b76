//! The JSON of `aws cloudwatch get-metric-statistics`, above all of EFS.
//!
//! Its statistics say different things, which people mix up: of `DataWriteIOBytes`, the sum over the period is the
//! bandwidth, the number of samples is the operations per second, and average, minimum and maximum are bytes of one
//! operation. They are kept apart. The file does not give the period: it is the shortest time between two datapoints.

use jiff::Timestamp;
use plumb_model::Better::{Higher, Neither};
use serde_json::Value;

use crate::json::{document, list, number, text};
use crate::numbers::{count, nanoseconds};
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

pub(crate) fn parse(input: &str) -> Result<Vec<Import>, ImportError> {
    let document = document(input, Format::CloudWatch)?;
    let label = text(&document, "Label").ok_or_else(|| damaged("no `Label`"))?;
    let mut points: Vec<Datapoint> =
        list(&document, "Datapoints").iter().map(Datapoint::read).collect::<Result<_, _>>()?;
    // CloudWatch gives the datapoints in no order.
    points.sort_by_key(|point| point.at);
    let gaps = points.windows(2).map(|pair| pair[1].at - pair[0].at).filter(|gap| *gap > 0);
    let Some(period_ns) = gaps.min() else {
        let why = "the period can't be determined from fewer than two datapoints; request a longer time range";
        return Err(ImportError::nothing(Format::CloudWatch, why));
    };
    let mut import = Import::new(Format::CloudWatch);
    import.started_unix_ns = points.first().and_then(|first| i64::try_from(first.at).ok());
    let series = series(label, period_ns, &points);
    if series.metrics.is_empty() {
        let why = "no statistic is in all datapoints; request Sum, SampleCount or Average";
        return Err(ImportError::nothing(Format::CloudWatch, why));
    }
    import.series.push(series);
    Ok(vec![import])
}

/// What is said of one period.
struct Datapoint {
    /// When it began, in nanoseconds since 1970.
    at: i128,
    unit: String,
    sum: Option<f64>,
    samples: Option<f64>,
    average: Option<f64>,
    minimum: Option<f64>,
    maximum: Option<f64>,
}

impl Datapoint {
    fn read(point: &Value) -> Result<Self, ImportError> {
        let at =
            text(point, "Timestamp").ok_or_else(|| damaged("a datapoint has no `Timestamp`"))?;
        let at: Timestamp =
            at.parse().map_err(|_| damaged(&format!("`{at}` is not a valid time")))?;
        Ok(Self {
            at: at.as_nanosecond(),
            unit: text(point, "Unit").unwrap_or_default().to_owned(),
            sum: number(point, "Sum"),
            samples: number(point, "SampleCount"),
            average: number(point, "Average"),
            minimum: number(point, "Minimum"),
            maximum: number(point, "Maximum"),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "periods are seconds to days")]
fn series(label: &str, period_ns: i128, points: &[Datapoint]) -> ImportedSeries {
    let seconds = period_ns as f64 / 1e9;
    let mut series =
        ImportedSeries::new("cloudwatch.metric", "statistics of CloudWatch, one sample per period");
    series.set("metric", label);
    series.set("period", format!("{seconds}s"));
    let samples =
        points.iter().filter_map(|point| point.samples).sum::<f64>() / points.len() as f64;
    series.invocations.push(ImportedInvocation {
        elapsed_ns: vec![nanoseconds(seconds); points.len()],
        iterations: count(samples),
        ..ImportedInvocation::default()
    });
    // Every scale of bytes and seconds is a unit of its own there.
    let theirs = points.first().map_or("", |point| point.unit.as_str());
    let (unit, factor) = unit(theirs);
    let is_summed = unit == "B" || theirs == "Count";
    let mut add = |name, unit: &str, better, summary, of: &dyn Fn(&Datapoint) -> Option<f64>| {
        series.measured((name, unit, better), summary, points.iter().filter_map(of));
    };
    // Sums of rates, shares and times mean nothing.
    if is_summed {
        let a_second = if unit.is_empty() { "1/s" } else { "B/s" };
        add(
            "sum",
            a_second,
            Higher,
            "sum per second of the period; for bytes, the bandwidth",
            &|point| Some(point.sum? * factor / seconds),
        );
    }
    let summary = "samples per second of the period; for bytes, the number of operations";
    add("count", "ops/s", Higher, summary, &|point| Some(point.samples? / seconds));
    let summary = "mean of the samples; for bytes, the size of an operation";
    add("average", unit, Neither, summary, &|point| Some(point.average? * factor));
    add("minimum", unit, Neither, "the smallest sample", &|point| Some(point.minimum? * factor));
    add("maximum", unit, Neither, "the largest sample", &|point| Some(point.maximum? * factor));
    series.notes.push(format!(
        "a sample is one CloudWatch period; the file does not give its length, so plumb uses the shortest gap, {seconds} s"
    ));
    series
}

/// plumb's unit for one of CloudWatch's, and what its values are multiplied by.
fn unit(theirs: &str) -> (&'static str, f64) {
    let (scale, base) = ["Kilo", "Mega", "Giga", "Tera"]
        .iter()
        .zip([1e3, 1e6, 1e9, 1e12])
        .find_map(|(prefix, scale)| Some((scale, theirs.strip_prefix(prefix)?)))
        .unwrap_or((1.0, theirs));
    match base.to_ascii_lowercase().as_str() {
        "bytes" => ("B", scale),
        "bits" => ("B", scale / 8.0),
        "bytes/second" => ("B/s", scale),
        "bits/second" => ("B/s", scale / 8.0),
        "seconds" => ("s", scale),
        "milliseconds" => ("s", 1e-3),
        "microseconds" => ("s", 1e-6),
        "percent" => ("", 0.01),
        _ => ("", scale),
    }
}

fn damaged(why: &str) -> ImportError {
    ImportError::damaged(Format::CloudWatch, why)
}
