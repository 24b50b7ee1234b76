//! iperf3's JSON.
//!
//! The receiver's count is the result: of `end.sum_received`, payload bytes without headers. Intervals
//! are stretches of one process and give no interval of confidence; they are not taken over.

use plumb_model::Better::{Higher, Lower};
use plumb_model::{Flag, FlagKind};
use serde_json::Value;

use crate::json::{document, number, positive, shown, text};
use crate::numbers::version;
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// The first version that gives each stream a thread.
const THREADED: [u32; 2] = [3, 16];

const BITS: f64 = 8.0;

pub(crate) fn parse(input: &str) -> Result<Vec<Import>, ImportError> {
    let document = document(input, Format::Iperf3)?;
    if let Some(error) = text(&document, "error") {
        return Err(ImportError::nothing(Format::Iperf3, format!("it reports `{error}`")));
    }
    let start = document.get("start").ok_or_else(|| missing("start"))?;
    let test = start.get("test_start").ok_or_else(|| missing("start.test_start"))?;
    let end = document.get("end").ok_or_else(|| missing("end"))?;
    let mut import = Import::new(Format::Iperf3);
    import.version =
        text(start, "version").map(|version| version.trim_start_matches("iperf ").to_owned());
    let seconds = start.pointer("/timestamp/timesecs").and_then(Value::as_i64);
    import.started_unix_ns = seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000));
    if let Some(system) = text(start, "system_info") {
        import.machine.insert("system".to_owned(), system.to_owned());
    }
    let one_way = directions(test, end).into_iter();
    import.series =
        one_way.filter_map(|way| series(&way, test, end, import.version.as_deref())).collect();
    if import.series.is_empty() {
        return Err(missing("end.sum_received.bits_per_second"));
    }
    Ok(vec![import])
}

fn missing(name: &str) -> ImportError {
    ImportError::damaged(Format::Iperf3, format!("no `{name}`"))
}

/// One direction of a test: its name, and the sums of the receiver and of the sender.
struct Iperf3Sums<'a> {
    name: &'static str,
    received: &'a Value,
    sent: Option<&'a Value>,
}

impl<'a> Iperf3Sums<'a> {
    /// The direction with these sums; None when the receiver has none.
    fn new(end: &'a Value, name: &'static str, received: &str, sent: &str) -> Option<Self> {
        Some(Self { name, received: end.get(received)?, sent: end.get(sent) })
    }
}

fn directions<'a>(test: &Value, end: &'a Value) -> Vec<Iperf3Sums<'a>> {
    let reverse = number(test, "reverse").is_some_and(|reverse| reverse != 0.0);
    let first = if reverse { "down" } else { "up" };
    let both = [
        Iperf3Sums::new(end, first, "sum_received", "sum_sent"),
        Iperf3Sums::new(end, "down", "sum_received_bidir_reverse", "sum_sent_bidir_reverse"),
    ];
    both.into_iter().flatten().collect()
}

fn series(
    way: &Iperf3Sums,
    test: &Value,
    end: &Value,
    program: Option<&str>,
) -> Option<ImportedSeries> {
    let bits = positive(way.received, "bits_per_second")?;
    let protocol = match text(test, "protocol").unwrap_or("TCP").to_ascii_lowercase().as_str() {
        "tcp" => "tcp",
        "udp" => "udp",
        "sctp" => "sctp",
        _ => "other",
    };
    let udp = protocol == "udp";
    let mut series = ImportedSeries::new(
        format!("iperf3.{protocol}"),
        "payload bytes that the receiver counted",
    );
    series.set("direction", way.name);
    let bidirectional = end.get("sum_received_bidir_reverse").is_some();
    series.set("bidirectional", if bidirectional { "yes" } else { "" });
    for (name, field) in
        [("streams", "num_streams"), ("block", "blksize"), ("duration", "duration")]
    {
        series.set(name, test.get(field).map(shown).unwrap_or_default());
    }
    if let Some(rate) = positive(test, "target_bitrate") {
        series.set("target_bitrate", rate.to_string());
    }
    let mut invocation = ImportedInvocation::lasting(positive(way.received, "seconds")?, 1);
    invocation.flags.extend(one_core(test, program));
    series.invocations.push(invocation);
    series.measured(("throughput", "B/s", Higher), "received payload", [bits / BITS]);
    if let Some(sent) = way.sent {
        let bits = positive(sent, "bits_per_second");
        series.measured(("sent", "B/s", Higher), "sent payload", bits.map(|bits| bits / BITS));
        let again = number(sent, "retransmits");
        series.measured(("retransmits", "", Lower), "retransmitted segments", again);
    }
    if udp {
        let loss = number(way.received, "lost_percent").map(|percent| percent / 100.0);
        series.measured(("loss", "", Lower), "lost datagrams as a share of those sent", loss);
        let jitter = number(way.received, "jitter_ms").map(|ms| ms * 1e-3);
        series.measured(("jitter", "s", Lower), "smoothed jitter (RFC 1889)", jitter);
    }
    Some(series)
}

/// Before 3.16 all streams share one thread.
fn one_core(test: &Value, program: Option<&str>) -> Option<Flag> {
    let streams = number(test, "num_streams")?;
    let program = program?;
    let old = streams > 1.0 && version(program).as_slice() < THREADED.as_slice();
    let why = format!("iperf3 {program} drives its {streams} streams from one thread");
    old.then(|| Flag::new(FlagKind::ClientBound, why))
}
