//! `classic.perfpipe` and `classic.perfmessaging`: `perf bench sched pipe` and `messaging`.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare::{between, choice, integer, reported_time, within};

use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// Which of perf's benchmarks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Perf {
    /// Two tasks wake each other through pipes.
    Pipe,
    /// Many tasks send each other messages.
    Messaging,
}

impl Tool for Perf {
    fn named(&self) -> ToolNames {
        let (id, summary, manual) = match self {
            Self::Pipe => (
                "classic.perfpipe",
                "perf bench sched pipe: two tasks wake each other through pipes",
                include_str!("perf.md"),
            ),
            Self::Messaging => (
                "classic.perfmessaging",
                "perf bench sched messaging: many tasks exchange short messages",
                include_str!("perfmessaging.md"),
            ),
        };
        ToolNames {
            id,
            summary,
            manual,
            program: "perf",
            package: "linux-perf",
            format: Some(Format::Perf),
            prints: "time",
            values: const { &value_names("time") },
        }
    }

    fn metric(&self) -> Metric {
        match self {
            Self::Pipe => reported_time(
                "time",
                "time of one round trip: 2 messages and at least 2 context \
                                       switches",
            ),
            Self::Messaging => reported_time(
                "time",
                "time of one run, from the start signal to the last \
                task reaped",
            ),
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Pipe => vec![
                choice(
                    "placement",
                    &["same-cpu", "free"],
                    "same-cpu: both tasks pinned to the last CPU; \
                free: not pinned",
                ),
                choice("mode", &["process", "thread"], "type of the two tasks (-T: threads)"),
                integer("loops", "round trips", 20_000, "round trips per process (-l)"),
            ],
            Self::Messaging => vec![
                between(
                    1,
                    10_000,
                    integer("groups", "groups", 1, "groups of 20 senders and 20 receivers (-g)"),
                ),
                integer(
                    "loops",
                    "messages",
                    100,
                    "messages from each sender to each receiver (-l)",
                ),
                choice("transport", &["socket", "pipe"], "channel for the messages (-p: pipes)"),
                choice(
                    "mode",
                    &["process", "thread"],
                    "type of senders and receivers (-t: threads)",
                ),
            ],
        }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["version"], "perf version ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let loops = within(start, "loops", 1, 1 << 30)?.to_string();
        if *self == Self::Messaging {
            let groups = start.size("groups").to_string();
            let mut words = vec!["bench", "sched", "messaging", "-g", &groups, "-l", &loops];
            words.extend((start.text("transport") == "pipe").then_some("-p"));
            words.extend((start.text("mode") == "thread").then_some("-t"));
            return Ok(Call::with(words));
        }
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
