//! The programs that a peer starts: this binary as a server of a workload, and no others.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_model::Role;
use plumb_protocol::{FAR_ADDRESS, Request as Asked, RequestLine};
use ring::digest::{SHA256, digest};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::carry::{CarryEnd, PipeSource, carry};
use crate::channel::{Channel, FrameKind};

/// What somebody hears who wants something else.
pub(crate) const NOTHING_ELSE: &str = "a peer only starts servers";
/// The most bytes of a line to a server.
const LONGEST_LINE: usize = 1 << 20;
/// A server ends within this time after its stdin.
const END: Duration = Duration::from_secs(1);

/// What somebody who has proved the key wants.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProgramRequest {
    /// Which plumb it is, where it is to stand for a run.
    #[serde(default)]
    pub build: String,
    /// Which run a program belongs to.
    #[serde(default)]
    pub session: String,
    /// The words of the program after plumb's own name; none if it is to stand for a run.
    pub words: Vec<String>,
}

/// Which plumb this is: its version, and the beginning of the SHA-256 of its binary.
///
/// # Errors
/// When it can't be read.
pub(crate) fn build() -> Result<String, String> {
    let binary = std::fs::read("/proc/self/exe")
        .map_err(|error| format!("plumb can't read its own binary: {error}"))?;
    let hash = digest(&SHA256, &binary);
    let beginning: String =
        hash.as_ref().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("plumb {} ({beginning})", env!("CARGO_PKG_VERSION")))
}

/// Starts a program and carries its pipes until it or the channel ends; then nothing of it is left, nor of its folder.
///
/// # Errors
/// When the channel broke.
pub(crate) fn run(argv: &[String], channel: Channel, lines: &mut LinesToServer) -> io::Result<()> {
    let made = DirBuilder::new().mode(0o700).create(&lines.folder);
    let started = made.and_then(|()| start(argv));
    let ran = match started {
        Ok(child) => run_to_end(child, channel, lines),
        Err(error) => refuse(channel, &format!("the peer can't start a server: {error}")),
    };
    fs::remove_dir_all(&lines.folder).ok();
    ran
}

/// Says why something is not done.
///
/// # Errors
/// When the other end is gone.
pub(crate) fn refuse(mut channel: Channel, why: &str) -> io::Result<()> {
    channel.send(FrameKind::Log, format!("{why}\n").as_bytes())?;
    end_of(channel, 1)
}

/// The last word.
fn end_of(mut channel: Channel, status: u8) -> io::Result<()> {
    channel.send(FrameKind::End, &[status])?;
    channel.close();
    Ok(())
}

fn start(argv: &[String]) -> io::Result<Child> {
    let [program, arguments @ ..] = argv else { return Err(io::ErrorKind::NotFound.into()) };
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn run_to_end(mut child: Child, mut channel: Channel, lines: &mut LinesToServer) -> io::Result<()> {
    let carried = carry_all(&mut child, &mut channel, lines);
    let status = end(&mut child);
    match carried {
        Ok(CarryEnd::Closed) => Ok(()),
        Ok(_) => end_of(channel, status),
        Err(error) => refuse(channel, &error.to_string()),
    }
}

fn carry_all(
    child: &mut Child,
    channel: &mut Channel,
    lines: &mut LinesToServer,
) -> io::Result<CarryEnd<()>> {
    let mut stdin = child.stdin.take();
    let stdout =
        child.stdout.take().map(|pipe| PipeSource::of(FrameKind::Output, OwnedFd::from(pipe)));
    let stderr =
        child.stderr.take().map(|pipe| PipeSource::of(FrameKind::Log, OwnedFd::from(pipe)));
    let mut sources: Vec<PipeSource> = stdout.into_iter().chain(stderr).collect();
    carry(channel, &mut sources, false, |kind, bytes| {
        match kind {
            FrameKind::Input if bytes.is_empty() => stdin = None,
            FrameKind::Input => lines.pass(bytes, &mut stdin)?,
            _ => return Err(io::Error::other("only lines for stdin are accepted")),
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Waits until it has ended, and sees to it; its status. What is told to end takes all along that it has started
/// (`plumb orphaned`); only then it is killed.
fn end(child: &mut Child) -> u8 {
    if let Some(status) = ended(child) {
        return status;
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.map(|pid| kill_process(pid, Signal::TERM));
    if ended(child).is_none() {
        child.kill().ok();
        child.wait().ok();
    }
    1
}

/// Its status, if it ends in time.
fn ended(child: &mut Child) -> Option<u8> {
    let until = Instant::now() + END;
    while Instant::now() < until {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

/// The lines that go to a server: it is told that it is one, and where it is.
#[derive(Debug)]
pub(crate) struct LinesToServer {
    /// Of a line that is not whole yet.
    begun: Vec<u8>,
    /// The address that was reached.
    address: IpAddr,
    /// Where it may write: a fresh folder.
    folder: String,
    /// The path of plumb.
    plumb: String,
}

impl LinesToServer {
    pub(crate) fn new(address: IpAddr, folder: String, plumb: String) -> Self {
        Self { begun: Vec::new(), address, folder, plumb }
    }

    /// Passes on the lines that are whole.
    fn pass(&mut self, bytes: &[u8], into: &mut Option<impl io::Write>) -> io::Result<()> {
        self.begun.extend_from_slice(bytes);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            let admitted = self.admitted(&line)?;
            if let Some(into) = into {
                into.write_all(&admitted)?;
            }
        }
        if self.begun.len() > LONGEST_LINE {
            return Err(io::Error::other("a line from a peer may be at most 1 MiB long"));
        }
        Ok(())
    }

    /// A line as the server gets it.
    fn admitted(&self, line: &[u8]) -> io::Result<Vec<u8>> {
        let mut line: RequestLine = serde_json::from_slice(line)?;
        match &mut line.request {
            Asked::Hello { .. } | Asked::Describe | Asked::Stop => {}
            Asked::Start(start) if start.role == Role::Server => {
                start.dir.clone_from(&self.folder);
                start.scratch.clone_from(&self.folder);
                start.facts.plumb.clone_from(&self.plumb);
                start.endpoints.insert(FAR_ADDRESS.to_owned(), self.address.to_string());
            }
            _ => return Err(io::Error::other(NOTHING_ELSE)),
        }
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_LINE, LinesToServer, NOTHING_ELSE};

    fn passed(line: &str) -> Result<String, String> {
        let mut lines =
            LinesToServer::new([192, 0, 2, 1].into(), "/tmp".into(), "/bin/plumb".into());
        let mut into = Some(Vec::new());
        let (one, other) = line.as_bytes().split_at(line.len() / 2);
        lines.pass(one, &mut into).map_err(|error| error.to_string())?;
        lines.pass(other, &mut into).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(into.unwrap()).unwrap())
    }

    fn start(role: &str) -> String {
        let start = r#"{"id":2,"type":"start","role":"ROLE","params":{},"dir":"/etc","scratch":"/etc","seed":1}"#;
        start.replace("ROLE", role) + "\n"
    }

    #[test]
    fn a_server_is_told_where_it_is_and_nothing_else_is_started() {
        let line = passed(&start("server")).unwrap();
        let told: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&told["dir"], &told["scratch"]), (&"/tmp".into(), &"/tmp".into()));
        assert_eq!(told["endpoints"]["far.address"], "192.0.2.1");
        assert_eq!(told["facts"]["plumb"], "/bin/plumb");
        for line in [start("workload"), start("load"), "{\"id\":3,\"type\":\"clean\"}\n".to_owned()]
        {
            assert_eq!(passed(&line).unwrap_err(), NOTHING_ELSE);
        }
        assert_eq!(
            passed("{\"id\":4,\"type\":\"stop\"}\n").unwrap(),
            "{\"id\":4,\"type\":\"stop\"}\n"
        );
        assert!(passed("hello\n").is_err());
        assert!(passed(&"x".repeat(LONGEST_LINE + 2)).unwrap_err().contains("1 MiB"));
    }
}
