//! `classic.stressng`: a method of stress-ng's CPU stressor.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Better, Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::declare::{between, choice, integer, reported, threads};

use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

#[derive(Clone)]
pub(crate) struct StressNg;

impl Tool for StressNg {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.stressng",
            summary: "stress-ng: bogus operations of one CPU method",
            manual: include_str!("stressng.md"),
            program: "stress-ng",
            package: "stress-ng",
            format: Some(Format::StressNg),
            prints: "rate",
            values: const { &value_names("rate") },
        }
    }

    fn metric(&self) -> Metric {
        let summary = "bogus operations per second of real time, all processes together";
        reported("rate", "ops/s", Better::Higher, summary)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let methods = &["sieve", "int64", "double", "matrixprod", "fft"];
        vec![
            choice("method", methods, "CPU method (--cpu-method)"),
            between(1, 1024, threads("simultaneous processes (--cpu)")),
            between(
                1,
                60,
                integer("seconds", "seconds", 1, "how long one process runs (--timeout)"),
            ),
        ]
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--version"], "version ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let processes = start.size("threads");
        let seconds = start.size("seconds");
        let method = start.text("method");
        let options = format!(
            "--cpu {processes} --cpu-method {method} --timeout {seconds} --metrics-brief --temp-path {}",
            start.dir
        );
        // Its lines are on stderr.
        Ok(Call { on_stderr: true, ..Call::with(options.split(' ').map(str::to_owned)) })
    }
}
