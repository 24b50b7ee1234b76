//! Servers that `plumb peer` starts for runs elsewhere.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::processes::{describe, family, signal, wait_for};
use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{GONE_WITHIN, PATIENCE, measured_at, parsed, place};

/// A run for a while, as its words go on.
const RUN: &str =
    "run --no-lock --quiet --json --prepare none --monitor none --invocation-time 60ms --to";

/// A running peer, and a place from where it is reached with the same key.
struct RunningPeer {
    child: Child,
    far: TestEnvironment,
    near: TestEnvironment,
    at: String,
}

impl RunningPeer {
    fn start() -> Self {
        let far = place();
        let binary = far.binary().to_owned();
        Self::of(&binary, far)
    }

    /// Of this binary.
    fn of(binary: &Path, far: TestEnvironment) -> Self {
        let near = place();
        let key = far.run("peer --new-key --key peer.key").unwrap().exits(0).stdout;
        fs::copy(far.cwd().join(key.trim()), near.cwd().join("peer.key")).unwrap();
        let mut child = far
            .program(binary)
            .args(["peer", "--listen", "0", "--key", "peer.key", "--json", "--quiet"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut document = String::new();
        while !document.ends_with("}\n") {
            assert!(stdout.read_line(&mut document).unwrap() > 0, "{document}");
        }
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["schema"], "plumb.peer/1");
        let at = format!("peer:{}", document["listen"].as_str().unwrap());
        Self { child, far, near, at }
    }

    /// plumb, which finds the key.
    fn plumb(&self, arguments: &str) -> Command {
        let mut command = self.near.marked(arguments);
        command.env("PLUMB_PEER_KEY", "peer.key");
        command
    }

    fn run(&self, arguments: &str) -> ProgramOutput {
        ran(&mut self.plumb(&format!("{RUN} {} {arguments}", self.at))).unwrap()
    }

    /// What runs at the peer, next to it.
    fn servers(&self) -> Vec<u32> {
        let all = family(self.child.id()).into_iter().map(|(pid, _)| pid);
        all.filter(|pid| *pid != self.child.id()).collect()
    }

    #[track_caller]
    fn is_clean(&self) {
        let left = || {
            let servers = self.servers().into_iter().map(describe);
            servers.chain(self.near.leftovers()).collect::<Vec<String>>()
        };
        assert!(
            wait_for(GONE_WITHIN, || left().is_empty().then_some(())).is_some(),
            "{:?}",
            left()
        );
    }
}

impl Drop for RunningPeer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn servers_run_at_a_peer_and_leave_nothing() {
    let peer = RunningPeer::start();
    let points = "network.tcp network.udp:rate=2k/s network.rr network.http ssh.cipher cpu.sieve";
    let document = parsed(&peer.run(&format!("{points} --max-invocations 2")).exits(0));
    measured_at(&document, &peer.at);
    let facts = &document["targets"][0]["environment"]["facts"];
    assert_eq!(facts["far.kernel"], facts["kernel"], "{facts}");
    peer.is_clean();
}

#[test]
fn a_kill_of_a_run_or_a_server_leaves_nothing_and_without_the_peer_the_run_fails() {
    let mut peer = RunningPeer::start();
    for victim in ["plumb", "server", "peer"] {
        let words = format!("{RUN} {} network.tcp --min-invocations 4 --min-time 4s", peer.at);
        let plumb = peer.plumb(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let plumb = plumb.unwrap();
        let server = wait_for(PATIENCE, || {
            let of_tcp = |pid: &u32| describe(*pid).contains("worker network.tcp");
            peer.servers().into_iter().find(of_tcp)
        });
        let pid = match victim {
            "plumb" => plumb.id(),
            "server" => server.unwrap(),
            _ => peer.child.id(),
        };
        signal("KILL", pid).unwrap();
        if victim == "peer" {
            peer.child.wait().unwrap();
        }
        let ended = ProgramOutput::from(plumb.wait_with_output().unwrap());
        let wanted = [("plumb", None), ("server", Some(0)), ("peer", Some(4))];
        let wanted =
            wanted.iter().find(|(listed, _)| *listed == victim).and_then(|(_, code)| *code);
        assert_eq!(ended.code, wanted, "{victim}: {}\n{}", ended.stdout, ended.stderr);
        if victim == "server" {
            let failed = parsed(&ended)["failed"].as_array().map(Vec::len);
            assert_eq!(failed, Some(1), "{}", ended.stdout);
        }
        peer.is_clean();
        if victim == "peer" {
            // What it could not remove, the next one does.
            let next = "peer --listen 0 --key peer.key --idle 1ms --quiet";
            peer.far.run(next).unwrap().exits(0);
        }
        let nothing = || (fs::read_dir(peer.far.tmp()).unwrap().count() == 0).then_some(());
        assert!(wait_for(PATIENCE, nothing).is_some(), "{victim}");
    }
}

#[test]
fn a_peer_that_can_not_be_used_says_why() {
    let peer = RunningPeer::start();
    let point = "network.rr --max-invocations 2";
    fs::rename(peer.near.cwd().join("peer.key"), peer.near.cwd().join("own.key")).unwrap();
    peer.run(point).exits(3).says(&["the key peer.key can't be read", "hint:", "PLUMB_PEER_KEY"]);
    peer.near.run("peer --new-key --key peer.key").unwrap().exits(0);
    peer.run(point)
        .exits(3)
        .says(&["can't reach the other machine: the peer at 127.0.0.1:", "uses a different key"]);
    fs::rename(peer.near.cwd().join("own.key"), peer.near.cwd().join("peer.key")).unwrap();
    for (to, why) in [
        ("peer:no.such.host.invalid", "can't connect to no.such.host.invalid:7587:"),
        ("peer:127.0.0.1:1", "Connection refused"),
    ] {
        let run = ran(&mut peer.plumb(&format!("{RUN} {to} {point}"))).unwrap();
        run.exits(3).says(&[
            "can't reach the other machine",
            why,
            "start `plumb peer --listen 0.0.0.0`",
        ]);
    }
    peer.is_clean();
    // Another build is one whose binary differs in a byte.
    let far = place();
    let other = far.cwd().join("other");
    fs::copy(far.binary(), &other).unwrap();
    fs::OpenOptions::new().append(true).open(&other).unwrap().write_all(b"\n").unwrap();
    let other = RunningPeer::of(&other, far);
    other.run(point).exits(3).says(&["the peer is a different build, plumb 0.1.0 (", "; this is"]);
    other.is_clean();
}

#[test]
fn a_peer_without_a_key_that_is_secret_does_not_start() {
    let place = place();
    place.run("peer").unwrap().exits(2).says(&["peer.key can't be read", "--new-key writes one"]);
    place.run("peer --new-key --key own").unwrap().exits(0);
    Command::new("chmod").arg("644").arg(place.cwd().join("own")).status().unwrap();
    place
        .run("peer --key own")
        .unwrap()
        .exits(2)
        .says(&["other users can read the key", "chmod 600"]);
    place.write("short", "abc").unwrap();
    Command::new("chmod").arg("600").arg(place.cwd().join("short")).status().unwrap();
    place.run("peer --key short").unwrap().exits(2).says(&["short does not contain a key"]);
    place.run("peer --key own --idle x").unwrap().exits(2);
}
