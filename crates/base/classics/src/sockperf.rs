//! The report of `sockperf ping-pong`, version 3.7.
//!
//! sockperf calls half of a round trip a latency unless it has `--full-rtt`; here it is the whole one, whichever was asked for. The
//! figures are of the valid duration, without warming up.

use plumb_model::Better::{Higher, Lower};
use plumb_model::SampleIs;

use crate::numbers::{leading, positive};
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// How each line begins.
pub(crate) const HEAD: &str = "sockperf: ";

/// Latencies: name, what it is, and how its line begins.
const LATENCIES: [(&str, &str, &str); 4] = [
    ("latency_p50", "median of the round trips", "percentile 50.000"),
    ("latency_p99", "99th percentile of the round trips", "percentile 99.000"),
    ("latency_min", "shortest round trip", "<MIN> observation"),
    ("latency_max", "longest round trip", "<MAX> observation"),
];

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(HEAD)).collect();
    let counts = lines
        .iter()
        .find_map(|line| line.strip_prefix("[Valid Duration] "))
        .ok_or_else(|| lacks("[Valid Duration] line"))?;
    let seconds = number_after(counts, "RunTime=").ok_or_else(|| lacks("RunTime"))?;
    let sent = number_after(counts, "SentMessages=").ok_or_else(|| lacks("count of requests"))?;
    let received =
        number_after(counts, "ReceivedMessages=").ok_or_else(|| lacks("count of answers"))?;
    // Of `under-load` and `throughput` few are answered.
    if 2.0 * received < sent {
        let why = format!("not a ping-pong test: {received} of {sent} messages were answered");
        return Err(ImportError::nothing(Format::Sockperf, why));
    }
    // Of a round trip a latency is the half.
    let times = if lines.iter().any(|line| line.starts_with("Summary: Round trip is ")) {
        1.0
    } else if lines.iter().any(|line| line.starts_with("Summary: Latency is ")) {
        2.0
    } else {
        return Err(lacks("latency summary"));
    };
    let mut series =
        ImportedSeries::new("sockperf.pingpong", "requests one after the other, and answers");
    series.sample_is = SampleIs::Process;
    let transport = text.lines().find_map(|line| line.rsplit_once(" # "));
    let (_, transport) = transport.unwrap_or_default();
    series.set("transport", transport.trim().to_ascii_lowercase());
    series.invocations.push(ImportedInvocation::by_rate(received / seconds, received));
    series.measured(("rate", "ops/s", Higher), "answers per second", [received / seconds]);
    for (name, summary, begins) in LATENCIES {
        let micros = lines
            .iter()
            .find_map(|line| line.strip_prefix("---> ")?.strip_prefix(begins))
            .and_then(|rest| positive(rest.trim_start_matches([' ', '='])))
            .ok_or_else(|| lacks(summary))?;
        series.measured((name, "s", Lower), summary, [micros * 1e-6 * times]);
    }
    let mut import = Import::new(Format::Sockperf);
    if let Some((_, rest)) = text.split_once("version #") {
        let version = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next();
        import.version = version.map(str::to_owned);
    }
    import.series.push(series);
    Ok(vec![import])
}

fn lacks(what: &str) -> ImportError {
    ImportError::damaged(Format::Sockperf, format!("no {what}"))
}

fn number_after(text: &str, name: &str) -> Option<f64> {
    let (_, rest) = text.split_once(name)?;
    leading(rest)
}
