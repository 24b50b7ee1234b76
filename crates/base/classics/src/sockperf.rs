//! The report of `sockperf ping-pong`, version 3.
//!
//! sockperf calls half of a round trip a latency unless it has `--full-rtt`; here it is the whole one, whichever was asked for. The
//! figures are of the valid duration, without warming up. A line with the version begins each test.

use std::collections::BTreeMap;

use plumb_model::Better::{Higher, Lower};
use plumb_model::SampleIs;

use crate::numbers::{figure, leading, percentile_name};
use crate::result_file::ResultFile;
use crate::text::{Line, lacks, lines, sections};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// How each line begins.
pub(crate) const HEAD: &str = "sockperf: ";

/// What stands before the version.
const VERSION: &str = "version #";

const RATE: (&str, &str, plumb_model::Better) = ("rate", "ops/s", Higher);

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let lines = lines(text);
    let reports = sections(&lines, |line| line.contains(VERSION));
    let alone = reports.len() == 1;
    for report in reports {
        if let Err(error) = read_report(&SockperfReport { lines: report }, found) {
            if alone {
                return Err(error);
            }
            found.not_read_because(error, report.first().map(|line| line.number))?;
        }
    }
    Ok(())
}

fn read_report(report: &SockperfReport, found: &mut ResultFile) -> Result<(), ImportError> {
    let mut series =
        ImportedSeries::new("sockperf.pingpong", "requests one after the other, and answers");
    series.sample_is = SampleIs::Process;
    report.set_settings(&mut series);
    series.declare(RATE, "answers per second");
    let failure = ["No messages were received", "ERROR:"]
        .iter()
        .find_map(|word| report.lines.iter().find(|line| line.text.contains(word)));
    let version = report.version();
    let Some(counts) = report.after("[Valid Duration] ") else {
        let Some(failure) = failure else { return Err(report.lacks("[Valid Duration] line")) };
        series.fail(failure.text);
        found.import(Format::Sockperf, version, None, BTreeMap::new()).add(series);
        return Ok(());
    };
    let seconds = number_after(counts, "RunTime=").ok_or_else(|| report.lacks("RunTime"))?;
    let sent =
        number_after(counts, "SentMessages=").ok_or_else(|| report.lacks("count of requests"))?;
    let received = number_after(counts, "ReceivedMessages=")
        .ok_or_else(|| report.lacks("count of answers"))?;
    // Of `under-load` and `throughput` few are answered.
    if 2.0 * received < sent && failure.is_none() {
        let why = format!("not a ping-pong test: {received} of {sent} messages were answered");
        return Err(ImportError::nothing(Format::Sockperf, why));
    }
    let rate = (seconds > 0.0).then(|| received / seconds);
    if rate.is_none() {
        let line = report.lines.first().map(|line| line.number);
        found.not_read("a rate of a test that took 0.000 s", line);
        series.metrics.retain(|metric| metric.name != RATE.0);
    }
    let mut invocation = ImportedInvocation::by_rate(rate.unwrap_or(0.0), received.max(1.0));
    invocation.failed = failure.map(|line| line.text.to_owned());
    series.invocations.push(invocation);
    if rate.is_some() {
        series.measured(RATE, "answers per second", rate);
    }
    if received > 0.0 {
        report.latencies(&mut series)?;
    }
    for (name, what) in [
        ("dropped", "dropped messages"),
        ("duplicated", "duplicated messages"),
        ("out_of_order", "out-of-order messages"),
    ] {
        let count =
            report.lines.iter().find_map(|line| number_after(line.text, &format!("# {what} = ")));
        series.measured((name, "", Lower), what, count);
    }
    found.import(Format::Sockperf, version, None, BTreeMap::new()).add(series);
    Ok(())
}

struct SockperfReport<'l, 'a> {
    lines: &'l [Line<'a>],
}

impl<'a> SockperfReport<'_, 'a> {
    /// What stands after a beginning, on the first line of sockperf that has it.
    fn after(&self, start: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| line.text.strip_prefix(HEAD)?.strip_prefix(start))
    }

    fn version(&self) -> Option<String> {
        let (_, rest) = self.lines.iter().find_map(|line| line.text.split_once(VERSION))?;
        let version = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        Some(version.to_owned())
    }

    /// `[ 0] IP = 127.0.0.1       PORT = 20112 # UDP`.
    fn set_settings(&self, series: &mut ImportedSeries) {
        let line = self
            .lines
            .iter()
            .find(|line| line.text.starts_with("[ ") && line.text.contains("IP = "));
        let (address, transport) =
            line.and_then(|line| line.text.rsplit_once(" # ")).unwrap_or_default();
        series.set("transport", transport.trim().to_ascii_lowercase());
        let host = address.split_once("IP = ").map_or("", |(_, host)| host);
        series.set("host", host.split_whitespace().next().unwrap_or_default());
    }

    /// Every percentile that it prints, and the extremes.
    fn latencies(&self, series: &mut ImportedSeries) -> Result<(), ImportError> {
        // Of a round trip a latency is the half.
        let times = if self.after("Summary: Round trip is ").is_some() {
            1.0
        } else if self.after("Summary: Latency is ").is_some() {
            2.0
        } else {
            return Err(self.lacks("latency summary"));
        };
        let mut known: Vec<(String, f64)> = Vec::new();
        for line in self.lines {
            let Some(rest) = line.text.strip_prefix("sockperf: ---> ") else { continue };
            let (name, value) =
                rest.split_once('=').ok_or_else(|| line.lacks_numbers(Format::Sockperf))?;
            let name = match name.trim() {
                "<MIN> observation" | "MIN observation" => Some("min".to_owned()),
                "<MAX> observation" | "MAX observation" => Some("max".to_owned()),
                name => name.strip_prefix("percentile ").and_then(figure).and_then(percentile_name),
            };
            let is_whole = value.split_once('.').is_some_and(|(_, digits)| digits.len() == 3);
            let value = figure(value).filter(|_| is_whole);
            let (name, value) =
                name.zip(value).ok_or_else(|| line.lacks_numbers(Format::Sockperf))?;
            known.push((name, value * 1e-6 * times));
        }
        if known.last().is_none_or(|(name, _)| name != "min") {
            return Err(self.lacks("shortest round trip"));
        }
        // The median is the headline among them.
        known.sort_by_key(|(name, _)| name != "p50");
        for (name, seconds) in known {
            let name = format!("latency_{name}");
            series.measured((&name, "s", Lower), "round trips: percentile or extreme", [seconds]);
        }
        Ok(())
    }

    fn lacks(&self, what: &str) -> ImportError {
        lacks(self.lines, Format::Sockperf, what)
    }
}

fn number_after(text: &str, name: &str) -> Option<f64> {
    let (_, rest) = text.split_once(name)?;
    leading(rest)
}
