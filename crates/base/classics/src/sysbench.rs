//! The report of sysbench.
//!
//! Which test it was follows from what the report is about: sysbench does not name it. Numbers of
//! different versions are not comparable; the version is part of every series.

use plumb_model::Better::{Higher, Lower};

use crate::numbers::{MIB, count, leading, positive};
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let start = text.lines().position(|line| line.starts_with("sysbench "));
    let lines: Vec<&str> = text.lines().skip(start.unwrap_or(0)).map(str::trim).collect();
    let report = SysbenchReport { lines };
    let mut import = Import::new(Format::Sysbench);
    import.version = report.version();
    let total = "total time:";
    let seconds = report.after(total).and_then(leading).ok_or_else(|| missing(total))?;
    let count_of_events = "total number of events:";
    let events =
        report.after(count_of_events).and_then(positive).ok_or_else(|| missing(count_of_events))?;
    // The last line of a report: a file without it was cut off, and its figures may be incomplete.
    let last = "execution time (avg/stddev):";
    report.after(last).filter(|end| end.contains('/')).ok_or_else(|| missing(last))?;
    let mut series = report.series();
    series.set("version", import.version.clone().unwrap_or_default());
    series.set("threads", report.after("Number of threads:").unwrap_or_default());
    series.invocations.push(ImportedInvocation::lasting(seconds, count(events)));
    report.figures(&mut series);
    series.measured(
        ("events", "ops/s", Higher),
        "events per second of the whole time",
        [events / seconds],
    );
    report.latencies(&mut series);
    import.series.push(series);
    Ok(vec![import])
}

fn missing(what: &str) -> ImportError {
    ImportError::damaged(Format::Sysbench, format!("no `{what}`"))
}

struct SysbenchReport<'a> {
    lines: Vec<&'a str>,
}

impl<'a> SysbenchReport<'a> {
    /// What stands after a beginning, on the first line that has it.
    fn after(&self, start: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| line.strip_prefix(start)).map(str::trim)
    }

    /// The word before an ending, on the first line that has it.
    fn before(&self, end: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| line.strip_suffix(end)).map(str::trim)
    }

    fn version(&self) -> Option<String> {
        let version = self.after("sysbench ")?.split_whitespace().next()?;
        Some(version.trim_end_matches(':').to_owned())
    }

    /// The test with its settings.
    fn series(&self) -> ImportedSeries {
        // sysbench 0.4 has other words than 1.0.
        let older = "Maximum prime number checked in CPU test:";
        if let Some(limit) = self.after("Prime numbers limit:").or(self.after(older)) {
            let mut series =
                ImportedSeries::new("sysbench.cpu", "trial division of all numbers up to a limit");
            series.set("limit", limit);
            return series;
        }
        if self.lines.iter().any(|line| line.starts_with("Running memory speed test")) {
            let mut series = ImportedSeries::new("sysbench.memory", "writes or reads small blocks");
            for (name, start) in
                [("block", "block size:"), ("operation", "operation:"), ("scope", "scope:")]
            {
                series.set(name, self.after(start).unwrap_or_default());
            }
            return series;
        }
        if let Some(size) = self.before("total file size") {
            let mut series = ImportedSeries::new("sysbench.fileio", "requests on files");
            series.set("size", size);
            series.set("block", self.after("Block size").unwrap_or_default());
            let mode = self
                .lines
                .iter()
                .find_map(|line| line.strip_prefix("Doing ")?.strip_suffix(" test"));
            series.set("mode", mode.unwrap_or_default());
            return series;
        }
        let sql = self.lines.iter().any(|line| line.starts_with("SQL statistics"));
        let id = if sql { "sysbench.oltp" } else { "sysbench.events" };
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
                let bandwidth = self.in_brackets("MiB/sec)").map(|mib| mib * MIB);
                series.measured(
                    ("bandwidth", "B/s", Higher),
                    "bytes of the blocks per second",
                    bandwidth,
                );
            }
            "sysbench.fileio" => {
                for (name, start) in
                    [("reads", "reads/s:"), ("writes", "writes/s:"), ("fsyncs", "fsyncs/s:")]
                {
                    series.measured(
                        (name, "ops/s", Higher),
                        "requests per second",
                        self.rate(start),
                    );
                }
                for (name, start) in [("read", "read, MiB/s:"), ("written", "written, MiB/s:")] {
                    let bytes = self.rate(start).map(|mib| mib * MIB);
                    series.measured((name, "B/s", Higher), "bytes per second", bytes);
                }
            }
            "sysbench.oltp" => {
                let line = self.after("transactions:").and_then(|text| text.split_once('('));
                let rate = line.and_then(|(_, rate)| leading(rate));
                series.measured(("transactions", "ops/s", Higher), "transactions per second", rate);
            }
            _ => {}
        }
    }

    /// The figure after a beginning.
    fn rate(&self, start: &str) -> Option<f64> {
        self.after(start).and_then(leading)
    }

    /// The figure in `… (6165.46 MiB/sec)`.
    fn in_brackets(&self, end: &str) -> Option<f64> {
        let line = self.lines.iter().find_map(|line| line.strip_suffix(end))?;
        leading(line.rsplit_once('(')?.1)
    }

    /// Latencies, printed in milliseconds to two digits: one that reads 0.00 is not known.
    fn latencies(&self, series: &mut ImportedSeries) {
        for (name, start) in
            [("latency_mean", "avg:"), ("latency_p95", "95th percentile:"), ("latency_max", "max:")]
        {
            let value = self.after(start).and_then(leading).map(|ms| ms * 1e-3);
            series.measured((name, "s", Lower), "latency of an event", value);
        }
    }
}
