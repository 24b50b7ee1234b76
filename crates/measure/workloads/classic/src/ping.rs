//! `classic.ping`: a flood of echo requests to this machine.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Better, Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::declare::{between, bytes, integer, reported};

use crate::named::{ToolNames, value_names};
use crate::servers::HOST;
use crate::tool::{Call, Tool};
use crate::version;

#[derive(Clone)]
pub(crate) struct Ping;

impl Tool for Ping {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.ping",
            summary: "ping -f: ICMP echo requests to 127.0.0.1, one after another",
            manual: include_str!("ping.md"),
            program: "ping",
            package: "iputils-ping",
            format: Some(Format::Ping),
            prints: "rate",
            values: const { &value_names("rate") },
        }
    }

    fn metric(&self) -> Metric {
        reported(
            "rate",
            "ops/s",
            Better::Higher,
            "replies per second; a request and its reply count as one",
        )
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            between(
                8,
                8192,
                bytes("bytes", 56, "payload of a request, without the 8-byte header (-s)"),
            ),
            between(
                1000,
                1 << 30,
                integer("count", "requests", 20_000, "requests per process (-c)"),
            ),
        ]
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["-V"], "iputils ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        if !rustix::process::geteuid().is_root() {
            return Err(StartError::unsupported(
                "only root may use ping -f",
                "start plumb as root",
            ));
        }
        let bytes = start.size("bytes").to_string();
        let count = start.size("count").to_string();
        Ok(Call::with(["-n", "-f", "-q", "-c", &count, "-s", &bytes, HOST]))
    }
}
