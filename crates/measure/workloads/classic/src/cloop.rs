//! `classic.forkloop`, `classic.wakeuploop` and `classic.triadloop`: small programs in C, built with the compiler of this
//! machine.

use std::path::Path;

use plumb_model::{Better, Metric, Parameter, ParameterType};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare::{
    between, bytes, choice, integer, reported, reported_time, threads, time_bound, within,
};

use crate::build::built;
use crate::named::{ToolNames, value_names};
use crate::runs::MOST_SETTLING_NS;
use crate::tool::{Call, Tool};
use crate::version;

/// Options of the compiler for the triad: with the widest vectors there are, as `memory.stream` takes. Some hypervisors name an
/// old CPU, for which gcc prefers half of what this one has.
const TRIAD_OPTIONS: &[&str] = if cfg!(target_arch = "x86_64") {
    &["-O3", "-march=native", "-mprefer-vector-width=512"]
} else {
    &["-O3", "-march=native"]
};

/// Which of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CLoop {
    /// Processes made, ended and reaped.
    Fork,
    /// A thread wakes another at moments fixed beforehand.
    Wakeup,
    /// The triad of STREAM.
    Triad,
}

impl Tool for CLoop {
    fn named(&self) -> ToolNames {
        let (id, summary, manual) = match self {
            Self::Fork => (
                "classic.forkloop",
                "a C loop that creates, ends and reaps processes",
                include_str!("forkloop.md"),
            ),
            Self::Wakeup => (
                "classic.wakeuploop",
                "a C loop that wakes a thread at a fixed rate",
                include_str!("wakeuploop.md"),
            ),
            Self::Triad => (
                "classic.triadloop",
                "a C loop that runs STREAM's triad",
                include_str!("triadloop.md"),
            ),
        };
        let (prints, values) = match self {
            Self::Fork => ("time", const { &value_names("time") }),
            Self::Wakeup => ("latency_p50", const { &value_names("latency_p50") }),
            Self::Triad => ("bandwidth", const { &value_names("bandwidth") }),
        };
        let program = "cc";
        let package = "gcc";
        let format = None;
        ToolNames { id, summary, manual, program, package, format, prints, values }
    }

    fn metric(&self) -> Metric {
        match self {
            Self::Fork => reported_time("time", "time to create, end and reap one process"),
            Self::Wakeup => {
                let summary = "median delay from a wake-up's due time until the thread runs";
                reported("latency_p50", "s", Better::Lower, summary)
            }
            Self::Triad => {
                let summary = "bytes per second as STREAM counts them, all threads together";
                reported("bandwidth", "B/s", Better::Higher, summary)
            }
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Fork => vec![
                between(
                    1,
                    1 << 24,
                    integer("forks", "forks", 10_000, "processes per thread, one after another"),
                ),
                between(
                    0,
                    1 << 30,
                    bytes("resident", 0, "memory that the parent has touched, in base pages"),
                ),
                threads("parent threads that fork at the same time"),
            ],
            Self::Wakeup => {
                let rate = between(
                    1,
                    1 << 20,
                    integer("rate", "wake-ups", 1000, "wake-ups due per second"),
                );
                vec![
                    between(
                        1,
                        1 << 24,
                        integer("wakeups", "wake-ups", 1000, "wake-ups per process"),
                    ),
                    Parameter { kind: ParameterType::Rate, ..rate },
                    choice(
                        "placement",
                        &["free", "same-cpu"],
                        "free: not pinned; same-cpu: both threads on one CPU",
                    ),
                ]
            }
            Self::Triad => vec![
                between(
                    1,
                    1 << 24,
                    integer("passes", "passes", 10, "passes of each thread through its arrays"),
                ),
                bytes("size", 64 << 20, "size of each array"),
                threads("threads, each with separate arrays"),
                between(
                    0,
                    MOST_SETTLING_NS,
                    time_bound("settle", 0, "untimed passes for this long before, at least one"),
                ),
            ],
        }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::of_compiler(path)
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let (source, options, words) = match self {
            Self::Fork => {
                let forks = start.size("forks");
                let resident = start.size("resident");
                let threads = within(start, "threads", 1, 1024)?;
                (include_str!("forkloop.c"), &["-O2"][..], vec![forks, resident, threads])
            }
            Self::Wakeup => {
                let wakeups = start.size("wakeups");
                let rate = start.size("rate");
                (include_str!("wakeuploop.c"), &["-O2"][..], vec![wakeups, rate])
            }
            Self::Triad => {
                let passes = start.size("passes");
                let size = within(start, "size", 64, usize::MAX / 4)?;
                let threads = within(start, "threads", 1, 1024)?;
                let settle = start.size("settle");
                (include_str!("triadloop.c"), TRIAD_OPTIONS, vec![passes, size, threads, settle])
            }
        };
        let built = built(start, source, options)?;
        let mut call =
            Call { built: Some(built), ..Call::with(words.iter().map(usize::to_string)) };
        if start.text("placement") == "same-cpu" {
            // As scheduler.wakeup does: away from the first CPU, which tends to serve interrupts.
            call.cpu = CpuSet::current()?.cpus().last().copied();
            call.notes.extend(call.cpu.map(|cpu| format!("both threads on CPU {cpu}")));
        }
        Ok(call)
    }
}
