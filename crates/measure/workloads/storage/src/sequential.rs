//! `storage.sequential`: a file from one end to the other.

use plumb_model::{AuditClass, Better, CurveKind, Description, Metric, Parameter, Ready};
use plumb_protocol::{Held, Start, StartError, StartedWorkload, Workload};

use crate::blocks;
use crate::offsets::AccessPattern;
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, bytes, choice, curve, integer, rate, rate_or, reported, reported_share, text,
    workload,
};
use plumb_workload_kit::device::is_counted;

/// The parameters that the file of both storage workloads depends on.
pub const FIXTURE: [&str; 4] = ["size", "place", "data", "file"];

/// Reads or writes a file block by block.
pub struct Sequential;

/// When blocks are sent.
fn open_loop() -> Vec<Parameter> {
    let summary =
        "blocks due per second, regardless of earlier ones; closed: each waits for an earlier one";
    vec![rate_or("rate", "blocks", &["closed"], summary), arrivals()]
}

impl Workload for Sequential {
    fn describe(&self) -> Description {
        Description {
            version: 2,
            parameters: [parameters(1 << 20, 8), open_loop()].concat(),
            metrics: with_device_ratio(vec![
                rate("bandwidth", "B/s", "bytes of completed blocks per second, each counted once"),
                in_time(),
            ]),
            fixture: Some(FIXTURE.map(str::to_owned).into()),
            timeout_s: Some(LONG_TIMEOUT_S),
            ceiling: Some("place".into()),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("storage.sequential", "reads or writes a file from one end to the other")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("sequential.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        blocks::prepare(start, "sequential")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        blocks::start(start, AccessPattern::Sequential)
    }
}

/// The parameters of both storage workloads, with their own defaults of block and depth.
pub fn parameters(block: u64, depth: u64) -> Vec<Parameter> {
    vec![
        bytes("size", 1 << 30, "size of the file, laid out before timing starts"),
        curve(CurveKind::Line, bytes("block", block, "size of one read or write")),
        choice("operation", &["read", "write", "mixed"], "operation on each block"),
        integer("mix", "percent", 90, "percentage of reads in operation=mixed"),
        curve(CurveKind::Knee, integer("depth", "blocks", depth, "blocks in flight")),
        curve(
            CurveKind::Knee,
            integer(
                "workers",
                "workers",
                1,
                "threads, each with `depth` blocks in flight on a separate \
                queue",
            ),
        ),
        choice(
            "engine",
            &["auto", "io_uring", "psync"],
            "I/O interface: io_uring; psync (pread and \
                pwrite, one block in flight); auto: io_uring \
                if the kernel allows it",
        ),
        choice(
            "direct",
            &["auto", "yes", "no"],
            "bypass the page cache (O_DIRECT); auto: if the \
                filesystem supports it",
        ),
        choice(
            "pages",
            &["system", "huge"],
            "page size of the buffers; with huge pages, a request has fewer segments",
        ),
        choice(
            "sync",
            &["auto", "none", "sample"],
            "sample: each writing sample ends with fdatasync, included in its time; auto: only if the page \
             cache is used",
        ),
        choice(
            "place",
            &["dir", "memory"],
            "location of the file: the target directory, or memory (an upper bound for any device)",
        ),
        choice(
            "data",
            &["random", "zeros"],
            "contents of the file and of written blocks; zeros reveal whether the device compresses",
        ),
        text("file", "", "your own file or device instead of a laid-out one (read-only)"),
    ]
}

/// How blocks of an open loop arrive.
pub fn arrivals() -> Parameter {
    choice("arrivals", &["poisson", "fixed"], "due times: random or equally spaced")
}

/// How well an open loop is kept.
pub fn in_time() -> Metric {
    reported_share(
        "in_time",
        Better::Neither,
        "share of the blocks of a batch sent within 100 µs of their due time; 1 in a closed loop",
    )
}

/// Adds the metric that tells caching, if the kernel keeps an account of it.
pub fn with_device_ratio(mut metrics: Vec<Metric>) -> Vec<Metric> {
    if is_counted() {
        metrics.push(reported(
            "device_ratio",
            "",
            Better::Neither,
            "device bytes per requested byte, counted by the kernel over the whole batch",
        ));
    }
    metrics
}
