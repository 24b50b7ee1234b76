//! The other machines of a run (`--to`): reached once, before anything is measured, and left at its end.
//!
//! One connection of ssh to each brings this binary into a fresh folder there and stands until the run ends; programs
//! there are started through it (ssh's ControlMaster), and speak the protocol's lines. When it ends, however that
//! happens, they read the end of their stdin and end, and the shell that it started removes the folder.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use plumb_keeper::{Keeper, KeeperError, Pipes, SpawnOptions};
use plumb_model::{FarEnd, PlannedPoint, Program, Target};
use plumb_protocol::{FAR_ADDRESS, LineError, LineReader, LineWriter, MAX_LINE, Start};

use super::log::Log;
use super::refusal::Refusal;

/// What is started in place of ssh, with its first arguments, where it is set.
const SSH: &str = "PLUMB_SSH";
/// This binary.
const OWN: &str = "/proc/self/exe";
/// The other machine answers in this time.
const ANSWER: Duration = Duration::from_secs(30);
/// A copy of the binary arrives in this time.
const COPY: Duration = Duration::from_secs(600);
/// A connection ends within this time.
const END: Duration = Duration::from_secs(5);

/// What is done there: `SIZE` is that of the binary. It says where its folder is, which address ssh reached and, once
/// the binary is there, what machine it is; then it waits for the end of its stdin. It is given as one line, as some login
/// shells (csh) take no others.
const SCRIPT: [&str; 9] = [
    "umask 077",
    r#"folder=$(mktemp -d "${TMPDIR:-/tmp}/plumb-far.XXXXXX") || exit 1"#,
    r#"trap 'rm -rf "$folder"' EXIT"#,
    "trap 'exit 1' HUP INT TERM PIPE",
    r#"echo "plumb-far: $folder""#,
    r#"echo "plumb-far: ${SSH_CONNECTION:-}""#,
    r#"head -c SIZE >"$folder/plumb" && chmod 700 "$folder/plumb" || exit 1"#,
    r#"machine=$("$folder/plumb" target "$folder") && echo "plumb-far: $machine" || exit 1"#,
    "cat >/dev/null",
];
/// How its lines begin: a login shell may say something, too.
const OURS: &str = "plumb-far: ";

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
    log: Log,
    /// How ssh is started for a program there: all but what that is.
    ssh: Vec<String>,
    /// The folder there.
    folder: String,
    /// Where it was reached.
    address: IpAddr,
    /// What machine it is.
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
    ) -> Result<(), Refusal> {
        for far_end in points.filter_map(|it| it.far_end.as_ref()) {
            if !self.0.contains_key(far_end) {
                let socket = scratch.join(format!("ssh-{}", self.0.len()));
                let host = FarHost::reach(keeper, far_end, &socket.to_string_lossy());
                let host = host.map_err(|refusal| refusal.of(&format!("--to {far_end}")))?;
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

    /// Leaves them.
    pub fn end(&mut self, keeper: &mut Keeper) {
        for host in std::mem::take(&mut self.0).into_values() {
            host.end(keeper);
        }
    }
}

impl FarHost {
    fn reach(keeper: &mut Keeper, far_end: &FarEnd, socket: &str) -> Result<Self, Refusal> {
        let binary = std::fs::read(OWN)
            .map_err(|error| Refusal::Fatal(format!("plumb can't read its own binary: {error}")))?;
        let (program, to) = ssh(far_end, socket);
        let script = SCRIPT.join("; ").replace("SIZE", &binary.len().to_string());
        let argv =
            [&program[..], &["-M".to_owned()], &to, &[format!("exec sh -c {}", quoted(&script))]];
        let pipes = keeper.spawn(&argv.concat(), None, &SpawnOptions::default());
        let Pipes { pid, stdin, stdout, stderr } = pipes.map_err(not_started)?;
        let log = Log::drain(stderr);
        let stdin = LineWriter::new(stdin)
            .map_err(|error| Refusal::Fatal(format!("plumb can't use ssh's stdin: {error}")))?;
        let mut host = Self {
            pid,
            stdin: Some(stdin),
            stdout: LineReader::new(stdout, MAX_LINE),
            log,
            ssh: [program, to].concat(),
            folder: String::new(),
            address: IpAddr::from([0, 0, 0, 0]),
            target: None,
        };
        match host.settle(&binary) {
            Ok(()) => Ok(host),
            Err(refusal) => {
                host.end(keeper);
                Err(refusal)
            }
        }
    }

    /// Brings the binary there.
    fn settle(&mut self, binary: &[u8]) -> Result<(), Refusal> {
        self.folder = self.line(ANSWER, not_reached)?;
        let reached = self.line(ANSWER, not_reached)?;
        self.address = address(&reached).ok_or_else(|| Refusal::Unsupported {
            why: format!("the other machine does not say where ssh reached it: `{reached}`"),
            fix: "sshd of OpenSSH sets SSH_CONNECTION".into(),
        })?;
        let written = match &mut self.stdin {
            Some(stdin) => stdin.write_line(binary, COPY),
            None => Ok(()),
        };
        if let Err(LineError::Interrupted) = written {
            return Err(Refusal::Interrupted);
        }
        let told = self.line(ANSWER, does_not_run)?;
        let target = serde_json::from_str(&told);
        self.target = Some(target.map_err(|error| {
            Refusal::Failed(format!("plumb there does not say what machine it is: {error}"))
        })?);
        Ok(())
    }

    /// The next line of the script; `refused` says what it means when it ends instead, by its last words.
    fn line(&mut self, timeout: Duration, refused: fn(&str) -> Refusal) -> Result<String, Refusal> {
        match self.stdout.next_line(Some(timeout)) {
            Ok(line) => line.strip_prefix(OURS).map(str::to_owned).ok_or_else(|| talks(&line)),
            Err(LineError::Interrupted) => Err(Refusal::Interrupted),
            Err(LineError::Timeout) => {
                Err(refused(&format!("no answer within {} s", timeout.as_secs())))
            }
            Err(_) => {
                let said = self.log.last_words();
                let last = said.trim().lines().last().unwrap_or("ssh ended without a word");
                Err(refused(last.trim()))
            }
        }
    }

    /// How a program of plumb is started there.
    ///
    /// # Errors
    /// Unsupported for any other: it is not there.
    pub fn argv(&self, program: &Program) -> Result<Vec<String>, Refusal> {
        let [own, arguments @ ..] = &program.argv[..] else { return Ok(Vec::new()) };
        let is_plumb = own == OWN || std::env::current_exe().is_ok_and(|exe| exe == Path::new(own));
        if !is_plumb {
            return Err(Refusal::Unsupported {
                why: format!("--to: {own} is not on the other machine; plumb copies only itself"),
                fix: "without --to the server runs on this machine".into(),
            });
        }
        let words = [format!("{}/plumb", self.folder)].into_iter().chain(arguments.to_vec());
        let words: Vec<String> = words.map(|word| quoted(&word)).collect();
        Ok([&self.ssh[..], &[format!("exec {}", words.join(" "))]].concat())
    }

    /// Where it was reached.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// What a program there is told.
    pub fn start(&self, start: Start) -> Start {
        let mut start = Start { dir: self.folder.clone(), scratch: self.folder.clone(), ..start };
        start.facts.plumb = format!("{}/plumb", self.folder);
        start.endpoints.insert(FAR_ADDRESS.to_owned(), self.address.to_string());
        start
    }

    /// Leaves it.
    fn end(mut self, keeper: &mut Keeper) {
        self.stdin = None;
        if !matches!(keeper.wait(self.pid, END), Ok(Some(_))) && keeper.kill(self.pid).is_ok() {
            let _ = keeper.wait(self.pid, END);
        }
    }
}

/// How ssh is started: the program, and the options with the destination.
fn ssh(far_end: &FarEnd, socket: &str) -> (Vec<String>, Vec<String>) {
    let FarEnd::Ssh { destination, port } = far_end;
    let program = std::env::var(SSH).ok().filter(|words| !words.trim().is_empty());
    let program = program.unwrap_or_else(|| "ssh".to_owned());
    let mut words = vec!["-T".to_owned(), "-S".to_owned(), socket.replace('%', "%%")];
    for option in [
        "BatchMode=yes",
        "ConnectTimeout=10",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        "ControlPersist=no",
        "ClearAllForwardings=yes",
        "ForwardAgent=no",
        "ForwardX11=no",
        "RequestTTY=no",
    ] {
        words.extend(["-o".to_owned(), option.to_owned()]);
    }
    words.extend(port.iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
    words.push(destination.clone());
    (program.split_whitespace().map(str::to_owned).collect(), words)
}

/// One word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Where the server was reached: the third word of SSH_CONNECTION (`ssh(1)`).
fn address(connection: &str) -> Option<IpAddr> {
    let address = connection.split_whitespace().nth(2)?;
    // The scope of a link-local address.
    address.split('%').next()?.parse().ok()
}

fn not_reached(why: &str) -> Refusal {
    Refusal::Unsupported {
        why: format!("the other machine is not reached: {why}"),
        fix: "`ssh -o BatchMode=yes` to it has to work without a question; PLUMB_SSH=\"ssh -F FILE\" names other settings"
            .into(),
    }
}

/// A login shell that writes to stdout would be taken for plumb.
fn talks(line: &str) -> Refusal {
    let line: String = line.chars().take(80).collect();
    Refusal::Unsupported {
        why: format!("the login shell of the other machine writes to stdout: `{line}`"),
        fix: "a shell that runs a command has to be silent: no echo in ~/.bashrc".into(),
    }
}

fn does_not_run(why: &str) -> Refusal {
    Refusal::Unsupported {
        why: format!("plumb does not run on the other machine: {why}"),
        fix: "it needs the same architecture; the static build (`make dist`) runs with any libc; programs must be allowed in its TMPDIR, or /tmp"
            .into(),
    }
}

fn not_started(error: KeeperError) -> Refusal {
    match error {
        KeeperError::Gone(_) => Refusal::Fatal(error.to_string()),
        KeeperError::Missing(program) => Refusal::Unsupported {
            why: format!("{program} is not installed"),
            fix: "apt install openssh-client".into(),
        },
        other @ KeeperError::NotSpawned { .. } => Refusal::Failed(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{address, quoted, ssh};

    #[test]
    fn ssh_is_told_port_and_destination_last() {
        let (program, words) = ssh(&"ssh:joe@[::1]:2222".parse().unwrap(), "/tmp/100%/ssh-0");
        assert_eq!(program, ["ssh"]);
        assert_eq!(words[..3], ["-T", "-S", "/tmp/100%%/ssh-0"]);
        assert_eq!(words[words.len() - 3..], ["-p", "2222", "joe@::1"]);
    }

    #[test]
    fn words_pass_a_shell_and_the_address_is_the_servers() {
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(address("10.0.0.1 5 10.0.0.2 22"), "10.0.0.2".parse().ok());
        assert_eq!(address("fe80::1%eth0 5 fe80::2%eth0 22"), "fe80::2".parse().ok());
        assert_eq!(address(""), None);
    }
}
