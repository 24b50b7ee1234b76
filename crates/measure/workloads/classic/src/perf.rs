//! `classic.perfpipe`: `perf bench sched pipe`.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare::{choice, integer, reported_time, within};

use crate::named::{Named, value_names};
use crate::tool::{Call, Tool};
use crate::version;

#[derive(Clone)]
pub(crate) struct PerfPipe;

impl Tool for PerfPipe {
    fn named(&self) -> Named {
        Named {
            id: "classic.perfpipe",
            summary: "perf bench sched pipe: two tasks wake each other through pipes",
            manual: include_str!("perf.md"),
            program: "perf",
            package: "linux-perf",
            format: Format::Perf,
            prints: "time",
            values: const { &value_names("time") },
        }
    }

    fn metric(&self) -> Metric {
        reported_time("time", "one round trip: 2 messages, at least 2 context switches")
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            choice("placement", &["same-cpu", "free"], "both tasks kept to one CPU, or not"),
            choice("mode", &["process", "thread"], "what the two tasks are (-T: threads)"),
            integer("loops", "round trips", 20_000, "round trips of one process (-l)"),
        ]
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["version"], "perf version ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let loops = within(start, "loops", 1, 1 << 30)?.to_string();
        let mut words = vec!["bench", "sched", "pipe", "-l", &loops];
        words.extend((start.text("mode") == "thread").then_some("-T"));
        let mut call = Call::with(words);
        if start.text("placement") == "same-cpu" {
            // As scheduler.pipe does: away from the first CPU, which tends to serve interrupts.
            call.cpu = CpuSet::current()?.cpus().last().copied();
            call.notes.extend(call.cpu.map(|cpu| format!("both tasks on CPU {cpu}")));
        }
        Ok(call)
    }
}
