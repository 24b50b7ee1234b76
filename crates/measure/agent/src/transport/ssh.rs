//! An agent on a machine that ssh reaches. Nothing has to be installed there: this binary is copied into a fresh folder, which is
//! removed at the end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plumb_protocol::LineError;

use super::agent_transport::AgentTransport;
use super::failure::VisitFailure;
use super::pipes::{AgentPipes, FirstLineError};

/// What is started in place of ssh, with its first arguments, if it is set.
const SSH: &str = "PLUMB_SSH";
/// The machine answers in this time.
const ANSWER: Duration = Duration::from_secs(30);
/// What was written may still be on its way for so long.
const ARRIVED: Duration = Duration::from_secs(300);
/// A part of the binary is taken in this time.
const PART: Duration = Duration::from_secs(30);
/// Room for files other than the binary, in KiB.
const OTHER_FILES_KIB: u64 = 2048;

const REACH: &str = "`ssh -o BatchMode=yes HOST true` must work without a prompt; PLUMB_SSH=\"ssh -F FILE\" selects another configuration";

/// Options of every connection. The user's own configuration says the rest.
const OPTIONS: [&str; 10] = [
    // stdin carries the binary, so nobody could answer a question.
    "BatchMode=yes",
    "ConnectTimeout=10",
    // A machine that has vanished is noticed after about 10 s; an idle TCP connection would never show it.
    "ServerAliveInterval=3",
    "ServerAliveCountMax=3",
    // One connection per machine: a master of the user would outlive it, or end it.
    "ControlMaster=no",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    // A terminal would change line ends and echo what is sent.
    "RequestTTY=no",
];

/// What runs there, as one line, because some login shells (csh) take no others. It finds a folder in which programs can run, reads
/// the size of the binary and the binary, and becomes the agent. `head -c` of busybox reads more than it passes on, so nothing is
/// sent after the binary until the script answers.
const SCRIPT: [&str; 12] = [
    r#"umask 077; folder="#,
    // dash runs the trap on EXIT only if the shell exits itself, not if a signal ends it.
    r#"trap '[ -z "$folder" ] || rm -rf "$folder"' EXIT; trap 'exit 1' HUP INT TERM PIPE"#,
    r#"for parent in "${TMPDIR:-/tmp}" /var/tmp /dev/shm "$HOME""#,
    r#"do folder=$(mktemp -d "$parent/plumb-agent.XXXXXX" 2>/dev/null) || continue"#,
    r##"room=$(df -Pk "$folder" 2>/dev/null | tail -n 1 | awk '{print $4}')"##,
    r##"if [ "${room:-ROOM}" -ge ROOM ] && printf '#\041/bin/sh\n' >"$folder/plumb" && chmod 700 "$folder/plumb" && "$folder/plumb" 2>/dev/null"##,
    r#"then break"#,
    r#"else rm -rf "$folder"; folder="#,
    r#"fi; done"#,
    r#"[ -n "$folder" ] || { echo "plumb-agent NONCE nowhere"; exit 1; }"#,
    r#"echo "plumb-agent NONCE at $(uname -m) $folder"; read size; head -c "$size" >"$folder/plumb" || { echo "plumb-agent NONCE unwritten"; exit 1; }"#,
    r#"echo "plumb-agent NONCE written"; "$folder/plumb" agent --folder "$folder"; exit $?"#,
];

/// A machine that ssh reaches.
#[derive(Debug)]
pub struct SshHost {
    destination: String,
    port: Option<u16>,
    key: Option<PathBuf>,
    binary: fn(&str) -> Result<PathBuf, String>,
}

/// What the script says.
#[derive(Debug, PartialEq, Eq)]
enum ScriptLine {
    /// It has a folder on a machine of this architecture.
    At { architecture: String },
    /// There is no folder in which programs can run.
    Nowhere,
    /// The binary is there.
    Written,
    /// The binary could not be written.
    Unwritten,
}

impl SshHost {
    /// To `USER@HOST` or `HOST`; `binary` finds the file of plumb for an architecture.
    #[must_use]
    pub fn new(
        destination: &str,
        port: Option<u16>,
        key: Option<&Path>,
        binary: fn(&str) -> Result<PathBuf, String>,
    ) -> Self {
        let destination = destination.to_owned();
        Self { destination, port, key: key.map(Path::to_path_buf), binary }
    }

    /// The command that starts ssh with the script.
    fn command(&self, nonce: &str) -> Command {
        let named = std::env::var(SSH).ok().filter(|words| !words.trim().is_empty());
        let named = named.unwrap_or_else(|| "ssh".to_owned());
        let mut words = named.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("ssh"));
        command.args(words).arg("-T");
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        if let Some(port) = self.port {
            command.args(["-p", &port.to_string()]);
        }
        if let Some(key) = &self.key {
            command.arg("-i").arg(key);
        }
        command.arg(&self.destination).arg(format!("exec sh -c {}", quoted(&script(nonce))));
        command
    }

    fn bring(
        &self,
        pipes: &mut AgentPipes,
        nonce: &str,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<(), VisitFailure> {
        let read = |line: &str| script_line(line, nonce);
        let answer = pipes.first_line(ANSWER, is_interrupted, read);
        let architecture = match answer.map_err(|error| error.of(pipes, REACH))? {
            ScriptLine::At { architecture } => architecture,
            ScriptLine::Nowhere => return Err(nowhere()),
            other => return Err(VisitFailure::Failed(format!("unexpected answer: {other:?}"))),
        };
        let file = (self.binary)(&architecture).map_err(|folder| VisitFailure::Unsupported {
            why: format!("no binary for {architecture}"),
            fix: format!("put a static plumb for {architecture} at {folder}"),
        })?;
        let unreadable = |error: io::Error| {
            VisitFailure::Failed(format!("cannot read {}: {error}", file.display()))
        };
        let mut plumb = File::open(&file).map_err(unreadable)?;
        let size = plumb.metadata().map_err(unreadable)?.len();
        let written = pipes
            .write(format!("{size}\n").as_bytes(), ANSWER)
            .and_then(|()| write_all(pipes, &mut plumb, is_interrupted));
        match written {
            Ok(()) => {}
            Err(LineError::Interrupted) => return Err(VisitFailure::Interrupted),
            // It says why on its own stdout or stderr.
            Err(_) => {}
        }
        match pipes.first_line(ARRIVED, is_interrupted, read) {
            Ok(ScriptLine::Written) => Ok(()),
            Ok(ScriptLine::Unwritten) => Err(VisitFailure::Unsupported {
                why: format!(
                    "the binary cannot be written: {}",
                    pipes.last_words().unwrap_or_else(|| "no reason given".to_owned())
                ),
                fix: "free some space in the folder for temporary files, or set TMPDIR".to_owned(),
            }),
            Ok(other) => Err(VisitFailure::Failed(format!("unexpected answer: {other:?}"))),
            Err(error @ FirstLineError::Ended { .. }) => Err(match error.of(pipes, REACH) {
                VisitFailure::Unreachable { why, .. } => {
                    VisitFailure::Lost(format!("the connection was lost: {why}"))
                }
                other => other,
            }),
            Err(error) => Err(error.of(pipes, REACH)),
        }
    }
}

impl AgentTransport for SshHost {
    fn open(&self, is_interrupted: &dyn Fn() -> bool) -> Result<AgentPipes, VisitFailure> {
        let nonce = nonce();
        let mut pipes = AgentPipes::spawn(&mut self.command(&nonce)).map_err(|error| {
            VisitFailure::Unreachable {
                why: format!("cannot start ssh: {error}"),
                fix: match error.kind() {
                    io::ErrorKind::NotFound => "apt install openssh-client".to_owned(),
                    _ => "--at-once 10    measures on fewer machines at the same time".to_owned(),
                },
            }
        })?;
        self.bring(&mut pipes, &nonce, is_interrupted)?;
        Ok(pipes)
    }
}

/// Writes the binary, a part at a time: with many machines, all of it for each would fill the memory. Between two parts it asks
/// whether somebody wants to stop.
fn write_all(
    pipes: &mut AgentPipes,
    plumb: &mut File,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<(), LineError> {
    let mut part = vec![0; 64 << 10];
    loop {
        if is_interrupted() {
            return Err(LineError::Interrupted);
        }
        match plumb.read(&mut part).map_err(LineError::Io)? {
            0 => return Ok(()),
            length => pipes.write(&part[..length], PART)?,
        }
    }
}

fn nowhere() -> VisitFailure {
    VisitFailure::Unsupported {
        why: "no folder has room for plumb and allows programs to run (TMPDIR, /var/tmp, /dev/shm, the home directory)".to_owned(),
        fix: "SetEnv TMPDIR=FOLDER in sshd_config, or remount one of them with exec".to_owned(),
    }
}

/// The script for this nonce.
fn script(nonce: &str) -> String {
    let kib = fs::metadata("/proc/self/exe").map_or(0, |file| file.len() / 1024) + OTHER_FILES_KIB;
    SCRIPT.join("; ").replace("NONCE", nonce).replace("ROOM", &kib.to_string())
}

/// A word that nothing else prints.
fn nonce() -> String {
    let mut bytes = [0; 8];
    // Without random bytes the word is known, but a login shell still does not print it.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn script_line(line: &str, nonce: &str) -> Option<ScriptLine> {
    let mut words = line.strip_prefix("plumb-agent ")?.strip_prefix(nonce)?.split_whitespace();
    match words.next()? {
        "at" => Some(ScriptLine::At { architecture: words.next()?.to_owned() }),
        "nowhere" => Some(ScriptLine::Nowhere),
        "written" => Some(ScriptLine::Written),
        "unwritten" => Some(ScriptLine::Unwritten),
        _ => None,
    }
}

/// One word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
