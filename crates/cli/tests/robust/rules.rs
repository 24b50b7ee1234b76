//! Stopping rules: a precision, minima and maxima that hold together, for a run and for points of a suite.

use serde_json::Value;

use crate::common::{ProgramOutput, TestEnvironment};
use crate::{parsed, place};

const SIEVE: &str = "run cpu.sieve:limit=20000 --no-lock -q --json --dir ../work";

fn run(place: &TestEnvironment, rules: &str) -> Value {
    parsed(&place.run(&format!("{SIEVE} {rules}")).unwrap().exits(0))
}

fn number(document: &Value, field: &str) -> f64 {
    document["results"][0][field].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn all_of_them_hold() {
    let place = place();
    let document = run(&place, "--precision 50% --min-invocations 12 --min-time 1s --max-time 60s");
    assert_eq!(document["results"][0]["stop"], "precision", "{document}");
    assert!(number(&document, "invocations") >= 12.0, "{document}");
    assert!(number(&document, "reached") <= 0.5, "{document}");
    let spent = "SELECT sum(invocation_end.at_ns - invocation.at_ns) * 1e-9 FROM invocation \
                 JOIN invocation_end ON invocation_end.invocation = invocation.id";
    let told = place.program("sqlite3").arg(place.store()).arg(spent).output().unwrap();
    let told: f64 = String::from_utf8(told.stdout).unwrap().trim().parse().unwrap();
    assert!(told >= 0.99, "{told} s");
}

#[test]
fn a_maximum_ends_a_point_and_is_named() {
    let place = place();
    let document = run(&place, "--precision 0.001% --max-invocations 3");
    assert_eq!(document["results"][0]["stop"], "max-invocations", "{document}");
    assert_eq!(number(&document, "invocations"), 3.0, "{document}");
    let document = run(&place, "--precision 0.1% --min-invocations 2 --max-time 500ms");
    assert_eq!(document["results"][0]["stop"], "max-time", "{document}");
    let card = place.run("show last").unwrap().exits(0);
    card.shows(&[
        "±0.1 %, at least 2 invocations, at most 500 ms per point",
        "stopped by max-time",
    ]);
}

#[test]
fn seven_invocations_have_an_interval() {
    let document = run(&place(), "--min-invocations 7");
    assert_eq!(document["results"][0]["stop"], "fixed", "{document}");
    assert!(document["results"][0]["low"].is_number(), "{document}");
}

#[test]
fn points_of_a_suite_have_rules_of_their_own() {
    let place = place();
    let suite = "name = 'x'\nmin-invocations = 2\n[[point]]\nworkload = 'cpu.sieve'\n\
                 set = { limit = 20000 }\n[[point]]\nworkload = 'cpu.sieve'\n\
                 set = { limit = 30000 }\nmin-invocations = 4\n";
    place.write("suite.toml", suite).unwrap();
    let dry = place.run("run suite.toml --dry-run").unwrap().exits(0);
    dry.shows(&["limit=30000 (at least 4 invocations per point)", "each at least 2 invocations"]);
    let document = parsed(&place.run("run suite.toml --dry-run --json").unwrap().exits(0));
    assert_eq!(document["schema"], "plumb.dry-run/1");
    assert_eq!(document["suites"], serde_json::json!(["x"]));
    assert_eq!(document["points"].as_array().unwrap().len(), 2, "{document}");
    assert_eq!(document["points"][1]["point"]["limit"], 30000);
    assert_eq!(document["points"][1]["rules"]["min_invocations"], 4);
    assert_eq!(document["rules"]["min_invocations"], 2);
    let soaked = parsed(&place.run("run cpu.sieve --for 90s --dry-run --json").unwrap().exits(0));
    assert_eq!((&soaked["rules"], &soaked["most_s"]), (&serde_json::Value::Null, &90.0.into()));
    // The default of a minute a point does not cut off a point that is to take longer.
    let longer = "name = 'x'\n[[point]]\nworkload = 'cpu.sieve'\n[[point]]\n\
                  workload = 'scheduler.pipe'\nmax-time = '10m'\n";
    place.write("longer.toml", longer).unwrap();
    let dry = place.run("run longer.toml --dry-run").unwrap().exits(0);
    dry.shows(&["±1 %, at most 1 min per point", "at most 10 min per point", "at most 11 min"]);
    let run = "run suite.toml --no-lock -q --json --dir ../work";
    let counts = |ran: ProgramOutput| {
        let results = parsed(&ran)["results"].as_array().unwrap().clone();
        let primary = results.iter().filter(|result| result["primary"] == true);
        primary.map(|result| result["invocations"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(counts(place.run(run).unwrap().exits(0)), [2, 4]);
    // What is typed wins over both.
    assert_eq!(counts(place.run(&format!("{run} --min-invocations 3")).unwrap().exits(0)), [3, 3]);
}

#[test]
fn what_cannot_hold_is_refused() {
    let place = place();
    let refused = |rules: &str| place.run(&format!("{SIEVE} {rules}")).unwrap().exits(2);
    refused("--min-invocations 5 --max-invocations 4")
        .says(&["--max-invocations is less than --min-invocations"]);
    refused("--min-time 5s --max-time 4s").says(&["--max-time is shorter than --min-time"]);
    refused("--max-invocations 0").says(&["--max-invocations is less than --min-invocations"]);
    refused("--precision 200%").says(&["not a percentage between 0 and 100"]);
    let exec = place.run("exec -n 3 --precision 1% true").unwrap().exits(2);
    exec.says(&["cannot be used with"]);
}

/// `datastore.batch` marks its five phases: each has a row, and a point ends by its precision only if all of them have it.
#[test]
fn every_headline_metric_has_a_row_and_is_precise() {
    let place = place();
    let run = "run --full datastore.batch:entities=50 --no-lock -q --dir ../work --precision 60% --max-time 40s";
    let ran = place.run(run).unwrap().exits(0);
    ran.shows(&["add", "get", "update", "get_updated", "delete"]);
    let document = parsed(&place.run("show last --json").unwrap().exits(0));
    let results = document["results"].as_array().unwrap();
    let headlines = results.iter().filter(|result| result["headline"] == true);
    let reached: Vec<Option<f64>> =
        headlines.map(|headline| headline["reached"].as_f64()).collect();
    assert_eq!(reached.len(), 6, "{document}");
    let are_precise =
        reached.iter().flatten().filter(|half_width| **half_width <= 0.6).count() == 6;
    match results[0]["stop"].as_str() {
        Some("precision") => assert!(are_precise, "{reached:?}"),
        // A busy machine may not let all of them become precise, or only after the last look.
        stop => assert_eq!(stop, Some("max-time"), "{reached:?}"),
    }
}
