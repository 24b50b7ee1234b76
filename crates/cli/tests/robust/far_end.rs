//! Servers on another machine (`--to`), which is this one by way of a real sshd.

use std::process::Stdio;

use crate::common::ProgramOutput;
use crate::common::processes::{describe, family, signal, wait_for};
use crate::sshd::FarSshd;
use crate::{PATIENCE, measured_at, parsed, results};

/// A run of one point for a while, as its words go on.
const RUN: &str = "run --no-lock --quiet --json --prepare none --monitor none --invocation-time 60ms --to ssh:far";

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
