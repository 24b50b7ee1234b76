//! iperf3's JSON: one document (`-J`), or one event per line (`--json-stream`, since 3.17).
//!
//! The receiver's count is the result: of `end.sum_received`, payload bytes without headers. Intervals
//! are stretches of one process and give no interval of confidence; they are not taken over. Versions before 3.2 have only
//! `end.sum` for UDP, which counts what was sent.

use std::collections::BTreeMap;

use plumb_model::Better::{Higher, Lower};
use plumb_model::{Flag, FlagKind};
use plumb_units::SHARE;
use serde_json::{Map, Value};

use crate::json::{Document, documents, number, positive, shown, text};
use crate::numbers::version;
use crate::result_file::ResultFile;
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// The first version that gives each stream a thread.
const THREADED: [u32; 2] = [3, 16];

const BITS: f64 = 8.0;

/// The parameters of a test that have other names here.
const RENAMED: [(&str, &str); 3] =
    [("num_streams", "streams"), ("blksize", "block"), ("duration", "duration")];

/// Parameters of a test that are read apart, or change nothing.
const APART: [&str; 5] = ["protocol", "reverse", "bidir", "target_bitrate", "interval"];

pub(crate) fn parse(input: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let documents = without_events(documents(input, Format::Iperf3, found)?, found)?;
    let alone = documents.len() == 1;
    for document in documents {
        if let Err(error) = read_document(&document.value, found) {
            if alone {
                return Err(error);
            }
            found.not_read_because(error, Some(document.line))?;
        }
    }
    Ok(())
}

/// The documents, with the events of `--json-stream` put together as `-J` would have.
fn without_events(
    documents: Vec<Document>,
    found: &mut ResultFile,
) -> Result<Vec<Document>, ImportError> {
    let mut whole = Vec::new();
    let mut open: Option<(Map<String, Value>, usize)> = None;
    for Document { value, line } in documents {
        let Some(event) = text(&value, "event").map(str::to_owned) else {
            whole.push(Document { value, line });
            continue;
        };
        let data = value.get("data").cloned().unwrap_or_default();
        match event.as_str() {
            "start" => {
                if open.is_some() {
                    found.not_read("a test without an end", Some(line));
                }
                open = Some((Map::from_iter([("start".to_owned(), data)]), line));
            }
            "error" => {
                open.get_or_insert_with(|| (Map::new(), line)).0.insert("error".to_owned(), data);
            }
            "end" => {
                let (mut parts, line) = open.take().unwrap_or_else(|| (Map::new(), line));
                parts.insert("end".to_owned(), data);
                whole.push(Document { value: Value::Object(parts), line });
            }
            _ => {}
        }
    }
    match open {
        Some((parts, line)) if parts.contains_key("error") => {
            whole.push(Document { value: Value::Object(parts), line });
            Ok(whole)
        }
        Some(_) => Err(ImportError::damaged(Format::Iperf3, "no `end` event")),
        None => Ok(whole),
    }
}

fn read_document(document: &Value, found: &mut ResultFile) -> Result<(), ImportError> {
    let error = text(document, "error");
    let start = document.get("start").unwrap_or(&Value::Null);
    let Some(test) = start.get("test_start") else {
        return Err(match error {
            Some(error) => ImportError::nothing(Format::Iperf3, format!("it reports `{error}`")),
            None => missing("start.test_start"),
        });
    };
    let version = text(start, "version").map(|v| v.trim_start_matches("iperf ").to_owned());
    let seconds = start.pointer("/timestamp/timesecs").and_then(Value::as_i64);
    let started_unix_ns = seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000));
    let system = text(start, "system_info");
    let machine: BTreeMap<String, String> =
        system.map(|system| ("system".to_owned(), system.to_owned())).into_iter().collect();
    let end = document.get("end").unwrap_or(&Value::Null);
    let ways = directions(test, end);
    if ways.is_empty() && error.is_none() {
        return Err(missing("end.sum_received"));
    }
    let mut all = Vec::new();
    for way in &ways {
        all.push(series(way, start, test, end, version.as_deref(), error));
    }
    if let Some(error) = error.filter(|_| ways.is_empty()) {
        let mut failed = named(first_direction(test), start, test, end);
        failed.declare(("throughput", "B/s", Higher), "received payload");
        failed.fail(format!("iperf3 reports `{error}`"));
        all.push(failed);
    }
    let import = found.import(Format::Iperf3, version, started_unix_ns, machine);
    all.into_iter().for_each(|series| import.add(series));
    Ok(())
}

fn missing(name: &str) -> ImportError {
    ImportError::unsupported(Format::Iperf3, format!("no `{name}`"))
}

/// One direction of a test: its name, and the sums of the receiver and of the sender.
struct Iperf3Sums<'a> {
    name: &'static str,
    received: Option<&'a Value>,
    sent: Option<&'a Value>,
}

impl<'a> Iperf3Sums<'a> {
    /// The direction with these sums; None if it has neither.
    fn new(end: &'a Value, name: &'static str, received: &str, sent: &str) -> Option<Self> {
        let sums = Self { name, received: rated(end, received), sent: rated(end, sent) };
        (sums.received.is_some() || sums.sent.is_some()).then_some(sums)
    }
}

fn first_direction(test: &Value) -> &'static str {
    let reverse = number(test, "reverse").is_some_and(|reverse| reverse != 0.0);
    if reverse { "down" } else { "up" }
}

fn directions<'a>(test: &Value, end: &'a Value) -> Vec<Iperf3Sums<'a>> {
    let first = first_direction(test);
    let other = if first == "up" { "down" } else { "up" };
    // Before 3.2 UDP has one sum, of what was sent.
    let forward = Iperf3Sums::new(end, first, "sum_received", "sum_sent")
        .or_else(|| Iperf3Sums::new(end, first, "", "sum"));
    let backward =
        Iperf3Sums::new(end, other, "sum_received_bidir_reverse", "sum_sent_bidir_reverse");
    forward.into_iter().chain(backward).collect()
}

/// A sum that has a rate, which may be 0.
fn rated<'a>(end: &'a Value, name: &str) -> Option<&'a Value> {
    end.get(name).filter(|sum| number(sum, "bits_per_second").is_some())
}

/// A direction with its settings, and no figures yet.
fn named(direction: &str, start: &Value, test: &Value, end: &Value) -> ImportedSeries {
    let protocol = match text(test, "protocol").unwrap_or("TCP").to_ascii_lowercase().as_str() {
        "tcp" => "tcp",
        "udp" => "udp",
        "sctp" => "sctp",
        _ => "other",
    };
    let mut series = ImportedSeries::new(
        format!("iperf3.{protocol}"),
        "payload bytes that the receiver counted",
    );
    series.set("direction", direction);
    let bidirectional = end.get("sum_received_bidir_reverse").is_some()
        || number(test, "bidir").is_some_and(|bidir| bidir != 0.0);
    series.set("bidirectional", if bidirectional { "yes" } else { "" });
    for (field, name) in RENAMED {
        series.set(name, test.get(field).map(shown).unwrap_or_default());
    }
    if let Some(rate) = positive(test, "target_bitrate") {
        series.set("target_bitrate", rate.to_string());
    }
    // What is 0 was not asked for.
    for (name, value) in test.as_object().into_iter().flatten() {
        let is_known = APART.contains(&name.as_str()) || RENAMED.iter().any(|(old, _)| old == name);
        if !is_known && value.as_f64() != Some(0.0) {
            series.set(name, shown(value));
        }
    }
    if let Some(bytes) = positive(start, "sock_bufsize") {
        series.set("window", bytes.to_string());
    }
    if let Some(host) = start.get("connecting_to").and_then(|to| text(to, "host")) {
        series.set("host", host);
    }
    if start.get("accepted_connection").is_some() {
        series.set("side", "server");
    }
    series
}

fn series(
    way: &Iperf3Sums,
    start: &Value,
    test: &Value,
    end: &Value,
    program: Option<&str>,
    error: Option<&str>,
) -> ImportedSeries {
    let mut series = named(way.name, start, test, end);
    let sum = way.received.or(way.sent).unwrap_or(&Value::Null);
    let mut invocation = ImportedInvocation::lasting(number(sum, "seconds").unwrap_or(0.0), 1);
    invocation.flags.extend(one_core(test, program));
    invocation.failed = error.map(|error| format!("iperf3 reports `{error}`"));
    series.invocations.push(invocation);
    series.declare(("throughput", "B/s", Higher), "received payload");
    let received = way.received.and_then(|sum| number(sum, "bits_per_second"));
    series.measured(
        ("throughput", "B/s", Higher),
        "received payload",
        received.map(|bits| bits / BITS),
    );
    if received.is_none() {
        series.metrics.clear();
        series.notes.push("this version of iperf3 counts what was sent only".to_owned());
    }
    if let Some(sent) = way.sent {
        let bits = number(sent, "bits_per_second");
        series.measured(("sent", "B/s", Higher), "sent payload", bits.map(|bits| bits / BITS));
        let again = number(sent, "retransmits");
        series.measured(("retransmits", "", Lower), "retransmitted segments", again);
    }
    if series.workload == "iperf3.udp" {
        let alone = end.get("sum").unwrap_or(&Value::Null);
        let loss = number(sum, "lost_percent")
            .or(number(alone, "lost_percent"))
            .map(|percent| percent / 100.0);
        series.measured(("loss", SHARE, Lower), "lost datagrams as a share of those sent", loss);
        let jitter = number(sum, "jitter_ms").map(|ms| ms * 1e-3);
        series.measured(("jitter", "s", Lower), "smoothed jitter (RFC 1889)", jitter);
    }
    series
}

/// Before 3.16 all streams share one thread.
fn one_core(test: &Value, program: Option<&str>) -> Option<Flag> {
    let streams = number(test, "num_streams")?;
    let program = program?;
    let old = streams > 1.0 && version(program).as_slice() < THREADED.as_slice();
    let why = format!("iperf3 {program} drives its {streams} streams from one thread");
    old.then(|| Flag::new(FlagKind::ClientBound, why))
}
