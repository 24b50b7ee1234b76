//! The installed OpenSSH: where its programs are, what they can do.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use plumb_protocol::{Failure, StartError};

use super::algorithms::Algorithms;
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
    /// Whether client or server is not the installed one.
    has_other_builds: bool,
}

/// Programs of other builds of OpenSSH, as absolute paths; an empty one stands for the installed program.
#[derive(Debug, Clone, Copy, Default)]
pub struct OtherPrograms<'p> {
    /// The path of `ssh`.
    pub client: &'p str,
    /// The path of `sshd`.
    pub server: &'p str,
}

impl SshTools {
    /// The installed programs, or those of other builds.
    ///
    /// # Errors
    /// Unsupported when one is missing, or a path is that of no program.
    pub fn find(other: OtherPrograms) -> Result<Self, StartError> {
        let path = env::var_os("PATH").unwrap_or_default();
        let places: Vec<PathBuf> =
            env::split_paths(&path).chain(MORE_PLACES.map(PathBuf::from)).collect();
        let ssh = match other.client {
            "" => find_in(&places, "ssh")?,
            path => of_other_build("client", path)?,
        };
        let sshd = match other.server {
            "" => find_in(&places, "sshd")?,
            path => of_other_build("server", path)?,
        };
        let has_other_builds = !other.client.is_empty() || !other.server.is_empty();
        Ok(Self { ssh, sshd, keygen: find_in(&places, "ssh-keygen")?, has_other_builds })
    }

    /// The versions of the client and of its library: `OpenSSH_9.2p1 Debian-2`, `OpenSSL 3.0.19 27 Jan 2026`.
    ///
    /// # Errors
    /// When the client does not run.
    pub fn client_versions(&self) -> Result<(String, String), Failure> {
        let output = run(Command::new(&self.ssh).arg("-V"))?;
        Ok(versions_in(&String::from_utf8_lossy(&output.stderr)))
    }

    /// The same of the server.
    ///
    /// # Errors
    /// When the server does not run.
    pub fn server_versions(&self) -> Result<(String, String), Failure> {
        // Before release 9.2, sshd had no option -V; it printed its version with the refusal.
        let output = run(Command::new(&self.sshd).arg("-V"))?;
        Ok(versions_in(&String::from_utf8_lossy(&output.stderr)))
    }

    /// What the client has and the server accepts. Of one build, the client answers for both.
    ///
    /// # Errors
    /// When one of them does not run.
    pub(super) fn algorithms(&self, host_key: &Path) -> Result<Algorithms, Failure> {
        let of_client = Algorithms {
            ciphers: self.known("cipher")?,
            macs: self.known("mac")?,
            exchanges: self.known("kex")?,
        };
        if !self.has_other_builds {
            return Ok(of_client);
        }
        Ok(Algorithms {
            ciphers: self.accepted("Ciphers", &of_client.ciphers, host_key)?,
            macs: self.accepted("MACs", &of_client.macs, host_key)?,
            exchanges: self.accepted("KexAlgorithms", &of_client.exchanges, host_key)?,
        })
    }

    /// The ciphers that the client offers unless it is told otherwise, joined by `,`: those that OpenSSH calls obsolete are not
    /// among them.
    ///
    /// # Errors
    /// When the client does not run.
    pub fn default_ciphers(&self) -> Result<String, Failure> {
        let output = run(Command::new(&self.ssh).args(["-G", "-F", "none", "localhost"]))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let ciphers = text.lines().find_map(|line| line.strip_prefix("ciphers "));
        Ok(ciphers.unwrap_or_default().to_owned())
    }

    /// What the client knows of a kind (`cipher`, `mac`, `kex`), joined by `,`.
    fn known(&self, kind: &str) -> Result<String, Failure> {
        let output = run(Command::new(&self.ssh).args(["-Q", kind]))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.split_whitespace().collect::<Vec<_>>().join(","))
    }

    /// Which of these names the server takes in its configuration. sshd has no option that lists them, so it checks a
    /// configuration with each. If it accepts none, something else is wrong: then all stay, and its start reports that.
    fn accepted(&self, directive: &str, names: &str, host_key: &Path) -> Result<String, Failure> {
        let mut accepted = Vec::new();
        for name in names.split(',') {
            let mut command = Command::new(&self.sshd);
            command.args(["-t", "-f", "/dev/null", "-h"]).arg(host_key);
            command.arg("-o").arg(format!("{directive}={name}"));
            if run(&mut command)?.status.success() {
                accepted.push(name);
            }
        }
        if accepted.is_empty() {
            return Ok(names.to_owned());
        }
        Ok(accepted.join(","))
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

/// The program that a parameter names.
fn of_other_build(parameter: &str, path: &str) -> Result<PathBuf, StartError> {
    let file = PathBuf::from(path);
    let may_run = fs::metadata(&file)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if file.is_absolute() && may_run {
        return Ok(file);
    }
    Err(StartError::unsupported(
        format!("`{parameter}={path}` is not the absolute path of a program"),
        format!("set `{parameter}` to one, such as /opt/openssh/bin/ssh, or leave it out"),
    ))
}

/// The versions in what OpenSSH prints about itself, for example `OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19 27 Jan 2026`.
fn versions_in(text: &str) -> (String, String) {
    let line = text.lines().find(|line| line.starts_with("OpenSSH_")).unwrap_or("unknown");
    let (ssh, library) = line.trim().split_once(", ").unwrap_or((line, "unknown"));
    (ssh.to_owned(), library.to_owned())
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
    use super::{find_in, of_other_build, versions_in};
    use plumb_protocol::StartError;

    #[test]
    fn a_path_that_is_no_program_is_refused() {
        for path in ["ssh", "/etc/passwd", "/nowhere/ssh", "/etc"] {
            let Err(StartError::Unsupported { why, fix }) = of_other_build("client", path) else {
                panic!("{path} was taken");
            };
            assert!(why.contains(&format!("`client={path}`")), "{why}");
            assert!(fix.contains("leave it out"), "{fix}");
        }
    }

    #[test]
    fn versions_stand_in_an_answer_or_in_a_refusal() {
        let (openssh, library) =
            versions_in("OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19 27 Jan 2026\n");
        assert_eq!(openssh, "OpenSSH_9.2p1 Debian-2");
        assert_eq!(library, "OpenSSL 3.0.19 27 Jan 2026");
        let refusal =
            "unknown option -- V\nOpenSSH_7.5p1, OpenSSL 1.0.2k  26 Jan 2017\nusage: sshd";
        assert_eq!(versions_in(refusal).1, "OpenSSL 1.0.2k  26 Jan 2017");
        assert_eq!(versions_in("").0, "unknown");
    }

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
