//! Commands on other machines (`--on`), which are this one by way of a real sshd.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::ProgramOutput;
use crate::common::processes::{describe, family, signal, wait_for};
use crate::secrets::{SECRET, file_with_secret};
use crate::sshd::FarSshd;
use crate::{PATIENCE, parsed, place, results};

/// A short run of one point.
const RUN: &str = "run cpu.sieve --no-lock --prepare none --monitor none --max-invocations 2 --invocation-time 20ms";
/// Nothing runs on a machine after this time, however the run ended.
const NOTHING_RUNS_WITHIN: Duration = Duration::from_secs(15);

/// What became of the machines, in order.
fn outcomes(document: &Value) -> Vec<(&str, &str)> {
    let machines = document["machines"].as_array().unwrap();
    machines
        .iter()
        .map(|machine| (machine["name"].as_str().unwrap(), machine["outcome"].as_str().unwrap()))
        .collect()
}

#[test]
fn one_run_per_machine_is_stored_here_and_nothing_is_left_there() {
    let sshd = FarSshd::start();
    let ran = sshd.run(&format!("{RUN} --on far,closed,other,refused,local --json")).exits(4);
    let document = parsed(&ran);
    assert_eq!(document["schema"], "plumb.fleet/1");
    assert_eq!(
        outcomes(&document),
        [
            ("far", "complete"),
            ("closed", "unreachable"),
            ("other", "complete"),
            ("refused", "unreachable"),
            ("local", "complete")
        ]
    );
    let machines = document["machines"].as_array().unwrap();
    for (index, why) in [(1, "Connection refused"), (3, "Permission denied")] {
        assert!(machines[index]["why"].as_str().unwrap().contains(why), "{}", machines[index]);
        assert!(machines[index]["hints"][0].as_str().unwrap().contains("BatchMode"));
    }
    for index in [0, 2] {
        let run = &machines[index]["run"];
        assert_eq!(run["targets"][0]["host"], machines[index]["name"], "{run}");
        assert!(run["results"][0]["estimate"].as_f64() > Some(0.0), "{run}");
        assert_eq!(run["run"]["status"], "complete");
        let typed = run["run"]["command"].as_array().unwrap();
        assert!(typed.iter().any(|word| word == "far,closed,other,refused,local"), "{typed:?}");
    }
    // The id that is shown of a run is not that of another, though all were made at the same moment.
    for index in [0, 2, 4] {
        let id = machines[index]["run"]["run"]["id"].as_str().unwrap().replace('-', "");
        let shown = sshd.run(&format!("show {} --json", &id[..12])).exits(0);
        assert_eq!(parsed(&shown)["run"]["id"], machines[index]["run"]["run"]["id"]);
    }
    // The runs are ordinary ones, and have a label in common.
    let fleet = machines[0]["run"]["run"]["labels"]["fleet"].as_str().unwrap().to_owned();
    assert!(document["fleet"].as_str().unwrap().replace('-', "").starts_with(&fleet));
    let compared = sshd.run(&format!("compare --by host fleet={fleet} --json --force"));
    assert_eq!(parsed(&compared)["runs"].as_array().unwrap().len(), 3, "{}", compared.stdout);
    sshd.is_clean();

    let text = sshd.run(&format!("{RUN} --on far,closed"));
    // Two invocations give no interval, and the reason stands next to the figure.
    let text = text.exits(4).shows(&["too few processes"]);
    text.shows(&["1 of 2 machines measured", "cpu.sieve", "far", "closed: cannot be reached"]);
    let nowhere = sshd.run(&format!("{RUN} --on closed --quiet")).exits(3);
    nowhere.shows(&["0 of 1 machine measured", "Connection refused", "hint:"]);
}

#[test]
fn suites_of_this_machine_are_measured_there_and_refusals_come_back() {
    let sshd = FarSshd::start();
    let suite = "name = \"mine\"\n[[point]]\nworkload = \"cpu.sieve\"\n";
    sshd.place.write("mine.toml", suite).unwrap();
    sshd.place
        .write("hosts", "[web]\nfirst ansible_host=far\nsecond ansible_host=other\n")
        .unwrap();
    let run = RUN.replace("cpu.sieve", "mine.toml");
    let ran = sshd.run(&format!("{run} --inventory hosts:web --at-once 1 --json")).exits(0);
    let document = parsed(&ran);
    assert_eq!(outcomes(&document), [("first", "complete"), ("second", "complete")]);
    assert_eq!(document["machines"][1]["run"]["run"]["suite"], "mine");
    let unknown = sshd.run(&format!("{} --on far,local", RUN.replace("sieve", "sieves")));
    unknown.exits(2).shows(&["far: ", "cpu.sieves", "hint:", "local: "]);
    for (words, why) in [
        ("--on far --host x", "--host cannot be used with --on or --inventory"),
        ("--on far --label fleet=x", "--label fleet=… cannot be used with --on or --inventory"),
        ("--on far,far", "far is named twice"),
        ("--on=-x", "`-x` is not a machine"),
        ("--inventory nowhere", "inventory nowhere: No such file"),
        ("--inventory hosts:db", "no group db; groups: web"),
        ("--at-once 2", "--at-once needs --on"),
    ] {
        sshd.run(&format!("{RUN} {words}")).exits(2).says(&[why]);
    }
    sshd.is_clean();
}

#[test]
fn secrets_reach_the_command_there_and_no_file_here() {
    let sshd = FarSshd::start();
    let mut plumb = sshd.plumb("exec -n 2 --no-lock --on far,local --json");
    let command = format!("true --password={SECRET}");
    let ran = ProgramOutput::from(plumb.arg(&command).output().unwrap()).exits(0);
    let document = parsed(&ran);
    let name =
        |machine: usize| document["machines"][machine]["run"]["results"][0]["series"].clone();
    // One salt, so one placeholder: both runs are of one series.
    assert!(name(0).as_str().unwrap().contains("***"), "{}", name(0));
    assert_eq!(name(0), name(1));
    assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET));
    assert_eq!(file_with_secret(sshd.place.root()), None);
    sshd.is_clean();
}

#[test]
fn a_kill_of_any_process_leaves_nothing_there_and_a_lost_run_is_completed() {
    let sshd = FarSshd::start();
    let run = RUN.replace("--max-invocations 2", "--min-time 1s --json --on far");
    for victim in ["plumb", "ssh", "agent", "keeper", "shell"] {
        let mut plumb = sshd.plumb(&run);
        let plumb = plumb.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let far = |words: &str| wait_for(PATIENCE, || sshd.at_far_end(words)).unwrap();
        far("worker cpu.sieve");
        let pid = match victim {
            "plumb" => plumb.id(),
            "ssh" => {
                let all = family(plumb.id()).into_iter().map(|(pid, _)| pid);
                all.into_iter().find(|pid| describe(*pid).contains("BatchMode")).unwrap()
            }
            "agent" => far("/plumb agent"),
            "keeper" => far(" keeper"),
            _ => far("sh -c"),
        };
        signal("KILL", pid).unwrap();
        let ended = ProgramOutput::from(plumb.wait_with_output().unwrap());
        if victim != "plumb" {
            let document = parsed(&ended);
            // Without its keeper, plumb cannot go on, as on one machine.
            let wanted =
                if victim == "keeper" { ("failed", Some(4)) } else { ("complete", Some(0)) };
            assert_eq!(outcomes(&document), [("far", wanted.0)], "{victim}: {document}");
            assert_eq!(ended.code, wanted.1, "{victim}: {}", ended.stderr);
            let measured = results(&document["machines"][0]["run"], "rate");
            assert!(victim == "keeper" || measured.len() == 1, "{victim}: {document}");
            if ["ssh", "agent"].contains(&victim) {
                assert!(ended.stderr.contains("reconnecting in 2 s"), "{}", ended.stderr);
                for (options, why) in [
        ("--on far", "--together needs two or more machines"),
        ("--on far,other --at-once 1", "--together needs all 2 machines at once"),
        ("", "--together needs --on or --inventory"),
    ] {
        sshd.run(&format!("run cpu.sieve --together {options}")).exits(2).says(&[why]);
    }
    sshd.is_clean();
}

#[test]
fn a_machine_that_is_lost_does_not_hold_up_those_that_measure_together() {
    let sshd = FarSshd::start();
    let together = "run cpu.sieve --no-lock --prepare none --monitor none --together --json \
        --max-invocations 12 --invocation-time 100ms --on far,local";
    let mut plumb = sshd.plumb(together);
    let running = plumb.stdout(Stdio::piped()).spawn().unwrap();
    let agent = wait_for(PATIENCE, || sshd.at_far_end("agent --folder"));
    let worker = wait_for(PATIENCE, || sshd.at_far_end("cpu.sieve"));
    signal("KILL", agent.unwrap()).unwrap();
    assert!(worker.is_some());
    let ended = ProgramOutput::from(running.wait_with_output().unwrap());
    let document = parsed(&ended);
    // It came back and was completed, or it did not: the other one measured all of its rounds.
    assert_eq!(document["machines"][1]["outcome"], "complete", "{document:#}");
    let local = &document["machines"][1]["run"]["results"][0];
    assert_eq!(local["invocations"], 12, "{local:#}");
    sshd.is_clean();
}

#[test]
fn every_machine_is_checked_against_its_own_runs_of_the_baseline() {
    let sshd = FarSshd::start();
    let work = |seconds: &str| {
        let script = sshd.place.write("work", &format!("#!/bin/sh\nexec sleep {seconds}\n"));
        fs::set_permissions(script.unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    };
    work("0.02");
    let path = sshd.place.cwd().join("work");
    let suite = format!(
        "name = \"mine\"\n[[point]]\nworkload = \"process.command\"\nset = {{ command = '[\"{}\"]' }}\n",
        path.display()
    );
    sshd.place.write("mine.toml", &suite).unwrap();
    sshd.place.write("broken.toml", "name = \"mine\"\n[[point]]\n").unwrap();
    let broken = sshd.run("run broken.toml --on far").exits(2);
    broken.says(&["suite broken.toml: ", "missing field"]);
    let set = "baseline set good --of mine.toml --no-lock --prepare none --monitor none --max-invocations 3";
    let ran = sshd.run(&format!("{set} --runs 6 --on far,other,closed")).exits(4);
    ran.says(&[
        "closed: cannot be reached",
        "skipping closed in the remaining runs (0 runs in the baseline)",
        "has 12 runs",
    ]);
    sshd.run(&format!("{set} --runs 0 --on far")).exits(2).says(&["--runs must be at least 1"]);
    let alone = sshd.run(&format!("{set} --runs 6 --on closed")).exits(3);
    alone.says(&["no machine could be measured; the baseline is unchanged"]);
    // Both are checked by one command, and one alone is slower.
    let check =
        "check --no-lock --apart 0s --on far,other,closed --json --junit c.xml --markdown c.md";
    let same = parsed(&sshd.run(check).exits(4));
    assert_eq!(same["schema"], "plumb.checks/1");
    let machines = same["machines"].as_array().unwrap();
    for machine in &machines[..2] {
        assert_eq!(machine["check"]["baseline_runs"], 6, "{machine}");
        assert_ne!(machine["check"]["outcome"], "regression", "{machine}");
    }
    assert!(machines[2]["why"].as_str().unwrap().contains("has no runs from this machine"));
    let junit = fs::read_to_string(sshd.place.cwd().join("c.xml")).unwrap();
    assert!(junit.contains("hostname=\"far\"") && junit.contains("check of closed"), "{junit}");
    let markdown = fs::read_to_string(sshd.place.cwd().join("c.md")).unwrap();
    assert!(markdown.contains("\n## other\n\n### plumb: "), "{markdown}");
    assert!(markdown.contains("\n## closed\n\nnot checked: "), "{markdown}");
    // So much slower that it shows although other tests disturb the baseline.
    work("0.15");
    // By kind, the runs of both machines count.
    let slower = sshd.run("check --no-lock --apart 0s --by kind --on far,closed").exits(4);
    slower.shows(&["1 of 2 machines checked", "12 runs", "3 fresh runs", "slower", "closed"]);
    sshd.run("check --on far --prove")
        .exits(2)
        .says(&["--prove cannot be used with --on or --inventory"]);
    sshd.is_clean();
}
