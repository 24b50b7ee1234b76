//! bonnie++'s command line goes in; its CSV comes out, is read by its own programs, and comes back.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use plumb_workload_testing::{Lack, skip};

use crate::common::knobs::is_root;
use crate::common::{ProgramOutput, ran};
use crate::{last, place};

/// Metric → figure of the results in a document.
fn figures(document: &Value) -> BTreeMap<String, f64> {
    let results = document["results"].as_array().unwrap().iter();
    results
        .map(|result| {
            (result["metric"].as_str().unwrap().to_owned(), result["estimate"].as_f64().unwrap())
        })
        .collect()
}

/// What one of bonnie++'s programs makes of a CSV.
fn shown_by(program: &str, csv: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bonnie.csv");
    fs::write(&path, csv).unwrap();
    let output = Command::new(program).stdin(fs::File::open(path).unwrap()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; apt install bonnie++"));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_pass_goes_out_as_bonnies_csv_and_comes_back() {
    let place = place();
    let run =
        "run bonnie --full --no-lock -q -- -s 4:8k:64:2 -f -n 1 -b -x 2 -z 7 -m box -d ../work";
    let shown = place.run(run).unwrap().exits(0);
    shown.shows(&["bonnie 4MiB", "rewrite", "stat_sequential", "delete_random", "complete"]);
    let document = last(&place);
    assert_eq!(document["run"]["labels"]["name"], "box");
    let measured = figures(&document);
    assert_eq!(measured.len(), 32, "two phases of twelve are left out: {measured:?}");
    let exported = place.run("export --format bonnie").unwrap().exits(0).stdout;
    assert_eq!(exported.lines().count(), 2);
    assert!(exported.lines().all(|line| line.split(',').count() == 50), "{exported}");
    assert!(exported.starts_with("1.98,plumb") && exported.contains(",box,1,"), "{exported}");
    // Debian's programs read it.
    let rate = exported.split(',').nth(19).unwrap();
    assert!(shown_by("bon_csv2html", &exported).contains(rate), "{exported}");
    assert!(shown_by("bon_csv2txt", &exported).contains(rate), "{exported}");
    let other = crate::place();
    fs::write(other.cwd().join("bonnie.csv"), &exported).unwrap();
    other.run("import bonnie.csv").unwrap().exits(0).shows(&["is now run"]);
    let document = last(&other);
    assert_eq!(document["results"][0]["workload"], "storage.bonnie");
    for (metric, figure) in figures(&document) {
        let was = measured[&metric];
        let share = metric.ends_with("_cpu");
        // Shares are in whole percents, times in whole microseconds.
        let off =
            if share || metric.ends_with("_latency") { 6e-3 + 0.01 * was } else { 1e-3 * was };
        assert!((figure - was).abs() <= off, "{metric}: {was} became {figure}");
    }
    // What has no pass has no line.
    place.run("run cpu.sieve:limit=20000 --min-invocations 1 --no-lock -q").unwrap().exits(0);
    place
        .run("export --format bonnie")
        .unwrap()
        .exits(2)
        .says(&["none of these runs measured storage.bonnie"]);
}

#[test]
fn arguments_that_plumb_does_not_take_are_2() {
    let place = place();
    let refused = |run: &str, words: &[&str]| {
        place.run(run).unwrap().exits(2).says(words);
    };
    refused("run bonnie -- -k", &["no option -k"]);
    refused("run bonnie -- -s 100 -r 100", &["less than twice the memory"]);
    refused(
        "run cpu.sieve -- -s 100",
        &["work only with a suite that is named after a tool", "bonnie"],
    );
    refused("run bonnie first-look -- -s 100", &["work only with a suite"]);
    refused("run bonnie -- -s 4 -d nowhere", &["nowhere"]);
    place.run("show").unwrap().exits(2);
}

#[test]
fn root_may_work_as_somebody_else() {
    let place = place();
    let user = |name: &str| -> ProgramOutput {
        let run = format!("run bonnie --no-lock -q -- -s 4 -f -n 0 -x 1 -u {name} -d ../work");
        ran(&mut place.plumb(&run)).unwrap()
    };
    if is_root() {
        user("nobody").exits(0).shows(&["user=nobody"]);
        assert_eq!(place.leftovers(), [""; 0]);
    } else {
        skip(Lack::Root);
    }
    user("nobody-of-this-name").exits(2).says(&["there is no such user"]);
}
