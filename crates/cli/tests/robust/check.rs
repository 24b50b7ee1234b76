//! `plumb baseline` and `plumb check`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{exec, parsed, place};

/// A program that takes so long.
fn work(place: &TestEnvironment, seconds: &str) {
    let script = place.write("work", &format!("#!/bin/sh\nexec sleep {seconds}\n")).unwrap();
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A place with eight runs of work that takes 30 ms, next to as long a sleep. They are measured once and copied.
fn measured_eight_times() -> TestEnvironment {
    static STORE: OnceLock<Vec<u8>> = OnceLock::new();
    let store = STORE.get_or_init(|| {
        let place = place();
        work(&place, "0.03");
        for _ in 0..8 {
            exec(&place, "-n 5 -q", &["./work", "sleep 0.03"]).exits(0);
        }
        fs::read(place.store()).unwrap()
    });
    let place = place();
    work(&place, "0.03");
    fs::write(place.store(), store).unwrap();
    place
}

/// The names of the last runs, the oldest first.
fn last_runs(count: usize) -> String {
    let names: Vec<String> = (0..count).rev().map(|back| format!("last~{back}")).collect();
    names.join(" ")
}

/// A check that nothing speaks against. Where other tests press the machine, its controls move too, and
/// the check rightly doubts what it finds: then it is asked again, as a user would.
fn undoubted(place: &TestEnvironment, options: &str) -> ProgramOutput {
    for _ in 0..6 {
        let ran = place.run(&format!("check -q --no-lock --apart 0s {options}")).unwrap();
        let document = parsed(&ran);
        if document["outcome"] != "inconclusive" {
            return ran;
        }
        let drifted = document["canary_shift"].as_f64().is_some_and(|shift| shift > 0.0);
        assert!(document["vetoes"][0].is_string() || drifted, "{document}");
    }
    panic!("the machine is too busy for a check to say anything");
}

#[test]
fn a_regression_is_confirmed_and_1_and_its_absence_0() {
    let place = measured_eight_times();
    let members = last_runs(8);
    let set = place.run(&format!("baseline set good {members}")).unwrap().exits(0);
    set.says(&["small changes will be undecided", "--every 1h"]);
    place.run("baseline list").unwrap().exits(0).shows(&["good", "8"]);
    work(&place, "0.08");
    let document = parsed(&undoubted(&place, "--json --markdown c.md --junit c.xml").exits(1));
    assert_eq!(document["schema"], "plumb.check/1");
    assert_eq!(document["outcome"], "regression");
    let first = &document["series"][0];
    assert_eq!(
        (first["state"].as_str(), first["fresh_runs"].as_u64()),
        (Some("confirmed"), Some(3))
    );
    let markdown = fs::read_to_string(place.cwd().join("c.md")).unwrap();
    assert!(markdown.contains("**slower**"), "{markdown}");
    let junit = fs::read_to_string(place.cwd().join("c.xml")).unwrap();
    assert!(
        junit.contains("message=\"process.command:command=[&quot;./work&quot;]/wall: "),
        "{junit}"
    );
    // A change for the better is none for the worse.
    work(&place, "0.001");
    let ran =
        place.run("check -q --no-lock --apart 0s --margin 50% --baseline good").unwrap().exits(0);
    let ran = ran.shows(&["Checked against good (8 runs)", "./work", "faster"]);
    // Other tests may slow the sleep next to it a little, which is then undecided.
    let endings = ["no regression", "no confirmed regression"];
    assert!(endings.iter().any(|ending| ran.stdout.contains(ending)), "{}", ran.stdout);
}

/// The names of the series that a check confirmed against this baseline.
fn confirmed(document: &Value, against: &str) -> Vec<String> {
    let series = document["series"].as_array().unwrap().iter();
    series
        .filter(|series| series["against"] == against && series["state"] == "confirmed")
        .map(|series| series["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_baseline_that_is_set_again_does_not_hide_what_changed_since_the_first() {
    let place = measured_eight_times();
    place.run(&format!("baseline set good {}", last_runs(8))).unwrap().exits(0);
    work(&place, "0.06");
    for _ in 0..8 {
        exec(&place, "-n 5 -q", &["./work", "sleep 0.03"]).exits(0);
    }
    place.run(&format!("baseline set good {}", last_runs(8))).unwrap().exits(0);
    // On a busy machine the change may be undecided, or the check doubted. A user would check again.
    let found = (0..6).find_map(|_| {
        let document = parsed(&place.run("check -q --no-lock --apart 0s --json").unwrap());
        assert!(confirmed(&document, "baseline").is_empty(), "{document}");
        let since_first = confirmed(&document, "first baseline");
        (!since_first.is_empty()).then_some(since_first)
    });
    assert_eq!(found, Some(vec!["./work".to_owned()]));
    // A baseline that was removed begins anew.
    place.run("baseline remove good").unwrap().exits(0);
    place.run(&format!("baseline set good {}", last_runs(12))).unwrap().exits(0);
    let anew = parsed(&place.run("check -q --no-lock --apart 0s --json").unwrap());
    assert_eq!(anew["first_baseline"], Value::Null);
}

#[test]
fn a_quick_check_finds_a_machine_healthy_or_slow_or_says_that_it_cannot() {
    let place = measured_eight_times();
    place.run(&format!("baseline set good {}", last_runs(8))).unwrap().exits(0);
    // Other tests disturb this one all the time.
    let quick = "check -q --no-lock --on-interference keep --margin 20%";
    let healthy = place.run(&format!("{quick} --quick")).unwrap().exits(0);
    healthy.shows(&[
        "Healthy after",
        "2 results are below their limits",
        "8 healthy runs of 1 host",
    ]);
    work(&place, "0.09");
    let document = parsed(&place.run(&format!("{quick} --quick --json")).unwrap().exits(1));
    assert_eq!(document["schema"], "plumb.quick-check/1");
    assert_eq!(document["outcome"], "slow");
    let slow = &document["results"][0];
    assert_eq!((slow["name"].as_str(), slow["state"].as_str()), (Some("./work"), Some("slow")));
    // Ten seconds lie between the first sign and what confirms it.
    assert!(document["took_s"].as_f64().unwrap() > 10.0, "{document}");
    let limit = slow["limit"].as_f64().unwrap();
    assert!(slow["low"].as_f64().unwrap() > limit && limit >= 1.2, "{slow}");
    let undecided = parsed(&place.run(&format!("{quick} --quick=3s --json")).unwrap().exits(5));
    assert_eq!(undecided["outcome"], "undecided");
    place.write("work", "#!/bin/sh\nexit 3\n").unwrap();
    place
        .run(&format!("{quick} --quick"))
        .unwrap()
        .exits(4)
        .shows(&["Failed after", "exit status 3"]);
    place.run("check --quick --prove").unwrap().exits(2).says(&["cannot be used with"]);
}

#[test]
fn what_fails_now_is_no_clean_check() {
    let place = measured_eight_times();
    let members = last_runs(6);
    place.run(&format!("baseline set good {members}")).unwrap().exits(0);
    place.write("work", "#!/bin/sh\nexit 3\n").unwrap();
    let ran =
        place.run("check -q --no-lock --apart 0s --margin 30% --junit c.xml").unwrap().exits(4);
    ran.shows(&["not measured", "./work", "exit status 3", "1 series", "1 not measured"]);
    let junit = fs::read_to_string(place.cwd().join("c.xml")).unwrap();
    assert!(junit.contains("tests=\"2\"") && junit.contains("errors=\"1\""), "{junit}");
    let document =
        parsed(&place.run("check -q --no-lock --apart 0s --margin 30% --json").unwrap().exits(4));
    assert_eq!(document["outcome"].as_str(), Some("inconclusive"));
    assert_eq!(document["not_measured"].as_object().unwrap().len(), 1);
    fs::remove_file(place.cwd().join("work")).unwrap();
    let gone = place.run("check -q --no-lock --apart 0s --margin 30%").unwrap().exits(3);
    gone.shows(&["not measured", "command not found"]);
}

#[test]
fn what_can_not_be_checked_is_said() {
    place().run("check").unwrap().exits(2).says(&["there is no store"]);
    let place = measured_eight_times();
    let members = last_runs(3);
    place.run("check").unwrap().exits(2).says(&["no baseline", "plumb baseline set"]);
    place.run(&format!("baseline set few {members}")).unwrap().exits(0);
    place.run("check").unwrap().exits(3).says(&["the baseline `few` needs 6 runs", "has 3"]);
    place
        .run("check --baseline fwe")
        .unwrap()
        .exits(2)
        .says(&["no baseline is called `fwe`", "few"]);
    place.run("baseline set last last").unwrap().exits(2).says(&["could be mistaken for a run"]);
    place.run("baseline set abcd last").unwrap().exits(2);
    place.run("show few").unwrap().exits(0);
    place.run("baseline remove few").unwrap().exits(0);
    place.run("baseline remove few").unwrap().exits(2).says(&["no baseline is called `few`"]);
    place.run("show few").unwrap().exits(2);
}

#[test]
fn fresh_runs_make_a_baseline() {
    let place = place();
    let set =
        "baseline set mine --runs 2 --of cpu.sieve --min-invocations 1 --no-lock -q --dir ../work";
    let set = place.run(set).unwrap().exits(0);
    set.says(&["all runs began within", "small changes will be undecided", "--every 1h"]);
    let listed = parsed(&place.run("baseline list --json").unwrap().exits(0));
    assert_eq!(listed["baselines"][0]["runs"].as_array().unwrap().len(), 2);
}

/// A script that sleeps for these seconds, and for as long as a file says that its command line does not name.
fn script(place: &TestEnvironment, seconds: &str) {
    let text = format!("sleep {seconds}\nsleep $(cat hidden)\n");
    place.write("work.sh", &text).unwrap();
}

/// The cause that a check names of the regression of the script, if nothing speaks against the alert.
fn cause(place: &TestEnvironment) -> Value {
    let document = parsed(&undoubted(place, "--json").exits(1));
    let cause = document["series"][0]["cause"].clone();
    assert_eq!(document["series"][0]["name"], "sh work.sh", "{document}");
    for effect in ["code", "environment"] {
        assert!(cause[effect]["low"].is_number() && cause[effect]["high"].is_number(), "{cause}");
    }
    cause
}

#[test]
fn a_kept_program_shows_whether_the_code_or_the_machine_changed() {
    let place = place();
    script(&place, "0.02");
    place.write("hidden", "0.001").unwrap();
    for _ in 0..8 {
        exec(&place, "-n 5 -q", &["sh work.sh"]).exits(0);
    }
    let small = place.run(&format!("baseline set good {} --keep=10", last_runs(8))).unwrap();
    small.exits(2).says(&["the files to keep have", "work.sh", "--keep=1MiB"]);
    let set = place.run(&format!("baseline set good {} --keep", last_runs(8))).unwrap().exits(0);
    // The shell is the system's.
    set.says(&["kept work.sh ("]);
    place.write("hidden", "0.05").unwrap();
    let environment = cause(&place);
    assert_eq!(environment["answer"], "environment", "{environment}");
    // A baseline that is set again holds the slower code. The one that was set first still shows it, and its cause.
    script(&place, "0.06");
    place.write("hidden", "0.001").unwrap();
    for _ in 0..8 {
        exec(&place, "-n 5 -q", &["sh work.sh"]).exits(0);
    }
    place.run(&format!("baseline set good {} --keep", last_runs(8))).unwrap().exits(0);
    let since_first = cause(&place);
    assert_eq!(since_first["answer"], "code", "{since_first}");
}

/// A library that makes every process that loads it 32 MiB larger, so that a fork of it takes longer.
fn ballast(place: &TestEnvironment) -> PathBuf {
    let text = "#include <string.h>\n#include <sys/mman.h>\n\
        __attribute__((constructor)) static void hold(void) {\n\
            size_t size = 32 << 20;\n\
            char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n\
            madvise(memory, size, MADV_NOHUGEPAGE);\n\
            memset(memory, 1, size);\n\
        }\n";
    let source = place.write("ballast.c", text).unwrap();
    let library = source.with_extension("so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(&source)
        .status();
    assert!(compiled.unwrap().success());
    library
}

#[test]
fn a_kept_plumb_shows_that_the_environment_changed() {
    let place = place();
    let set = "baseline set mine --runs 6 --of process.fork --min-invocations 5 --min-time 1ms \
        --max-invocations 5 --no-lock --keep=2GiB";
    place.run(set).unwrap().exits(0).says(&["kept plumb itself ("]);
    let library = ballast(&place);
    for _ in 0..6 {
        let mut check = place.plumb("check -q --no-lock --apart 0s --json");
        let document = parsed(&ran(check.env("LD_PRELOAD", &library)).unwrap());
        // Other tests may hide the change: a user would check again.
        if document["outcome"] != "regression" {
            continue;
        }
        let cause = &document["series"][0]["cause"];
        assert_eq!(cause["answer"], "environment", "{document}");
        return;
    }
    panic!("the machine is too busy for a check to say anything");
}

#[test]
fn files_that_changed_since_the_runs_are_not_kept() {
    let place = measured_eight_times();
    let refused = place.run(&format!("baseline set good {} --keep", last_runs(8))).unwrap();
    refused.exits(2).says(&["./work changed after the first run began"]);
}

#[test]
fn a_check_proves_that_it_works_or_abstains() {
    let place = measured_eight_times();
    place.run(&format!("baseline set good {}", last_runs(8))).unwrap().exits(0);
    // Work of a ten-thousandth can't be found.
    let weak = place.run("check -q --no-lock --apart 0s --json --prove=0.01%").unwrap().exits(5);
    let document = parsed(&weak);
    assert_eq!(document["outcome"], "abstained", "{document}");
    assert!(document["proof"]["doubt"].is_string(), "{document}");
    // So large a share is found whatever time does. Other tests may disturb the controls: a user would try again.
    for _ in 0..4 {
        let ran = place.run("check -q --no-lock --apart 0s --margin 60% --prove=90%").unwrap();
        if ran.stdout.contains("the check abstains") {
            ran.exits(5);
            continue;
        }
        ran.exits(0).shows(&["with 90 % extra work", "this check reports +90 % of", "probability"]);
        return;
    }
    panic!("the machine is too busy for a proof");
}

#[test]
fn a_baseline_and_its_check_run_in_the_same_process_tree() {
    let place = place();
    let set = "baseline set mine --runs 6 --of cpu.sieve --min-invocations 2 --no-lock -q";
    place.run(set).unwrap().exits(0);
    let of_baseline = tree_processes(&place, "mine");
    let ran = place.run("check --json --no-lock -q --apart 0s").unwrap();
    let run = parsed(&ran)["runs"][0].as_str().unwrap().to_owned();
    let of_check = tree_processes(&place, &run);
    assert!((of_baseline - of_check).abs() < 0.5, "{of_baseline} and {of_check} processes");
}

/// The processes of plumb's own tree next to the measured one.
fn tree_processes(place: &TestEnvironment, run: &str) -> f64 {
    let document = parsed(&place.run(&format!("show {run} --monitors --json")).unwrap().exits(0));
    let counters = document["points"][0]["counters"].as_array().unwrap();
    let found = counters.iter().find(|counter| counter["counter"] == "tree.processes");
    found.unwrap_or_else(|| panic!("{document}"))["median"].as_f64().unwrap()
}
