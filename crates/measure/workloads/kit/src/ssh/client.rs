//! How the client is started: with keys and host of its own server, and without any configuration of the user's.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

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
        command.env_remove("SSH_AUTH_SOCK").env_remove("DISPLAY");
        // bash reads ~/.bashrc in a session's outermost shell, whatever that does and however long it
        // takes; killed in the middle of it, it might leave locks behind.
        command.env("SHLVL", "1");
        command.args(["-v", "-T", "-F", "none"]).args(options);
        command.arg("-p").arg(self.server.port().to_string());
        command.arg("-i").arg(self.folder.join("user"));
        let known_hosts = format!("UserKnownHostsFile=\"{}\"", self.known_hosts.display());
        let alias = format!("HostKeyAlias={HOST_ALIAS}");
        let compression = format!("Compression={}", yes_or_no(self.is_compressed));
        for option in [
            "BatchMode=yes",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "StrictHostKeyChecking=yes",
            "GlobalKnownHostsFile=/dev/null",
            "UpdateHostKeys=no",
            "CheckHostIP=no",
            "ControlMaster=no",
            "ControlPath=none",
            "ConnectTimeout=10",
            "SendEnv=SHLVL",
            &compression,
            &known_hosts,
            &alias,
        ] {
            command.arg("-o").arg(option);
        }
        command.arg("-l").arg(&self.user).arg(self.server.ip().to_string());
        die_with_parent(&mut command);
        command
    }
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
