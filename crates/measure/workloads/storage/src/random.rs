//! `storage.random`: blocks all over a file.

use plumb_model::{AuditClass, Description, Parameter, Ready, Searched};
use plumb_protocol::{Held, Start, StartError, StartedWorkload, Workload};

use crate::blocks;
use crate::offsets::AccessPattern;
use crate::sequential::{FIXTURE, arrivals, in_time, parameters, with_device_ratio};
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, distribution, limit, rate, rate_or, reported_time, searched, time_bound,
    workload,
};

/// Reads or writes blocks of a laid-out file at random.
pub struct Random;

/// When blocks are sent.
fn open_loop() -> Vec<Parameter> {
    vec![
        searched(
            rate_or(
                "rate",
                "blocks",
                &["closed"],
                "blocks due per second, regardless of earlier ones; closed: each waits for an earlier one; search: the highest rate that meets p99",
            ),
            Searched {
                from: 100.0,
                to: 1_000_000.0,
                loss_ratio: 0.01,
                goal: "p99 under {p99}".into(),
            },
        ),
        time_bound(
            "p99",
            1_000_000,
            "for a searched rate, the time within which 99 % of the blocks must complete",
        ),
        arrivals(),
    ]
}

impl Workload for Random {
    fn describe(&self) -> Description {
        Description {
            version: 2,
            parameters: [parameters(4096, 1), open_loop()].concat(),
            metrics: with_device_ratio(vec![
                rate("rate", "ops/s", "blocks completed per second (IOPS)"),
                reported_time("latency_p50", "median block latency, from submission to completion"),
                reported_time(
                    "latency_p99",
                    "99th percentile of block latency, per sample, by nearest rank",
                ),
                reported_time("latency_max", "longest block latency in the sample"),
                in_time(),
                limit(
                    "limit",
                    "ops/s",
                    "highest rate of an open loop at which 99 % of the blocks complete within p99",
                ),
                distribution(
                    "latency",
                    "time of each block from submission, or from its due time in an open loop, to \
                     completion",
                ),
            ]),
            fixture: Some(FIXTURE.map(str::to_owned).into()),
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

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        blocks::start(start, AccessPattern::Random)
    }
}
