//! Two plumbs on one machine at a time.

use std::process::Stdio;

use crate::common::samples::StoredSamples;
use crate::common::{ProgramOutput, TestEnvironment};
use crate::{WAIT, in_namespace, place};

/// The first run waits in its command until the second has done what the test is about. The lock is
/// that of the network namespace: in one of its own, no other run on this machine matters.
fn while_the_first_runs(place: &TestEnvironment, second: &str) -> ProgramOutput {
    place.write("wait.sh", WAIT).unwrap();
    let script = format!(
        "$PLUMB exec -n 2 -q 'sh wait.sh' & \
         until [ -e started ]; do sleep 0.02; done
         {second}
         wait"
    );
    in_namespace(place, "--net", &script)
}

#[test]
fn the_second_waits_for_the_first_and_says_so() {
    let place = place();
    let script = "$PLUMB exec -n 2 true 2> second.err & \
                  until grep -q waiting second.err; do sleep 0.02; done
                  [ $($PLUMB show --runs | grep -c running) = 1 ] && echo alone
                  touch go";
    while_the_first_runs(&place, script).exits(0).shows(&["alone"]);
    let said = std::fs::read_to_string(place.cwd().join("second.err")).unwrap();
    assert!(said.contains("another plumb is measuring (pid "), "{said}");
    assert!(said.contains("waiting until it ends (--no-lock measures anyway)"), "{said}");
    place.run("store info").unwrap().exits(0).shows(&["2 complete", "intact"]);
}

#[test]
fn whoever_waits_can_be_interrupted() {
    let place = place();
    let script = "$PLUMB exec -n 2 true 2> second.err & second=$!
                  until grep -q waiting second.err; do sleep 0.02; done
                  kill -INT $second; wait $second; echo exit $?
                  touch go";
    while_the_first_runs(&place, script).exits(0).shows(&["exit 130"]);
    place.run("store info").unwrap().exits(0).shows(&["1 complete, 0 running, 0 interrupted"]);
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn an_interrupted_run_is_completed_once() {
    let place = place();
    place.write("once.sh", "[ -e begun ] || { touch begun; exec sleep 300; }").unwrap();
    let script = "$PLUMB exec -n 2 -q --no-lock --label b=1 'sh once.sh' & run=$!
                  until [ -e begun ]; do sleep 0.02; done
                  kill -INT $run; wait $run; echo exit $?
                  $PLUMB run --resume b=1 > one 2>&1 & one=$!
                  $PLUMB run --resume b=1 > two 2>&1 & two=$!
                  until grep -q waiting one && grep -q waiting two; do sleep 0.02; done
                  touch go
                  wait $one; first=$?; wait $two; echo together $((first + $?)); cat one two";
    let ran = while_the_first_runs(&place, script).exits(0);
    ran.shows(&["exit 130", "together 2", "in 2 segments", "is complete"]);
    place.run("store info").unwrap().exits(0).shows(&["2 complete", "intact"]);
}

#[test]
fn without_the_lock_both_run_into_the_same_store() {
    let place = place();
    let script = "$PLUMB exec -n 3 -q --no-lock true && $PLUMB show last && touch go";
    let ran = while_the_first_runs(&place, script).exits(0).shows(&["true", "complete"]);
    assert_eq!(ran.stderr, "");
    place.run("store info").unwrap().exits(0).shows(&["2 complete", "intact"]);
}

#[test]
fn two_runs_that_write_at_once_are_stored_whole() {
    let place = place();
    let run = "run cpu.sieve:limit=20000 --min-invocations 6 --no-lock -q --dir ../work";
    let both: Vec<_> = ["a=1", "a=2"]
        .iter()
        .map(|label| {
            let mut plumb = place.plumb(run);
            plumb.args(["--label", label]).stdout(Stdio::piped()).stderr(Stdio::piped());
            plumb.spawn().unwrap()
        })
        .collect();
    for plumb in both {
        ProgramOutput::from(plumb.wait_with_output().unwrap()).exits(0);
    }
    for label in ["a=1", "a=2"] {
        place.run(&format!("show {label}")).unwrap().exits(0).shows(&["complete"]);
    }
    assert_eq!(StoredSamples::visible(&place).unwrap().invocations(), 6);
    place.run("store info").unwrap().exits(0).shows(&["2 complete", "intact"]);
}
