//! `plumb exec`: commands, what they cost, and how they fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::ran;
use crate::{exec, last, parsed, place, results};

#[test]
fn the_wall_time_is_the_commands_and_the_runs_are_counted() {
    let place = place();
    exec(&place, "-n 5 -q", &["sleep 0.1"]).exits(0).shows(&["sleep 0.1", "complete"]);
    let document = last(&place);
    let wall = results(&document, "wall")[0];
    assert_eq!((wall["samples"].as_u64(), wall["unit"].as_str()), (Some(5), Some("s")));
    let estimate = wall["estimate"].as_f64().unwrap();
    assert!((0.1..0.2).contains(&estimate), "{estimate}");
    // So many are taken, uncounted ones included: `sleep 0.1` is too long for one of those.
    let csv = place.run("export --format samples-csv").unwrap().exits(0).stdout;
    assert_eq!(csv.lines().filter(|line| line.contains("/wall")).count(), 5);
}

#[test]
fn short_commands_get_their_exact_number_of_counted_runs_too() {
    let place = place();
    exec(&place, "-n 5 -q", &["true"]).exits(0);
    let document = last(&place);
    assert_eq!(results(&document, "wall")[0]["samples"], 5);
    let csv = place.run("export --format samples-csv").unwrap().exits(0).stdout;
    let steady = |line: &&str| line.contains("/wall") && line.contains(",steady,");
    assert_eq!(csv.lines().filter(steady).count(), 5);
}

#[test]
fn several_commands_are_compared_with_the_first() {
    let place = place();
    let ran = exec(&place, "-n 10 -q", &["sleep 0.01", "sleep 0.08", "sleep 0.010001"]).exits(0);
    let ran = ran.shows(&["Compared with sleep 0.01", "slower"]);
    let line = |command: &str| {
        let compared = ran.stdout.split("Compared with").nth(1).unwrap();
        compared.lines().find(|line| line.trim_start().starts_with(command)).unwrap().to_owned()
    };
    assert!(line("sleep 0.08 ").contains("slower"), "{}", ran.stdout);
    // What is said of equals may be wrong one time in twenty; that something is said may not.
    assert!(line("sleep 0.010001").contains("the cost"), "{}", ran.stdout);
}

#[test]
fn a_spread_run_lasts_as_long_as_asked_and_says_what_its_pauses_do() {
    let place = place();
    let began = Instant::now();
    exec(&place, "--spread 8s --precision 50% --budget 20s -q", &["true"])
        .exits(0)
        .shows(&["pauses of"]);
    assert!(began.elapsed() >= Duration::from_secs(8));
    let document = last(&place);
    let pauses = &results(&document, "wall")[0]["pauses"];
    assert!(pauses["pairs"].as_u64() >= Some(1), "{pauses}");
    assert!(pauses["length_s"].as_f64().unwrap() >= 0.05, "{pauses}");
    exec(&place, "--spread 5m --budget 1m", &["true"])
        .exits(2)
        .says(&["--spread 5m is longer than the budget"]);
    exec(&place, "--spread soon", &["true"]).exits(2).says(&["soon"]);
}

#[test]
fn a_missing_command_is_2_and_says_where_it_was_looked_for() {
    let place = place();
    exec(&place, "-n 2 -q", &["no-such-command"])
        .exits(2)
        .shows(&["command not found: no-such-command is not in PATH"]);
    exec(&place, "-n 2 -q", &["./script"]).exits(2).shows(&["command not found: ./script"]);
    let script = place.write("script", "#!/bin/sh\n").unwrap();
    exec(&place, "-n 2 -q", &["./script"]).exits(2).shows(&["not executable (try chmod +x)"]);
    assert!(script.exists());
    // The others are measured all the same.
    exec(&place, "-n 2 -q", &["true", "no-such-command"]).exits(2).shows(&["true"]);
    assert_eq!(results(&last(&place), "wall").len(), 1);
}

#[test]
fn a_failing_command_is_4_unless_failures_are_ignored() {
    let place = place();
    exec(&place, "-n 2 -q", &["false"])
        .exits(4)
        .shows(&["command failed: false: exit status 1", "ignore_failure"]);
    exec(&place, "-n 2 -q", &["sh -c 'kill -9 $$'"]).exits(4).shows(&["killed by signal 9"]);
    exec(&place, "-n 2 -q -i", &["false", "sh -c 'exit 3'"]).exits(0);
    let document = last(&place);
    assert_eq!(results(&document, "wall").len(), 2);
    assert_eq!(
        document["accepted_failures"][1]["ended"],
        json!([{"status": 3, "signal": null, "times": 2}])
    );
}

#[test]
fn accepted_failures_stay_visible_and_a_crash_is_not_compared_with_a_success() {
    let place = place();
    let crash = "sh -c 'kill -SEGV $$'";
    let ran = exec(&place, "-n 12 -q -i", &[crash, "true", "sh -c 'exit 3'"]).exits(0);
    ran.shows(&[
        "Accepted failures: sh -c 'kill -SEGV $$': all 12 runs ended with SIGSEGV",
        "all 12 runs ended with exit status 3",
    ]);
    let document = last(&place);
    let why = results(&document, "wall")[1]["against_first"][0]["no_verdict"].clone();
    let why = why.as_str().unwrap();
    assert!(why.contains("exit status 0 in 12 of 12 runs, compared with SIGSEGV"), "{why}");
    place.run("show --in-words").unwrap().shows(&["all 12 runs ended with SIGSEGV."]);
    let export = parsed(&place.run("export --format hyperfine").unwrap().exits(0));
    assert_eq!(export["results"][0]["exit_codes"][0], Value::Null);
    assert_eq!(export["results"][2]["exit_codes"][0], 3);
    // Stored runs of one command that crashed only in the second.
    let script = place.write("work", "#!/bin/sh\n[ -e ok ] || kill -ABRT $$\n").unwrap();
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    place.write("ok", "").unwrap();
    exec(&place, "-n 12 -q -i", &["./work"]).exits(0);
    fs::remove_file(place.cwd().join("ok")).unwrap();
    exec(&place, "-n 12 -q -i", &["./work"]).exits(0);
    place.run("compare last~1 last").unwrap().exits(0).shows(&["SIGABRT in 12 of 12 runs"]);
}

#[test]
fn a_command_that_kills_what_it_can_reach_only_fails() {
    let place = place();
    for hostile in ["sh -c 'kill -9 0'", "sh -c 'kill -9 $PPID'"] {
        exec(&place, "-n 2 -q", &[hostile]).exits(4).shows(&["ended without answering"]);
        assert_eq!(place.leftovers(), [""; 0]);
    }
}

#[test]
fn a_budget_that_ends_amid_failures_is_a_failure_still() {
    let place = place();
    let slow = "sh -c 'sleep 0.3; exit 1'";
    exec(&place, "-q --budget 200ms", &[slow]).exits(4).shows(&["Failed", "exit status 1"]);
}

#[test]
fn words_are_split_as_a_shell_would_and_shells_only_on_request() {
    let place = place();
    exec(&place, "-n 2 -q", &["sh -c \"test 'a  b' = 'a  b' && touch 'split here'\""]).exits(0);
    assert!(place.cwd().join("split here").exists());
    exec(&place, "-n 2 -q", &["touch one && touch two"]).exits(0).says(&[
        "warning: plumb starts no shell",
        "`&&`",
        "--shell runs it with /bin/sh",
    ]);
    assert!(place.cwd().join("&&").exists());
    let shell = exec(&place, "-n 2 -q --shell", &["touch three && touch four"]).exits(0);
    assert_eq!(shell.stderr, "");
    assert!(place.cwd().join("four").exists());
    let quoted = exec(&place, "-n 2 -q", &["touch 'a && b'"]).exits(0);
    assert_eq!(quoted.stderr, "");
    let words = place.run("exec --no-lock -n 2 -q -- echo hi | wc").unwrap().exits(0);
    words.says(&["`echo` gets `|` as an argument: --shell"]);
    let sides = ran(place.plumb("ab --no-lock -q --max-pairs 8").args(["ls > x", "true"])).unwrap();
    assert_eq!(sides.stderr.matches("plumb starts no shell").count(), 1, "{}", sides.stderr);
    let suite = r#"name = "words"
[[point]]
workload = "process.command"
set = { command = '["echo","hi","|","wc"]' }
"#;
    place.write("words.toml", suite).unwrap();
    let point = place.run("run --no-lock -q --max-invocations 1 words.toml").unwrap().exits(0);
    point.says(&["`echo` gets `|` as an argument: shell=yes"]);
    let ran = place.run("exec --no-lock -n 2 -q -- touch -- -five").unwrap().exits(0);
    assert!(place.cwd().join("-five").exists(), "{}", ran.stdout);
    exec(&place, "-n 2", &["echo 'open"]).exits(2).says(&["unmatched quote", "--shell"]);
    exec(&place, "-n 2", &[""]).exits(2).says(&["empty command"]);
    exec(&place, "-n 0", &["true"]).exits(2).says(&["measures nothing"]);
}

#[test]
fn memory_is_that_of_each_command_and_not_of_the_largest_before() {
    let place = place();
    // dd takes its block as one buffer, and fills it.
    let large = "dd if=/dev/zero of=/dev/null bs=300M count=1";
    exec(&place, "-n 2 -q", &[large, "true"]).exits(0);
    let document = last(&place);
    let memory: Vec<f64> = results(&document, "peak_memory")
        .iter()
        .map(|result| result["estimate"].as_f64().unwrap())
        .collect();
    assert!(memory[0] > 300e6, "{memory:?}");
    assert!(memory[1] < 20e6, "{memory:?}");
}

#[test]
fn stdin_is_empty_and_output_goes_nowhere() {
    let place = place();
    let ran = exec(&place, "-n 2 -q --shell", &["read line && exit 9; echo loud; echo loud >&2"]);
    let ran = ran.exits(0);
    assert!(!ran.stdout.contains("loud\n") && !ran.stderr.contains("loud"), "{ran:?}");
}

#[test]
fn the_document_has_the_promised_fields() {
    let place = place();
    let ran = exec(&place, "-n 2 --json --label a=b --seed 7", &["true", "sleep 0.01"]).exits(0);
    let document = parsed(&ran);
    assert_eq!(document["schema"], "plumb.run/1");
    let run = &document["run"];
    let has = |part: &Value, names: &str| {
        for name in names.split(' ') {
            assert!(part.get(name).is_some(), "no {name} in {part}");
        }
    };
    has(run, "id started ended status suite labels seed plumb");
    assert_eq!((&run["status"], &run["seed"]), (&"complete".into(), &7.into()));
    assert_eq!(run["labels"]["a"], "b");
    has(&document["targets"][0], "machine environment");
    let fields = "series workload version point metric unit better statistic estimate low high \
                  no_interval confidence invocations samples n_eff warmup stop target cpu \
                  of_baseline flags";
    for result in document["results"].as_array().unwrap() {
        has(result, fields);
        has(&result["cpu"], "user system iowait");
        assert_eq!(result["low"].is_null(), result["no_interval"].is_string(), "{result}");
    }
    assert_eq!((&document["unsupported"], &document["failed"]), (&json!([]), &json!([])));
}

#[test]
fn results_respond_to_the_work() {
    let place = place();
    // Both within the nearest cache: what lies between two caches differs by more than the work.
    let points = "run cpu.sieve:growth=reserved,limit=2000 cpu.sieve:growth=reserved,limit=4000 --min-invocations 3 --no-lock -q";
    let ratio = || {
        place.run(points).unwrap().exits(0);
        let document = last(&place);
        let results = document["results"].as_array().unwrap().iter();
        let primary = results.filter(|result| result["primary"] == true);
        let rates: Vec<f64> = primary.map(|result| result["estimate"].as_f64().unwrap()).collect();
        rates[0] / rates[1]
    };
    // Other work on the machine gets a few chances to pass by.
    let seen: Vec<f64> =
        (0..5).map(|_| ratio()).take_while(|ratio| !(1.6..2.7).contains(ratio)).collect();
    assert!(seen.len() < 5, "{seen:?}");
}
