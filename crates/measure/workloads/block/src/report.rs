//! What the server and the link tell of a stretch of time, as values of a sample.

use plumb_model::{Better, LinkDirection, LinkTerms, Metric};
use plumb_workload_kit::declare::{headline, neutral, reported};

use crate::nbd::RequestKind;
use crate::server::RequestCounts;
use crate::settings::TunnelKind;

/// Names of what [`of_link`] gives, in its order, without a tunnel and with one.
const OF_LINK: [[&str; 8]; 2] = [with("under_way"), with("ssh_cpu")];

/// The last one is known only of the link that the server computes, or only of a tunnel.
const fn with(last: &'static str) -> [&'static str; 8] {
    let first = ["up_bytes", "down_bytes", "up_packets", "down_packets", "up_busy", "down_busy"];
    let [up, down, up_packets, down_packets, up_busy, down_busy] = first;
    [up, down, up_packets, down_packets, up_busy, down_busy, "server_cpu", last]
}

const UNDER_WAY: &str = OF_LINK[0][7];
const SSH_CPU: &str = OF_LINK[1][7];

/// Names of all that a link tells.
pub fn all_of_link() -> impl Iterator<Item = &'static str> {
    OF_LINK[0].into_iter().chain([SSH_CPU])
}

/// Names of what [`of_link`] gives of a link with such a tunnel, in its order.
pub fn of_link_names(tunnel: TunnelKind) -> &'static [&'static str] {
    &OF_LINK[usize::from(tunnel != TunnelKind::None)]
}

/// Names of what [`of_device`] gives, in its order.
pub fn of_device_names(tunnel: TunnelKind) -> &'static [&'static str] {
    &OF_DEVICE[usize::from(tunnel != TunnelKind::None)]
}

/// The metric that a disk has not that is reached so.
pub fn lacking(tunnel: TunnelKind) -> &'static str {
    match tunnel {
        TunnelKind::None => SSH_CPU,
        TunnelKind::Ssh { .. } => UNDER_WAY,
    }
}

/// The one that says whether the bandwidth of what is written binds.
const BINDS: &str = "up_busy";

/// Names of what [`of_requests`] gives, in its order, before those of the link.
const OF_REQUESTS: [&str; 4] = ["reads", "writes", "flushes", "discards"];

/// The metrics of a link.
pub fn link_metrics() -> Vec<Metric> {
    vec![
        neutral("up_bytes", "B", "bytes from client to server per iteration, including headers"),
        neutral("down_bytes", "B", "bytes from server to client per iteration, including headers"),
        neutral(
            "up_packets",
            "packets",
            "packets of 1,448 bytes from client to server per iteration",
        ),
        neutral(
            "down_packets",
            "packets",
            "packets of 1,448 bytes from server to client per iteration",
        ),
        neutral(
            "up_busy",
            "",
            "share of the time that the link spent sending to the server; near 1, its bandwidth is the limit",
        ),
        neutral("down_busy", "", "share of the time that the link spent sending to the client"),
        neutral("server_cpu", "s", "CPU time of the server per iteration"),
        neutral(
            UNDER_WAY,
            "requests",
            "mean number of outstanding requests on the link; missing with a tunnel",
        ),
        neutral(SSH_CPU, "s", "CPU time of both ends of ssh per iteration, with a tunnel"),
    ]
}

/// What of a workload shows how its time depends on the link, where these metrics count its requests; an iteration is one
/// request if none do.
pub fn link_terms(requests: &[&str]) -> LinkTerms {
    let direction = |bandwidth: &str, bytes: &str| LinkDirection {
        bandwidth: bandwidth.into(),
        bytes: bytes.into(),
    };
    LinkTerms {
        directions: vec![direction("up", OF_LINK[0][0]), direction("down", OF_LINK[0][1])],
        round_trip: "rtt".into(),
        scale: Some("scale".into()),
        operations: requests.iter().map(|&name| name.into()).collect(),
    }
}

/// The same of a device.
pub fn device_terms() -> LinkTerms {
    link_terms(&OF_REQUESTS)
}

const OF_DEVICE: [[&str; 12]; 2] = [after_requests(OF_LINK[0]), after_requests(OF_LINK[1])];

const fn after_requests(of_link: [&'static str; 8]) -> [&'static str; 12] {
    let mut names = [""; 12];
    let mut at = 0;
    while at < names.len() {
        names[at] = if at < 4 { OF_REQUESTS[at] } else { of_link[at - 4] };
        at += 1;
    }
    names
}

/// The metrics of a remote disk that is a device; what says whether the bandwidth binds has a row.
pub fn device_metrics() -> Vec<Metric> {
    let of_link = link_metrics()
        .into_iter()
        .map(|metric| if metric.name == BINDS { headline(metric) } else { metric });
    request_metrics().into_iter().chain(of_link).collect()
}

/// Requests at the server and traffic of the link, in this time.
pub fn of_device(counts: &RequestCounts, elapsed_ns: u64) -> [f64; 12] {
    let mut values = [0.0; 12];
    values[..4].copy_from_slice(&of_requests(counts));
    values[4..].copy_from_slice(&of_link(counts, elapsed_ns, 1));
    values
}

/// The metrics of requests by kind.
fn request_metrics() -> Vec<Metric> {
    let value = |name, summary| reported(name, "requests", Better::Neither, summary);
    vec![
        value("reads", "read requests to the disk"),
        value("writes", "write requests to the disk"),
        value("flushes", "flush requests to the disk"),
        value("discards", "trim and zero requests to the disk, without data"),
    ]
}

/// What the link did in so much time, for so many iterations.
#[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
pub fn of_link(counts: &RequestCounts, elapsed_ns: u64, iterations: u64) -> [f64; 8] {
    let elapsed = elapsed_ns.max(1) as f64;
    let iterations = iterations.max(1) as f64;
    [
        counts.up as f64 / iterations,
        counts.down as f64 / iterations,
        counts.up_packets as f64 / iterations,
        counts.down_packets as f64 / iterations,
        counts.up_busy_ns as f64 / elapsed,
        counts.down_busy_ns as f64 / elapsed,
        counts.cpu_ns as f64 / 1e9 / iterations,
        // One of the two is 0.
        counts.under_way_ns as f64 / elapsed + counts.ssh_cpu_ns as f64 / 1e9 / iterations,
    ]
}

/// How many requests there were of each kind.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn of_requests(counts: &RequestCounts) -> [f64; 4] {
    let discards = counts.of(RequestKind::Trim) + counts.of(RequestKind::WriteZeroes);
    [
        counts.of(RequestKind::Read),
        counts.of(RequestKind::Write),
        counts.of(RequestKind::Flush),
        discards,
    ]
    .map(|count| count as f64)
}
