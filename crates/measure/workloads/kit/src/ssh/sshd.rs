//! A real sshd with throw-away keys, on loopback or, as a far end, where that was reached.

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plumb_protocol::{Failure, Held, StartError};

use super::account::UserAccount;
use super::algorithms::Algorithms;
use super::key_kind::KeyKind;
use super::tools::SshTools;
use crate::loopback;
use crate::processes::{die_with_parent, kill_tree};

/// The name under which the host key is known.
pub const HOST_ALIAS: &str = "plumb";

/// The line of a file of known hosts for a server with this public key; None if it is none.
#[must_use]
pub fn known_host(host_key: &str) -> Option<String> {
    public_key(host_key).map(|key| format!("{HOST_ALIAS} {key}\n"))
}

/// A public key as a line of its own has it, without the comment; None if it is anything else, or more than that.
fn public_key(text: &str) -> Option<String> {
    let mut words = text.trim().split(' ');
    let kind = words.next()?;
    let key = words.next()?;
    let is_key = KeyKind::ALL.iter().any(|known| known.public_name() == kind)
        && !key.is_empty()
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
    let is_one_line = !text.trim().contains(char::is_control);
    (is_key && is_one_line).then(|| format!("{kind} {key}"))
}

/// The file of known hosts in the folder of a server.
pub const KNOWN_HOSTS: &str = "known_hosts";

/// Another program may take the free port before sshd does.
const ATTEMPTS: usize = 3;

/// The server is ready within this time, or not at all.
const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// A folder for keys and logs, for this user only; dropping it removes it.
#[derive(Debug)]
struct KeyFolder(PathBuf);

impl KeyFolder {
    fn create(scratch: &Path) -> Result<Self, Failure> {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = scratch.join(format!("ssh-{}-{number}", std::process::id()));
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Failure::io(format!("creating {}", path.display()), &error))?;
        Ok(Self(path))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.0.join(name);
        fs::write(&path, text)
            .map_err(|error| Failure::io(format!("writing {}", path.display()), &error))?;
        Ok(path)
    }

    fn read(&self, name: &str) -> Result<String, Failure> {
        let path = self.0.join(name);
        fs::read_to_string(&path)
            .map_err(|error| Failure::io(format!("reading {}", path.display()), &error))
    }
}

impl Drop for KeyFolder {
    fn drop(&mut self) {
        // The keeper removes the whole scratch folder at the end in any case.
        fs::remove_dir_all(&self.0).ok();
    }
}

/// A running sshd; dropping it ends it, its sessions and its keys.
#[derive(Debug)]
pub struct Sshd {
    child: Child,
    address: SocketAddr,
    folder: KeyFolder,
    offers: Option<Algorithms>,
}

/// Where a server listens, and whom it lets in.
#[derive(Debug, Clone)]
pub struct Listening {
    /// The address and port that it listens on.
    pub address: IpAddr,
    /// The client, if it is elsewhere; None makes its key here.
    pub client: Option<ClientElsewhere>,
    /// The kind of the keys that are made here.
    pub keys: KeyKind,
}

/// A client in another namespace or on another machine.
#[derive(Debug, Clone)]
pub struct ClientElsewhere {
    /// Its public key.
    pub key: String,
    /// The only command that it may run; None lets it run any.
    pub command: Option<String>,
}

impl Default for Listening {
    /// On loopback, for a client here.
    fn default() -> Self {
        Self { address: IpAddr::from(Ipv4Addr::LOCALHOST), client: None, keys: KeyKind::Ed25519 }
    }
}

/// The rights of a server's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Run commands, with all algorithms that both programs have.
    Commands,
    /// Have connections to sockets forwarded.
    Forwarding,
}

/// Errors of starting sshd.
enum SshdError {
    PortTaken,
    Refused(StartError),
}

impl From<Failure> for SshdError {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure.into())
    }
}

impl Sshd {
    /// Starts one under `scratch` that lets `user` in.
    ///
    /// # Errors
    /// Unsupported when it says that something of the machine is missing.
    pub fn start(
        scratch: &Path,
        tools: &SshTools,
        user: &UserAccount,
        (serves, listening): (Serves, &Listening),
    ) -> Result<Self, StartError> {
        if listening.address.is_loopback() {
            loopback::check()?;
        }
        let mut tried = 0;
        loop {
            tried += 1;
            match Self::attempt(scratch, tools, user, (serves, listening)) {
                Ok(sshd) => return Ok(sshd),
                Err(SshdError::PortTaken) if tried < ATTEMPTS => {}
                Err(SshdError::PortTaken) => {
                    return Err(StartError::Failed("no free port for sshd".to_owned()));
                }
                Err(SshdError::Refused(error)) => return Err(error),
            }
        }
    }

    fn attempt(
        scratch: &Path,
        tools: &SshTools,
        user: &UserAccount,
        (serves, listening): (Serves, &Listening),
    ) -> Result<Self, SshdError> {
        let folder = KeyFolder::create(scratch)?;
        tools.make_key(&folder.0.join("host"), listening.keys)?;
        let host_key = folder.read("host.pub")?;
        let known =
            known_host(&host_key).ok_or_else(|| Failure("ssh-keygen created no key".to_owned()))?;
        folder.write(KNOWN_HOSTS, &known)?;
        let may = match serves {
            Serves::Commands => "restrict",
            Serves::Forwarding => "restrict,port-forwarding",
        };
        let authorized = match &listening.client {
            None => {
                tools.make_key(&folder.0.join("user"), listening.keys)?;
                format!("{may} {}", folder.read("user.pub")?)
            }
            Some(client) => {
                let key = public_key(&client.key)
                    .ok_or_else(|| Failure("not a valid public key for sshd".into()))?;
                match &client.command {
                    None => format!("{may} {key}\n"),
                    // A quote or a line end in the command would end its option in authorized_keys early.
                    Some(command) if command.contains(['"', '\\', '\n']) => {
                        return Err(
                            Failure(format!("not a valid command for sshd: {command}")).into()
                        );
                    }
                    Some(command) => format!("{may},command=\"{command}\" {key}\n"),
                }
            }
        };
        folder.write("authorized_keys", &authorized)?;
        let offers = match serves {
            Serves::Commands => Some(tools.algorithms(&folder.0.join("host"))?),
            Serves::Forwarding => None,
        };
        let address = free_port(listening.address)?;
        let directives = configuration(&folder.0, address, user, offers.as_ref());
        let config = folder.write("sshd_config", &directives)?;
        let log = File::create(folder.0.join("sshd.log"))
            .map_err(|error| Failure::io("creating the log of sshd", &error))?;
        let mut command = Command::new(&tools.sshd);
        // Not as a daemon (-D), so that it stays a child; its log on stderr (-e) explains a refusal.
        command.arg("-D").arg("-e").arg("-f").arg(&config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        die_with_parent(&mut command);
        let child = command.spawn().map_err(|error| Failure::io("starting sshd", &error))?;
        let mut sshd = Self { child, address, folder, offers };
        sshd.wait_until_ready()?;
        Ok(sshd)
    }

    fn wait_until_ready(&mut self) -> Result<(), SshdError> {
        let deadline = Instant::now() + READY_TIMEOUT;
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return Err(self.why_it_ended());
            }
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            sleep(Duration::from_millis(2));
        }
        Err(Failure(format!("sshd did not start listening at {} in time", self.address)).into())
    }

    fn why_it_ended(&self) -> SshdError {
        let log = self.folder.read("sshd.log").unwrap_or_default();
        if log.contains("Address already in use") {
            return SshdError::PortTaken;
        }
        SshdError::Refused(refusal(&log))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its public key.
    ///
    /// # Errors
    /// When somebody has removed it.
    pub fn host_key(&self) -> Result<String, Failure> {
        self.folder.read("host.pub")
    }

    /// The public key of its client, if that was made here.
    ///
    /// # Errors
    /// When it was not.
    pub fn client_key(&self) -> Result<String, Failure> {
        self.folder.read("user.pub")
    }

    /// What it offers its clients; None if that is its own choice.
    pub fn offers(&self) -> Option<&Algorithms> {
        self.offers.as_ref()
    }

    /// The id of the process of sshd.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The folder of `user` (the key), `known_hosts` and `sshd.log`.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }
}

impl Held for Sshd {}

impl Drop for Sshd {
    fn drop(&mut self) {
        // Sessions would outlive their listener.
        kill_tree(&mut self.child);
    }
}

fn free_port(address: IpAddr) -> Result<SocketAddr, Failure> {
    TcpListener::bind((address, 0))
        .and_then(|listener| listener.local_addr())
        .map_err(|error| Failure::io("looking for a free port", &error))
}

fn configuration(
    folder: &Path,
    address: SocketAddr,
    user: &UserAccount,
    offers: Option<&Algorithms>,
) -> String {
    let folder = folder.display();
    let ip = address.ip();
    let port = address.port();
    let forwards = yes_or_no(offers.is_none());
    // Where that of TCP is not allowed, sshd forwards to no socket either.
    let tcp = if offers.is_none() { "local" } else { "no" };
    let offers = match offers {
        Some(Algorithms { ciphers, macs, exchanges }) => {
            format!(
                "Ciphers {ciphers}\nMACs {macs}\nKexAlgorithms {exchanges}\nMaxStartups 1000\n\
                 Subsystem sftp internal-sftp\n"
            )
        }
        None => String::new(),
    };
    format!(
        "Port {port}\n\
         ListenAddress {ip}\n\
         HostKey \"{folder}/host\"\n\
         PidFile none\n\
         AuthorizedKeysFile \"{folder}/authorized_keys\"\n\
         AllowUsers {}\n\
         PubkeyAuthentication yes\n\
         PasswordAuthentication no\n\
         KbdInteractiveAuthentication no\n\
         PermitRootLogin prohibit-password\n\
         StrictModes no\n\
         UsePAM no\n\
         UseDNS no\n\
         PrintMotd no\n\
         AcceptEnv SHLVL\n\
         Compression yes\n\
         AllowTcpForwarding {tcp}\n\
         AllowStreamLocalForwarding {forwards}\n\
         X11Forwarding no\n\
         {offers}",
        user.name
    )
}

/// As configurations of OpenSSH have it.
pub(super) fn yes_or_no(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

/// What sshd says when it ends at once, as a refusal.
fn refusal(log: &str) -> StartError {
    let log = log.trim();
    let missing = "Missing privilege separation directory: ";
    if let Some((_, rest)) = log.split_once(missing) {
        let folder = rest.lines().next().unwrap_or_default().trim();
        return StartError::unsupported(
            format!("sshd needs the folder {folder}, which does not exist"),
            format!("mkdir -p {folder}"),
        );
    }
    let last = log.lines().last().unwrap_or("it printed no message");
    StartError::unsupported(format!("sshd failed to start: {last}"), "run `sshd -t` for details")
}

#[cfg(test)]
mod tests {
    use super::{public_key, refusal};
    use plumb_protocol::StartError;

    #[test]
    fn a_public_key_is_one_line_and_nothing_else() {
        assert_eq!(public_key("ssh-ed25519 AAAA+/= plumb\n").unwrap(), "ssh-ed25519 AAAA+/=");
        for odd in [
            "ssh-ed25519 AAAA\nssh-ed25519 BBBB",
            "command=\"sh\" ssh-ed25519 AAAA",
            "ssh-dss AAAA",
            "ssh-ed25519",
            "ssh-ed25519 AA,AA",
        ] {
            assert_eq!(public_key(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_missing_folder_comes_with_its_fix() {
        let StartError::Unsupported { why, fix } =
            refusal("debug\r\nMissing privilege separation directory: /run/sshd\r\n")
        else {
            panic!("it is no failure");
        };
        assert!(why.contains("/run/sshd"), "{why}");
        assert_eq!(fix, "mkdir -p /run/sshd");
    }
}
