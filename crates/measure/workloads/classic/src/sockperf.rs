//! `classic.sockperf`: requests one after the other to a sockperf server on the loopback of this machine.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Better, Description, Metric, Parameter, Ready, Role};
use plumb_protocol::{Held, Start, StartError};

use plumb_workload_kit::declare::{between, bytes, choice, integer, reported};
use plumb_workload_kit::listening::ListenerTransport;

use crate::named::{ToolNames, value_names};
use crate::servers::{self, HOST};
use crate::tool::{Call, Tool};
use crate::version;

#[derive(Clone)]
pub(crate) struct Sockperf;

impl Tool for Sockperf {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.sockperf",
            summary: "sockperf ping-pong: sends single requests to another process",
            manual: include_str!("sockperf.md"),
            program: "sockperf",
            package: "sockperf",
            format: Some(Format::Sockperf),
            prints: "rate",
            values: const { &value_names("rate") },
        }
    }

    fn metric(&self) -> Metric {
        reported("rate", "ops/s", Better::Higher, "answered requests per second")
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            choice("transport", &["tcp", "udp"], "TCP or UDP (--tcp)"),
            between(
                14,
                65_000,
                bytes("request", 24, "size of a request and of an answer, at least 14 bytes (-m)"),
            ),
            between(1, 20, integer("seconds", "seconds", 1, "how long one process sends (-t)")),
        ]
    }

    fn describe(&self, description: Description) -> Description {
        Description { roles: vec![Role::Workload, Role::Server], ..description }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--version"], "version ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let Some(port) = start.endpoints.get("port") else {
            return Err(StartError::Failed("the server reported no port".into()));
        };
        let bytes = start.size("request").to_string();
        let seconds = start.size("seconds").to_string();
        let words =
            ["ping-pong", "-i", HOST, "-p", port, "-m", &bytes, "-t", &seconds, "--full-rtt"];
        Ok(Call::with(words.into_iter().chain(over_tcp(start))))
    }

    fn start_server(
        &self,
        path: &Path,
        start: &Start,
    ) -> Result<(Ready, Box<dyn Held>), StartError> {
        let words: Vec<&str> =
            ["server", "-i", HOST, "-p", "PORT"].into_iter().chain(over_tcp(start)).collect();
        let transport =
            if over_tcp(start).is_some() { ListenerTransport::Tcp } else { ListenerTransport::Udp };
        servers::start(path, transport, &words)
    }
}

fn over_tcp(start: &Start) -> Option<&'static str> {
    (start.text("transport") == "tcp").then_some("--tcp")
}
