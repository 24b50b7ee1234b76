//! The preparation of a plug-in, and how a fresh process of it undoes one whose own process is gone.
//!
//! The conversation is docs/plugins.md's: `hello`, `clean` with all that `prepare` was told, `stop`.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::time::{Duration, Instant};

use plumb_protocol::{
    EXIT_TIMEOUT, LineError, LineReader, LineWriter, MAX_LINE, MOST_HEARTBEATS, PROTOCOL, Reply,
    ReplyLine, Request, RequestLine,
};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::descendants::kill_trees;
use crate::mount_namespaces::HeldMounts;
use crate::spawn::start;
use crate::spawn_options::SpawnOptions;

/// A plug-in's preparation: what it takes to have it undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginPreparation {
    /// The plug-in with its parameters, for people.
    pub name: String,
    /// Executable and arguments.
    pub argv: Vec<String>,
    /// One message may take so long, in seconds.
    pub timeout_s: u64,
    /// The fields of `prepare`.
    pub prepare: Value,
}

impl PluginPreparation {
    /// Starts the plug-in and has it undo what it prepared, in its own process.
    ///
    /// # Errors
    /// Why it could not; `NotFound` when the program is gone.
    pub fn undo(&self) -> io::Result<()> {
        let clean =
            Request::Clean { prepared: Some(serde_json::from_value(self.prepare.clone())?) };
        let (stdin, to) = pipe_with(PipeFlags::CLOEXEC)?;
        let (from, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let stderr = OwnedFd::from(OpenOptions::new().write(true).open("/dev/null")?);
        let options = SpawnOptions::default();
        let child = start(&self.argv, None, options, [stdin, stdout, stderr])?.child;
        let timeout = Duration::from_secs(self.timeout_s);
        let lines = LineReader::new(from, MAX_LINE);
        let to = LineWriter::new(to).map_err(io::Error::other);
        let talk = to.map(|to| PluginDialog { to, lines, timeout, last_id: 0 });
        let undone = talk.and_then(|mut talk| talk.clean(clean));
        let ended = end(child);
        undone.and(ended)
    }
}

/// A conversation with the plug-in.
struct PluginDialog {
    to: LineWriter<OwnedFd>,
    lines: LineReader<OwnedFd>,
    timeout: Duration,
    last_id: u64,
}

impl PluginDialog {
    fn clean(&mut self, clean: Request) -> io::Result<()> {
        let hello = Request::Hello { protocol: PROTOCOL, max_line: MAX_LINE };
        match self.ask(hello)? {
            Reply::Hello { .. } => {}
            other => return Err(wrong("hello", &other)),
        }
        match self.ask(clean)? {
            Reply::Done { .. } => {}
            other => return Err(wrong("clean", &other)),
        }
        // It is undone, whatever its last word is.
        let _ = self.ask(Request::Stop);
        Ok(())
    }

    fn ask(&mut self, request: Request) -> io::Result<Reply> {
        self.last_id += 1;
        let mut line = serde_json::to_vec(&RequestLine { id: self.last_id, request })?;
        line.push(b'\n');
        self.to.write_line(&line, self.timeout).map_err(io::Error::other)?;
        for _ in 0..MOST_HEARTBEATS {
            let reply: ReplyLine = serde_json::from_str(&self.line()?)?;
            match reply.reply {
                Reply::Progress { .. } => {}
                Reply::Failed { why, .. } => return Err(io::Error::other(why)),
                reply => return Ok(reply),
            }
        }
        Err(io::Error::other("it sends only heartbeats"))
    }

    /// The next line; a signal does not keep it from coming.
    fn line(&mut self) -> io::Result<String> {
        loop {
            match self.lines.next_line(Some(self.timeout)) {
                Err(LineError::Interrupted) => {}
                other => return other.map_err(io::Error::other),
            }
        }
    }
}

fn wrong(word: &str, reply: &Reply) -> io::Error {
    let reply: String = format!("{reply:?}").chars().take(80).collect();
    io::Error::other(format!("it answered `{word}` with {reply}"))
}

/// Waits for its end, and kills it when that does not come.
fn end(mut child: Child) -> io::Result<()> {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    while Instant::now() < deadline {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut mounts = HeldMounts::default();
    kill_trees([child.id()], &mut mounts);
    child.wait().map(|_| ())
}
