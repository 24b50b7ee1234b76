//! The installed OpenSSH: where its programs are, what they can do.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use plumb_protocol::{Failure, StartError};

use super::key_kind::KeyKind;
use crate::ended;

/// The command that installs missing programs.
const INSTALL: &str = "apt-get install openssh-server openssh-client";

/// Where servers are when they are not on the path.
const MORE_PLACES: [&str; 4] = ["/usr/sbin", "/usr/local/sbin", "/sbin", "/usr/bin"];

/// The programs, as absolute paths (sshd insists on one).
#[derive(Debug)]
pub struct SshTools {
    /// The path of the client, `ssh`.
    pub ssh: PathBuf,
    /// The path of the server, `sshd`.
    pub sshd: PathBuf,
    /// The maker of keys.
    pub keygen: PathBuf,
}

impl SshTools {
    /// The programs of this machine.
    ///
    /// # Errors
    /// Unsupported when one is missing.
    pub fn find() -> Result<Self, StartError> {
        let path = env::var_os("PATH").unwrap_or_default();
        let places: Vec<PathBuf> =
            env::split_paths(&path).chain(MORE_PLACES.map(PathBuf::from)).collect();
        Ok(Self {
            ssh: find_in(&places, "ssh")?,
            sshd: find_in(&places, "sshd")?,
            keygen: find_in(&places, "ssh-keygen")?,
        })
    }

    /// `OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19 27 Jan 2026`: the two versions.
    ///
    /// # Errors
    /// When the client does not run.
    pub fn versions(&self) -> Result<(String, String), Failure> {
        let output = run(Command::new(&self.ssh).arg("-V"))?;
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let (ssh, library) = text.split_once(", ").unwrap_or((&text, "unknown"));
        Ok((ssh.to_owned(), library.to_owned()))
    }

    /// What the client knows of a kind (`cipher`, `mac`, `kex`), joined by `,`.
    ///
    /// # Errors
    /// When the client does not run.
    pub fn known(&self, kind: &str) -> Result<String, Failure> {
        let output = run(Command::new(&self.ssh).args(["-Q", kind]))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.split_whitespace().collect::<Vec<_>>().join(","))
    }

    /// Makes a key pair without a passphrase at `path`.
    ///
    /// # Errors
    /// When the program fails.
    pub fn make_key(&self, path: &Path, kind: KeyKind) -> Result<(), Failure> {
        let mut command = Command::new(&self.keygen);
        command.arg("-q").args(kind.options()).args(["-N", "", "-C", "plumb", "-f"]).arg(path);
        let output = run(&mut command)?;
        if output.status.success() {
            return Ok(());
        }
        Err(Failure(format!("ssh-keygen: {}", String::from_utf8_lossy(&output.stderr).trim())))
    }
}

fn find_in(places: &[PathBuf], name: &str) -> Result<PathBuf, StartError> {
    places
        .iter()
        .map(|place| place.join(name))
        .find(|program| program.is_absolute() && program.is_file())
        .ok_or_else(|| StartError::unsupported(format!("`{name}` is not installed"), INSTALL))
}

fn run(command: &mut Command) -> Result<Output, Failure> {
    let name = command.get_program().to_owned();
    ended::output(command)
        .map_err(|error| Failure::io(format!("running {}", name.display()), &error))
}

#[cfg(test)]
mod tests {
    use super::find_in;
    use plumb_protocol::StartError;

    #[test]
    fn a_missing_program_is_named_with_what_installs_it() {
        let Err(StartError::Unsupported { why, fix }) = find_in(&["/nowhere".into()], "sshd")
        else {
            panic!("it was found");
        };
        assert_eq!(why, "`sshd` is not installed");
        assert!(fix.contains("openssh-server"), "{fix}");
    }
}
