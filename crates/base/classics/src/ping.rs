//! The summary of iputils' ping.
//!
//! The rate is what a flood (`-f`) or an adaptive ping (`-A`) reached; otherwise it is the interval's.

use plumb_model::Better::{Higher, Lower};
use plumb_model::SampleIs;

use crate::numbers::{leading, positive};
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

const RTT: [(&str, &str); 3] = [
    ("latency_mean", "mean round trip"),
    ("latency_min", "shortest round trip"),
    ("latency_max", "longest round trip"),
];
/// Where they stand in `min/avg/max/mdev`.
const PLACES: [usize; 3] = [1, 0, 2];

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let mut import = Import::new(Format::Ping);
    let counts = text.lines().find_map(PingCounts::of).ok_or_else(|| lacks("count of packets"))?;
    if counts.received == 0.0 {
        return Err(ImportError::nothing(Format::Ping, "no reply was received"));
    }
    let line = text.lines().find_map(|line| line.trim().strip_prefix("rtt min/avg/max/mdev = "));
    let rtt = line.and_then(rtt).ok_or_else(|| lacks("round-trip times"))?;
    let mut series = ImportedSeries::new("ping.echo", "echo requests and their replies");
    let (host, bytes) = text.lines().find_map(head).unwrap_or_default();
    series.set("host", host);
    series.set("bytes", bytes);
    series.sample_is = SampleIs::Process;
    series.invocations.push(ImportedInvocation::lasting(counts.seconds, 1));
    for ((name, summary), place) in RTT.into_iter().zip(PLACES) {
        series.measured((name, "s", Lower), summary, [rtt[place]]);
    }
    let rate = counts.received / counts.seconds;
    series.measured(("rate", "ops/s", Higher), "replies per second", [rate]);
    let loss = 1.0 - counts.received / counts.sent;
    series.measured(
        ("loss", "", Lower),
        "requests without a reply, as a share of those sent",
        [loss.max(0.0)],
    );
    import.series.push(series);
    Ok(vec![import])
}

fn lacks(what: &str) -> ImportError {
    ImportError::damaged(Format::Ping, format!("no {what}"))
}

/// `100000 packets transmitted, 100000 received, 0% packet loss, time 2524ms`.
struct PingCounts {
    sent: f64,
    received: f64,
    seconds: f64,
}

impl PingCounts {
    fn of(line: &str) -> Option<Self> {
        let (sent, rest) = line.split_once(" packets transmitted, ")?;
        let (received, rest) = rest.split_once(" received, ")?;
        let time = rest.rsplit_once("time ")?.1.strip_suffix("ms")?;
        let received = received.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)?;
        Some(Self { sent: positive(sent)?, received, seconds: positive(time)? * 1e-3 })
    }
}

/// `0.003/0.005/14.138/0.045 ms, …` in seconds.
fn rtt(text: &str) -> Option<Vec<f64>> {
    let (figures, _) = text.split_once(" ms")?;
    let mut seconds = Vec::new();
    for figure in figures.split('/').take(3) {
        seconds.push(leading(figure)? * 1e-3);
    }
    (seconds.len() == 3).then_some(seconds)
}

/// The host and the payload of `PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.`.
fn head(line: &str) -> Option<(String, String)> {
    let mut words = line.strip_prefix("PING ")?.split_whitespace();
    let host = words.next()?.to_owned();
    let bytes = words.find_map(|word| Some(word.split_once('(')?.0).filter(|n| !n.is_empty()));
    Some((host, bytes.unwrap_or_default().to_owned()))
}
