//! A peer over real sockets, with a shell in place of plumb: its servers repeat what they are told.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use plumb_peer::{PeerKey, PeerLimits, PeerPipes, PeerSettings, proves, reach, serve};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(10);
const WITHIN: Duration = Duration::from_millis(600);
const STOP: &str = "{\"id\":1,\"type\":\"stop\"}\n";

/// A peer in its own thread.
struct PeerThread {
    folder: TempDir,
    key: PeerKey,
    at: SocketAddr,
    /// What it told of who came.
    told: Receiver<String>,
    thread: JoinHandle<()>,
}

impl PeerThread {
    fn start() -> Self {
        Self::with(
            PeerLimits { prove_within: WITHIN, unproven: 16, ..PeerLimits::default() },
            PATIENCE * 6,
        )
    }

    fn with(limits: PeerLimits, idle: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = fresh_key(folder.path());
        // Of a server the process is told in a file.
        let script = "case $0 in target) echo machine;; *) echo $$ >$PIDS/$1; exec cat;; esac";
        let script = script.replace("$PIDS", &folder.path().display().to_string());
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let (tell, told) = channel();
        let settings = PeerSettings {
            key: key.clone(),
            plumb: vec!["sh".to_owned(), "-c".to_owned(), script],
            path: "plumb".to_owned(),
            folder: folder.path().to_owned(),
            idle,
            limits,
        };
        let notify = move |what: &str| drop(tell.send(what.to_owned()));
        let thread = thread::spawn(move || serve(&listener, settings, notify).unwrap());
        Self { folder, key, at, told, thread }
    }

    fn reach(&self, session: &str, words: &[&str]) -> PeerConnection {
        PeerConnection::start(self.at, &self.key, session, words)
    }

    /// What stands for a run, and its session.
    fn stand(&self) -> (PeerConnection, String) {
        let mut stands = self.reach("", &[]);
        let lines = [stands.line(), stands.line(), stands.line()];
        let told = lines.map(|line| line.strip_prefix("plumb-far: ").unwrap().trim().to_owned());
        let reached: Vec<&str> = told[1].split(' ').collect();
        assert_eq!((reached[0], reached[2]), ("127.0.0.1", "127.0.0.1"));
        assert_eq!((reached[3], told[2].as_str()), (&*self.at.port().to_string(), "machine"));
        (stands, told[0].clone())
    }

    /// Whether the server of this name runs.
    fn runs(&self, name: &str) -> bool {
        let pid = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !pid.is_empty() && !state.is_empty() && !state.contains(") Z ")
    }
}

fn fresh_key(folder: &Path) -> PeerKey {
    let file = folder.join("peer.key");
    PeerKey::create(&file).unwrap();
    PeerKey::read(&file).unwrap()
}

/// A way to a peer.
struct PeerConnection {
    stdin: Option<PipeWriter>,
    stdout: BufReader<PipeReader>,
    ended: JoinHandle<(Result<u8, String>, String)>,
}

impl PeerConnection {
    fn start(at: SocketAddr, key: &PeerKey, session: &str, words: &[&str]) -> Self {
        let (theirs, stdin) = pipe().unwrap();
        let (stdout, mut ours) = pipe().unwrap();
        let key = key.clone();
        let session = session.to_owned();
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let ended = thread::spawn(move || {
            let mut said = Vec::new();
            let pipes = PeerPipes { stdin: theirs.into(), stdout: &mut ours, stderr: &mut said };
            let status = reach(&at.to_string(), &key, (&session, &words), pipes);
            (status, String::from_utf8(said).unwrap())
        });
        Self { stdin: Some(stdin), stdout: BufReader::new(stdout), ended }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// What it says back to a line.
    fn repeats(&mut self, line: &str) -> String {
        self.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        self.line()
    }

    /// Ends it; its status, or why there is none, and what it said.
    fn end(mut self) -> (Result<u8, String>, String) {
        self.stdin = None;
        self.ended.join().unwrap()
    }

    /// Waits until it has ended by itself.
    fn ended(self) -> (Result<u8, String>, String) {
        let Self { stdin, ended, .. } = self;
        let ended = ended.join().unwrap();
        drop(stdin);
        ended
    }
}

#[track_caller]
fn soon(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Reads until the other end has closed it; how many bytes it said.
fn is_closed(socket: &mut TcpStream) -> usize {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut last = Vec::new();
    let ended = socket.read_to_end(&mut last).map_err(|error| error.kind());
    assert!(!matches!(ended, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "it stays open");
    last.len()
}

/// Passes the bytes of one connection on to a peer, and keeps what the client said.
fn proxy(to: SocketAddr) -> (SocketAddr, JoinHandle<Vec<u8>>, Receiver<TcpStream>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let (tell, sockets) = channel();
    let kept = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(to).unwrap();
        tell.send(server.try_clone().unwrap()).ok();
        let mut from = server.try_clone().unwrap();
        let mut back = client.try_clone().unwrap();
        thread::spawn(move || {
            std::io::copy(&mut from, &mut back).ok();
            back.shutdown(Shutdown::Both).ok();
        });
        let mut kept = Vec::new();
        let mut some = [0; 4096];
        while let Ok(read @ 1..) = client.read(&mut some) {
            kept.extend_from_slice(&some[..read]);
            if server.write_all(&some[..read]).is_err() {
                break;
            }
        }
        server.shutdown(Shutdown::Both).ok();
        kept
    });
    (at, kept, sockets)
}

#[test]
fn servers_live_as_long_as_their_run() {
    let peer = PeerThread::start();
    let (stands, session) = peer.stand();
    let mut server = peer.reach(&session, &["worker", "a.b"]);
    assert_eq!(server.repeats(STOP), STOP);
    let start = STOP
        .replace("stop", "start\",\"role\":\"server\",\"params\":{},\"dir\":\"/etc\",\"seed\":\"");
    let told = server.repeats(&start.replace("\"seed\":\"\"", "\"seed\":1"));
    assert!(told.contains(&peer.folder.path().display().to_string()), "{told}");
    assert_eq!(server.end(), (Ok(0), String::new()));
    soon(|| !peer.runs("a.b"));
    // Another role ends it, too.
    let mut other = peer.reach(&session, &["worker", "b.c"]);
    assert_eq!(
        other.repeats(&start.replace("server", "workload").replace("\"seed\":\"\"", "\"seed\":1")),
        ""
    );
    let (_, said) = other.ended();
    assert!(said.contains("a peer only starts servers"), "{said}");
    // The end of a run is the end of its servers.
    let mut server = peer.reach(&session, &["worker", "c.d"]);
    assert_eq!(server.repeats(STOP), STOP);
    assert!(peer.runs("c.d"));
    assert_eq!(stands.end().0, Ok(0));
    soon(|| !peer.runs("c.d"));
    assert!(server.ended().0.is_err());
    for (session, words, why) in [
        (session.as_str(), ["worker", "a.b"], "the run of this connection has ended"),
        ("", ["worker", "a.b"], "the run of this connection has ended"),
        ("", ["exec", "true"], "a peer only starts servers"),
    ] {
        let (status, said) = peer.reach(session, &words).ended();
        assert_eq!((status, said.trim()), (Ok(1), why));
    }
}

#[test]
fn without_the_key_nothing_is_done() {
    let peer = PeerThread::start();
    let other = tempfile::tempdir().unwrap();
    let (status, said) = PeerConnection::start(peer.at, &fresh_key(other.path()), "", &[]).ended();
    assert!(status.unwrap_err().ends_with("uses a different key"), "{said}");
    // What somebody said who has the key is worth nothing when it is said again.
    let (at, kept, _) = proxy(peer.at);
    let stands = PeerConnection::start(at, &peer.key, "", &[]);
    assert!(peer.told.recv_timeout(PATIENCE).unwrap().contains("started a run"));
    assert_eq!(stands.end().0, Ok(0));
    assert!(peer.told.recv_timeout(PATIENCE).unwrap().contains("ended its run"));
    let kept = kept.join().unwrap();
    assert!(!kept.is_empty() && !proves(&peer.key, &kept));
    let mut again = TcpStream::connect(peer.at).unwrap();
    again.write_all(&kept).unwrap();
    is_closed(&mut again);
    assert!(peer.told.recv_timeout(WITHIN).is_err());
}

#[test]
fn whoever_proves_nothing_keeps_nobody_out() {
    let peer = PeerThread::start();
    // Two hundred that say nothing.
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(peer.at).unwrap()).collect();
    let begun = Instant::now();
    let (stands, _) = peer.stand();
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    // One that says a byte at a time, and one that says a lot.
    let mut slow = TcpStream::connect(peer.at).unwrap();
    let mut loud = TcpStream::connect(peer.at).unwrap();
    loud.write_all(&[22; 1 << 16]).ok();
    let begun = Instant::now();
    let mut said = 0;
    while slow.write_all(&[22]).is_ok() && begun.elapsed() < PATIENCE {
        said += 1;
        thread::sleep(Duration::from_millis(50));
    }
    assert!(begun.elapsed() < WITHIN * 5 && said > 3, "{:?}", begun.elapsed());
    for mut socket in silent.into_iter().chain([loud]) {
        assert!(is_closed(&mut socket) < 100);
    }
    assert_eq!(stands.end().0, Ok(0));
}

#[test]
fn one_that_vanishes_leaves_no_server_and_too_many_are_refused() {
    let limits = PeerLimits { proven: 3, ..PeerLimits::default() };
    let peer = PeerThread::with(limits, PATIENCE * 6);
    let (stands, session) = peer.stand();
    let (at, _kept, sockets) = proxy(peer.at);
    let mut server = PeerConnection::start(at, &peer.key, &session, &["worker", "a.b"]);
    assert_eq!(server.repeats(STOP), STOP);
    assert!(peer.runs("a.b"));
    let third = peer.reach(&session, &["worker", "b.c"]);
    soon(|| peer.runs("b.c"));
    let (status, said) = peer.reach(&session, &["worker", "c.d"]).ended();
    assert_eq!((status, said.trim()), (Ok(1), "the peer already has 3 connections, the maximum"));
    sockets.recv().unwrap().shutdown(Shutdown::Both).unwrap();
    soon(|| !peer.runs("a.b"));
    assert!(server.ended().0.is_err());
    assert_eq!(third.end().0, Ok(0));
    assert_eq!(stands.end().0, Ok(0));
}

#[test]
fn a_peer_ends_when_nobody_comes_and_its_connections_after_a_time() {
    let limits = PeerLimits { longest: Duration::from_secs(1), ..PeerLimits::default() };
    let peer = PeerThread::with(limits, Duration::from_secs(2));
    let (stands, session) = peer.stand();
    let server = peer.reach(&session, &["worker", "a.b"]);
    assert!(stands.ended().0.is_err() && server.ended().0.is_err());
    peer.thread.join().unwrap();
}
