//! `classic.iperf3`: a TCP stream to an iperf3 server on the loopback of this machine, or to one that runs elsewhere.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_classics::Format;
use plumb_model::{Better, Description, Metric, Parameter, Ready, Role};
use plumb_protocol::{Failure, Held, Start, StartError};

use plumb_workload_kit::declare::{bytes, choice, integer, reported, text, within};

use crate::named::{Named, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// Where a server of ours listens, and nowhere else.
const HOST: &str = "127.0.0.1";
/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often another port is tried: between its choice and its use somebody may have taken it.
const TRIES: usize = 3;

#[derive(Clone)]
pub(crate) struct Iperf3;

impl Tool for Iperf3 {
    fn named(&self) -> Named {
        Named {
            id: "classic.iperf3",
            summary: "iperf3: sends a TCP stream to another process, or to a server elsewhere",
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
            "payload that the receiver counted; no headers",
        )
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            integer("streams", "streams", 1, "connections (-P)"),
            bytes("block", 128 << 10, "bytes of one send (-l)"),
            choice("direction", &["up", "down"], "who sends: the client, or the server (-R)"),
            integer("seconds", "seconds", 1, "how long one process sends (-t)"),
            text("host", "", "where iperf3 -s runs already (-c); without it one is started here"),
            integer("port", "port", 5201, "its port there (-p)"),
        ]
    }

    fn describe(&self, description: Description) -> Description {
        Description { roles: vec![Role::Workload, Role::Server], ..description }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--version"], "iperf ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let own = start.endpoints.get("port").cloned();
        let (host, port) = match (start.text("host"), own) {
            ("", Some(port)) => (HOST, port),
            ("", None) => return Err(StartError::Failed("the server named no port".into())),
            (host, _) => (named(host)?, within(start, "port", 1, 65_535)?.to_string()),
        };
        let streams = within(start, "streams", 1, 64)?.to_string();
        let block = within(start, "block", 1, 1 << 20)?.to_string();
        let seconds = within(start, "seconds", 1, 20)?.to_string();
        let words = [
            "-c", host, "-p", &port, "-J", "-P", &streams, "-l", &block, "-t", &seconds, "-i", "0",
        ];
        let reverse = (start.text("direction") == "down").then_some("-R");
        Ok(Call::with(words.into_iter().chain(reverse)))
    }

    fn start_server(
        &self,
        path: &Path,
        start: &Start,
    ) -> Result<(Ready, Box<dyn Held>), StartError> {
        if !start.text("host").is_empty() {
            return Ok((Ready::default(), Box::new(())));
        }
        let mut last = Failure("iperf3's server does not listen".into());
        for _ in 0..TRIES {
            let port = free_port()?.to_string();
            let child = Command::new(path)
                .args(["-s", "-B", HOST, "-p", &port])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|error| Failure::io("starting iperf3's server", &error))?;
            let mut server = Server(child);
            match server.listens(&port) {
                Ok(()) => {
                    let endpoints = [("port".to_owned(), port)].into();
                    return Ok((Ready { endpoints, ..Ready::default() }, Box::new(server)));
                }
                Err(error) => last = error,
            }
        }
        Err(last.into())
    }
}

/// A host that is no option of iperf3.
fn named(host: &str) -> Result<&str, StartError> {
    if host.starts_with('-') {
        return Err(StartError::Failed(format!("`{host}` is no host")));
    }
    Ok(host)
}

/// A port of the loopback that nobody uses.
fn free_port() -> Result<u16, Failure> {
    TcpListener::bind((HOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| Failure::io("looking for a free port", &error))
}

/// iperf3 -s. Dropping it ends it.
struct Server(Child);

impl Server {
    /// Waits until it takes connections.
    fn listens(&mut self, port: &str) -> Result<(), Failure> {
        let since = Instant::now();
        let port: u16 = port.parse().unwrap_or(0);
        while since.elapsed() < PATIENCE {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(Failure(format!("iperf3's server ended: {status}")));
            }
            if is_listening(port) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(Failure("iperf3's server does not listen".into()))
    }
}

/// Whether the kernel's table has a listener on this port of the loopback: iperf3 would take a connection
/// for a test.
fn is_listening(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let local = format!("{:08X}:{port:04X}", u32::from_ne_bytes([127, 0, 0, 1]));
    table.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next() == Some(&local) && fields.nth(1) == Some("0A")
    })
}

impl Held for Server {}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
