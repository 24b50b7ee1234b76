//! Commands around the runs of `plumb exec`.

use std::fs;

use crate::common::TestEnvironment;
use crate::{exec, last, place, results};

fn lines(place: &TestEnvironment, file: &str) -> Vec<String> {
    let text = fs::read_to_string(place.cwd().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn each_run_stands_between_its_two() {
    let place = place();
    let timed = "sh -c 'echo run >> log'";
    let around = ["--setup", "echo setup >> log", "--before-each", "echo before >> log"];
    let around = around.iter().chain(&[
        "--conclude",
        "echo after >> log",
        "--cleanup",
        "echo cleanup >> log",
    ]);
    let commands: Vec<&str> = around.copied().chain([timed]).collect();
    exec(&place, "-n 5 -q", &commands).exits(0).shows(&["sh -c"]);
    let log = lines(&place, "log");
    let count = |word: &str| log.iter().filter(|line| *line == word).count();
    assert!(count("run") >= 5 && count("before") == count("run"), "{log:?}");
    assert_eq!((count("after"), count("setup")), (count("run"), count("cleanup")), "{log:?}");
    let follows = |line: &str, next: &str| match line {
        "setup" => next == "before",
        "before" => next == "run",
        "run" => next == "after",
        "after" => next == "before" || next == "cleanup",
        _ => next == "setup",
    };
    assert!(log.windows(2).all(|pair| follows(&pair[0], &pair[1])), "{log:?}");
}

#[test]
fn what_runs_around_is_in_no_sample() {
    let place = place();
    exec(&place, "-n 5 -q", &["--before-each", "sleep 0.1", "--after-each", "sleep 0.1", "true"])
        .exits(0);
    let wall = results(&last(&place), "wall")[0]["estimate"].as_f64().unwrap();
    assert!(wall < 0.05, "{wall} s");
    let shown = place.run("show last --all").unwrap().exits(0);
    shown.shows(&["untimed, before each run: sleep 0.1"]);
}

#[test]
fn what_fails_around_is_an_error_that_says_which() {
    let place = place();
    let failed = |option: &str| {
        exec(&place, "-n 2 -q", &[option, "echo no disk >&2; exit 3", "true"]).exits(4)
    };
    failed("--setup").shows(&["setup failed", "exit status 3", "no disk"]);
    failed("--before-each").shows(&["before_each failed", "no disk"]);
    failed("--after-each").shows(&["after_each failed", "no disk"]);
    failed("--cleanup").shows(&["cleanup failed", "no disk"]);
}

#[test]
fn there_is_one_for_all_or_one_for_each() {
    let place = place();
    let two = ["--setup", "echo a >> log", "--setup", "echo b >> log", "true", "sleep 0.001"];
    exec(&place, "-n 2 -q", &two).exits(0);
    let log = lines(&place, "log");
    assert!(log.contains(&"a".to_owned()) && log.contains(&"b".to_owned()), "{log:?}");
    let three = ["true", "sleep 0.001", "sleep 0.002"];
    let few: Vec<&str> = two[..4].iter().chain(&three).copied().collect();
    exec(&place, "-n 2 -q", &few).exits(2).says(&["--setup is given 2 times for 3 commands"]);
}

#[test]
fn a_first_run_that_does_the_work_of_all_is_flagged() {
    // What `make` does: the second time there is nothing left to do.
    let build = "sh -c 'test -e built || { head -c 200000 /dev/zero > built; \
                 i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; }'";
    let place = place();
    exec(&place, "-n 6 -q --full", &[build]).exits(0).shows(&["work-differs", "the others"]);
    let flags = |document: &serde_json::Value| results(document, "wall")[0]["flags"].to_string();
    assert!(flags(&last(&place)).contains("KiB written"), "{}", flags(&last(&place)));
    exec(&place, "-n 6 -q", &["--before-each", "rm -f built", build]).exits(0);
    assert!(!flags(&last(&place)).contains("work-differs"), "{}", flags(&last(&place)));
}
