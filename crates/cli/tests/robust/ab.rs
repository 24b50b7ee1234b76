//! `plumb ab`: verdicts, how they are kept, and what they mean for scripts.

use std::fs;
use std::hint::black_box;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{in_namespace, last, parsed, place, results};

fn compared(place: &TestEnvironment) -> Value {
    let document = last(place);
    let of_second = results(&document, "wall").into_iter().nth(1).unwrap().clone();
    of_second["against_first"][0].clone()
}

/// plumb with arguments of several words. Other tests run meanwhile: what they disturb counts here.
fn ab(place: &TestEnvironment, options: &str, sides: &[&str]) -> ProgramOutput {
    let mut command = place.plumb(&format!("ab --no-lock --on-interference keep {options}"));
    command.args(sides);
    ran(&mut command).unwrap()
}

#[test]
fn much_slower_is_slower_at_a_look_and_fails_where_asked() {
    let place = place();
    let sides = ["sleep 0.01", "sleep 0.06"];
    ab(&place, "-q --fail-on slower", &sides).exits(1).shows(&["slower"]);
    let verdict = compared(&place);
    assert_eq!(verdict["verdict"], "slower");
    assert!([8, 12, 18, 27, 40].contains(&verdict["pairs"].as_u64().unwrap()), "{verdict}");
    assert!((2.0..7.0).contains(&verdict["ratio"].as_f64().unwrap()), "{verdict}");
    ab(&place, "-q --fail-on certain", &sides).exits(1);
    ab(&place, "-q", &sides).exits(0);
    ab(&place, "-q --fail-on slower", &["sleep 0.06", "sleep 0.01"]).exits(0);
    assert_eq!(compared(&place)["verdict"], "faster");
    ab(&place, "-q --fail-on slower --ignore-failure --max-pairs 8", &["true", "false"]).exits(4);
}

#[test]
fn sessions_are_judged_together_and_earlier_ones_count() {
    let place = place();
    let sides = ["sleep 0.01", "sleep 0.04"];
    let options = "--max-pairs 8 --sessions 3 --apart 0s --json -q";
    let document = parsed(&ab(&place, &format!("{options} --strict"), &sides).exits(5));
    let compared = &document["comparisons"][0];
    assert_eq!(compared["sessions"].as_array().unwrap().len(), 3);
    assert_eq!(compared["sessions"][0]["verdict"].as_str(), Some("slower"));
    // Three sessions do not show how much sessions differ.
    assert_eq!((&compared["verdict"], &compared["low"]), (&Value::Null, &Value::Null));
    assert!((1.5..6.0).contains(&compared["ratio"].as_f64().unwrap()), "{document}");
    // With the three before they do.
    let document = parsed(&ab(&place, &format!("{options} --fail-on slower"), &sides).exits(1));
    let compared = &document["comparisons"][0];
    assert_eq!(compared["verdict"].as_str(), Some("slower"), "{document}");
    assert!(compared["session_sd"].as_f64().is_some(), "{document}");
    place.run("show --runs").unwrap().exits(0).shows(&["sessions="]);
}

#[test]
fn a_gate_proves_that_it_works_or_abstains() {
    let place = place();
    let options = "-q --json --prove=90% --max-pairs 12";
    // Other tests may disturb a gate so much that it abstains; a user would try again, too.
    let decided = |sides: &[&str]| {
        for _ in 0..4 {
            let ran = ab(&place, options, sides);
            let document = parsed(&ran);
            if document["outcome"] != "abstained" {
                return (ran, document);
            }
            ran.exits(5);
        }
        panic!("the machine is too busy for a gate");
    };
    let (ran, document) = decided(&["sleep 0.01", "sleep 0.06"]);
    ran.exits(1);
    assert_eq!(document["schema"].as_str(), Some("plumb.gate/1"));
    assert_eq!(document["outcome"].as_str(), Some("regression"), "{document}");
    assert_eq!(document["confirmation"]["confidence"].as_f64(), Some(0.99));
    // What is stored shows the same, with the fresh pairs of the run that followed.
    let gate = document["comparison"]["runs"][0].as_str().unwrap().to_owned();
    let shown = parsed(&place.run(&format!("show {gate} --json")).unwrap().exits(0));
    assert_eq!(shown["proof"]["outcome"].as_str(), Some("regression"), "{shown}");
    let [stored, fresh] = [&shown["proof"]["confirmation"], &document["confirmation"]];
    assert_eq!((&stored["verdict"], &stored["ratio"]), (&fresh["verdict"], &fresh["ratio"]));
    for format in ["", " --full", " --format markdown"] {
        let card = place.run(&format!("show {gate}{format}")).unwrap().exits(0);
        card.shows(&["Proof", "confirmed on fresh pairs"]);
    }
    // The extra work is CPU time of the process that is timed.
    let slower = document["proof"]["slower"]["ratio"].as_f64().unwrap();
    assert!((1.5..2.6).contains(&slower), "{document}");
    let (ran, document) = decided(&["sleep 0.06", "sleep 0.01"]);
    ran.exits(0);
    assert_eq!(document["outcome"].as_str(), Some("no regression"), "{document}");
    assert_eq!(document["confirmation"], Value::Null);
    ab(&place, "--prove", &["true", "true", "true"]).exits(2).says(&["--prove compares two sides"]);
}

#[test]
fn programs_run_where_they_are_if_copies_could_not_run() {
    let place = place();
    let script = "cp /bin/true old; cp /bin/true new; mount -t tmpfs -o noexec tmpfs $TMPDIR
                  $PLUMB ab --max-pairs 8 --no-lock -q ./old ./new; echo exit $?
                  $PLUMB ab --no-lock -q --build 'cp old {out} # {seed}' --build 'cp new {out} # {seed}'; echo exit $?";
    let ran = in_namespace(&place, "--mount", script);
    ran.says(&["programs run where they are", "mounted noexec", "TMPDIR=FOLDER"])
        .shows(&["exit 0", "exit 2"]);
}

/// Writes a script that sleeps for this long, with the seed in it.
fn script(sleep: &str) -> String {
    format!("printf '#!/bin/sh\n# {{seed}}\nsleep {sleep}\n' > {{out}}; chmod +x {{out}}")
}

#[test]
fn builds_are_the_unit_and_fewer_than_six_give_no_verdict() {
    let place = place();
    let built = |options: &str, builds: [&str; 2], sides: &[&str]| {
        let [first, second] = builds;
        let all = [&["--build", first, "--build", second], sides].concat();
        ab(&place, &format!("--max-pairs 8 {options}"), &all)
    };
    let fast = script("0.01");
    let slow = script("0.03");
    let output = built("--builds 6 --json --fail-on slower", [&fast, &slow], &[]);
    let document = parsed(&output.exits(1));
    let compared = &document["comparisons"][0];
    assert_eq!((&document["unit"], &compared["verdict"]), (&"build".into(), &"slower".into()));
    assert_eq!(compared["sessions"].as_array().unwrap().len(), 6, "{document}");
    assert_eq!(compared["first"].as_str(), Some(fast.as_str()));
    place.run("show --runs").unwrap().exits(0).shows(&["builds="]);
    // Scripts that differ in nothing but the file's name, with an argument that they ignore.
    let alike = script("0.01").replace("{seed}", "none");
    let output = built("--builds 2 --strict", [&alike, &slow], &["{out} argument"]);
    output
        .exits(5)
        .shows(&["over builds", "uncalibrated", "it takes six"])
        .says(&["does not use {seed}", "are the same file"]);
    let output = built("--builds 2", ["echo no luck >&2; exit 3 # {out}", &slow], &[]);
    output.exits(4).says(&["failed", "no luck"]);
    built("--builds 2", ["true # {out}", &slow], &[]).exits(4).says(&["wrote no file"]);
    built("--builds 2", ["cc old.c", &slow], &[]).exits(2).says(&["does not contain {out}"]);
    built("--builds 2", [&fast, &slow], &["./fixed"]).exits(2).says(&["{out}"]);
    ab(&place, "", &["--build", &fast]).exits(2).says(&["give it twice"]);
}

#[test]
fn a_side_that_cannot_be_measured_ends_a_proof_and_sessions_and_is_never_0() {
    let place = place();
    for several in ["--prove=50%", "--sessions 2 --apart 0s"] {
        let options = format!("-q --max-pairs 8 {several}");
        ab(&place, &options, &["true", "./missing"])
            .exits(2)
            .says(&["command not found: ./missing"]);
        ab(&place, &options, &["./missing", "true"])
            .exits(2)
            .says(&["command not found: ./missing"]);
        ab(&place, &options, &["true", "false"])
            .exits(4)
            .says(&["false failed in", "exit status 1"]);
    }
}

#[test]
fn what_moved_with_a_slower_side_is_told() {
    let place = place();
    let sides = [
        "dd if=/dev/zero of=/dev/null bs=4k count=5000 status=none",
        "dd if=/dev/zero of=/dev/null bs=64 count=320000 status=none",
    ];
    ab(&place, "-q", &sides).exits(0).shows(&["also changed:", "per iteration"]);
    let moved = compared(&place)["moved"].clone();
    let system =
        moved.as_array().unwrap().iter().find(|part| part["what"] == "system time per iteration");
    let system = system.unwrap_or_else(|| panic!("{moved}"));
    assert!(system["to"].as_f64() > system["from"].as_f64(), "{system}");
    assert!(system["effect"].as_f64() > Some(0.5) && system["unit"] == "s", "{system}");
    ab(&place, "-q --json", &sides).exits(0).shows(&["\"moved\"", "system time per iteration"]);
}

#[test]
fn a_wide_margin_makes_near_equals_equivalent() {
    let place = place();
    ab(&place, "-q --strict --margin 90%", &["sleep 0.05", "sleep 0.051"])
        .exits(0)
        .shows(&["equivalent"]);
}

#[test]
fn too_little_time_is_5_where_strict() {
    let place = place();
    let ran = ab(&place, "-q --strict --budget 500ms", &["sleep 0.05", "sleep 0.05"]).exits(5);
    ran.shows(&["no verdict", "a verdict needs 8 pairs"]);
}

#[test]
fn what_stays_open_ends_with_what_to_type() {
    let place = place();
    let sides = ["sleep 0.01", "sleep 0.01"];
    let ran = ab(&place, "-q --margin 0.001% --confidence 99 --max-pairs 14", &sides).exits(0);
    ran.shows(&["inconclusive", "could have found ", "at 99 %", "plumb ab --"]);
    assert!(compared(&place)["told_apart"].as_f64() > Some(0.0));
    assert_eq!(compared(&place)["confidence"].as_f64(), Some(0.99));
    for wrong in ["--max-pairs 7", "--max-pairs 10001", "--confidence 90"] {
        ab(&place, wrong, &sides).exits(2);
    }
    let ran = ab(&place, "--max-pairs 20 --margin 0.001%", &sides).exits(0);
    ran.says(&["pairs vary by", "finding"]).shows(&["in up to 20 pairs"]);
}

#[test]
fn the_stored_looks_follow_from_the_stored_samples_to_the_last_bit() {
    let place = place();
    ab(&place, "-q --margin 0.1% --max-pairs 40", &["true", "sleep 0"]).exits(0);
    let verdict = compared(&place);
    assert_eq!(verdict["rederived"], true, "{verdict}");
    assert!(!verdict["path"].as_array().unwrap().is_empty());
    // Whoever changes a sample is found out.
    let change = "UPDATE sample SET elapsed_ns = elapsed_ns * 3 WHERE invocation = 2";
    let done = place.program("sqlite3").arg(place.store()).arg(change).status().unwrap();
    assert!(done.success());
    assert_eq!(compared(&place)["rederived"], false);
    place.run("show").unwrap().exits(0).shows(&["do not match the stored samples"]);
}

#[test]
fn points_of_a_workload_are_sides_too() {
    let place = place();
    let sides = ["cpu.sieve:limit=100000", "cpu.sieve:limit=200000"];
    ab(&place, "-q --margin 5%", &sides).exits(0).shows(&["slower"]);
    let ran = ab(&place, "-q --json --metric cpu --margin 20%", &sides).exits(0);
    let document = parsed(&ran);
    assert_eq!(document["schema"], "plumb.comparison/1");
    let only = &document["results"][0];
    assert_eq!((only["metric"].as_str(), only["unit"].as_str()), (Some("cpu"), Some("s")));
    assert_eq!(only["arms"].as_array().unwrap().len(), 2);
    let against = &only["against_first"][0];
    assert!(against["ratio"].as_f64().unwrap() > 1.5, "{document}");
}

#[test]
fn the_metric_that_is_compared_is_shown() {
    let place = place();
    let sides = ["true", "sleep 0"];
    ab(&place, "-q --metric peak_memory --margin 90%", &sides).exits(0).shows(&["peak_memory"]);
}

#[test]
fn quantiles_of_a_distribution_are_compared() {
    let place = place();
    for (named, shown) in [("latency", "latency p50"), ("latency p99", "latency p99")] {
        let mut plumb = place.plumb("ab --no-lock -q --json --max-pairs 8 --budget 20s --metric");
        let document =
            parsed(&ran(plumb.arg(named).args(["network.rr", "network.rr:answer=16KiB"])).unwrap());
        let against = &results(&document, shown)[0]["against_first"][0];
        assert!(against["ratio"].as_f64().unwrap() > 0.1, "{document}");
    }
    let unknown = place.run("ab --metric nothing network.rr network.rr:answer=16KiB").unwrap();
    unknown.exits(2).says(&["its metrics: rate, latency", "--metric 'latency p99'"]);
}

#[test]
fn a_metric_without_values_or_direction_gives_no_verdict_and_no_gate_passes_by_it() {
    let place = place();
    let options = "ab --no-lock -q --max-pairs 8 --budget 40s --fail-on slower";
    // A server that is not plumb's does not report its CPU time.
    let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    // A server that accepts more slowly than its client connects makes the client wait for seconds: next to other tests, it has to
    // hold many connections before it gets to accept them.
    rustix::net::listen(&server, 4096).unwrap();
    for _ in 0..4 {
        let server = server.try_clone().unwrap();
        thread::spawn(move || server.incoming().for_each(drop));
    }
    let lacking = format!("network.connect network.connect:host=127.0.0.1,port={port}");
    let lacking = place.run(&format!("{options} --metric far_cpu {lacking}")).unwrap();
    lacking.exits(3).shows(&["no verdict", "a side has no value of this metric here"]);
    let neutral =
        place.run(&format!("{options} --metric ssh_cpu block.remote block.remote:depth=4"));
    neutral.unwrap().exits(2).says(&["neither more nor less of `ssh_cpu` is better"]);
}

#[test]
fn three_sides_are_all_compared_with_the_first() {
    let place = place();
    let sides = ["sleep 0.01", "sleep 0.06", "sleep 0.08"];
    let ran = ab(&place, "-q", &sides).exits(0);
    assert_eq!(ran.stdout.matches("  slower  ").count(), 2, "{}", ran.stdout);
}

#[test]
fn programs_of_ones_own_are_copied_side_by_side() {
    let place = place();
    let sleep = fs::canonicalize("/bin/sleep").unwrap();
    for name in ["first", "the-second"] {
        fs::copy(&sleep, place.cwd().join(name)).unwrap();
    }
    let sides = ["./first 0.001", "./the-second 0.01"];
    let programs = |options: &str| {
        ab(&place, options, &sides).exits(0);
        let document = last(&place);
        let notes: Vec<String> = results(&document, "wall")
            .iter()
            .map(|result| result["notes"][0].as_str().unwrap().to_owned())
            .collect();
        notes
    };
    let copied = programs("-q");
    assert!(copied[0].ends_with("side-000") && copied[1].ends_with("side-001"), "{copied:?}");
    let placed = programs("-q --no-copy");
    assert!(placed[0].ends_with("first") && placed[1].ends_with("the-second"), "{placed:?}");
    assert_eq!(place.leftovers(), [""; 0]);
}

/// Answers requests through named pipes, and works for a tenth of a second for every second one, until it is asked to
/// quit.
fn serve_requests(folder: &Path) {
    for number in 0.. {
        let request = fs::read_to_string(folder.join("request")).unwrap();
        if request.contains("quit") {
            break;
        }
        if number % 2 == 1 {
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(100) {
                black_box(number);
            }
        }
        fs::write(folder.join("answer"), "done\n").unwrap();
    }
}

#[test]
fn work_that_a_daemon_does_for_one_side_is_not_lost() {
    let place = place();
    for pipe in ["request", "answer"] {
        let made = Command::new("mkfifo").arg(place.cwd().join(pipe)).status().unwrap();
        assert!(made.success());
    }
    let folder = place.cwd().to_owned();
    let daemon = thread::spawn(move || serve_requests(&folder));
    let asks = "sh -c 'sleep 0.02; echo work > request; read answer < answer'";
    let mut command = place.plumb("ab -q --no-lock --no-copy --max-pairs 30 --budget 30s");
    command.args(["sh -c 'sleep 0.02'", asks]);
    let output = ran(&mut command).unwrap();
    let verdict = compared(&place);
    // Alone, too, the work of the daemon is a cost.
    let mut command = place.plumb("exec -q --no-lock -n 20");
    command.arg(asks);
    let alone = ran(&mut command).unwrap();
    fs::write(place.cwd().join("request"), "quit\n").unwrap();
    daemon.join().unwrap();
    output.exits(0);
    alone.exits(0).shows(&["other processes used"]);
    // Half of its runs cost six times as much. Other tests may disturb both sides too often for a verdict.
    let is_right = match verdict["verdict"].as_str() {
        Some(word) => ["slower", "inconclusive"].contains(&word),
        None => verdict["no_verdict"].as_str().unwrap().contains("other activity disturbed"),
    };
    assert!(is_right, "{verdict}");
}

#[test]
fn what_can_not_be_compared_is_said() {
    let place = place();
    ab(&place, "-q", &["cpu.sieve", "true"]).exits(2).says(&["one side is a workload"]);
    ab(&place, "-q --quad", &["true", "true", "true"]).exits(2).says(&["two sides"]);
    ab(&place, "-q --metric speed", &["true", "true"])
        .exits(2)
        .says(&["no metric `speed`", "wall"]);
    ab(&place, "-q", &["cpu.seive", "cpu.sieve"]).exits(2).says(&["did you mean `cpu.sieve`?"]);
    ab(&place, "-q --margin 0%", &["true", "true"])
        .exits(2)
        .says(&["`0%` is not a percentage between 0 and 100"]);
    ab(&place, "-q", &["true", "no-such-command"]).exits(2);
    ab(&place, "-q", &["true", "false"]).exits(4).shows(&["invocations failed"]);
    ab(&place, "-q", &["true"]).exits(2);
}
