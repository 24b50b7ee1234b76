//! SIGINT and SIGTERM: what was measured is kept and shown, and can be completed.

use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::processes::{signal, wait_for};
use crate::common::samples::StoredSamples;
use crate::common::{ProgramOutput, TestEnvironment};
use crate::{PATIENCE, WAIT, parsed, place};

/// Two points, of which one ends its second process only when it is told: interrupted in that.
fn start(place: &TestEnvironment) -> Child {
    place.write("wait.sh", &format!("[ -e first ] || {{ touch first; exit; }}\n{WAIT}")).unwrap();
    let suite = "name = 'x'\n[[point]]\nworkload = 'cpu.sieve'\nset = { limit = 20000 }\n\
                 [[point]]\nworkload = 'process.command'\n\
                 set = { command = '[\"sh\", \"wait.sh\"]' }\n";
    place.write("suite.toml", suite).unwrap();
    let mut plumb = place.marked("run suite.toml --dir ../work --min-invocations 2 --no-lock");
    plumb.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let plumb = plumb.spawn().unwrap();
    let waits = || place.cwd().join("started").exists();
    let sampled = || StoredSamples::visible(place).is_some_and(|samples| !samples.is_empty());
    wait_for(PATIENCE, || (waits() && sampled()).then_some(())).unwrap();
    plumb
}

fn end(plumb: Child) -> ProgramOutput {
    plumb.wait_with_output().unwrap().into()
}

fn nothing_is_left(place: &TestEnvironment) {
    let left = wait_for(Duration::from_secs(2), || place.leftovers().is_empty().then_some(()));
    assert!(left.is_some(), "{:?}", place.leftovers());
}

#[test]
fn the_first_signal_ends_the_run_with_a_scorecard_of_what_there_is() {
    for name in ["INT", "TERM"] {
        let place = place();
        let plumb = start(&place);
        let begun = Instant::now();
        signal(name, plumb.id()).unwrap();
        let ran = end(plumb).exits(130).shows(&["interrupted", "plumb run --resume"]);
        assert!(begun.elapsed() < Duration::from_secs(5), "{ran:?}");
        nothing_is_left(&place);
        let before = StoredSamples::visible(&place).unwrap();
        place.write("go", "").unwrap();
        let resumed = place.run("run --resume --dir ../work --no-lock -q").unwrap().exits(0);
        resumed.shows(&["complete", "in 2 segments"]);
        assert_eq!(before.lost_in(&StoredSamples::visible(&place).unwrap()), None);
        nothing_is_left(&place);
    }
}

#[test]
fn a_terminal_interrupts_the_whole_group() {
    let place = place();
    let plumb = start(&place);
    let group = format!("-{}", plumb.id());
    let mut kill = place.program("kill");
    assert!(kill.args(["-s", "INT", "--", &group]).status().unwrap().success());
    end(plumb).exits(130).shows(&["interrupted"]);
    nothing_is_left(&place);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let place = place();
    let plumb = start(&place);
    let begun = Instant::now();
    for _ in 0..20 {
        let _ = signal("INT", plumb.id());
    }
    end(plumb).exits(130);
    assert!(begun.elapsed() < Duration::from_secs(2));
    nothing_is_left(&place);
    place.run("show").unwrap().exits(0).shows(&["interrupted"]);
}

#[test]
fn it_may_come_at_any_moment_before_the_first_sample() {
    let place = place();
    for delay in 0..8 {
        let mut plumb = place.marked("exec --no-lock --json -q -- sleep 300");
        let plumb = plumb.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let starts =
            || (place.run("show last~0").unwrap().stdout.contains("running")).then_some(());
        wait_for(PATIENCE, starts).unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        signal("INT", plumb.id()).unwrap();
        let begun = Instant::now();
        assert_eq!(parsed(&end(plumb).exits(130))["run"]["status"], "interrupted");
        assert!(begun.elapsed() < Duration::from_secs(5), "after {delay} ms");
        nothing_is_left(&place);
    }
}

#[test]
fn who_is_stopped_goes_on_later() {
    let place = place();
    let plumb = start(&place);
    signal("STOP", plumb.id()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    signal("CONT", plumb.id()).unwrap();
    place.write("go", "").unwrap();
    end(plumb).exits(0).shows(&["complete"]);
}

#[test]
fn it_may_come_while_a_load_is_set_up() {
    let place = place();
    // The file of the load takes a while to lay out.
    let run = "run cpu.sieve --with storage.sequential:size=1GiB --dir ../work --no-lock -q";
    let plumb = place.marked(run).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(PATIENCE, || (place.run("show").unwrap().code == Some(0)).then_some(())).unwrap();
    signal("INT", plumb.id()).unwrap();
    end(plumb).exits(130).shows(&["interrupted"]);
    nothing_is_left(&place);
}
