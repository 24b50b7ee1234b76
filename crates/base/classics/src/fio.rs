//! fio's JSON.
//!
//! A job is its own process, or with `group_reporting` several together; `iops` and `bw_bytes`
//! count what was asked for. Percentiles are those of the completion latency. fio 2 has KiB/s and
//! microseconds where fio 3 has bytes and nanoseconds.

use std::collections::BTreeMap;

use plumb_model::Better::{Higher, Lower};
use plumb_model::{Flag, FlagKind};
use serde_json::Value;

use crate::json::{document, list, number, positive, shown, text};
use crate::numbers::{KIB, count, nanoseconds};
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// Options that make a test another test.
const OPTIONS: [&str; 14] = [
    "bs",
    "blocksize",
    "iodepth",
    "ioengine",
    "direct",
    "numjobs",
    "size",
    "filesize",
    "rwmixread",
    "sync",
    "fsync",
    "fdatasync",
    "buffered",
    "rate_iops",
];

/// The default of fio's `rw`.
const DEFAULT_RW: &str = "read";

const PERCENTILES: [(&str, &str); 4] = [
    ("latency_p50", "50.000000"),
    ("latency_p90", "90.000000"),
    ("latency_p99", "99.000000"),
    ("latency_p999", "99.900000"),
];

pub(crate) fn parse(input: &str) -> Result<Vec<Import>, ImportError> {
    let document = document(input, Format::Fio)?;
    let mut import = Import::new(Format::Fio);
    import.version =
        text(&document, "fio version").map(|v| v.trim_start_matches("fio-").to_owned());
    import.started_unix_ns = started(&document);
    let global = options(document.get("global options"));
    let jobs = list(&document, "jobs");
    if jobs.is_empty() {
        return Err(ImportError::damaged(Format::Fio, "no `jobs` array"));
    }
    for job in jobs {
        let mut options_of_job = global.clone();
        // A job's own options replace the global ones.
        options_of_job.extend(options(job.get("job options")));
        for direction in ["read", "write", "trim"] {
            if let Some(part) = job.get(direction) {
                import.series.extend(series(job, direction, part, &options_of_job));
            }
        }
    }
    Ok(vec![import])
}

/// When fio wrote the file: it does not say when it began.
fn started(document: &Value) -> Option<i64> {
    let scaled =
        |name: &str, factor: i64| document.get(name).and_then(Value::as_i64)?.checked_mul(factor);
    scaled("timestamp_ms", 1_000_000).or_else(|| scaled("timestamp", 1_000_000_000))
}

fn options(value: Option<&Value>) -> BTreeMap<String, String> {
    let object = value.and_then(Value::as_object);
    object.into_iter().flatten().map(|(name, value)| (name.clone(), shown(value))).collect()
}

/// The test in one direction; None when the job did nothing in it.
fn series(
    job: &Value,
    direction: &str,
    part: &Value,
    options: &BTreeMap<String, String>,
) -> Option<ImportedSeries> {
    let rate = positive(part, "iops")?;
    // fio 2 gives KiB/s only.
    let bandwidth = positive(part, "bw_bytes").or(positive(part, "bw").map(|kib| kib * KIB))?;
    let asked = options.get("rw").or(options.get("readwrite")).map_or(DEFAULT_RW, String::as_str);
    // A number after the colon says how many operations follow one offset.
    let rw = match asked.split(':').next().unwrap_or(asked) {
        "rw" | "readwrite" => "rw",
        word => word,
    };
    let mixed = matches!(rw, "rw" | "randrw" | "trimwrite" | "randtrimwrite");
    let mut series = ImportedSeries::new(format!("fio.{}", id(rw)), "requests of a fio job");
    series.set("job", text(job, "jobname").unwrap_or_default());
    if mixed {
        series.set("direction", direction);
    }
    for name in OPTIONS {
        series.set(name, options.get(name).cloned().unwrap_or_default());
    }
    let seconds = number(part, "runtime").unwrap_or(0.0) * 1e-3;
    let operations = positive(part, "total_ios").unwrap_or(rate * seconds);
    series.invocations.push(invocation(job, part, seconds, operations));
    let rate = [("rate", "ops/s", Higher, "operations per second", rate)];
    let bandwidth = [("bandwidth", "B/s", Higher, "requested bytes per second", bandwidth)];
    // The first figure is the headline: random requests are compared by their rate, sequential ones by bandwidth.
    let figures = if rw.starts_with("rand") { [rate, bandwidth] } else { [bandwidth, rate] };
    for (name, unit, better, summary, value) in figures.concat() {
        series.measured((name, unit, better), summary, [value]);
    }
    latencies(&mut series, part);
    Some(series)
}

/// The part of an id: lower-case letters, digits and `_`.
fn id(rw: &str) -> String {
    let letters = rw.chars().filter(char::is_ascii_alphanumeric).take(24);
    let id: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    if id.is_empty() { "job".to_owned() } else { id }
}

fn invocation(job: &Value, part: &Value, seconds: f64, operations: f64) -> ImportedInvocation {
    let mut invocation = ImportedInvocation::lasting(seconds, count(operations));
    let wall_s = number(job, "job_runtime").unwrap_or(0.0) * 1e-3;
    if let (Some(user), Some(system)) = (number(job, "usr_cpu"), number(job, "sys_cpu"))
        && wall_s > 0.0
    {
        invocation.usage.wall_ns = nanoseconds(wall_s);
        invocation.usage.user_ns = nanoseconds(user.max(0.0) / 100.0 * wall_s);
        invocation.usage.system_ns = nanoseconds(system.max(0.0) / 100.0 * wall_s);
    }
    if let Some(short) = positive(part, "short_ios") {
        let why = format!("{short} transfers were shorter than requested");
        invocation.flags.push(Flag::new(FlagKind::Other("short-transfers".to_owned()), why));
    }
    let error = number(job, "error").unwrap_or(0.0);
    invocation.failed = (error != 0.0).then(|| format!("fio reports error {error}"));
    invocation
}

fn latencies(series: &mut ImportedSeries, part: &Value) {
    let (latency, factor) = match (part.get("clat_ns"), part.get("clat")) {
        (Some(latency), _) => (latency, 1e-9),
        (None, Some(latency)) => (latency, 1e-6),
        (None, None) => return,
    };
    let mean = positive(latency, "mean").map(|mean| mean * factor);
    series.measured(("latency_mean", "s", Lower), "mean completion latency", mean);
    let Some(percentiles) = latency.get("percentile") else { return };
    for (name, percent) in PERCENTILES {
        let value = positive(percentiles, percent).map(|value| value * factor);
        series.measured((name, "s", Lower), "percentile of the completion latency", value);
    }
}
