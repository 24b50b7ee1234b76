//! Limits that are searched within an invocation, through the real binary.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::place::{PluginFolders, PlumbOutput, ran};
use super::{failures, wait_until};

/// Takes so many operations per second and loses the rest. Trials that never happened, so that the answer is known.
const BEARS: &str = "
    MORE = dict(
        parameters=[
            dict(name='rate', type='integer', unit='ops/s', default='search', summary='a second',
                 search={'from': 100, 'to': 1000000, 'goal': 'nothing lost'}),
            dict(name='bears', type='integer', default=50000, summary='a second')],
        metrics=[dict(name='limit', unit='ops/s', better='higher', source='search')])

    def start(request):
        global bears
        bears = request['params']['bears']
        say(request, type='ready')

    def trial(request):
        note('trial')
        time.sleep(0.002)
        load, duration_ns = request['load'], request['duration_ns']
        offered = round(load * duration_ns / 1e9)
        good = min(offered, int(bears * duration_ns / 1e9))
        say(request, type='samples', start_ns=[time.monotonic_ns()], elapsed_ns=[duration_ns],
            iterations=[offered], cpu=[-1], values=dict(offered=[offered], good=[good], bad=[offered - good]))";

fn parsed(ran: &PlumbOutput) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran}"))
}

#[test]
fn a_limit_is_found_and_one_below_the_least_load_is_said() {
    let place = PluginFolders::new();
    let bears = place.plugin("bears", BEARS);
    let (ran, document) = place.document(&[&bears, "-p", "bears=5,50000"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let results = document["results"].as_array().unwrap();
    let limit = |series: &str| {
        let of = |result: &&Value| result["series"].as_str().unwrap().contains(series);
        results.iter().find(of).unwrap_or_else(|| panic!("{ran}"))
    };
    let found = limit("test.bears/limit");
    assert!((found["estimate"].as_f64().unwrap() / 50_000.0 - 1.0).abs() < 0.02, "{found}");
    assert!(!found["flags"].to_string().contains("search-incomplete"), "{found}");
    let below = limit("bears=5/");
    assert!((below["estimate"].as_f64().unwrap() - 100.0).abs() < 1e-9, "{below}");
    let flags = below["flags"].to_string();
    assert!(
        flags.contains("search-incomplete") && flags.contains("the lowest load (100 per second)"),
        "{flags}"
    );
}

#[test]
fn limits_are_compared() {
    let place = PluginFolders::new();
    place.plugin("bears", BEARS);
    let sides = ["test.bears:bears=50000", "test.bears:bears=40000"];
    let ab = ["ab", "--no-lock", "--quiet", "--json", "--on-interference", "keep"];
    let ab = place.plumb(&[&ab[..], &sides[..]].concat());
    assert_eq!(ab.code, Some(0), "{ab}");
    let compared = parsed(&ab)["results"][0]["against_first"][0].clone();
    // How many times as long: what the limits are divided by.
    let ratio = compared["ratio"].as_f64().unwrap_or_else(|| panic!("{ab}"));
    assert!(compared["verdict"] == "slower" && (ratio * 0.8 - 1.0).abs() < 0.02, "{compared}");
}

#[test]
fn a_search_that_was_killed_goes_on() {
    let place = PluginFolders::new();
    let bears = place.plugin("bears", BEARS);
    let run = ["run", "--no-lock", "--quiet", "--min-invocations", "12", &bears];
    let mut plumb =
        place.command(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(Duration::from_secs(60), || place.notes("bears").len() > 60);
    plumb.kill().unwrap();
    plumb.wait().unwrap();
    let trials = |place: &PluginFolders| -> usize {
        place.record().invocations.iter().map(|invocation| invocation.samples.len()).sum()
    };
    let before = trials(&place);
    assert!(before > 30, "{before} trials");
    let resumed =
        ran(&place.command(&["run", "--resume", "--no-lock", "-q", "--json"]).output().unwrap());
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert_eq!(parsed(&resumed)["run"]["status"], "complete", "{resumed}");
    assert!(trials(&place) > before);
}

#[test]
fn a_trial_with_more_good_than_offered_fails_its_invocation() {
    let place = PluginFolders::new();
    let bears = place.plugin("bears", &BEARS.replace("good=[good]", "good=[offered + 1]"));
    let (ran, document) = place.document(&[&bears]);
    assert_eq!(ran.code, Some(4), "{ran}");
    let (_, why) = failures(&document).remove(0);
    assert!(why.contains("more good operations"), "{why}");
}
