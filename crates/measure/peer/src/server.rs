//! The peer itself: a thread for each connection.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ServerConfig, ServerConnection};

use crate::carry::carry;
use crate::channel::{Channel, FrameKind};
use crate::door::{Door, PeerLimits};
use crate::identity;
use crate::key::PeerKey;
use crate::program::{self, LinesToServer, NOTHING_ELSE, ProgramRequest, build, refuse};

/// How the folders of servers begin; the peer's process follows.
const FOLDER: &str = "plumb-peer-";
/// How often is looked whether somebody has been here too long, or nobody long enough.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The settings of a peer.
#[derive(Debug)]
pub struct PeerSettings {
    /// What both ends have.
    pub key: PeerKey,
    /// How plumb is started: a program and its first words.
    pub plumb: Vec<String>,
    /// The path of plumb for other programs.
    pub path: String,
    /// Where each server gets a folder.
    pub folder: PathBuf,
    /// It ends when nobody has been here for so long.
    pub idle: Duration,
    /// How much it does for others.
    pub limits: PeerLimits,
}

/// State that all connections share.
struct PeerState {
    settings: PeerSettings,
    tls: Arc<ServerConfig>,
    door: Door,
    build: String,
    notify: Box<dyn Fn(&str) + Send + Sync>,
}

/// Serves until nobody has been here for long; `notify` hears who comes, in short sentences.
///
/// # Errors
/// When nobody can connect.
pub fn serve(
    listener: &TcpListener,
    settings: PeerSettings,
    notify: impl Fn(&str) + Send + Sync + 'static,
) -> io::Result<()> {
    let tls = identity::server(&settings.key).map_err(io::Error::other)?;
    let door = Door::new(settings.limits.clone());
    let build = build().map_err(io::Error::other)?;
    sweep(&settings.folder);
    let peer = Arc::new(PeerState { settings, tls, door, build, notify: Box::new(notify) });
    listener.set_nonblocking(true)?;
    while peer.door.idle() < peer.settings.idle {
        let mut listens = [PollFd::new(listener, PollFlags::IN)];
        poll(&mut listens, Some(&LOOK)).ok();
        peer.door.end_longest();
        match listener.accept() {
            Ok((socket, _)) => PeerState::let_in(&peer, socket),
            // Without room for another socket, those that are here have to end first.
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(_) => {}
        }
    }
    (peer.notify)("stopped after a long time without a run");
    Ok(())
}

impl PeerState {
    fn let_in(peer: &Arc<Self>, socket: TcpStream) {
        let Ok(id) = peer.door.let_in(&socket) else { return };
        let of_it = Arc::clone(peer);
        let begun = thread::Builder::new().spawn(move || {
            of_it.attend(id, socket).ok();
            of_it.door.leaves(id);
        });
        if begun.is_err() {
            peer.door.leaves(id);
        }
    }

    fn attend(&self, id: u64, socket: TcpStream) -> io::Result<()> {
        socket.set_nonblocking(false)?;
        // An address of IPv4 as one, also if it came to a socket of both.
        let [from, at] =
            [socket.peer_addr()?, socket.local_addr()?].map(|address| address.ip().to_canonical());
        let within = self.settings.limits.prove_within;
        let tls = ServerConnection::new(Arc::clone(&self.tls)).map_err(io::Error::other)?;
        let kept = socket.try_clone()?;
        let mut channel = Channel::open(tls.into(), socket, within)?;
        if !self.door.has_proved(id, kept) {
            let most = self.settings.limits.proven;
            return refuse(
                channel,
                &format!("the peer already has {most} connections, the maximum"),
            );
        }
        let request = match channel.next(within)? {
            (FrameKind::Request, said) => serde_json::from_slice(&said)?,
            _ => return refuse(channel, "a connection must begin with its request"),
        };
        let ProgramRequest { build, session, words } = request;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            [] if build != self.build => {
                let own = &self.build;
                refuse(channel, &format!("the peer is a different build, {own}; this is {build}"))
            }
            [] => {
                (self.notify)(&format!("{from} has the key and started a run"));
                let stood = self.stand(id, channel);
                (self.notify)(&format!("{from} ended its run"));
                stood
            }
            ["worker", _] if self.door.joins(id, &session) => {
                let mut argv = self.settings.plumb.clone();
                argv.extend(words.iter().map(ToString::to_string));
                // The process id in its name lets a later peer see that nobody removes the folder any more.
                let name = format!("{FOLDER}{}-{}", std::process::id(), random()?);
                let folder = self.settings.folder.join(name).to_string_lossy().into_owned();
                let plumb = self.settings.path.clone();
                let mut lines = LinesToServer::new(at, folder, plumb);
                program::run(&argv, channel, &mut lines)
            }
            ["worker", _] => refuse(channel, "the run of this connection has ended"),
            _ => refuse(channel, NOTHING_ELSE),
        }
    }

    /// Says which session it is and what machine this is, a line each, and stands until the other end has ended.
    fn stand(&self, id: u64, mut channel: Channel) -> io::Result<()> {
        let session = random()?;
        let target = match self.target() {
            Ok(target) => target,
            Err(error) => return refuse(channel, &format!("can't run plumb here: {error}")),
        };
        self.door.stands(id, &session);
        channel.send(FrameKind::Output, format!("{session}\n{target}\n").as_bytes())?;
        // The end of what is said to it is the end of the run.
        carry(&mut channel, &mut [], true, |_, bytes| {
            Ok(if bytes.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        channel.send(FrameKind::End, &[0])
    }

    /// The machine: the line of `plumb target`.
    fn target(&self) -> io::Result<String> {
        let [program, arguments @ ..] = &self.settings.plumb[..] else {
            return Err(ErrorKind::NotFound.into());
        };
        let said = Command::new(program)
            .args(arguments)
            .arg("target")
            .arg(&self.settings.folder)
            .stdin(Stdio::null())
            .output()?;
        if said.status.success() {
            Ok(trimmed(&said.stdout))
        } else {
            Err(io::Error::other(trimmed(&said.stderr)))
        }
    }
}

/// The output of a program, trimmed.
fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// A word that nobody can guess.
fn random() -> io::Result<String> {
    let mut random = [0; 16];
    let filled = SystemRandom::new().fill(&mut random);
    filled.map_err(|_| io::Error::other("no random numbers"))?;
    Ok(format!("{:032x}", u128::from_le_bytes(random)))
}

/// Removes the folders of servers whose peer was killed.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let digits = name.strip_prefix(FOLDER).and_then(|rest| rest.split('-').next());
        let Some(pid) = digits.and_then(|digits| digits.parse::<u32>().ok()) else { continue };
        // A folder with this process's own id is of an earlier process with the same id: this one has no server yet.
        if pid == std::process::id() || !Path::new(&format!("/proc/{pid}")).exists() {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}
