//! `storage.random`: blocks all over a file.

use plumb_model::{AuditClass, Better, Description, Parameter, Ready};
use plumb_protocol::{Held, Start, StartError, Started, Workload};

use crate::blocks::{self, AccessPattern};
use crate::sequential::{parameters, with_device_ratio};
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, choice, distribution, rate, rate_or, reported, reported_time, workload,
};

/// Reads or writes blocks of a laid-out file at random.
pub struct Random;

/// When blocks are sent.
fn open_loop() -> Vec<Parameter> {
    vec![
        rate_or(
            "rate",
            "blocks",
            &["closed"],
            "blocks that are due each second, whatever those before them do; closed: the next one waits",
        ),
        choice(
            "arrivals",
            &["poisson", "fixed"],
            "how they are due: at random moments, or equally far apart",
        ),
    ]
}

impl Workload for Random {
    fn describe(&self) -> Description {
        Description {
            parameters: [parameters(4096, 1), open_loop()].concat(),
            metrics: with_device_ratio(vec![
                rate("rate", "ops/s", "blocks completed per second (IOPS)"),
                reported_time(
                    "latency_p50",
                    "median time from submission of a block to its completion",
                ),
                reported_time(
                    "latency_p99",
                    "99th percentile of that time, nearest rank in the sample",
                ),
                reported_time("latency_max", "longest such time in the sample"),
                reported(
                    "in_time",
                    "",
                    Better::Neither,
                    "share of the blocks of the batch that were sent within 100 µs of when they were due",
                ),
                distribution(
                    "latency",
                    "time of each block from when it was sent, or was due in an open loop, to its completion",
                ),
            ]),
            fixture: Some(vec!["size".into(), "place".into()]),
            timeout_s: Some(LONG_TIMEOUT_S),
            ceiling: Some("place".into()),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("storage.random", "reads or writes blocks at random offsets of a file")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("random.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        blocks::prepare(start, "random")
    }

    fn start(&self, start: &Start) -> Result<Started, StartError> {
        blocks::start(start, AccessPattern::Random)
    }
}
