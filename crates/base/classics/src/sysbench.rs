//! The report of sysbench, 0.4 to 1.1.
//!
//! Each report begins with a line that has the version. Which test it was follows from what the report is about: sysbench does not
//! name it. Numbers of different versions are not comparable; the version is part of every series. Lines of `--report-interval`
//! are interim. With `--report-checkpoints` the last statistics are the result, and the others are listed as not read, as
//! histograms are.

use std::collections::BTreeMap;

use plumb_model::Better::{Higher, Lower};

use crate::numbers::{KIB, MIB, count, figure, leading, percentile_name};
use crate::result_file::ResultFile;
use crate::text::{Line, lacks, lines, sections};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

const TOTAL_TIME: &str = "total time:";
const EVENTS: &str = "total number of events:";
/// The last line of a report: a file without it was cut off, and its figures may be incomplete.
const LAST: &str = "execution time (avg/stddev):";

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let lines = lines(text);
    let reports = sections(&lines, begins);
    let alone = reports.len() == 1;
    for report in reports {
        if let Err(error) = read_report(&SysbenchReport { lines: report }, found) {
            if alone {
                return Err(error);
            }
            found.not_read_because(error, report.first().map(|line| line.number))?;
        }
    }
    Ok(())
}

/// Whether a line has the version: `sysbench 1.0.20 (using …)`, not `sysbench cpu run`.
fn begins(line: &str) -> bool {
    let version = line.strip_prefix("sysbench ");
    version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

fn read_report(report: &SysbenchReport, found: &mut ResultFile) -> Result<(), ImportError> {
    let version = report.version();
    let mut series = report.series();
    series.set("version", version.clone().unwrap_or_default());
    series.set("threads", report.after("Number of threads:").unwrap_or_default());
    series.set("target_rate", report.after("Target transaction rate:").unwrap_or_default());
    let failure = report.lines.iter().find(|line| line.text.starts_with("FATAL:"));
    if report.after(TOTAL_TIME).is_none() {
        if let Some(failure) = failure {
            series.declare(("events", "ops/s", Higher), "events per second of the whole time");
            series.fail(failure.text);
            found.import(Format::Sysbench, version, None, BTreeMap::new()).add(series);
            return Ok(());
        }
        // `prepare` and `cleanup` measure nothing.
        if report.after("Number of threads:").is_none() && !crate::text::is_last(report.lines) {
            return Err(ImportError::nothing(Format::Sysbench, "a report without a test"));
        }
    }
    let seconds =
        report.after(TOTAL_TIME).and_then(leading).ok_or_else(|| missing(report, TOTAL_TIME))?;
    let events = report.after(EVENTS).and_then(figure).ok_or_else(|| missing(report, EVENTS))?;
    report.after(LAST).filter(|end| is_whole(end)).ok_or_else(|| missing(report, LAST))?;
    let mut invocation = ImportedInvocation::lasting(seconds, count(events));
    invocation.failed = failure.map(|line| line.text.to_owned());
    series.invocations.push(invocation);
    report.figures(&mut series);
    let rate = per_second(events, seconds);
    series.measured(("events", "ops/s", Higher), "events per second of the whole time", [rate]);
    report.latencies(&mut series);
    for (start, what) in
        [("Checkpoint report", "a checkpoint report"), ("Latency histogram", "a latency histogram")]
    {
        for line in report.lines.iter().filter(|line| line.text.contains(start)) {
            found.not_read(what, Some(line.number));
        }
    }
    found.import(Format::Sysbench, version, None, BTreeMap::new()).add(series);
    Ok(())
}

fn missing(report: &SysbenchReport, what: &str) -> ImportError {
    lacks(report.lines, Format::Sysbench, &format!("`{what}`"))
}

/// A rate; 0 if it took no time, as nothing was done then.
fn per_second(count: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { count / seconds } else { 0.0 }
}

/// Whether a pair has all its digits: `0.0642/0.00`.
fn is_whole(pair: &str) -> bool {
    let digits = pair.split_once('/').and_then(|(_, deviation)| deviation.split_once('.'));
    digits.is_some_and(|(_, digits)| digits.len() >= 2)
}

struct SysbenchReport<'a> {
    lines: &'a [Line<'a>],
}

impl<'a> SysbenchReport<'a> {
    /// What stands after a beginning, on the last line that has it: statistics of checkpoints stand above.
    fn after(&self, start: &str) -> Option<&'a str> {
        self.lines.iter().rev().find_map(|line| line.text.strip_prefix(start)).map(str::trim)
    }

    /// The word before an ending, on the first line that has it.
    fn before(&self, end: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| line.text.strip_suffix(end)).map(str::trim)
    }

    /// What stands between a beginning and an ending of one line.
    fn between(&self, start: &str, end: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| line.text.strip_prefix(start)?.strip_suffix(end))
    }

    fn version(&self) -> Option<String> {
        let line = self.lines.iter().find(|line| begins(line.text))?;
        let version = line.text.split_whitespace().nth(1)?;
        Some(version.trim_end_matches(':').to_owned())
    }

    /// Sets the first of these lines that the report has.
    fn set(&self, series: &mut ImportedSeries, name: &str, starts: &[&str]) {
        let value = starts.iter().find_map(|start| self.after(start));
        series.set(name, value.unwrap_or_default());
    }

    /// The test with its settings. sysbench 0.4 has other words than 1.0.
    fn series(&self) -> ImportedSeries {
        let limits = ["Prime numbers limit:", "Maximum prime number checked in CPU test:"];
        if let Some(limit) = limits.iter().find_map(|limit| self.after(limit)) {
            let mut series =
                ImportedSeries::new("sysbench.cpu", "trial division of all numbers up to a limit");
            series.set("limit", limit);
            return series;
        }
        let memory = ["Running memory speed test", "Doing memory operations speed test"];
        // 0.5 has no such line.
        let moved = self.lines.iter().any(|line| line.text.contains(" transferred ("));
        if moved || memory.iter().any(|start| self.after(start).is_some()) {
            let mut series = ImportedSeries::new("sysbench.memory", "writes or reads small blocks");
            self.set(&mut series, "block", &["block size:", "Memory block size:"]);
            self.set(&mut series, "total", &["total size:", "Memory transfer size:"]);
            self.set(&mut series, "operation", &["operation:", "Memory operations type:"]);
            self.set(&mut series, "scope", &["scope:", "Memory scope type:"]);
            self.set(&mut series, "access", &["access mode:", "Memory access mode:"]);
            return series;
        }
        if let Some(size) = self.before("total file size") {
            let mut series = ImportedSeries::new("sysbench.fileio", "requests on files");
            series.set("size", size);
            self.set(&mut series, "block", &["Block size"]);
            series.set("mode", self.between("Doing ", " test").unwrap_or_default());
            let files = self.lines.iter().find_map(|line| line.text.split_once(" files, "));
            series.set("files", files.map_or("", |(files, _)| files));
            let io = self.between("Using ", " I/O mode").unwrap_or_default();
            series.set("io", io);
            let fsync = self.between("Periodic FSYNC enabled, calling fsync() each ", " requests.");
            series.set("fsync_each", fsync.unwrap_or_default());
            self.set(&mut series, "ratio", &["Read/Write ratio for combined random IO test:"]);
            let flags = self.after("Extra file open flags:").unwrap_or_default();
            series.set("flags", if ["0", "(none)"].contains(&flags) { "" } else { flags });
            return series;
        }
        let sql = ["SQL statistics", "OLTP test statistics"];
        let is_sql = sql.iter().any(|start| self.after(start).is_some());
        let id = if is_sql { "sysbench.oltp" } else { "sysbench.events" };
        ImportedSeries::new(id, "events of a test that the report does not name")
    }

    /// The figures of each kind of test, its own first.
    fn figures(&self, series: &mut ImportedSeries) {
        match series.workload.as_str() {
            "sysbench.cpu" => {
                let summary = "events per second: each counts the primes up to the limit";
                series.measured(
                    ("rate", "ops/s", Higher),
                    summary,
                    self.rate("events per second:"),
                );
            }
            "sysbench.memory" => {
                // 0.4 calls MiB MB.
                let bandwidth = self.in_brackets("MiB/sec)").or(self.in_brackets("MB/sec)"));
                series.measured(
                    ("bandwidth", "B/s", Higher),
                    "bytes of the blocks per second",
                    bandwidth.map(|mib| mib * MIB),
                );
            }
            "sysbench.fileio" => self.file_figures(series),
            "sysbench.oltp" => {
                for (name, start, better) in [
                    ("transactions", "transactions:", Higher),
                    ("queries", "queries:", Higher),
                    ("errors", "ignored errors:", Lower),
                    ("reconnects", "reconnects:", Lower),
                ] {
                    let line = self.after(start).and_then(|text| text.split_once('('));
                    let rate = line.and_then(|(_, rate)| leading(rate));
                    series.measured((name, "ops/s", better), "these per second", rate);
                }
                // Of these the report has only the numbers.
                let seconds = self.after(TOTAL_TIME).and_then(leading);
                for (name, start) in
                    [("reads", "read:"), ("writes", "write:"), ("others", "other:")]
                {
                    let queries = self.after(start).and_then(figure);
                    let rate =
                        queries.zip(seconds).map(|(queries, time)| per_second(queries, time));
                    let summary = "queries of this kind per second of the whole time";
                    series.measured((name, "ops/s", Higher), summary, rate);
                }
            }
            _ => {}
        }
    }

    fn file_figures(&self, series: &mut ImportedSeries) {
        for (name, start) in
            [("reads", "reads/s:"), ("writes", "writes/s:"), ("fsyncs", "fsyncs/s:")]
        {
            series.measured((name, "ops/s", Higher), "requests per second", self.rate(start));
        }
        // 0.4 has one rate of all requests, and one of all bytes.
        let requests = self.before("Requests/sec executed").and_then(leading);
        series.measured(("requests", "ops/s", Higher), "requests per second", requests);
        for (name, start) in [("read", "read, MiB/s:"), ("written", "written, MiB/s:")] {
            let bytes = self.rate(start).map(|mib| mib * MIB);
            series.measured((name, "B/s", Higher), "bytes per second", bytes);
        }
        let units = [("b/sec)", 1.0), ("Kb/sec)", KIB), ("Mb/sec)", MIB), ("Gb/sec)", MIB * KIB)];
        let total =
            units.iter().rev().find_map(|(unit, factor)| Some(self.in_brackets(unit)? * factor));
        series.measured(("bandwidth", "B/s", Higher), "bytes read and written per second", total);
        // A test that only writes is about its writes, and prints 0 reads: what moved comes first.
        if let Some(invocation) = series.invocations.last() {
            series.metrics.sort_by_key(|metric| {
                let values = invocation.values.get(&metric.name);
                values.is_some_and(|values| values.iter().all(|value| *value == 0.0))
            });
        }
    }

    /// The figure after a beginning.
    fn rate(&self, start: &str) -> Option<f64> {
        self.after(start).and_then(leading)
    }

    /// The figure in `… (6165.46 MiB/sec)`.
    fn in_brackets(&self, end: &str) -> Option<f64> {
        let line = self.lines.iter().rev().find_map(|line| line.text.strip_suffix(end))?;
        let (_, number) = line.rsplit_once('(')?;
        figure(number)
    }

    /// Latencies: in ms (1.0), or with a unit (0.4 and 0.5). Times below 5 µs read 0.00.
    fn latencies(&self, series: &mut ImportedSeries) {
        for (name, start) in
            [("latency_mean", "avg:"), ("latency_min", "min:"), ("latency_max", "max:")]
        {
            let value = self.after(start).and_then(latency_s);
            series.measured((name, "s", Lower), "latency of an event", value);
        }
        for line in self.lines.iter().rev() {
            let Some((name, value)) = percentile(line.text) else { continue };
            let name = format!("latency_{name}");
            series.measured((&name, "s", Lower), "latency of an event", latency_s(value));
            // The last one is the result.
            return;
        }
    }
}

/// `95th percentile: 0.36` or `approx.  95 percentile: 1.93ms`: the name of the percentile and its value.
fn percentile(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.split_once("percentile:")?;
    let name = name.trim_start_matches("approx.").trim();
    let percent = figure(name.trim_end_matches("th"))?;
    Some((percentile_name(percent)?, value.trim()))
}

/// A latency in seconds: `0.36` and `1.93ms` are milliseconds, `0.0018s` is not.
fn latency_s(text: &str) -> Option<f64> {
    let number = leading(text)?;
    let is_seconds = text.ends_with('s') && !text.ends_with("ms");
    Some(if is_seconds { number } else { number * 1e-3 })
}
