//! fio's JSON, versions 2 and 3.
//!
//! A job is its own process, or with `group_reporting` several together; `iops` and `bw_bytes`
//! count what was asked for. fio 2 has KiB/s and microseconds where fio 3 has bytes and nanoseconds; 2.1 and older do not list the
//! options of jobs. With `--status-interval` a file holds a document per interval, of which the last one is the result. In client and
//! server mode `client_stats` stands in place of `jobs`.

use std::collections::BTreeMap;

use plumb_model::Better::{Higher, Lower};
use plumb_model::{Flag, FlagKind};
use serde_json::Value;

use crate::json::{documents, list, number, positive, shown, text};
use crate::numbers::{KIB, count, nanoseconds, percentile_name};
use crate::result_file::ResultFile;
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// Options that make a test another test, in the order of a point's name. All others follow by name.
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

/// Options that do not change what is measured: names, lengths and logs.
const WITHOUT_EFFECT: [&str; 22] = [
    "name",
    "description",
    "rw",
    "readwrite",
    "runtime",
    "time_based",
    "timeout",
    "loops",
    "unlink",
    "stonewall",
    "wait_for_previous",
    "new_group",
    "exitall",
    "write_bw_log",
    "write_lat_log",
    "write_hist_log",
    "write_iops_log",
    "log_avg_msec",
    "bwavgtime",
    "iopsavgtime",
    "percentile_list",
    "per_job_logs",
];

/// The default of fio's `rw`.
const DEFAULT_RW: &str = "read";

/// The place of a document in a file: what is interim is not a result.
struct FioDocument {
    value: Value,
    line: usize,
}

pub(crate) fn parse(input: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let documents = documents(input, Format::Fio, found)?;
    let mut results: Vec<FioDocument> = Vec::new();
    for document in documents {
        let document = FioDocument { value: document.value, line: document.line };
        if results.last().is_some_and(|last| document.continues(last)) {
            results.pop();
        }
        results.push(document);
    }
    let alone = results.len() == 1;
    let count = results.len();
    for (index, document) in results.into_iter().enumerate() {
        if is_interim(&document.value) {
            let why = "an interim report (--status-interval) without the final one";
            if index + 1 == count {
                return Err(ImportError::damaged(Format::Fio, why));
            }
            found.not_read(why, Some(document.line));
            continue;
        }
        if let Err(error) = read_document(&document.value, found) {
            if alone {
                return Err(error);
            }
            found.not_read_because(error, Some(document.line))?;
        }
    }
    Ok(())
}

impl FioDocument {
    /// Whether this is a later report of the run that an earlier document reports: of the same jobs, written later, when all had
    /// run longer, and begun before the earlier one was written. The same document twice is two results.
    fn continues(&self, earlier: &Self) -> bool {
        let now = jobs(&self.value);
        let before = jobs(&earlier.value);
        if now.is_empty() || now.len() != before.len() {
            return false;
        }
        let is_grown = now.iter().zip(before).all(|(job, earlier)| {
            job.get("jobname") == earlier.get("jobname")
                && job.get("job options") == earlier.get("job options")
                && work(job) >= work(earlier)
        });
        let (Some(written), Some(written_before)) =
            (written_ns(&self.value), written_ns(&earlier.value))
        else {
            return false;
        };
        let elapsed_s = now.iter().filter_map(|job| number(job, "elapsed")).fold(0.0, f64::max);
        // `elapsed` counts whole seconds, rounded up.
        let elapsed_ns = i64::try_from(nanoseconds((elapsed_s - 1.0).max(0.0))).unwrap_or(i64::MAX);
        is_grown && written > written_before && written.saturating_sub(elapsed_ns) < written_before
    }
}

/// Whether fio expected more when it wrote a document. It has a large number for a job whose end it can't tell.
fn is_interim(document: &Value) -> bool {
    jobs(document)
        .iter()
        .filter_map(|job| number(job, "eta"))
        .any(|eta| eta > 0.0 && eta < f64::from(i32::MAX))
}

/// Requests and milliseconds of a job so far, over all directions.
fn work(job: &Value) -> (f64, f64) {
    let parts = ["read", "write", "trim"].iter().filter_map(|direction| job.get(*direction));
    parts.fold((0.0, 0.0), |(requests, milliseconds), part| {
        let more = number(part, "total_ios").unwrap_or(0.0);
        (requests + more, milliseconds + number(part, "runtime").unwrap_or(0.0))
    })
}

fn jobs(document: &Value) -> &[Value] {
    let jobs = list(document, "jobs");
    if jobs.is_empty() { list(document, "client_stats") } else { jobs }
}

fn read_document(document: &Value, found: &mut ResultFile) -> Result<(), ImportError> {
    let version = text(document, "fio version").map(|v| v.trim_start_matches("fio-").to_owned());
    let jobs = jobs(document);
    if jobs.is_empty() {
        let why = if version.is_some() {
            "fio reports no jobs"
        } else {
            "a JSON document is not a report of fio"
        };
        return Err(ImportError::unsupported(Format::Fio, why));
    }
    let global = options(document.get("global options"));
    let import = found.import(Format::Fio, version, written_ns(document), BTreeMap::new());
    for job in jobs {
        for series in series_of_job(job, &global) {
            import.add(series);
        }
    }
    Ok(())
}

/// When fio wrote the file, in nanoseconds since 1970: it does not say when it began.
fn written_ns(document: &Value) -> Option<i64> {
    let scaled =
        |name: &str, factor: i64| document.get(name).and_then(Value::as_i64)?.checked_mul(factor);
    scaled("timestamp_ms", 1_000_000).or_else(|| scaled("timestamp", 1_000_000_000))
}

fn options(value: Option<&Value>) -> BTreeMap<String, String> {
    let object = value.and_then(Value::as_object);
    object.into_iter().flatten().map(|(name, value)| (name.clone(), shown(value))).collect()
}

/// The tests of a job, one per direction.
fn series_of_job(job: &Value, global: &BTreeMap<String, String>) -> Vec<ImportedSeries> {
    let mut options_of_job = global.clone();
    // A job's own options replace the global ones.
    options_of_job.extend(options(job.get("job options")));
    let asked = options_of_job.get("rw").or(options_of_job.get("readwrite"));
    let is_listed = job.get("job options").is_some() || !global.is_empty();
    let rw = match asked {
        Some(asked) => Some(pattern(asked)),
        // fio leaves out options that have their default.
        None => is_listed.then_some(DEFAULT_RW),
    };
    let mut all = Vec::new();
    for direction in ["read", "write", "trim"] {
        if let Some(part) = job.get(direction)
            && (was_asked(rw, direction) || moved(part))
        {
            all.push(series(job, direction, part, rw, &options_of_job));
        }
    }
    all
}

/// What a job does: `randread` of `randread:8`, whose number says how many requests follow one offset.
fn pattern(asked: &str) -> &str {
    match asked.split(':').next().unwrap_or(asked) {
        "rw" | "readwrite" => "rw",
        word => word,
    }
}

/// Whether a job was to move data in this direction. One that moved none then has a figure: 0.
fn was_asked(rw: Option<&str>, direction: &str) -> bool {
    match rw {
        Some("rw" | "randrw") => direction != "trim",
        Some("trimwrite" | "randtrimwrite") => direction != "read",
        Some(rw) => rw.ends_with(direction),
        None => false,
    }
}

fn moved(part: &Value) -> bool {
    let figures = ["iops", "bw_bytes", "bw", "total_ios", "io_bytes"];
    figures.iter().any(|name| number(part, name).is_some_and(|figure| figure != 0.0))
}

/// The test in one direction.
fn series(
    job: &Value,
    direction: &str,
    part: &Value,
    rw: Option<&str>,
    options: &BTreeMap<String, String>,
) -> ImportedSeries {
    // Without options it is not known whether requests were random.
    let rw = rw.unwrap_or("job");
    let mixed =
        matches!(rw, "rw" | "randrw" | "trimwrite" | "randtrimwrite") || !rw.ends_with(direction);
    let mut series = ImportedSeries::new(format!("fio.{}", id(rw)), "requests of a fio job");
    series.set("job", text(job, "jobname").unwrap_or_default());
    if mixed {
        series.set("direction", direction);
    }
    series.set("host", text(job, "hostname").unwrap_or_default());
    for name in OPTIONS {
        series.set(name, options.get(name).cloned().unwrap_or_default());
    }
    for (name, value) in options {
        if !OPTIONS.contains(&name.as_str()) && !WITHOUT_EFFECT.contains(&name.as_str()) {
            // An option without a value is on.
            let value = if value.is_empty() { "1" } else { value };
            series.set(name, value);
        }
    }
    // fio 2 gives KiB/s only.
    let bandwidth = number(part, "bw_bytes").or(number(part, "bw").map(|kib| kib * KIB));
    let rate = number(part, "iops");
    let rate_name = ("rate", "ops/s", Higher);
    let bandwidth_name = ("bandwidth", "B/s", Higher);
    let mut figures = [
        (rate_name, "operations per second", rate),
        (bandwidth_name, "requested bytes per second", bandwidth),
    ];
    // The first figure is the headline: random requests are compared by their rate, sequential ones by bandwidth.
    if !rw.starts_with("rand") {
        figures.swap(0, 1);
    }
    for (name, summary, _) in figures {
        series.declare(name, summary);
    }
    let error = number(job, "error").unwrap_or(0.0);
    if error != 0.0 && !moved(part) {
        series.fail(format!("fio reports error {error}"));
        return series;
    }
    series.invocations.push(invocation(job, part, rate.unwrap_or(0.0)));
    for (name, summary, value) in figures {
        series.measured(name, summary, value);
    }
    latencies(&mut series, part);
    series
}

/// The part of an id: lower-case letters, digits and `_`.
fn id(rw: &str) -> String {
    let letters = rw.chars().filter(char::is_ascii_alphanumeric).take(24);
    let id: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    if id.is_empty() { "job".to_owned() } else { id }
}

fn invocation(job: &Value, part: &Value, rate: f64) -> ImportedInvocation {
    let seconds = number(part, "runtime").unwrap_or(0.0) * 1e-3;
    let operations = number(part, "total_ios").unwrap_or(rate * seconds);
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

/// Completion latencies, and the whole ones if fio was asked for their percentiles.
fn latencies(series: &mut ImportedSeries, part: &Value) {
    for (kind, prefix, summary) in [
        ("clat", "latency", "percentile of the completion latency"),
        ("lat", "total_latency", "percentile of the latency with submission"),
    ] {
        let (latency, factor) = match (part.get(format!("{kind}_ns")), part.get(kind)) {
            (Some(latency), _) => (latency, 1e-9),
            (None, Some(latency)) => (latency, 1e-6),
            (None, None) => continue,
        };
        let percentiles = latency.get("percentile").and_then(Value::as_object);
        if kind == "clat" {
            // Without requests there is no mean, which fio writes as 0.
            let mean = number(latency, "mean").filter(|mean| *mean != 0.0 || moved(part));
            let seconds = mean.map(|mean| mean * factor);
            series.measured(("latency_mean", "s", Lower), "mean completion latency", seconds);
            let longest = number(latency, "max").filter(|longest| *longest != 0.0 || moved(part));
            let seconds = longest.map(|longest| longest * factor);
            series.measured(("latency_max", "s", Lower), "longest completion latency", seconds);
        }
        let mut known: Vec<(f64, f64)> = percentiles
            .into_iter()
            .flatten()
            .filter_map(|(percent, value)| Some((percent.parse().ok()?, value.as_f64()?)))
            // fio 2 fills its list with percentiles of 0, whose values are 0.
            .filter(|(percent, value)| *percent != 0.0 || *value != 0.0)
            .collect();
        known.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (percent, value) in known {
            match percentile_name(percent) {
                Some(name) => {
                    let name = format!("{prefix}_{name}");
                    series.measured((&name, "s", Lower), summary, [value * factor]);
                }
                None => series.notes.push("a percentile above 100 is not read".to_owned()),
            }
        }
    }
}
