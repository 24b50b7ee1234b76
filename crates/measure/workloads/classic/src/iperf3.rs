//! `classic.iperf3`: streams or datagrams to an iperf3 server on the loopback of this machine, or to one elsewhere.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Better, Description, Metric, Parameter, Ready, Restricted, Role};
use plumb_protocol::{Held, Start, StartError};

use plumb_workload_ends::host;
use plumb_workload_kit::declare::{between, bytes, choice, integer, reported, text, within};
use plumb_workload_kit::listening::ListenerTransport;
use plumb_workload_kit::placement::{Placement, placement};

use crate::named::{ToolNames, value_names};
use crate::servers::{self, HOST};
use crate::tool::{Call, Tool};
use crate::version;

#[derive(Clone)]
pub(crate) struct Iperf3;

impl Tool for Iperf3 {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.iperf3",
            summary: "iperf3: sends data over loopback or to another host",
            manual: include_str!("iperf3.md"),
            program: "iperf3",
            package: "iperf3",
            format: Some(Format::Iperf3),
            prints: "throughput",
            values: const { &value_names("throughput") },
        }
    }

    fn metric(&self) -> Metric {
        reported(
            "throughput",
            "B/s",
            Better::Higher,
            "payload per second counted by the receiver, without headers",
        )
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            between(1, 64, integer("streams", "streams", 1, "connections (-P)")),
            bytes("block", 128 << 10, "size of one send (-l)"),
            choice(
                "transport",
                &["tcp", "udp"],
                "streams, or datagrams of `block` bytes at full speed (-u -b 0)",
            ),
            between(
                0,
                1 << 29,
                bytes("buffer", 0, "socket buffers at both ends (-w); 0: the system's default"),
            ),
            choice("direction", &["up", "down"], "down: the server sends (-R)"),
            placement(),
            between(1, 20, integer("seconds", "seconds", 1, "how long one process sends (-t)")),
            text("host", "", "host that runs iperf3 -s (-c); by default, plumb starts one here"),
            host::address(),
            between(1, 65_535, integer("port", "port", 5201, "port on the host (-p)")),
        ]
    }

    fn describe(&self, description: Description) -> Description {
        let restricted = Restricted {
            harmless: vec!["tcp".to_owned()],
            ..*host::restricted("host", "transport", 0, "datagrams at full speed")
        };
        let roles = vec![Role::Workload, Role::Server];
        Description { roles, restricted: Some(Box::new(restricted)), ..description }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--version"], "iperf ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let own = start.endpoints.get("port").cloned();
        let is_udp = start.text("transport") == "udp";
        // The server is told where to run, too.
        let ends = if own.is_some() { 2 } else { 1 };
        let cpus = Placement::of(start)?.cpus(ends, &start.facts)?;
        let (host, port) = match (start.text("host"), own) {
            ("", Some(port)) => (HOST.to_owned(), port),
            ("", None) => return Err(StartError::Failed("the server reported no port".into())),
            (host, _) => {
                let port = start.size("port").to_string();
                // An address of a link has its device behind it, which an `IpAddr` has not.
                let address = host::address_of(host, start);
                (if host.contains('%') { host.to_owned() } else { address?.to_string() }, port)
            }
        };
        let streams = start.size("streams").to_string();
        // A datagram has room for so much (RFC 768).
        let block = within(start, "block", 16, if is_udp { 65_507 } else { 1 << 20 })?.to_string();
        let seconds = start.size("seconds").to_string();
        let buffer = start.size("buffer");
        let words = [
            "-c", &host, "-p", &port, "-J", "-P", &streams, "-l", &block, "-t", &seconds, "-i", "0",
        ];
        let reverse = (start.text("direction") == "down").then_some("-R");
        let datagrams: &[&str] = if is_udp { &["-u", "-b", "0"] } else { &[] };
        let words = words.into_iter().chain(datagrams.iter().copied()).chain(reverse);
        let mut call = Call::with(words);
        if buffer > 0 {
            call.arguments.extend(["-w".into(), buffer.to_string().into()]);
        }
        if let Some(cpus) = cpus {
            let listed: Vec<String> = cpus.iter().map(ToString::to_string).collect();
            call.arguments.extend(["-A".into(), listed.join(",").into()]);
            let ends = ["client", "server"].iter().zip(&listed);
            call.notes.extend(ends.map(|(end, cpu)| format!("the {end} runs on CPU {cpu}")));
        }
        Ok(call)
    }

    fn start_server(
        &self,
        path: &Path,
        start: &Start,
    ) -> Result<(Ready, Box<dyn Held>), StartError> {
        // The user's own server runs already.
        if !start.text("host").is_empty() {
            return Ok((Ready::default(), Box::new(())));
        }
        servers::start(path, ListenerTransport::Tcp, &["-s", "-B", HOST, "-p", "PORT"])
    }
}
