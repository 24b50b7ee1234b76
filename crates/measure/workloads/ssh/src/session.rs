//! One ssh session to the fixture's server, running the sink.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plumb_protocol::Failure;

use crate::processes::die_with_parent;
use crate::sink::GREETING;
use crate::sshd::HOST_ALIAS;

/// A session that was told to end gets this long.
const FAREWELL: Duration = Duration::from_millis(500);

/// More noise than this before the sink's greeting is not a shell's.
const MOST_NOISE: usize = 64 << 10;

/// Where to, as whom, and how.
#[derive(Debug)]
pub struct SessionSettings {
    /// The client.
    pub ssh: PathBuf,
    /// The server's port on 127.0.0.1.
    pub port: u16,
    /// The folder with key and known hosts; the client's log goes there, too.
    pub folder: PathBuf,
    /// The account.
    pub user: String,
    /// The cipher.
    pub cipher: String,
    /// The message authentication code, used by ciphers that have none of their own.
    pub mac: String,
}

/// A live session. Dropping it ends it.
#[derive(Debug)]
pub struct Session {
    child: Child,
}

/// A session with its ends.
pub struct OpenSession {
    /// What keeps it alive.
    pub session: Session,
    /// Goes to the sink.
    pub to: ChildStdin,
    /// Comes from the sink.
    pub from: ChildStdout,
    /// The sink's process.
    pub sink: u32,
    /// The client's log.
    log: PathBuf,
}

impl Session {
    /// Logs in and waits for the greeting of the sink, which is `plumb ssh-sink` over there.
    ///
    /// # Errors
    /// With the last words of client and server, when there is no greeting.
    pub fn open(settings: &SessionSettings, plumb: &str) -> Result<OpenSession, Failure> {
        let log = settings.folder.join(format!("ssh-{}.log", std::process::id()));
        let file = File::create(&log)
            .map_err(|error| Failure::io(format!("creating {}", log.display()), &error))?;
        let mut command = command(settings, plumb);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
        die_with_parent(&mut command);
        let mut child = command.spawn().map_err(|error| Failure::io("starting ssh", &error))?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let session = Self { child };
        let (to, mut from) = ends.ok_or_else(|| Failure("ssh has no pipes".to_owned()))?;
        match greeting(&mut from) {
            Some(sink) => Ok(OpenSession { session, to, from, sink, log }),
            None => Err(Failure(format!(
                "the ssh session did not come up; client: {}; server: {}",
                last_line(&log),
                last_line(&settings.folder.join("sshd.log"))
            ))),
        }
    }

    /// The client's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl OpenSession {
    /// What client and server agreed on for the data: `cipher: … MAC: … compression: …`, from the
    /// client's log.
    pub fn agreed(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let agreed = log.lines().find_map(|line| line.split_once("kex: client->server "));
        agreed.map(|(_, agreed)| agreed.trim().to_owned()).unwrap_or_default()
    }
}

impl Drop for Session {
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

fn command(settings: &SessionSettings, plumb: &str) -> Command {
    let mut command = Command::new(&settings.ssh);
    command.env_remove("SSH_AUTH_SOCK").env_remove("DISPLAY");
    // bash reads ~/.bashrc in a session's outermost shell, whatever that does and however long it
    // takes; killed in the middle of it, it might leave locks behind.
    command.env("SHLVL", "1");
    command.args(["-v", "-T", "-F", "none", "-c", &settings.cipher, "-m", &settings.mac]);
    command.arg("-p").arg(settings.port.to_string());
    command.arg("-i").arg(settings.folder.join("user"));
    let known_hosts =
        format!("UserKnownHostsFile=\"{}\"", settings.folder.join("known_hosts").display());
    let alias = format!("HostKeyAlias={HOST_ALIAS}");
    for option in [
        "BatchMode=yes",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "StrictHostKeyChecking=yes",
        "GlobalKnownHostsFile=/dev/null",
        "UpdateHostKeys=no",
        "CheckHostIP=no",
        "Compression=no",
        "ControlMaster=no",
        "ControlPath=none",
        "ConnectTimeout=10",
        "SendEnv=SHLVL",
        &known_hosts,
        &alias,
    ] {
        command.arg("-o").arg(option);
    }
    command.arg("-l").arg(&settings.user).arg("127.0.0.1");
    command.arg(format!("{} ssh-sink", quoted(plumb)));
    command
}

/// A word for the shell over there.
fn quoted(text: &str) -> String {
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

fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("no word").trim().to_owned()
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
