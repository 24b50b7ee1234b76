//! A real sshd on loopback that lets this user in: another machine, as far as ssh can see.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::common::processes::{describe, family, signal, wait_for};
use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{GONE_WITHIN, PATIENCE, place};

/// A running sshd that lets this user in, and how to get there.
pub struct FarSshd {
    pub child: Child,
    pub place: TestEnvironment,
}

impl FarSshd {
    /// With nothing special.
    pub fn start() -> Self {
        Self::with("")
    }

    /// With these lines in its configuration, too.
    pub fn with(more: &str) -> Self {
        let place = place();
        let root = place.root().display().to_string();
        fs::create_dir(place.root().join("far")).unwrap();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &format!("{root}/{key}")])
                .stdin(Stdio::null())
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(format!("{root}/user.pub"), format!("{root}/authorized")).unwrap();
        let host_key = fs::read_to_string(format!("{root}/host.pub")).unwrap();
        fs::write(format!("{root}/known"), format!("far {host_key}")).unwrap();
        let port = free_port();
        let server = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {root}/host\nPidFile none\nUsePAM no\n\
             AuthorizedKeysFile {root}/authorized\nStrictModes no\nPasswordAuthentication no\n\
             PermitRootLogin prohibit-password\nSetEnv TMPDIR={root}/far PLUMB_JOURNALS={root}/journals\n{more}\n"
        );
        fs::write(format!("{root}/sshd_config"), server).unwrap();
        let client = |name: &str, port: u16, key: &str| {
            format!(
                "Host {name}\n HostName 127.0.0.1\n HostKeyAlias far\n Port {port}\n \
                 IdentityFile {root}/{key}\n IdentitiesOnly yes\n UserKnownHostsFile {root}/known\n"
            )
        };
        let hosts = [
            client("far", port, "user"),
            client("other", port, "user"),
            client("closed", free_port(), "user"),
            client("refused", port, "host"),
        ];
        // plumb copies itself to the other machine for each run: without AES instructions, that is half of a test's CPU time.
        let all = "Host *\n Ciphers aes128-gcm@openssh.com\n";
        fs::write(format!("{root}/ssh_config"), hosts.concat() + all).unwrap();
        let child = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f", &format!("{root}/sshd_config")])
            .stdin(Stdio::null())
            .stderr(fs::File::create(format!("{root}/sshd.log")).unwrap())
            .spawn()
            .unwrap();
        let listens = || TcpStream::connect(("127.0.0.1", port)).ok();
        let sshd = Self { child, place };
        assert!(wait_for(PATIENCE, listens).is_some(), "sshd does not listen");
        sshd
    }

    /// plumb, which finds its way there.
    pub fn plumb(&self, arguments: &str) -> Command {
        let mut command = self.place.marked(arguments);
        let config = self.place.root().join("ssh_config");
        command.env("PLUMB_SSH", format!("ssh -F {}", config.display()));
        command
    }

    /// What plumb prints and how it ends.
    pub fn run(&self, arguments: &str) -> ProgramOutput {
        ran(&mut self.plumb(arguments)).unwrap()
    }

    /// What is left of runs, at both ends.
    pub fn leftovers(&self) -> Vec<String> {
        let far = fs::read_dir(self.place.root().join("far")).unwrap().flatten();
        let far = far.map(|entry| format!("file {}", entry.path().display()));
        let own = |what: &String| !what.contains("/usr/sbin/sshd");
        self.place.leftovers().into_iter().filter(own).chain(far).collect()
    }

    /// Nothing of a run is left at either end.
    #[track_caller]
    pub fn is_clean(&self) {
        let left = wait_for(GONE_WITHIN, || self.leftovers().is_empty().then_some(()));
        assert!(left.is_some(), "{:?}", self.leftovers());
    }

    /// A process of a run at the far end whose command line has these words.
    pub fn at_far_end(&self, words: &str) -> Option<u32> {
        let all = family(self.child.id()).into_iter().map(|(pid, _)| pid);
        all.into_iter().find(|pid| describe(*pid).contains(words))
    }
}

impl Drop for FarSshd {
    fn drop(&mut self) {
        for (pid, _) in family(self.child.id()) {
            let _ = signal("KILL", pid);
        }
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
