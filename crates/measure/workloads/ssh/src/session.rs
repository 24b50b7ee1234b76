//! One ssh session to the fixture's server, running the sink.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plumb_protocol::Failure;
use plumb_workload_kit::ssh::{SshClient, agreed, last_line};

use crate::sink::GREETING;

/// A session that was told to end gets this long.
const FAREWELL: Duration = Duration::from_millis(500);

/// More noise than this before the sink's greeting is not a shell's.
const MOST_NOISE: usize = 64 << 10;

/// With whom, and how.
#[derive(Debug)]
pub struct SessionSettings {
    /// The client; its log goes to its folder, too.
    pub client: SshClient,
    /// The cipher and the message authentication code, as OpenSSH spells them; None leaves the choice to the client.
    pub algorithms: Option<(String, String)>,
}

/// A live session. Dropping it ends it.
#[derive(Debug)]
pub struct SshSession {
    child: Child,
}

/// A session with its ends.
pub struct OpenSession {
    /// The session that keeps it alive.
    pub session: SshSession,
    /// Goes to the sink.
    pub to: ChildStdin,
    /// Comes from the sink.
    pub from: ChildStdout,
    /// The sink's process.
    pub sink: u32,
    /// The client's log.
    log: PathBuf,
}

impl SshSession {
    /// Logs in and waits for the greeting of the sink, which is `plumb ssh-sink` over there.
    ///
    /// # Errors
    /// With the last words of client and server, when there is no greeting.
    pub fn open(settings: &SessionSettings, plumb: &str) -> Result<OpenSession, Failure> {
        let client = &settings.client;
        let log = client.folder.join(format!("ssh-{}.log", std::process::id()));
        let file = File::create(&log)
            .map_err(|error| Failure::io(format!("creating {}", log.display()), &error))?;
        let mut command = match &settings.algorithms {
            Some((cipher, mac)) => client.command(&["-c", cipher, "-m", mac]),
            None => client.command(&[]),
        };
        command.arg(format!("{} ssh-sink", quoted(plumb)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().map_err(|error| Failure::io("starting ssh", &error))?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let session = Self { child };
        let (to, mut from) = ends.ok_or_else(|| Failure("ssh has no pipes".to_owned()))?;
        match greeting(&mut from) {
            Some(sink) => Ok(OpenSession { session, to, from, sink, log }),
            None if client.is_here() => Err(Failure(format!(
                "can't open the ssh session; client: {}; server: {}",
                last_line(&log),
                last_line(&client.folder.join("sshd.log"))
            ))),
            None => Err(Failure(format!("can't open the ssh session: {}", last_line(&log)))),
        }
    }

    /// The client's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl OpenSession {
    /// The algorithms on which client and server agreed for the data: `cipher: … MAC: … compression: …`.
    pub fn agreed(&self) -> String {
        agreed(&self.log)
    }
}

impl Drop for SshSession {
    fn drop(&mut self) {
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(1));
        }
        // Both fail only when it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A word for the shell over there.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Reads up to the greeting: the sink's process.
fn greeting(from: &mut impl Read) -> Option<u32> {
    let mut line = Vec::new();
    let mut byte = [0];
    for _ in 0..MOST_NOISE {
        from.read_exact(&mut byte).ok()?;
        if byte[0] != b'\n' {
            line.push(byte[0]);
            continue;
        }
        if let Some(pid) = String::from_utf8_lossy(&line).strip_prefix(GREETING) {
            return pid.parse().ok();
        }
        line.clear();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{greeting, quoted};

    #[test]
    fn noise_of_a_shell_is_skipped() {
        let mut text = b"welcome\n\nplumb ssh-sink 77\n12345678".as_slice();
        assert_eq!(greeting(&mut text), Some(77));
        assert_eq!(text, b"12345678");
        assert_eq!(greeting(&mut b"no such file\n".as_slice()), None);
    }

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted("/a b/plumb"), "'/a b/plumb'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
