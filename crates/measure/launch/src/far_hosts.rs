//! The other machines of a run (`--to`): reached once, before anything is measured, and left at its end.
//!
//! One connection of ssh to each brings this binary into a fresh folder there and stands until the run ends; programs
//! there are started through it (ssh's ControlMaster), and speak the protocol's lines. When it ends, however that
//! happens, they read the end of their stdin and end, and the shell that it started removes the folder. Where the user
//! started a peer (`plumb peer`), a connection to that stands in the same way, and the peer ends what belongs to it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use plumb_keeper::{Keeper, KeeperError, ProgramPipes, SpawnOptions};
use plumb_model::{FarEnd, PlannedPoint, Program, Target};
use plumb_protocol::{FAR_ADDRESS, FAR_LINE, LineError, LineReader, LineWriter, MAX_LINE, Start};

use crate::log::StderrLog;
use crate::refusal::LaunchRefusal;
use crate::transport::{OWN, Transport, binary};

/// The other machine answers in this time.
const ANSWER: Duration = Duration::from_secs(30);
/// A copy of the binary arrives in this time.
const COPY: Duration = Duration::from_secs(600);
/// A connection ends within this time.
const END: Duration = Duration::from_secs(5);

/// The other machines of a run.
#[derive(Debug, Default)]
pub struct FarHosts(BTreeMap<FarEnd, FarHost>);

/// One that was reached.
#[derive(Debug)]
pub struct FarHost {
    pid: u32,
    /// Its end is the end of everything there.
    stdin: Option<LineWriter<OwnedFd>>,
    stdout: LineReader<OwnedFd>,
    log: StderrLog,
    transport: Transport,
    /// The folder there, or the session of a peer.
    place: String,
    /// Where it was reached.
    address: IpAddr,
    /// The machine on which it ran.
    target: Option<Target>,
}

impl FarHosts {
    /// Reaches those on which servers of these points are started.
    ///
    /// # Errors
    /// When one can't be reached, or plumb does not run there.
    pub fn reach<'p>(
        &mut self,
        keeper: &mut Keeper,
        scratch: &Path,
        points: impl Iterator<Item = &'p PlannedPoint>,
    ) -> Result<(), LaunchRefusal> {
        for far_end in points.filter_map(|point| point.far_end.as_ref()) {
            if !self.0.contains_key(far_end) {
                let socket = scratch.join(format!("ssh-{}", self.0.len()));
                let host = FarHost::reach(keeper, far_end, &socket.to_string_lossy())
                    .map_err(|refusal| refusal.of(&format!("--to {far_end}")))?;
                self.0.insert(far_end.clone(), host);
            }
        }
        Ok(())
    }

    /// The one on which the server of a point is started; None: this machine.
    pub fn of(&self, planned: &PlannedPoint) -> Option<&FarHost> {
        self.0.get(planned.far_end.as_ref()?)
    }

    /// What machines they are.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        self.0.values().filter_map(|host| host.target.as_ref())
    }

    /// Ends the connections to all of them.
    pub fn end(&mut self, keeper: &mut Keeper) {
        for host in std::mem::take(&mut self.0).into_values() {
            host.end(keeper);
        }
    }
}

impl FarHost {
    fn reach(keeper: &mut Keeper, far_end: &FarEnd, socket: &str) -> Result<Self, LaunchRefusal> {
        let transport = Transport::to(far_end, socket);
        // A peer has its own binary, whose build it compares.
        let plumb = if transport.brings_plumb() {
            std::fs::read(OWN).map_err(|error| {
                LaunchRefusal::Fatal(format!("plumb can't read its own binary: {error}"))
            })?
        } else {
            Vec::new()
        };
        let standing = transport.standing(plumb.len());
        let pipes = keeper.spawn(&standing, None, &SpawnOptions::default());
        let ProgramPipes { pid, stdin, stdout, stderr } = pipes.map_err(not_started)?;
        // ssh writes its warnings there: a full pipe would hold the connection up.
        let log = StderrLog::drain(stderr);
        let stdin = LineWriter::new(stdin).map_err(|error| {
            LaunchRefusal::Fatal(format!("plumb can't write to the other machine: {error}"))
        })?;
        let mut host = Self {
            pid,
            stdin: Some(stdin),
            stdout: LineReader::new(stdout, MAX_LINE),
            log,
            transport,
            place: String::new(),
            address: IpAddr::from([0, 0, 0, 0]),
            target: None,
        };
        match host.settle(&plumb) {
            Ok(()) => Ok(host),
            Err(refusal) => {
                host.end(keeper);
                Err(refusal)
            }
        }
    }

    /// Brings the binary there, if it has to be.
    fn settle(&mut self, plumb: &[u8]) -> Result<(), LaunchRefusal> {
        self.place = self.line(Transport::not_reached)?;
        let reached = self.line(Transport::not_reached)?;
        self.address = address(&reached).ok_or_else(|| LaunchRefusal::Unsupported {
            why: format!(
                "the other machine does not report the address that plumb connected to: \
                          `{reached}`"
            ),
            fix: "OpenSSH's sshd sets SSH_CONNECTION".into(),
        })?;
        let written = match &mut self.stdin {
            Some(stdin) if self.transport.brings_plumb() => stdin.write_line(plumb, COPY),
            _ => Ok(()),
        };
        if let Err(LineError::Interrupted) = written {
            return Err(LaunchRefusal::Interrupted);
        }
        let told = self.line(Transport::does_not_run)?;
        let target = serde_json::from_str(&told);
        self.target = Some(target.map_err(|error| {
            LaunchRefusal::Failed(format!(
                "plumb on the other machine can't describe that machine: {error}"
            ))
        })?);
        Ok(())
    }

    /// The next line of what stands there; `refused` says what it means when it ends instead, by its last words.
    fn line(
        &mut self,
        refused: fn(&Transport, &str) -> LaunchRefusal,
    ) -> Result<String, LaunchRefusal> {
        match self.stdout.next_line(Some(ANSWER)) {
            Ok(line) => line.strip_prefix(FAR_LINE).map(str::to_owned).ok_or_else(|| talks(&line)),
            Err(LineError::Interrupted) => Err(LaunchRefusal::Interrupted),
            Err(LineError::Timeout) => {
                Err(refused(&self.transport, &format!("no answer within {} s", ANSWER.as_secs())))
            }
            Err(_) => {
                let said = self.log.last_words();
                let last =
                    said.trim().lines().last().map_or("it ended without a message", str::trim);
                Err(refused(&self.transport, last.strip_prefix("error: ").unwrap_or(last)))
            }
        }
    }

    /// How a program of plumb is started there.
    ///
    /// # Errors
    /// Unsupported for any other: it is not there.
    pub fn argv(&self, program: &Program) -> Result<Vec<String>, LaunchRefusal> {
        let [own, arguments @ ..] = &program.argv[..] else { return Ok(Vec::new()) };
        let is_plumb = own == OWN || std::env::current_exe().is_ok_and(|exe| exe == Path::new(own));
        if !is_plumb {
            return Err(LaunchRefusal::Unsupported {
                why: format!("--to: {own} is not on the other machine; plumb copies only itself"),
                fix: "without --to the server runs on this machine".into(),
            });
        }
        Ok(self.transport.plumb(&self.place, arguments))
    }

    /// Where it was reached.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// What a program there is told.
    pub fn start(&self, start: Start) -> Start {
        // A peer says where its own are.
        let mut start = Start { dir: self.place.clone(), scratch: self.place.clone(), ..start };
        start.facts.plumb = binary(&self.place);
        start.endpoints.insert(FAR_ADDRESS.to_owned(), self.address.to_string());
        start
    }

    /// Ends the connection. The shell there reads the end of its stdin and removes its folder; the process here is killed if it
    /// does not end in time.
    fn end(mut self, keeper: &mut Keeper) {
        self.stdin = None;
        if !matches!(keeper.wait(self.pid, END), Ok(Some(_))) && keeper.kill(self.pid).is_ok() {
            let _ = keeper.wait(self.pid, END);
        }
    }
}

/// Where the server was reached: the third word of SSH_CONNECTION (`ssh(1)`), which a peer tells in the same form.
fn address(connection: &str) -> Option<IpAddr> {
    let address = connection.split_whitespace().nth(2)?;
    // The scope of a link-local address.
    address.split('%').next()?.parse().ok()
}

/// A login shell that writes to stdout would be taken for plumb.
fn talks(line: &str) -> LaunchRefusal {
    let line: String = line.chars().take(80).collect();
    LaunchRefusal::Unsupported {
        why: format!("the login shell of the other machine writes to stdout: `{line}`"),
        fix: "remove the output (such as echo) from ~/.bashrc".into(),
    }
}

fn not_started(error: KeeperError) -> LaunchRefusal {
    match error {
        KeeperError::Missing(program) => LaunchRefusal::Unsupported {
            why: format!("{program} is not installed"),
            fix: "apt install openssh-client".into(),
        },
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn the_address_is_the_servers() {
        assert_eq!(address("10.0.0.1 5 10.0.0.2 22"), "10.0.0.2".parse().ok());
        assert_eq!(address("fe80::1%eth0 5 fe80::2%eth0 22"), "fe80::2".parse().ok());
        assert_eq!(address(""), None);
    }
}
