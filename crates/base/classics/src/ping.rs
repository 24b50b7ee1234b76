//! The summary of ping: iputils', and those of busybox and BSD, which do not give the time.
//!
//! Each `PING` line begins a test. The rate is what a flood (`-f`) or an adaptive ping (`-A`) reached; otherwise it is the
//! interval's. Without any reply the loss is 100 % and there are no round trips.

use plumb_model::Better::{Higher, Lower};
use plumb_model::{Flag, FlagKind, SampleIs};

use plumb_units::SHARE;

use crate::numbers::{figure, leading};
use crate::result_file::ResultFile;
use crate::text::{Line, is_last, lacks, lines, sections};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

const RTT: [(&str, &str); 3] = [
    ("latency_mean", "mean round trip"),
    ("latency_min", "shortest round trip"),
    ("latency_max", "longest round trip"),
];
/// Where they stand in `min/avg/max/mdev`.
const PLACES: [usize; 3] = [1, 0, 2];

/// What iputils counts apart if there are any, as in `+1 duplicates`.
const OTHER_COUNTS: [(&str, &str); 3] = [
    ("duplicates", "replies to a request that was answered before"),
    ("errors", "requests that a host on the way answered with an error"),
    ("corrupted", "replies with other data than the request"),
];

/// The least payload, in bytes, that ping times.
const TIME_STAMP_BYTES: f64 = 16.0;

/// How the line of round trips begins: iputils, busybox, BSD.
const RTT_STARTS: [&str; 3] =
    ["rtt min/avg/max", "round-trip min/avg/max", "round-trip (ms) min/avg/max"];

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let lines = lines(text);
    for section in sections(&lines, |line| line.starts_with("PING ")) {
        let Some(line) = section.iter().find(|line| line.text.contains(" packets transmitted, "))
        else {
            let error = lacks(section, Format::Ping, "count of packets");
            found.not_read_because(error, section.first().map(|line| line.number))?;
            continue;
        };
        let counts = PingCounts::of(line).ok_or_else(|| line.lacks_numbers(Format::Ping))?;
        found.plain_import(Format::Ping).add(series(section, &counts)?);
        for (name, _) in &counts.others {
            if OTHER_COUNTS.iter().all(|(known, _)| known != name) {
                found.not_read(format!("a count of {name}"), Some(line.number));
            }
        }
        let repeated = section.iter().filter(|line| line.text.contains(" packets transmitted, "));
        for line in repeated.skip(1) {
            found.not_read("a summary without its `PING` line", Some(line.number));
        }
    }
    Ok(())
}

fn series(section: &[Line<'_>], counts: &PingCounts) -> Result<ImportedSeries, ImportError> {
    let mut series = ImportedSeries::new("ping.echo", "echo requests and their replies");
    let head = section.iter().find_map(|line| PingHead::of(line.text)).unwrap_or_default();
    series.set("host", head.host);
    series.set("source", head.source);
    series.set("bytes", head.bytes);
    series.sample_is = SampleIs::Process;
    let rtt = if counts.received > 0.0 { round_trips(section, is_timed(&series))? } else { None };
    let mean = rtt.as_ref().map_or(0.0, |rtt| rtt[PLACES[0]]);
    let seconds = counts.seconds.unwrap_or(mean * counts.received);
    if counts.seconds.is_none() {
        series.notes.push("the file does not give the length of the test".to_owned());
    }
    let mut invocation = ImportedInvocation::lasting(seconds, 1);
    if counts.received > counts.sent {
        let why = format!("{} replies to {} requests", counts.received, counts.sent);
        invocation.flags.push(Flag::new(FlagKind::Other("impossible-value".to_owned()), why));
    }
    series.invocations.push(invocation);
    for ((name, summary), place) in RTT.into_iter().zip(PLACES) {
        series.measured((name, "s", Lower), summary, rtt.as_ref().map(|rtt| rtt[place]));
    }
    let summary = "requests without a reply, as a share of those sent";
    let loss = (counts.sent > 0.0).then(|| (1.0 - counts.received / counts.sent).max(0.0));
    let rate = counts.seconds.filter(|seconds| *seconds > 0.0).map(|s| counts.received / s);
    // Without a reply the loss is the finding, and comes first.
    if rtt.is_none() {
        series.measured(("loss", SHARE, Lower), summary, loss);
    }
    series.measured(("rate", "ops/s", Higher), "replies per second", rate);
    series.measured(("loss", SHARE, Lower), summary, loss);
    // A round trip says nothing about requests that were lost.
    series.show_always("loss");
    for (name, summary) in OTHER_COUNTS {
        let count = counts.others.iter().find(|(other, _)| other == name).map(|(_, count)| *count);
        series.measured((name, "packets", Lower), summary, count);
    }
    Ok(series)
}

/// Whether the payload has room for a time stamp: ping prints no round trips otherwise.
fn is_timed(series: &ImportedSeries) -> bool {
    let setting = series.settings.iter().find(|(name, _)| name == "bytes");
    let bytes = setting.and_then(|(_, bytes)| bytes.parse::<f64>().ok());
    bytes.is_none_or(|bytes| bytes >= TIME_STAMP_BYTES)
}

/// The round trips in seconds; None if a whole output has none.
fn round_trips(section: &[Line<'_>], is_timed: bool) -> Result<Option<Vec<f64>>, ImportError> {
    for line in section {
        if RTT_STARTS.iter().any(|start| line.text.starts_with(start)) {
            let (_, figures) = line.text.split_once(" = ").unwrap_or_default();
            return rtt(figures).map(Some).ok_or_else(|| line.lacks_numbers(Format::Ping));
        }
    }
    // Other pings print no statistics but the counts; of the known ones, this line precedes the round trips.
    let is_of_known = section.iter().any(|line| line.text.starts_with("--- "));
    if is_timed && !is_of_known {
        let why = "the ping that wrote it prints no summary of round-trip times";
        Err(ImportError::nothing(Format::Ping, why))
    } else if is_timed && is_last(section) {
        Err(lacks(section, Format::Ping, "round-trip times"))
    } else {
        Ok(None)
    }
}

/// `100000 packets transmitted, 100000 received, +1 duplicates, 0% packet loss, time 2524ms`.
struct PingCounts {
    sent: f64,
    received: f64,
    /// The counts with a `+`, by their names.
    others: Vec<(String, f64)>,
    seconds: Option<f64>,
}

impl PingCounts {
    fn of(line: &Line<'_>) -> Option<Self> {
        let (sent, rest) = line.text.split_once(" packets transmitted, ")?;
        let (received, rest) =
            rest.split_once(" received,").or_else(|| rest.split_once(" packets received,"))?;
        let seconds = match rest.rsplit_once(" time ") {
            Some((_, time)) => Some(figure(time.strip_suffix("ms")?)? * 1e-3),
            // A line of iputils that was cut off is like a whole one of BSD.
            None if rest.ends_with("packet loss") && line.is_ended => None,
            None => return None,
        };
        let received = received.trim_end_matches(" packets");
        let mut others = Vec::new();
        for part in rest.split(',').filter_map(|part| part.trim().strip_prefix('+')) {
            let (count, name) = part.split_once(' ')?;
            others.push((name.to_owned(), figure(count)?));
        }
        Some(Self { sent: figure(sent)?, received: figure(received)?, others, seconds })
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

/// `PING 127.0.0.1 (127.0.0.1) from 10.0.0.1 eth0: 56(84) bytes of data.`, or `PING ::1(::1) 56 data bytes`.
#[derive(Default)]
struct PingHead {
    host: String,
    /// The address that was asked for (`-I`).
    source: String,
    /// The payload, without headers.
    bytes: String,
}

impl PingHead {
    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.strip_prefix("PING ")?.split_whitespace().collect();
        let from = words.iter().position(|word| *word == "from");
        let source = from.and_then(|at| words.get(at + 1));
        let end = words.iter().rposition(|word| word.starts_with("byte") || *word == "data")?;
        let bytes =
            words[..end].iter().rev().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let bytes = bytes.map_or("", |bytes| bytes.split('(').next().unwrap_or(bytes));
        Some(Self {
            host: (*words.first()?).to_owned(),
            source: source.map_or("", |source| source.trim_end_matches(':')).to_owned(),
            bytes: bytes.to_owned(),
        })
    }
}
