//! `classic.sysbench`: sysbench's test of the CPU.

use std::path::Path;

use plumb_classics::{Format, ImportedSeries};
use plumb_model::{Better, Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::declare::{between, integer, reported, threads};

use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

#[derive(Clone)]
pub(crate) struct Sysbench;

impl Tool for Sysbench {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.sysbench",
            summary: "sysbench cpu: trial divisions up to a limit",
            manual: include_str!("sysbench.md"),
            program: "sysbench",
            package: "sysbench",
            format: Some(Format::Sysbench),
            prints: "events",
            values: const { &value_names("rate") },
        }
    }

    fn metric(&self) -> Metric {
        let summary = "divisions per second, all threads together (events × divisions per event)";
        reported("rate", "ops/s", Better::Higher, summary)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            between(
                4,
                1_000_000,
                integer(
                    "limit",
                    "",
                    10_000,
                    "largest number that one event tests (--cpu-max-prime)",
                ),
            ),
            between(1, 1024, threads("threads (--threads)")),
            between(1, 60, integer("seconds", "seconds", 1, "how long one process runs (--time)")),
        ]
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--version"], "sysbench ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let limit = start.size("limit");
        let threads = start.size("threads");
        let seconds = start.size("seconds");
        let options =
            format!("cpu --cpu-max-prime={limit} --threads={threads} --time={seconds} run");
        let note = format!("an event takes {} divisions", divisions(limit as u64));
        let call = Call::with(options.split(' ').map(str::to_owned));
        Ok(Call { notes: vec![note], ..call })
    }

    fn is_asked(&self, _start: &Start, series: &ImportedSeries) -> bool {
        series.workload == "sysbench.cpu"
    }

    #[expect(clippy::cast_precision_loss, reason = "a limit of a million takes 7e7 divisions")]
    fn times(&self, start: &Start) -> f64 {
        divisions(start.integer("limit")) as f64
    }
}

/// Divisions of an event: of each number from 3 up to the limit by 2, 3 … until one divides it or its root is reached
/// (`cpu_execute_event` of sysbench 1.0).
fn divisions(limit: u64) -> u64 {
    (3..limit).map(divisions_of).sum()
}

/// Divisions of one number: by 2, 3 … until one divides it or its root is reached.
fn divisions_of(number: u64) -> u64 {
    let root = number.isqrt();
    (2..=root).find(|by| number.is_multiple_of(*by)).map_or(root.max(1) - 1, |by| by - 1)
}

#[cfg(test)]
mod tests {
    use super::divisions;

    #[test]
    fn an_event_tries_every_number_until_one_divides_it() {
        // 3 has no trial; 4, 6 and 8 are divided by 2; 5 and 7 are tried by 2; 9 by 2 and 3.
        assert_eq!((divisions(4), divisions(9), divisions(10)), (0, 5, 7));
        assert_eq!(divisions(10_000), 117_526);
    }
}
