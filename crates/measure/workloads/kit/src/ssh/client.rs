//! How the client is started: with keys and host of its own server, and without any configuration of the user's.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use plumb_protocol::StartError;

use super::account::UserAccount;
use super::sshd::{HOST_ALIAS, KNOWN_HOSTS, yes_or_no};
use crate::processes::die_with_parent;

/// Where to, and as whom.
#[derive(Debug)]
pub struct SshClient {
    /// The path of the program `ssh`.
    pub ssh: PathBuf,
    /// Where the server listens.
    pub server: SocketAddr,
    /// The folder with the key and for logs.
    pub folder: PathBuf,
    /// The file that has the server's key.
    pub known_hosts: PathBuf,
    /// The name of the user that logs in.
    pub user: String,
    /// Whether what it sends and gets is compressed.
    pub is_compressed: bool,
}

impl SshClient {
    /// A client of a server of this machine: that of [`Sshd`](super::Sshd) whose folder this is, reached at this address.
    ///
    /// # Errors
    /// As for [`UserAccount::current`].
    pub fn of_folder(
        ssh: PathBuf,
        server: SocketAddr,
        folder: PathBuf,
    ) -> Result<Self, StartError> {
        Ok(Self {
            ssh,
            server,
            known_hosts: folder.join(KNOWN_HOSTS),
            folder,
            user: UserAccount::current()?.name,
            is_compressed: false,
        })
    }

    /// Whether the server is the one whose folder has the key.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.known_hosts == self.folder.join(KNOWN_HOSTS)
    }

    /// The command without what is to be done there; `options` stand before the host. It ends with the thread that
    /// starts it.
    #[must_use]
    pub fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(&self.ssh);
        isolate(&mut command);
        command.args(["-v", "-T", "-F", "none"]).args(options);
        for (name, value) in self.options() {
            command.arg("-o").arg(format!("{name}={value}"));
        }
        command.arg(self.server.ip().to_string());
        command
    }

    /// The same options as a configuration file, in which the server is called [`HOST_ALIAS`]: for programs that start the
    /// client themselves, such as scp. `more` stands before them.
    #[must_use]
    pub fn configuration(&self, more: &[(&str, &str)]) -> String {
        let address = self.server.ip();
        let mut lines = vec![format!("Host {HOST_ALIAS}"), format!("HostName {address}")];
        lines.extend(more.iter().map(|(name, value)| format!("{name} {value}")));
        lines.extend(self.options().iter().map(|(name, value)| format!("{name} {value}")));
        lines.join("\n") + "\n"
    }

    /// Nothing of the user's configuration, keys or agents, and no questions.
    fn options(&self) -> Vec<(&'static str, String)> {
        let compression = yes_or_no(self.is_compressed);
        vec![
            // Old releases lack these. The first place is theirs: ssh ignores only what follows.
            ("IgnoreUnknown", "IdentityAgent,UpdateHostKeys".to_owned()),
            ("Port", self.server.port().to_string()),
            ("User", self.user.clone()),
            ("IdentityFile", format!("\"{}\"", self.folder.join("user").display())),
            ("UserKnownHostsFile", format!("\"{}\"", self.known_hosts.display())),
            ("HostKeyAlias", HOST_ALIAS.to_owned()),
            ("Compression", compression.to_owned()),
            ("BatchMode", "yes".to_owned()),
            ("IdentitiesOnly", "yes".to_owned()),
            ("IdentityAgent", "none".to_owned()),
            ("StrictHostKeyChecking", "yes".to_owned()),
            ("GlobalKnownHostsFile", "/dev/null".to_owned()),
            ("UpdateHostKeys", "no".to_owned()),
            ("CheckHostIP", "no".to_owned()),
            ("ControlMaster", "no".to_owned()),
            ("ControlPath", "none".to_owned()),
            ("ConnectTimeout", "10".to_owned()),
            ("SendEnv", "SHLVL".to_owned()),
        ]
    }
}

/// Takes the user's agent and display away from a command that starts ssh, and ends it with the thread that starts it.
pub fn isolate(command: &mut Command) {
    command.env_remove("SSH_AUTH_SOCK").env_remove("DISPLAY");
    // bash reads ~/.bashrc in a session's outermost shell, whatever that does and however long it
    // takes; killed in the middle of it, it might leave locks behind.
    command.env("SHLVL", "1");
    die_with_parent(command);
}

/// The algorithms on which client and server agreed for the data, from the client's log: `cipher: … MAC: … compression: …`.
#[must_use]
pub fn agreed(log: &Path) -> String {
    let log = fs::read_to_string(log).unwrap_or_default();
    let agreed = log.lines().find_map(|line| line.split_once("kex: client->server "));
    agreed.map(|(_, agreed)| agreed.trim().to_owned()).unwrap_or_default()
}

/// The last words of a log.
#[must_use]
pub fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    crate::tool::last_line(&text).unwrap_or("it printed no message").to_owned()
}
