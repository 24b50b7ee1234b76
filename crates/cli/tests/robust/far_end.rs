//! Servers on another machine (`--to`), which is this one by way of a real sshd.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::common::processes::{describe, family, signal, wait_for};
use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{GONE_WITHIN, PATIENCE, measured_at, parsed, place, results};

/// A run of one point for a while, as its words go on.
const RUN: &str = "run --no-lock --quiet --json --prepare none --monitor none --invocation-time 60ms --to ssh:far";

/// A running sshd that lets this user in, and how to get there.
struct FarSshd {
    child: Child,
    place: TestEnvironment,
}

impl FarSshd {
    fn start() -> Self {
        Self::with("")
    }

    /// With these lines in its configuration, too.
    fn with(more: &str) -> Self {
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
             PermitRootLogin prohibit-password\nSetEnv TMPDIR={root}/far\n{more}\n"
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
            client("closed", free_port(), "user"),
            client("refused", port, "host"),
        ];
        fs::write(format!("{root}/ssh_config"), hosts.concat()).unwrap();
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
    fn plumb(&self, arguments: &str) -> Command {
        let mut command = self.place.marked(arguments);
        let config = self.place.root().join("ssh_config");
        command.env("PLUMB_SSH", format!("ssh -F {}", config.display()));
        command
    }

    fn run(&self, arguments: &str) -> ProgramOutput {
        ran(&mut self.plumb(arguments)).unwrap()
    }

    /// What is left of runs, at both ends.
    fn leftovers(&self) -> Vec<String> {
        let far = fs::read_dir(self.place.root().join("far")).unwrap().flatten();
        let far = far.map(|entry| format!("file {}", entry.path().display()));
        let own = |what: &String| !what.contains("/usr/sbin/sshd");
        self.place.leftovers().into_iter().filter(own).chain(far).collect()
    }

    #[track_caller]
    fn is_clean(&self) {
        let left = wait_for(GONE_WITHIN, || self.leftovers().is_empty().then_some(()));
        assert!(left.is_some(), "{:?}", self.leftovers());
    }

    /// A process of a run at the far end whose command line has these words.
    fn at_far_end(&self, words: &str) -> Option<u32> {
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

#[test]
fn servers_run_on_another_machine_and_leave_nothing_there() {
    let sshd = FarSshd::start();
    let points = "network.tcp network.udp:rate=2k/s network.rr network.connect network.http ssh.cipher cpu.sieve";
    let document = parsed(&sshd.run(&format!("{RUN} {points} --max-invocations 2")).exits(0));
    measured_at(&document, "ssh:far");
    // Each server tells its CPU time.
    let all = "network.tcp network.udp network.rr network.connect network.http ssh.cipher";
    for of in all.split(' ') {
        let far = results(&document, "far_cpu").into_iter();
        let mut far = far.filter(|result| result["workload"] == of);
        assert!(
            far.next().is_some_and(|result| result["estimate"].as_f64() > Some(0.0)),
            "{of}: {document}"
        );
    }
    // A load next to uses the same far end.
    let run = format!("{RUN} network.rr --with network.tcp --max-invocations 2");
    let document = parsed(&sshd.run(&run).exits(0));
    let name = results(&document, "rate")[0]["name"].as_str().unwrap().to_owned();
    assert_eq!(name, "network.rr:to=ssh:far");
    let flags = results(&document, "rate")[0]["flags"].to_string();
    assert!(flags.contains("network.tcp:to=ssh:far"), "{flags}");
    let facts = &document["targets"][0]["environment"]["facts"];
    assert_eq!(facts["far.kernel"], facts["kernel"], "{facts}");
    sshd.is_clean();
}

#[test]
fn a_kill_at_either_end_leaves_nothing() {
    let sshd = FarSshd::start();
    for victim in ["plumb", "ssh", "far plumb"] {
        let mut plumb = sshd.plumb(&format!("{RUN} network.tcp --min-invocations 4 --min-time 4s"));
        let plumb = plumb.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let server = wait_for(PATIENCE, || sshd.at_far_end("plumb worker network.tcp")).unwrap();
        let master = || {
            let all = family(plumb.id()).into_iter().map(|(pid, _)| pid);
            all.into_iter().find(|pid| describe(*pid).contains(" -M "))
        };
        let pid = match victim {
            "plumb" => plumb.id(),
            "ssh" => master().unwrap(),
            _ => server,
        };
        signal("KILL", pid).unwrap();
        let ended = ProgramOutput::from(plumb.wait_with_output().unwrap());
        // One server that dies fails its invocation; without the way there all fail.
        let wanted = [("plumb", None), ("ssh", Some(4)), ("far plumb", Some(0))];
        let wanted =
            wanted.iter().find(|(listed, _)| *listed == victim).and_then(|(_, code)| *code);
        assert_eq!(ended.code, wanted, "{victim}: {}\n{}", ended.stdout, ended.stderr);
        if victim == "far plumb" {
            let failed = parsed(&ended)["failed"].as_array().map(Vec::len);
            assert_eq!(failed, Some(1), "{}", ended.stdout);
        }
        sshd.is_clean();
    }
}

#[test]
fn a_far_end_that_is_not_reached_says_why() {
    let sshd = FarSshd::start();
    for (to, why) in [
        ("ssh:no.such.host.invalid", "Could not resolve hostname"),
        ("ssh:closed", "Connection refused"),
        ("ssh:refused", "Permission denied"),
    ] {
        let run = RUN.replace("ssh:far", to);
        sshd.run(&format!("{run} network.tcp --max-invocations 2")).exits(3).says(&[
            "can't reach the other machine",
            why,
            "hint:",
        ]);
    }
    let talks = FarSshd::with("ForceCommand echo welcome; eval \"$SSH_ORIGINAL_COMMAND\"");
    let refused = talks.run(&format!("{RUN} network.tcp --max-invocations 2")).exits(3);
    refused.says(&["the login shell of the other machine writes to stdout: `welcome`"]);
    talks.is_clean();
    let flood = "run cpu.sieve --with network.icmp:host=192.0.2.1 --no-lock";
    sshd.run(flood).exits(2).says(&["more than 1000 packets per second", "--i-own-this-network"]);
    let run = RUN.replace("ssh:far", "ssh:-oProxyCommand=x");
    sshd.run(&format!("{run} network.tcp"))
        .exits(2)
        .says(&["ssh:[USER@]HOST[:PORT]", "peer:HOST[:PORT]"]);
    sshd.run(&format!("{RUN} cpu.sieve")).exits(2).says(&["none of the workloads has a server"]);
    let unsupported =
        sshd.run(&format!("{RUN} network.tcp:path=veth --max-invocations 2")).exits(3);
    unsupported.shows(&["paths exist only on this machine"]);
    sshd.is_clean();
}
