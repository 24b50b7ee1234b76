//! `classic.hackbench`: hackbench of rt-tests.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::declare::{bytes, choice, integer, reported_time, within};

use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

#[derive(Clone)]
pub(crate) struct Hackbench;

impl Tool for Hackbench {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.hackbench",
            summary: "hackbench: many tasks exchange short messages",
            manual: include_str!("hackbench.md"),
            program: "hackbench",
            package: "rt-tests",
            format: Some(Format::Hackbench),
            prints: "time",
            values: const { &value_names("time") },
        }
    }

    fn metric(&self) -> Metric {
        reported_time(
            "time",
            "time of one run, from the start signal until the last task has been \
                               reaped",
        )
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            integer("groups", "groups", 1, "groups of senders and receivers (-g)"),
            integer("fds", "tasks", 20, "senders per group, and as many receivers (-f)"),
            integer("loops", "messages", 100, "messages from each sender to each receiver (-l)"),
            bytes("bytes", 100, "size of a message (-s)"),
            choice("transport", &["socket", "pipe"], "channel for the messages (-p: pipes)"),
            choice("mode", &["process", "thread"], "type of senders and receivers (-T: threads)"),
        ]
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--help"], "hackbench V ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let mut words = Vec::new();
        for (option, name) in [("-g", "groups"), ("-f", "fds"), ("-l", "loops"), ("-s", "bytes")] {
            words.push(option.to_owned());
            words.push(within(start, name, 1, 1 << 24)?.to_string());
        }
        for (name, value, option) in [("transport", "pipe", "-p"), ("mode", "thread", "-T")] {
            words.extend((start.text(name) == value).then(|| option.to_owned()));
        }
        Ok(Call::with(words))
    }
}
