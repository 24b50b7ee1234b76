//! The JSON of `aws cloudwatch get-metric-statistics`, above all of EFS.
//!
//! Its statistics say different things, which people mix up: of `DataWriteIOBytes`, the sum over the period is the
//! bandwidth, the number of samples is the operations per second, and average, minimum and maximum are bytes of one
//! operation. They are kept apart. The file does not give the period: it is the shortest time between two datapoints.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use plumb_model::Better::{Higher, Neither};
use serde_json::Value;

use crate::json::{documents, list, number, text};
use crate::numbers::{count, nanoseconds};
use crate::result_file::ResultFile;
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

pub(crate) fn parse(input: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let documents = documents(input, Format::CloudWatch, found)?;
    let alone = documents.len() == 1;
    let mut all = Vec::new();
    for document in documents {
        match read_document(&document.value, found, document.line) {
            Ok(statistics) => all.push(statistics),
            Err(error) if alone => return Err(error),
            Err(error) => found.not_read_because(error, Some(document.line))?,
        }
    }
    if let Some((started, limit)) = limit(&all) {
        found.import(Format::CloudWatch, None, started, BTreeMap::new()).add(limit);
    }
    Ok(())
}

/// The statistics of one metric.
struct Statistics {
    label: String,
    period_ns: i128,
    /// In order of time.
    points: Vec<Datapoint>,
}

/// What EFS says of the share of its limit that is used.
const USED_SHARE: &str = "PercentIOLimit";
/// Of a smaller share in percent, a tenth of a percent is too much.
const LEAST_USED: f64 = 5.0;
/// The metrics that count operations. The limit is one of all together.
const OPERATIONS: [&str; 4] =
    ["TotalIOBytes", "DataReadIOBytes", "DataWriteIOBytes", "MetadataIOBytes"];

/// The limit of operations per second: in each period that both describe, the operations over the share of the limit that the
/// service says they are. None if the file does not have both, or operations of several kinds without their total.
fn limit(all: &[Statistics]) -> Option<(Option<i64>, ImportedSeries)> {
    let used = all.iter().find(|statistics| statistics.label == USED_SHARE)?;
    let counted: Vec<&Statistics> = OPERATIONS
        .iter()
        .filter_map(|name| all.iter().find(|statistics| statistics.label == *name))
        .collect();
    let operations = match counted[..] {
        [total, ..] if total.label == OPERATIONS[0] => total,
        [only] => only,
        _ => return None,
    };
    if operations.period_ns != used.period_ns {
        return None;
    }
    let seconds = seconds(operations.period_ns);
    let mut limits = Vec::new();
    for point in &operations.points {
        let same_period = used.points.iter().find(|other| other.at == point.at);
        let percent = same_period.and_then(|other| other.average);
        if let (Some(samples), Some(percent)) = (point.samples, percent)
            && percent >= LEAST_USED
            && samples > 0.0
        {
            limits.push(samples / seconds / (percent / 100.0));
        }
    }
    if limits.is_empty() {
        return None;
    }
    let summary =
        "the limit of a service, from the share of it that was used, one sample per period";
    let mut series = ImportedSeries::new("cloudwatch.limit", summary);
    series.set("metric", operations.label.as_str());
    series.set("period", format!("{seconds}s"));
    series.invocations.push(ImportedInvocation {
        elapsed_ns: vec![nanoseconds(seconds); limits.len()],
        iterations: 1,
        ..ImportedInvocation::default()
    });
    let summary = "operations per second at which the whole limit would be used";
    series.measured(("limit", "ops/s", Higher), summary, limits);
    series
        .notes
        .push(format!("operations (samples of {}) per second / {USED_SHARE}", operations.label));
    if operations.label != OPERATIONS[0] {
        series.notes.push(
            "other operations at the same time are not counted; with any, the limit is higher"
                .to_owned(),
        );
    }
    let started = operations.points.first().and_then(|first| i64::try_from(first.at).ok());
    Some((started, series))
}

#[expect(clippy::cast_precision_loss, reason = "periods are seconds to days")]
fn seconds(period_ns: i128) -> f64 {
    period_ns as f64 / 1e9
}

fn read_document(
    document: &Value,
    found: &mut ResultFile,
    line: usize,
) -> Result<Statistics, ImportError> {
    let label = text(document, "Label").ok_or_else(|| unsupported("no `Label`"))?;
    let mut points: Vec<Datapoint> =
        list(document, "Datapoints").iter().map(Datapoint::read).collect::<Result<_, _>>()?;
    // CloudWatch gives the datapoints in no order.
    points.sort_by_key(|point| point.at);
    if let Some(first) = points.first()
        && points.iter().any(|point| point.unit != first.unit)
    {
        return Err(unsupported("the datapoints have different units"));
    }
    let gaps = points.windows(2).map(|pair| pair[1].at - pair[0].at).filter(|gap| *gap > 0);
    let Some(period_ns) = gaps.min() else {
        let why = "the period can't be determined from fewer than two datapoints; request a longer time range";
        return Err(ImportError::nothing(Format::CloudWatch, why));
    };
    let mut unread = Vec::new();
    let series = series(label, period_ns, &points, &mut unread);
    unread.iter().for_each(|what| found.not_read(what, Some(line)));
    if series.metrics.is_empty() {
        let why = "no statistic is in all datapoints; request Sum, SampleCount or Average";
        return Err(ImportError::nothing(Format::CloudWatch, why));
    }
    let started = points.first().and_then(|first| i64::try_from(first.at).ok());
    found.import(Format::CloudWatch, None, started, BTreeMap::new()).add(series);
    Ok(Statistics { label: label.to_owned(), period_ns, points })
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
    /// Percentiles, by CloudWatch's names: `p99`, `p99.9`.
    percentiles: BTreeMap<String, f64>,
    /// Fields that plumb does not know.
    others: Vec<String>,
}

/// The fields that are read.
const FIELDS: [&str; 8] = [
    "Timestamp",
    "Unit",
    "Sum",
    "SampleCount",
    "Average",
    "Minimum",
    "Maximum",
    "ExtendedStatistics",
];

impl Datapoint {
    fn read(point: &Value) -> Result<Self, ImportError> {
        let at = text(point, "Timestamp")
            .ok_or_else(|| unsupported("a datapoint has no `Timestamp`"))?;
        let at: Timestamp =
            at.parse().map_err(|_| unsupported(&format!("`{at}` is not a valid time")))?;
        Ok(Self {
            at: at.as_nanosecond(),
            unit: text(point, "Unit").unwrap_or_default().to_owned(),
            sum: number(point, "Sum"),
            samples: number(point, "SampleCount"),
            average: number(point, "Average"),
            minimum: number(point, "Minimum"),
            maximum: number(point, "Maximum"),
            percentiles: percentiles(point),
            others: point
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .filter(|name| !FIELDS.contains(&name.as_str()))
                .collect(),
        })
    }
}

fn percentiles(point: &Value) -> BTreeMap<String, f64> {
    let statistics = point.get("ExtendedStatistics").and_then(Value::as_object);
    let named = statistics.into_iter().flatten();
    named.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a number of datapoints")]
fn series(
    label: &str,
    period_ns: i128,
    points: &[Datapoint],
    unread: &mut Vec<String>,
) -> ImportedSeries {
    let seconds = seconds(period_ns);
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
    let mut add =
        |name: &str, unit: &str, better, summary, of: &dyn Fn(&Datapoint) -> Option<f64>| {
            let values: Vec<f64> = points.iter().filter_map(of).collect();
            if !values.is_empty() && values.len() != points.len() {
                unread.push(format!("the {name} of {label}, which some datapoints lack"));
            }
            series.measured((name, unit, better), summary, values);
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
    let names: BTreeSet<&String> =
        points.iter().flat_map(|point| point.percentiles.keys()).collect();
    for name in names {
        let metric = name.replace('.', "").to_lowercase();
        add(&metric, unit, Neither, "percentile of the samples", &|point| {
            Some(point.percentiles.get(name)? * factor)
        });
    }
    let others: BTreeSet<&String> = points.iter().flat_map(|point| &point.others).collect();
    unread.extend(others.into_iter().map(|name| format!("`{name}` of {label}")));
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

fn unsupported(why: &str) -> ImportError {
    ImportError::unsupported(Format::CloudWatch, why)
}
