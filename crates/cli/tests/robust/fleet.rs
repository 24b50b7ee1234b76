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
        .write("hosts", "[web]\nfirst ansible_host=far price='5 EUR'\nsecond ansible_host=other\n")
        .unwrap();
    let run = RUN.replace("cpu.sieve", "mine.toml");
    let ran = sshd.run(&format!("{run} --inventory hosts:web --at-once 1 --json")).exits(0);
    let document = parsed(&ran);
    assert_eq!(outcomes(&document), [("first", "complete"), ("second", "complete")]);
    assert_eq!(document["machines"][1]["run"]["run"]["suite"], "mine");
    // The price in the inventory is a label of the runs of that machine alone.
    let price = |machine: usize| &document["machines"][machine]["run"]["run"]["labels"]["price"];
    assert_eq!((price(0).as_str(), price(1).as_str()), (Some("5 EUR"), None));
    let dry = sshd.run(&format!("{run} --inventory hosts:web --dry-run")).exits(0);
    dry.shows(&["cpu.sieve", "1 point, each", "on 2 machines", "first (far), second (other)"]);
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
                let run = document["machines"][0]["run"]["run"]["id"].as_str().unwrap();
                let segments = format!(
                    "SELECT count(*) FROM segment JOIN run ON run.id = segment.run WHERE hex(uuid) = '{}'",
                    run.replace('-', "").to_uppercase()
                );
                let store = sshd.place.store();
                let counted = Command::new("sqlite3").arg(store).arg(segments).output().unwrap();
                assert_eq!(String::from_utf8(counted.stdout).unwrap().trim(), "2", "{victim}");
            }
        }
        let left = wait_for(NOTHING_RUNS_WITHIN, || sshd.leftovers().is_empty().then_some(()));
        assert!(left.is_some(), "{victim}: {:?}", sshd.leftovers());
    }
}

#[test]
fn an_interrupt_ends_the_runs_in_order() {
    let sshd = FarSshd::start();
    let long = "run cpu.sieve --no-lock --prepare none --monitor none --json --invocation-time 20ms --min-time 60s --on far,local";
    let plumb = sshd.plumb(long).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(PATIENCE, || sshd.at_far_end("worker cpu.sieve")).unwrap();
    signal("INT", plumb.id()).unwrap();
    let ended = ProgramOutput::from(plumb.wait_with_output().unwrap()).exits(130);
    let document = parsed(&ended);
    assert_eq!(outcomes(&document)[0], ("far", "interrupted"), "{document}");
    assert_eq!(document["machines"][0]["run"]["run"]["status"], "interrupted");
    sshd.is_clean();
}

#[test]
fn a_machine_that_cannot_run_plumb_is_unsupported() {
    // Its folders for temporary files do not allow programs to run.
    let noexec = FarSshd::with(
        "ForceCommand unshare -m sh -c 'for folder in \"$TMPDIR\" /var/tmp /dev/shm; do mount -t tmpfs -o noexec none \"$folder\"; done; HOME=$TMPDIR; eval \"$SSH_ORIGINAL_COMMAND\"'",
    );
    let document = parsed(&noexec.run(&format!("{RUN} --on far --json")).exits(3));
    assert_eq!(outcomes(&document), [("far", "unsupported")], "{document}");
    let why = document["machines"][0]["why"].as_str().unwrap();
    assert!(why.contains("no folder has room for plumb and allows programs to run"), "{why}");
    noexec.is_clean();

    let other =
        FarSshd::with("ForceCommand PATH=${TMPDIR%/far}/bin:$PATH; eval \"$SSH_ORIGINAL_COMMAND\"");
    let folder = other.place.root().join("bin");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("uname"), "#!/bin/sh\necho sparc64\n").unwrap();
    fs::set_permissions(folder.join("uname"), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = other.run(&format!("{RUN} --on far")).exits(3);
    ran.shows(&["far: unsupported: no binary for sparc64", "data/plumb/binaries/plumb-sparc64"]);
    other.is_clean();
}

#[test]
fn a_login_shell_that_prints_is_no_obstacle_and_this_machine_can_be_an_agent_too() {
    for shell in [
        "echo welcome; eval \"$SSH_ORIGINAL_COMMAND\"",
        "exec tcsh -c \"$SSH_ORIGINAL_COMMAND\"",
        "exec busybox sh -c \"$SSH_ORIGINAL_COMMAND\"",
    ] {
        let sshd = FarSshd::with(&format!("ForceCommand {shell}"));
        let document = parsed(&sshd.run(&format!("{RUN} --on far --json")).exits(0));
        assert_eq!(outcomes(&document), [("far", "complete")], "{shell}");
        sshd.is_clean();
    }
    let without = FarSshd::with("ForceCommand echo This account is not available.; exit 1");
    let ran = without.run(&format!("{RUN} --on far")).exits(3);
    ran.shows(&["unsupported: the login shell ended with code 1: This account is not available."]);
    let here = place();
    let document = parsed(&here.run(&format!("{RUN} --on local --json")).unwrap().exits(0));
    assert_eq!(outcomes(&document), [("local", "complete")]);
    assert_eq!(here.leftovers(), Vec::<String>::new());
}

#[test]
fn fleets_are_stored_and_shown_again() {
    let place = place();
    place.run("fleet list").unwrap().exits(2);
    let ran = place.run(&format!("{RUN} --on local --json")).unwrap().exits(0);
    let shown = place.run("fleet show --json").unwrap().exits(0);
    assert_eq!(parsed(&ran), parsed(&shown));
    let list = parsed(&place.run("fleet list --json").unwrap().exits(0));
    assert_eq!(list["fleets"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&list["fleets"][0]["machines"], &list["fleets"][0]["complete"]),
        (&1.into(), &1.into())
    );
    let id = list["fleets"][0]["fleet"].as_str().unwrap().to_owned();
    place
        .run(&format!("fleet show {}", &id[..13]))
        .unwrap()
        .exits(0)
        .shows(&["cpu.sieve", "local"]);
    place.run("fleet show ffff").unwrap().exits(2).says(&["no fleet begins with `ffff`"]);
    // A merged store has the fleets of both.
    let other = crate::place();
    other.run(&format!("{RUN} --on local --quiet")).unwrap().exits(0);
    other.run(&format!("import {}", place.store().display())).unwrap().exits(0);
    let merged = parsed(&other.run("fleet list --json").unwrap().exits(0));
    assert_eq!(merged["fleets"].as_array().unwrap().len(), 2);
    assert_eq!(merged["fleets"][0], list["fleets"][0]);
}

#[test]
fn many_machines_are_summarised_by_kind() {
    let sshd = FarSshd::start();
    let hosts: String = (1..=9).map(|number| format!("web{number} ansible_host=far\n")).collect();
    sshd.place.write("hosts", &hosts).unwrap();
    let ran = sshd.run(&format!("{RUN} --inventory hosts -q")).exits(0);
    sshd.run("run cpu.sieve --confirm").exits(2).says(&["--confirm needs --on or --inventory"]);
    ran.shows(&["9 of 9 machines measured", "(9 machines)", "spread", "fastest", "cpu.sieve"])
        .shows(&["plumb fleet show ", "every result of every machine"]);
    let full = sshd.run("fleet show --full").exits(0);
    full.shows(&["median", "web1 ", "web9 "]);
    let document = parsed(&sshd.run("fleet show --json").exits(0));
    let kind = &document["kinds"][0];
    assert_eq!(kind["machines"].as_array().unwrap().len(), 9);
    let series = &kind["series"][0];
    assert!(series["spread"].is_number() && series["slow"].is_array(), "{series}");
    let values: Vec<f64> =
        series["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    let of_run = &document["machines"][8]["run"]["results"][0]["estimate"];
    assert_eq!(of_run.as_f64(), Some(values[8]));
    // All machines of the kind are the population that others are compared with.
    let fleet = document["fleet"].as_str().unwrap()[..13].replace('-', "");
    let fingerprint = kind["fingerprint"].as_str().unwrap();
    let export = format!("reference export web fleet={fleet} --machine");
    let exported = sshd.run(&format!("{export} {fingerprint}")).exits(0);
    let population: toml::Table = toml::from_str(&exported.stdout).unwrap();
    assert_eq!(population["figure"][0]["hosts"].as_array().unwrap().len(), 9);
    sshd.run(&format!("{export} other")).exits(3).says(&["none of these runs", "kind other"]);
    sshd.is_clean();
}

#[test]
fn a_machine_that_is_slow_for_its_kind_is_confirmed_by_fresh_runs() {
    let sshd = FarSshd::with("AcceptEnv DELAY");
    // The same machine under another name, on which the command takes longer.
    let config = fs::read_to_string(sshd.place.root().join("ssh_config")).unwrap();
    let far = config.split("Host other").next().unwrap().replace("Host far", "Host slow");
    fs::write(sshd.place.root().join("ssh_config"), format!("{config}{far} SetEnv DELAY=0.3\n"))
        .unwrap();
    let hosts: String = (1..=10).map(|number| format!("web{number} ansible_host=far\n")).collect();
    sshd.place.write("hosts", &format!("{hosts}slow\n")).unwrap();
    let exec =
        "exec -n 3 --shell --no-lock --prepare none --monitor none --inventory hosts --at-once 4";
    let mut plumb = sshd.plumb(&format!("{exec} --confirm --json"));
    let ran = ProgramOutput::from(plumb.arg("sleep ${DELAY:-0.05}").output().unwrap()).exits(0);
    ran.says(&["confirming on ", ": run 3 of 3"]);
    let shown = sshd.run("fleet show").exits(0);
    shown.shows(&["slow is slow for its kind: ", "confirmed in fresh runs"]);
    let document = parsed(&sshd.run("fleet show --json").exits(0));
    // Next to other tests, another one may be slow for a while, too.
    let all = document["kinds"][0]["series"][0]["slow"].as_array().unwrap();
    let slow = all.iter().find(|machine| machine["machine"] == "slow").unwrap();
    assert_eq!(slow["confirmed"], true, "{slow}");
    assert!(slow["ratio"].as_f64() > Some(3.0), "{slow}");
    sshd.is_clean();
}

#[test]
fn summaries_of_many_machines_have_verdicts_and_reasons() {
    let sshd = FarSshd::start();
    let hosts: String = (1..=9).map(|number| format!("web{number} ansible_host=far\n")).collect();
    sshd.place.write("hosts", &hosts).unwrap();
    let ab = "ab --no-lock -q --on-interference keep --prepare none --monitor none --max-pairs 8";
    let mut plumb = sshd.plumb(&format!("{ab} --inventory hosts --fail-on slower"));
    let ran = ProgramOutput::from(plumb.args(["true", "sleep 0.05"]).output().unwrap()).exits(1);
    ran.shows(&["9 of 9 machines measured", "Compared with true", "web9", "slower"]);
    // Every second invocation fails, so that all machines measure and have a failure to report.
    let mut plumb =
        sshd.plumb("exec -n 2 --no-lock -q --prepare none --monitor none --inventory hosts");
    let ran = ProgramOutput::from(plumb.args(["true", "false"]).output().unwrap()).exits(4);
    ran.shows(&["web1, web2, web3 and 6 more: false failed in ", "exit status 1"]);
}

#[test]
fn sides_are_compared_on_every_machine() {
    let sshd = FarSshd::start();
    let ab = "ab --no-lock --on-interference keep --prepare none --monitor none --max-pairs 8";
    let sides = |options: &str| {
        let mut plumb = sshd.plumb(&format!("{ab} {options}"));
        ProgramOutput::from(plumb.args(["sleep 0.01", "sleep 0.05"]).output().unwrap())
    };
    // A slower side is a failure if the user says so, and a machine that is missing is the worse one.
    let document = parsed(&sides("--on far --json --fail-on slower").exits(1));
    assert_eq!(document["schema"], "plumb.fleet/1");
    let all = document["machines"][0]["run"]["results"].as_array().unwrap();
    let compared = all.iter().find_map(|result| result["against_first"].get(0)).unwrap();
    assert_eq!(compared["verdict"], "slower", "{compared}");
    let text = sides("--on far,closed --fail-on slower").exits(4);
    text.shows(&["Compared with sleep 0.01, margin 1 %", "sleep 0.05", "slower", "closed: "]);
    for (options, why) in [
        ("--on far --sessions 2", "--sessions cannot be used with --on or --inventory"),
        ("--on far --prove", "--prove cannot be used with --on or --inventory"),
    ] {
        sides(options).exits(2).says(&[why]);
    }
    sshd.is_clean();
}

#[test]
fn machines_that_measure_together_begin_together_and_have_a_sum() {
    let sshd = FarSshd::start();
    let together = "run crypto.aead --no-lock --prepare none --monitor none --together \
        --max-invocations 9 --invocation-time 400ms --on far,other,closed";
    sshd.run(together).exits(4).shows(&[
        "All machines together",
        "far ",
        "other ",
        "closed: cannot be reached",
        "crypto.aead: 9 rounds of 2 machines, starts within ",
        "(clocks known to ±",
    ]);
    let document = parsed(&sshd.run("fleet show --json").exits(0));
    let sums = document["together"].as_array().unwrap();
    assert_eq!(sums.len(), 1, "{sums:?}");
    let sum = &sums[0];
    assert_eq!((sum["rounds"].as_u64(), sum["left_out"].as_u64()), (Some(9), Some(0)), "{sum}");
    let machines = sum["machines"].as_array().unwrap();
    let names: Vec<&str> = machines.iter().filter_map(|part| part["name"].as_str()).collect();
    assert_eq!(names, ["far", "other"]);
    let rates: f64 = machines.iter().filter_map(|part| part["rate"].as_f64()).sum();
    let of_sum = rates / sum["sum"].as_f64().unwrap();
    // The median of sums is not the sum of medians.
    assert!((0.7..1.4).contains(&of_sum), "{sum}");
    // Next to other tests, nine rounds may be too few for an interval.
    if let Some(low) = sum["low"].as_f64() {
        assert!(low > 0.0 && Some(low) <= sum["high"].as_f64(), "{sum}");
    }
    // Both ends are this machine: the clocks are one, and the error is that of the exchange.
    let skew = sum["start_skew_s"].as_f64().unwrap();
    let error = sum["clock_error_s"].as_f64().unwrap();
    assert!(skew < 0.1 && error > 0.0 && error < 0.05, "{sum}");
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
    let quick = "check --quick --no-lock --on-interference keep --margin 20% --on far,closed";
    let healthy = sshd.run(quick).exits(4);
    healthy.shows(&["1 of 2 machines healthy; 1 not checked", "far Healthy after", "closed"]);
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
