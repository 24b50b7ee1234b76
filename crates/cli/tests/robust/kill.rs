//! `kill -9`, of each of our processes, at random moments.

use std::process::Stdio;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::common::ProgramOutput;
use crate::common::kill::{CLEAN_WITHIN, KillTime, kill_once};
use crate::common::knobs::kill_both as kill_both_now;
use crate::common::processes::{children, describe, family, lives, signal, wait_for};
use crate::{PATIENCE, WAIT, parsed, place, results};

/// Kills in the ordinary tests; `cargo xtask soak --kills 100` makes many more.
const KILLS: u64 = 8;

#[test]
fn kill_9_of_plumb_at_any_moment_loses_nothing_and_leaves_nothing() {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() * KILLS;
    // Most of the time is waiting: half of them at once.
    let half = |from: u64| {
        let numbers = (from..from + KILLS / 2).map(KillTime::of);
        let kill = |moment: KillTime| {
            kill_once(&place(), moment).unwrap_or_else(|why| panic!("{moment:?}: {why}"))
        };
        numbers.filter_map(kill).collect::<Vec<_>>()
    };
    let killed: Vec<_> = thread::scope(|scope| {
        let second = scope.spawn(|| half(seed + KILLS / 2));
        let first = half(seed);
        first.into_iter().chain(second.join().unwrap()).collect()
    });
    assert!(killed.len() > 4, "most runs had ended: {killed:?}");
    assert!(killed.iter().filter(|killed| killed.seen > 0).count() > 3, "{killed:?}");
    let soon = killed.iter().filter(|killed| killed.cleaned_after < CLEAN_WITHIN);
    assert!(2 * soon.count() > killed.len(), "{killed:?}");
    assert!(killed.iter().all(|killed| killed.processes > 0), "{killed:?}");
    let whole = killed.iter().filter(|killed| killed.resumed);
    assert!(whole.clone().all(|killed| killed.stored > killed.seen), "{killed:?}");
    assert!(whole.count() > 4, "{killed:?}");
}

#[test]
fn kill_9_of_the_keeper_ends_the_run_and_leaves_nothing() {
    let place = place();
    place.write("wait.sh", WAIT).unwrap();
    // A command that would survive whoever started it.
    let command = "sh -c 'setsid sleep 300 & exec sh wait.sh'";
    let mut plumb = place.marked("exec -n 2 --no-lock");
    plumb.arg(command).stdout(Stdio::piped()).stderr(Stdio::piped());
    let plumb = plumb.spawn().unwrap();
    wait_for(PATIENCE, || place.cwd().join("started").exists().then_some(())).unwrap();
    let keeper = children(plumb.id(), "keeper");
    assert_eq!(keeper.len(), 1, "{keeper:?}");
    signal("KILL", keeper[0]).unwrap();
    let ran = ProgramOutput::from(plumb.wait_with_output().unwrap()).exits(70);
    ran.says(&["keeper process has ended", "plumb show last", "plumb run --resume"]);
    let clean = wait_for(PATIENCE, || place.leftovers().is_empty().then_some(()));
    assert!(clean.is_some(), "{:?}", place.leftovers());
    place.run("show").unwrap().exits(0).shows(&["interrupted"]);
    place.write("go", "").unwrap();
    place.run("run --resume --no-lock -q").unwrap().exits(0).shows(&["complete"]);
}

/// Kills plumb and its keeper in the same instant, once this run has the process `words` below a
/// worker; gives what lives of the run in the end.
fn kill_both(run: &str, argument: Option<&str>, words: &str) -> Vec<String> {
    let place = place();
    let mut plumb = place.marked(run);
    plumb.args(argument).stdout(Stdio::null()).stderr(Stdio::null());
    let mut plumb = plumb.spawn().unwrap();
    let keeper = wait_for(PATIENCE, || children(plumb.id(), "keeper").first().copied()).unwrap();
    let has = || family(keeper).iter().any(|(pid, _)| describe(*pid).contains(words));
    // One that holds a fixture may be there before.
    let all = || Some(family(plumb.id())).filter(|all| has() && all.len() > 3);
    let family = wait_for(PATIENCE, all).unwrap();
    kill_both_now(&mut plumb, keeper).unwrap();
    let left = || {
        let living = family.iter().filter(|process| lives(**process));
        let living = living.map(|(pid, _)| format!("process {}", describe(*pid)));
        // The folders are the keeper's to remove, and plumb's.
        let marked = place.leftovers().into_iter().filter(|what| what.starts_with("process"));
        living.chain(marked).collect::<Vec<_>>()
    };
    wait_for(PATIENCE, || left().is_empty().then_some(()));
    left()
}

#[test]
fn kill_9_of_plumb_and_keeper_at_once_leaves_no_command() {
    // One in the worker's process group, one in its own session, one that nobody waits for.
    let command = "sh -c 'setsid sleep 301 & (sleep 302 &) ; sleep 303; true'";
    let left = kill_both("exec -n 2 --no-lock", Some(command), "sleep 303");
    assert_eq!(left, [""; 0]);
    // While it is traced.
    let left = kill_both("exec -n 2 --no-lock --libraries", Some(command), "sleep 303");
    assert_eq!(left, [""; 0]);
}

#[test]
fn kill_9_of_plumb_and_keeper_at_once_leaves_no_server() {
    let left = kill_both("run ssh.cipher --no-lock --quiet", None, "ssh-sink");
    assert_eq!(left, [""; 0]);
    let redis = "run datastore.batch:engine=redis,durability=none --no-lock --quiet";
    let left = kill_both(redis, None, "redis-server");
    assert_eq!(left, [""; 0]);
    let left = kill_both("run network.tcp --with cpu.sieve --no-lock --quiet", None, "network.tcp");
    assert_eq!(left, [""; 0]);
}

#[test]
fn kill_9_within_a_build_leaves_no_process_and_no_copy() {
    let place = place();
    let mut plumb = place.marked("run scheduler.compile -p jobs=2 --prepare none --no-lock -q");
    let mut plumb = plumb.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let builds = || family(plumb.id()).iter().any(|(pid, _)| describe(*pid).contains("cc1"));
    wait_for(PATIENCE, || builds().then_some(())).expect("a compiler at work");
    plumb.kill().unwrap();
    plumb.wait().unwrap();
    wait_for(PATIENCE, || place.leftovers().is_empty().then_some(()));
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn kill_9_of_a_worker_fails_its_invocation_and_the_run_goes_on() {
    let place = place();
    let mut plumb = place.marked("exec -n 3 --no-lock -q --json");
    plumb.args(["sleep 0.4", "true"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let plumb = plumb.spawn().unwrap();
    let keeper = || children(plumb.id(), "keeper").first().copied();
    let keeper = wait_for(PATIENCE, keeper).unwrap();
    // The worker of the command that sleeps.
    let worker = || {
        let mut workers = children(keeper, "worker process.command").into_iter();
        workers.find(|worker| !children(*worker, "sleep").is_empty())
    };
    signal("KILL", wait_for(PATIENCE, worker).unwrap()).unwrap();
    let ran = ProgramOutput::from(plumb.wait_with_output().unwrap()).exits(0);
    let document = parsed(&ran);
    let samples: Vec<_> = results(&document, "wall").iter().map(|r| &r["samples"]).collect();
    assert_eq!(samples, [3, 3]);
    let failed = document["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0]["why"].as_str().unwrap().contains("ended without answering"), "{failed:?}");
    assert_eq!(place.leftovers(), [""; 0]);
}
