//! `classic.nbdkit`: a disk that nbdkit serves late, and fio asks for.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_classics::Format;
use plumb_model::{Better, Description, Metric, Parameter, Ready};
use plumb_protocol::{Failure, Held, Start, StartError};

use plumb_workload_kit::declare::{bytes, choice, integer, reported, time_bound, within};
use plumb_workload_kit::spawn::find_program;

use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// How long a server may take until it listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

const NS_PER_MS: usize = 1_000_000;

#[derive(Clone)]
pub(crate) struct Nbdkit;

impl Tool for Nbdkit {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.nbdkit",
            summary: "fio reads or writes blocks of a disk that nbdkit serves with a delay",
            manual: include_str!("nbdkit.md"),
            program: "fio",
            package: "fio nbdkit",
            format: Some(Format::Fio),
            prints: "rate",
            values: const { &value_names("rate") },
        }
    }

    fn metric(&self) -> Metric {
        reported("rate", "ops/s", Better::Higher, "requests answered per second")
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            bytes("size", 64 << 20, "size of the in-memory disk"),
            bytes("block", 4096, "size of one request (--bs)"),
            choice("operation", &["read", "write"], "operation on each block (--rw)"),
            integer("depth", "requests", 1, "outstanding requests (--iodepth)"),
            time_bound(
                "rtt",
                5_000_000,
                "delay of each reply, in whole milliseconds (rdelay, wdelay)",
            ),
            integer("seconds", "seconds", 1, "how long one fio process runs (--runtime)"),
        ]
    }

    fn describe(&self, description: Description) -> Description {
        Description { fixture: Some(vec!["size".into(), "rtt".into()]), ..description }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--version"], "fio-")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let Some(socket) = start.endpoints.get("socket") else {
            return Err(StartError::Failed("no server was started".into()));
        };
        let rw = if start.text("operation") == "write" { "randwrite" } else { "randread" };
        let number = |name, most| within(start, name, 1, most);
        Ok(Call::with([
            "--name=classic".to_owned(),
            "--ioengine=nbd".to_owned(),
            format!("--uri=nbd+unix:///?socket={socket}"),
            format!("--rw={rw}"),
            format!("--size={}", number("size", usize::MAX)?),
            format!("--bs={}", number("block", 1 << 20)?),
            format!("--iodepth={}", number("depth", 16)?),
            format!("--runtime={}", number("seconds", 60)?),
            "--time_based".to_owned(),
            "--norandommap".to_owned(),
            "--randrepeat=0".to_owned(),
            "--output-format=json".to_owned(),
        ]))
    }

    fn prepare(&self, _path: &Path, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let rtt = start.integer("rtt");
        if !rtt.is_multiple_of(NS_PER_MS as u64) {
            return Err(Failure(
                "`rtt` must be in whole milliseconds, like nbdkit's delays".into(),
            )
            .into());
        }
        let program = find_program("nbdkit").map_err(|_| {
            StartError::unsupported("nbdkit is not installed", "apt install nbdkit")
        })?;
        let delay = format!("{}ms", rtt / NS_PER_MS as u64);
        let socket = Path::new(&start.scratch).join(format!("nbdkit-{}", std::process::id()));
        let child = Command::new(program)
            .args(["--foreground", "--exit-with-parent", "--unix"])
            .arg(&socket)
            .args(["--filter=delay", "memory", &format!("size={}", start.integer("size"))])
            .args([format!("rdelay={delay}"), format!("wdelay={delay}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Failure::io("starting nbdkit", &error))?;
        let mut server = NbdkitProcess { child, socket };
        server.listens()?;
        let endpoints = [("socket".to_owned(), server.socket.display().to_string())].into();
        Ok((Ready { endpoints, ..Ready::default() }, Box::new(server)))
    }
}

/// nbdkit and its socket. Dropping it ends both.
struct NbdkitProcess {
    child: Child,
    socket: PathBuf,
}

impl NbdkitProcess {
    /// Waits until it takes connections.
    fn listens(&mut self) -> Result<(), Failure> {
        let since = Instant::now();
        while since.elapsed() < LISTEN_TIMEOUT {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(Failure(format!("nbdkit ended: {status}")));
            }
            if self.socket.exists() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(Failure("nbdkit is not listening".into()))
    }
}

impl Held for NbdkitProcess {}

impl Drop for NbdkitProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}
