//! `storage.random`: blocks all over a file.

use plumb_model::{Better, Description, Ready, Role, SampleIs};
use plumb_protocol::{Held, Start, StartError, Started, Workload};

use super::blocks::{self, Order};
use super::declare::{rate, value};
use super::sequential::{parameters, with_device_ratio};

/// Reads or writes blocks of a laid-out file at random.
pub struct Random;

impl Workload for Random {
    fn describe(&self) -> Description {
        Description {
            id: "storage.random".into(),
            version: 1,
            summary: "reads or writes blocks of a file at random places".into(),
            roles: vec![Role::Workload, Role::Load],
            parameters: parameters(4096, 1),
            metrics: with_device_ratio(vec![
                rate("rate", "ops/s", "blocks that arrived (IOPS)"),
                latency("latency_p50", "median time from sending a block to its arrival"),
                latency("latency_p99", "99th percentile of that time, nearest rank in the sample"),
                latency("latency_max", "longest such time in the sample"),
            ]),
            requirements: Vec::new(),
            fixture: Some(vec!["size".into(), "place".into()]),
            sample_is: SampleIs::Iteration,
            concurrent: false,
            timeout_s: Some(600),
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("random.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        blocks::prepare(start, "random")
    }

    fn start(&self, start: &Start) -> Result<Started, StartError> {
        blocks::start(start, Order::Random)
    }
}

fn latency(name: &str, summary: &str) -> plumb_model::Metric {
    value(name, "s", Better::Lower, summary)
}
