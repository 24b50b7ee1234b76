//! `classic.cyclictest`: cyclictest of rt-tests.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Better, Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::declare::{between, integer, reported, threads, time_bound};

use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

#[derive(Clone)]
pub(crate) struct Cyclictest;

/// Bytes that its rows may take: what it prints waits in a pipe of 64 KiB until it ends.
const ROOM: usize = 32 << 10;

impl Tool for Cyclictest {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.cyclictest",
            summary: "cyclictest: how late threads wake after sleeping until set times",
            manual: include_str!("cyclictest.md"),
            program: "cyclictest",
            package: "rt-tests",
            format: Some(Format::Cyclictest),
            prints: "latency_p50",
            values: const { &value_names("latency_p50") },
        }
    }

    fn metric(&self) -> Metric {
        let summary = "median lateness of wake-ups, all threads together";
        reported("latency_p50", "s", Better::Lower, summary)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            between(
                10_000,
                10_000_000_000,
                time_bound("interval", 1_000_000, "time from one wake-up to the next (-i)"),
            ),
            between(
                1,
                64,
                threads("threads, each pinned to a CPU, starting with the first (-t, -a)"),
            ),
            between(1, 60, integer("seconds", "seconds", 1, "how long one process runs (-D)")),
        ]
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--help"], "cyclictest V ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let micros = start.size("interval") / 1000;
        let threads = start.size("threads");
        let seconds = start.size("seconds");
        // A row has a latency, and a count of each thread.
        let rows = ROOM / (8 + 7 * threads);
        let options =
            format!("--default-system -q -a -t {threads} -i {micros} -d 0 -D {seconds} -h {rows}");
        Ok(Call::with(options.split(' ').map(str::to_owned)))
    }
}
