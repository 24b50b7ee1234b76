//! `storage.sequential`: a file from one end to the other.

use plumb_model::{AuditClass, Better, CurveKind, Description, Metric, Parameter, Ready};
use plumb_protocol::{Held, Start, StartError, Started, Workload};

use crate::blocks;
use crate::offsets::AccessPattern;
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, bytes, choice, curve, integer, rate, rate_or, reported, text, workload,
};
use plumb_workload_kit::device::is_counted;

/// The parameters that the file of both storage workloads depends on.
pub const FIXTURE: [&str; 4] = ["size", "place", "data", "file"];

/// Reads or writes a file block by block.
pub struct Sequential;

/// When blocks are sent.
fn open_loop() -> Vec<Parameter> {
    let summary = "blocks that are due each second, whatever those before them do; closed: the next one waits";
    vec![rate_or("rate", "blocks", &["closed"], summary), arrivals()]
}

impl Workload for Sequential {
    fn describe(&self) -> Description {
        Description {
            version: 2,
            parameters: [parameters(1 << 20, 8), open_loop()].concat(),
            metrics: with_device_ratio(vec![
                rate("bandwidth", "B/s", "bytes of completed blocks, each counted once"),
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

    fn start(&self, start: &Start) -> Result<Started, StartError> {
        blocks::start(start, AccessPattern::Sequential)
    }
}

/// The parameters of both storage workloads, with their own defaults of block and depth.
pub fn parameters(block: u64, depth: u64) -> Vec<Parameter> {
    vec![
        bytes("size", 1 << 30, "size of the file, laid out before anything is timed"),
        curve(CurveKind::Line, bytes("block", block, "bytes of one read or write")),
        choice("operation", &["read", "write", "mixed"], "what is done to each block"),
        integer("mix", "percent", 90, "of mixed blocks, how many are read; the others are written"),
        curve(CurveKind::Knee, integer("depth", "blocks", depth, "blocks in flight at a time")),
        curve(
            CurveKind::Knee,
            integer("workers", "workers", 1, "threads, each with `depth` blocks in flight"),
        ),
        choice("engine", &["auto", "io_uring", "psync"], "how blocks are moved"),
        choice("direct", &["auto", "yes", "no"], "whether to bypass the page cache (O_DIRECT)"),
        choice(
            "pages",
            &["system", "huge"],
            "pages of the buffers; with huge ones a request has few pieces",
        ),
        choice(
            "sync",
            &["auto", "none", "sample"],
            "whether a writing sample ends with fdatasync; auto: when the page cache is used",
        ),
        choice(
            "place",
            &["dir", "memory"],
            "where the file lies; in memory, the same calls give an upper bound for any device",
        ),
        choice(
            "data",
            &["random", "zeros"],
            "what the file and blocks that are written hold; zeros show what compresses them",
        ),
        text(
            "file",
            "",
            "a file or device of yours, which is only read, in place of a laid-out one",
        ),
    ]
}

/// How blocks of an open loop arrive.
pub fn arrivals() -> Parameter {
    choice(
        "arrivals",
        &["poisson", "fixed"],
        "how they are due: at random moments, or equally far apart",
    )
}

/// How well an open loop is kept.
pub fn in_time() -> Metric {
    reported(
        "in_time",
        "",
        Better::Neither,
        "share of the blocks of the batch that were sent within 100 µs of when they were due",
    )
}

/// Adds the metric that tells caching, where the kernel keeps an account of it.
pub fn with_device_ratio(mut metrics: Vec<Metric>) -> Vec<Metric> {
    if is_counted() {
        metrics.push(reported(
            "device_ratio",
            "",
            Better::Neither,
            "bytes that the kernel counted at the device per byte moved, over the whole batch",
        ));
    }
    metrics
}
