//! The pipes to an agent, and the end of the program that holds them.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use plumb_protocol::{LineError, LineReader, LineWriter};

use super::failure::VisitFailure;
use crate::log_line::MOST_LINE;

/// The program ends within this time once its input has ended; then it is killed.
const END: Duration = Duration::from_secs(12);
/// The exit code of ssh if it could not connect.
const SSH_FAILED: i32 = 255;
/// A program whose output has ended has an exit code within this time.
const CODE_WITHIN: Duration = Duration::from_secs(2);
/// Pause between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);
/// What it writes to stderr is kept up to this length, in bytes.
const MOST_SAID: usize = 64 << 10;
/// Before the agent speaks, a login shell may print so much, in bytes.
const MOST_CHATTER: usize = 64 << 10;

/// An agent that was started.
#[derive(Debug)]
pub struct AgentPipes {
    child: Child,
    /// The end of its input is the end of the agent. None: it has ended.
    input: Option<LineWriter<OwnedFd>>,
    output: LineReader<OwnedFd>,
    said: Arc<Mutex<SaidText>>,
    /// Whether it is killed at its end without waiting.
    is_abandoned: bool,
}

/// What the program wrote to stderr.
#[derive(Debug, Default)]
struct SaidText {
    text: String,
    /// Bytes of it that were passed on.
    passed: usize,
}

impl AgentPipes {
    /// Starts a program whose input and output are those of an agent.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        // In its own process group: Ctrl-C reaches the near end alone, which then stops all agents in order.
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn()?;
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let input = OwnedFd::from(child.stdin.take().ok_or_else(gone)?);
        let output = OwnedFd::from(child.stdout.take().ok_or_else(gone)?);
        let stderr = child.stderr.take().ok_or_else(gone)?;
        let said = Arc::default();
        drain(stderr, Arc::clone(&said))?;
        let input = LineWriter::new(input).map_err(io::Error::other)?;
        Ok(Self {
            child,
            input: Some(input),
            output: LineReader::new(output, MOST_LINE),
            said,
            is_abandoned: false,
        })
    }

    /// Writes bytes to the agent, within a time.
    ///
    /// # Errors
    /// When it does not read them, or is gone.
    pub fn write(&mut self, bytes: &[u8], within: Duration) -> Result<(), LineError> {
        let deadline = Instant::now() + within;
        let Some(input) = &mut self.input else { return Err(LineError::Closed(String::new())) };
        input.write_line(bytes, deadline.saturating_duration_since(Instant::now()))
    }

    /// The next line of the agent, if it comes within a time.
    ///
    /// # Errors
    /// [`LineError::Timeout`] if none comes, and the other reasons.
    pub fn line(&mut self, within: Duration) -> Result<String, LineError> {
        self.output.next_line(Some(within))
    }

    /// The first line for which `read` has a value. What a login shell prints before it is skipped.
    ///
    /// # Errors
    /// When too much is printed, nothing comes in time, or somebody wants to stop.
    pub(crate) fn first_line<T>(
        &mut self,
        within: Duration,
        is_interrupted: &dyn Fn() -> bool,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, FirstLineError> {
        let deadline = Instant::now() + within;
        let mut chatter = 0;
        let mut printed = None;
        loop {
            if is_interrupted() {
                return Err(FirstLineError::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(FirstLineError::Late(within));
            }
            match self.line(left.min(Duration::from_millis(200))) {
                Ok(line) => {
                    if let Some(value) = read(&line) {
                        return Ok(value);
                    }
                    chatter += line.len() + 1;
                    let line: String = line.chars().take(80).collect();
                    if chatter > MOST_CHATTER {
                        return Err(FirstLineError::Chatter(line));
                    }
                    printed = Some(line);
                }
                Err(LineError::Timeout | LineError::Interrupted) => {}
                // A login shell may print bytes that are not UTF-8.
                Err(LineError::NotText(text)) => chatter += text.len() + 1,
                Err(LineError::TooLong(_)) => return Err(FirstLineError::Chatter(String::new())),
                Err(LineError::Closed(_) | LineError::Io(_)) => {
                    return Err(FirstLineError::Ended { printed });
                }
            }
        }
    }

    /// The lines that the program wrote to stderr since the last call.
    pub fn new_words(&self) -> Vec<String> {
        let mut said = self.said();
        let whole = said.text[said.passed..].rfind('\n').map_or(0, |end| end + 1);
        let lines = said.text[said.passed..][..whole].lines().map(str::to_owned).collect();
        said.passed += whole;
        lines
    }

    /// The last line that the program wrote to stderr, without the word `error:`.
    pub fn last_words(&self) -> Option<String> {
        // What it wrote right before its end may not have been read yet.
        thread::sleep(LOOK);
        let said = self.said();
        let last = said.text.trim_end().lines().last()?.trim();
        Some(last.strip_prefix("error: ").unwrap_or(last).to_owned())
            .filter(|last| !last.is_empty())
    }

    /// The exit code of a program whose output has ended; None if a signal ended it, or it goes on.
    fn exit_code(&mut self) -> Option<i32> {
        self.input = None;
        let deadline = Instant::now() + CODE_WITHIN;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) if Instant::now() < deadline => thread::sleep(LOOK),
                _ => return None,
            }
        }
    }

    /// Has the program killed at its end: it does not keep the rules, so it may not end by itself.
    pub(crate) fn abandon(&mut self) {
        self.is_abandoned = true;
    }

    fn said(&self) -> MutexGuard<'_, SaidText> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AgentPipes {
    /// Ends the agent's input, and waits until the program has ended. It is killed if it takes too long.
    fn drop(&mut self) {
        self.input = None;
        let deadline = Instant::now() + if self.is_abandoned { Duration::ZERO } else { END };
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
            }
            // An agent that still writes could otherwise not end.
            let _ = self.output.next_line(Some(LOOK));
            thread::sleep(LOOK);
        }
    }
}

/// Why the first line did not come.
#[derive(Debug)]
pub(crate) enum FirstLineError {
    /// The program ended, after it printed this last.
    Ended {
        /// The last line on stdout.
        printed: Option<String>,
    },
    /// Nothing came within this time.
    Late(Duration),
    /// Something else printed too much; the beginning of its last line.
    Chatter(String),
    /// Somebody wants to stop.
    Interrupted,
}

impl FirstLineError {
    /// The failure of a visit; `fix` is what to try if the machine cannot be reached.
    pub(crate) fn of(self, pipes: &mut AgentPipes, fix: &str) -> VisitFailure {
        let fix = fix.to_owned();
        match self {
            Self::Interrupted => VisitFailure::Interrupted,
            Self::Ended { printed } => {
                let said = pipes.last_words().or(printed);
                let why = said.unwrap_or_else(|| "it ended without a message".to_owned());
                match pipes.exit_code() {
                    // ssh itself ends with 255; what it started has other codes.
                    Some(code) if code != SSH_FAILED => VisitFailure::Unsupported {
                        why: format!("the login shell ended with code {code}: {why}"),
                        fix: "the account needs a shell that runs commands".to_owned(),
                    },
                    _ => VisitFailure::Unreachable { why, fix },
                }
            }
            Self::Late(within) => VisitFailure::Unreachable {
                why: format!("no answer within {} s", within.as_secs()),
                fix,
            },
            Self::Chatter(line) => VisitFailure::Unsupported {
                why: format!("the login shell prints more than 64 KiB to stdout: `{line}`"),
                fix: "remove the output (such as echo) from ~/.bashrc".to_owned(),
            },
        }
    }
}

/// Reads stderr to its end, so that a full pipe never holds the program up.
fn drain(mut stderr: ChildStderr, said: Arc<Mutex<SaidText>>) -> io::Result<()> {
    let reading = move || {
        let mut bytes = [0; 4096];
        loop {
            match stderr.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => {
                    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                    if said.text.len() < MOST_SAID {
                        said.text.push_str(&String::from_utf8_lossy(&bytes[..count]));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    };
    Builder::new().name("stderr of an agent".to_owned()).spawn(reading).map(drop)
}
