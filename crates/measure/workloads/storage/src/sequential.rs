//! `storage.sequential`: a file from one end to the other.

use plumb_model::{AuditClass, Better, CurveKind, Description, Metric, Parameter, Ready};
use plumb_protocol::{Held, Start, StartError, Started, Workload};

use crate::blocks;
use crate::offsets::AccessPattern;
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, bytes, choice, curve, integer, rate, reported, workload,
};
use plumb_workload_kit::device::is_counted;

/// Reads or writes a laid-out file block by block.
pub struct Sequential;

impl Workload for Sequential {
    fn describe(&self) -> Description {
        Description {
            version: 2,
            parameters: parameters(1 << 20, 8),
            metrics: with_device_ratio(vec![rate(
                "bandwidth",
                "B/s",
                "bytes of completed blocks, each counted once",
            )]),
            fixture: Some(vec!["size".into(), "place".into()]),
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
        choice("engine", &["auto", "io_uring", "psync"], "how blocks are moved"),
        choice("direct", &["auto", "yes", "no"], "whether to bypass the page cache (O_DIRECT)"),
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
    ]
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
