//! Suites that are malformed, huge, or nearly right.

use serde_json::Value;

use crate::common::{ProgramOutput, TestEnvironment};
use crate::{last, parsed, place, results};

fn run(place: &TestEnvironment, text: &str) -> ProgramOutput {
    place.write("suite.toml", text).unwrap();
    place.run("run suite.toml --dry-run").unwrap()
}

#[test]
fn a_malformed_suite_is_told_by_line_and_column() {
    let place = place();
    let ran = run(&place, "name = \"x\"\n[[point]]\nworkload = cpu.sieve\n").exits(2);
    ran.says(&["suite suite.toml", "line 3, column 12"]);
    let ran = run(&place, "name = 'x'\n\n[[point]]\nworkload = 5\n").exits(2);
    ran.says(&["line 4, column 12", "expected a string"]);
    run(&place, "name = 'x'\n[[point]]\nset = { a = 1 }\n").exits(2).says(&["workload"]);
    run(&place, "name = 'x'\n").exits(2).says(&["has no points"]);
    run(&place, "\u{0}").exits(2).says(&["line 1, column "]);
    place.run("run missing.toml").unwrap().exits(2).says(&["missing.toml", "No such file"]);
}

#[test]
fn a_suite_that_is_no_text_is_told() {
    let place = place();
    std::fs::write(place.cwd().join("suite.toml"), [0xff, 0xfe, 0x00]).unwrap();
    place.run("run suite.toml").unwrap().exits(2).says(&["suite.toml", "UTF-8"]);
    std::fs::create_dir(place.cwd().join("folder.toml")).unwrap();
    place.run("run folder.toml").unwrap().exits(2).says(&["folder.toml"]);
}

#[test]
fn a_huge_suite_is_refused_before_it_is_read() {
    let place = place();
    run(&place, &"# long\n".repeat(200_000)).exits(2).says(&["1400000 bytes", "1048576"]);
    let values: Vec<String> = (1..=101).map(|n| n.to_string()).collect();
    let values = values.join(", ");
    let many = format!(
        "name = 'x'\n[[point]]\nworkload = 'cpu.sieve'\nset = {{ limit = [{values}], threads = [{values}] }}"
    );
    run(&place, &many).exits(2).says(&["more than 10000 points"]);
}

#[test]
fn unknown_keys_are_errors_with_the_nearest_name() {
    let place = place();
    let suite = "name = 'x'\nbugdet = '2m'\n[[point]]\nworkload = 'cpu.sieve'\nsampel = '1ms'\n";
    let ran = run(&place, suite).exits(2).says(&["unknown key `bugdet`; did you mean `budget`?"]);
    ran.says(&["unknown key `point.0.sampel`; did you mean `sample`?"]);
}

/// The suite that docs/suites.md points at has every key, and each of them reaches the run.
#[test]
fn every_key_reaches_the_run() {
    let place = place();
    let text = include_str!("../../../../examples/suites/every-key.toml");
    place.write("suite.toml", text).unwrap();
    let run = "run suite.toml --no-lock -q --dir ../work --min-time 1ms --max-time 300ms \
               --max-invocations 8 --label purpose=test";
    let ran = place.run(run).unwrap().exits(0).shows(&[
        "load: process.fork",
        "prepared: nice 0",
        "purpose=test",
        "±5 %, at least 5 invocations and 1.00 ms, at most 8 invocations or 300 ms per point",
        "of the expected 5.00 k ops/s",
        "Compared with cpu.sieve:limit=100000, margin 1 %",
        "capped",
        "with-load",
    ]);
    // The second and the third point against the first, and the third against the second.
    assert_eq!(ran.stdout.matches("the cost").count(), 3, "{}", ran.stdout);
    let shown = place.run("show last --json").unwrap().exits(0);
    let document: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let results = document["results"].as_array().unwrap();
    let above: Vec<_> =
        results.iter().flat_map(|result| result["against_above"].as_array().unwrap()).collect();
    let [above] = above.as_slice() else { panic!("{above:?}") };
    assert_eq!(above["first"], "cpu.sieve:limit=200000");
    let difference = &above["difference"];
    assert_eq!(difference["unit"], "ops/s");
    assert!(difference["value"].is_f64() && above["ratio"].is_f64(), "{above}");
    // What the last point alone has.
    let name = "cpu.sieve:limit=300000,with=scheduler.yield,set=nice=1";
    for result in results {
        let is_loaded = result["flags"].to_string().contains("ran alongside scheduler.yield");
        let is_last = result["name"] == name;
        assert_eq!(
            (is_loaded, result["labels"]["row"] == "loaded"),
            (is_last, is_last),
            "{result}"
        );
    }
    let counters = place.run("show last --monitors --all").unwrap().exits(0).stdout;
    let counters = |point: &str| {
        let of_point =
            counters.split("cpu.sieve:").find(|section| section.starts_with(point)).unwrap();
        (of_point.contains("vmstat"), of_point.contains("meminfo"))
    };
    assert_eq!(counters("limit=200000"), (true, true));
    assert_eq!(counters("limit=300000"), (true, false));
    let history = place.run(&format!("history {name}/rate --json")).unwrap().exits(0);
    let history: serde_json::Value = serde_json::from_str(&history.stdout).unwrap();
    assert_eq!(history["runs"][0]["labels"]["row"], "loaded", "{history}");
}

#[test]
fn suites_say_what_is_wrong_with_their_lists() {
    let place = place();
    let with = |key: &str| {
        run(&place, &format!("name = 'x'\n{key}\n[[point]]\nworkload = 'cpu.sieve'\n")).exits(2)
    };
    with("with = ['cpu.seive']").says(&["`cpu.seive`", "did you mean `cpu.sieve`"]);
    with("compare = 'last'").says(&["line 2", "first"]);
    with("labels = ['a']").says(&["line 2"]);
    with("precision = 'high'").says(&["`high`"]);
    with("min-invocations = 5\nmax-invocations = 2")
        .says(&["--max-invocations is less than --min-invocations"]);
}

#[test]
fn ranges_give_a_point_a_value() {
    let place = place();
    let names = |arguments: &str| {
        let ran = place.run(&format!("run --dry-run {arguments}")).unwrap().exits(0);
        let points = ran.stdout.lines().take_while(|line| !line.is_empty());
        points.map(str::to_owned).collect::<Vec<_>>()
    };
    let sizes = names("memory.latency -p size=16KiB..32KiB/2");
    let wanted = ["size=16KiB", "size=23168B", "size=32KiB"]
        .map(|settings| format!("memory.latency:{settings}"));
    assert_eq!(sizes, wanted);
    assert_eq!(names("cpu.sieve:limit=1000..8000").len(), 4);
    assert_eq!(names("cpu.sieve -p limit=10..12+1,100").len(), 4);
    let suite = "name = 'x'\n[[point]]\nworkload = 'cpu.sieve'\nset = { limit = ['10..40', 7] }\n";
    let ran = run(&place, suite).exits(0).shows(&["4 points"]);
    let points = [10, 20, 40, 7].map(|limit| format!("cpu.sieve:limit={limit}\n"));
    assert!(ran.stdout.starts_with(&points.concat()), "{}", ran.stdout);
    let refused = |range: &str| {
        place.run(&format!("run --dry-run cpu.sieve -p limit={range}")).unwrap().exits(2)
    };
    refused("8..1").says(&["`8..1` is not a range", "backwards"]);
    refused("0..8").says(&["0 can't be doubled"]);
    refused("1..1000000+1").says(&["more than 10000 values"]);
}

#[test]
fn names_and_values_of_a_suite_are_checked() {
    let place = place();
    let point = |point: &str| run(&place, &format!("name = 'x'\n[[point]]\n{point}\n")).exits(2);
    point("workload = 'cpu.seive'").says(&["`cpu.seive`", "did you mean `cpu.sieve`"]);
    point("workload = 'cpu.sieve'\nset = { limt = 3 }").says(&["`limt`", "did you mean `limit`"]);
    point("workload = 'cpu.sieve'\nset = { growth = 'x' }").says(&["`x`", "push"]);
    point("workload = 'cpu.sieve'\nset = { limit = -3 }").says(&["limit", "-3"]);
    point("workload = 'cpu.sieve'\nsample = 'long'").says(&["`long` is not a length of time"]);
}

#[test]
fn a_new_suite_is_what_run_reads() {
    let place = place();
    let made = place
        .run(
            "suite new caches.toml --workload memory.latency:size=64KiB --workload cpu.sieve:limit=1..4 \
             --precision 2% --max-time 3s --budget 40s --with process.fork --monitor stat=10 --summary caches \
             --prepare none --set nice=1 --label purpose=caches --against-first",
        )
        .unwrap()
        .exits(0)
        .says(&["4 points, each ±2 %", "at most 12 s", "plumb run caches.toml"]);
    assert_eq!(made.stdout, "");
    let wanted = "name = \"caches\"\nsummary = \"caches\"\nbudget = \"40s\"\nprepare = \"none\"\n\
                  compare = \"first\"\nprecision = \"2%\"\nmax-time = \"3s\"\nset = [\"nice=1\"]\n\
                  with = [\"process.fork\"]\nmonitors = [\"stat=10\"]\nlabels = { purpose = \"caches\" }\n\n\
                  [[point]]\nworkload = \"memory.latency\"\nset = { size = \"64KiB\" }\n\n\
                  [[point]]\nworkload = \"cpu.sieve\"\nset = { limit = \"1..4\" }\n";
    assert_eq!(std::fs::read_to_string(place.cwd().join("caches.toml")).unwrap(), wanted);
    place.run("run caches.toml --dry-run").unwrap().exits(0).shows(&["size=64KiB", "limit=4"]);
    let printed = place.run("suite new - --workload cpu.sieve -p limit=10,20 --name x").unwrap();
    let wanted =
        "name = \"x\"\n\n[[point]]\nworkload = \"cpu.sieve\"\nset = { limit = [\"10\", \"20\"] }\n";
    assert_eq!(printed.exits(0).says(&["2 points"]).stdout, wanted);
}

#[test]
fn a_new_suite_that_would_not_run_is_not_written() {
    let place = place();
    let refused = |arguments: &str| {
        let ran = place.run(&format!("suite new my.toml {arguments}")).unwrap().exits(2);
        assert!(!place.cwd().join("my.toml").exists());
        ran
    };
    refused("").says(&["has no workload", "--workload ID", "-p NAME=VALUE"]);
    refused("--workload cpu.seive").says(&["did you mean `cpu.sieve`"]);
    refused("--workload cpu.sieve -p limt=3").says(&["`limt`", "did you mean `limit`"]);
    refused("--workload cpu.sieve --with cpu.seive").says(&["did you mean `cpu.sieve`"]);
    refused("--workload cpu.sieve --monitor stats").says(&["known monitors"]);
    refused("--workload cpu.sieve --precision high").says(&["`high`"]);
    refused("--workload cpu.sieve --set nicer=1").says(&["did you mean `nice`"]);
    refused("--workload cpu.sieve --label purpose").says(&["purpose"]);
    refused("--workload cpu.sieve --min-invocations 5 --max-invocations 2")
        .says(&["less than --min-invocations"]);
    let other = place.run("suite new my.txt --workload cpu.sieve").unwrap().exits(2);
    other.says(&["ends in .toml"]);
    place.write("my.toml", "mine").unwrap();
    let read = || std::fs::read_to_string(place.cwd().join("my.toml")).unwrap();
    place
        .run("suite new my.toml --workload cpu.sieve")
        .unwrap()
        .exits(2)
        .says(&["exists", "--force"]);
    assert_eq!(read(), "mine");
    place.run("suite new my.toml --workload cpu.sieve --force").unwrap().exits(0);
    assert!(read().starts_with("name = \"my\"\n"));
}

/// Every family once, the real parts included, and the plan of first-look held against the machine: an
/// invocation of the pilot takes more samples than later ones, and the machine may be busy.
#[test]
fn first_look_measures_every_family_in_about_the_time_that_it_plans() {
    let place = place();
    let plan = place
        .run("run --dry-run")
        .unwrap()
        .exits(0)
        .shows(&["the points of first-look should take 2 min"]);
    let points = plan.stdout.lines().take_while(|line| !line.is_empty()).count();
    place.run("run -q --no-lock --max-invocations 1 --dir ../work").unwrap().exits(0);
    let document = last(&place);
    assert_eq!(document["unsupported"].as_array().unwrap().len(), 0, "{document}");
    assert_eq!(document["failed"].as_array().unwrap().len(), 0, "{document}");
    let sql = "SELECT sum(invocation_end.at_ns - invocation.at_ns) * 1e-9, count(DISTINCT point) \
               FROM invocation JOIN invocation_end ON invocation_end.invocation = invocation.id";
    let told = place.program("sqlite3").arg(place.store()).arg(sql).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let (seconds, measured) = told.trim().split_once('|').unwrap();
    assert_eq!(measured.parse::<usize>().unwrap(), points);
    // What `plans` says, about: it moves when a point is added.
    let seconds = seconds.parse::<f64>().unwrap();
    let planned = 130.0 / 16.0;
    assert!(seconds < 6.0 * planned, "{seconds} s for one invocation of each, {planned} s planned");
}

#[test]
fn points_that_show_ceilings_give_way_to_those_that_are_asked_for() {
    let place = place();
    let suite = "name = 'copies'\n[[point]]\nworkload = 'memory.copy'\nceilings = true\n\
                 set = { method = ['libc', 'nt'], size = '1MiB' }\n";
    place.write("copies.toml", suite).unwrap();
    let planned = parsed(&place.run("run copies.toml --dry-run --json").unwrap().exits(0));
    assert_eq!(planned["points"].as_array().unwrap().len(), 4, "each method once: {planned}");
    let marks: Vec<bool> = planned["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["is_ceiling"].as_bool().unwrap())
        .collect();
    assert_eq!(marks.iter().filter(|is_ceiling| **is_ceiling).count(), 2, "{planned}");
    place.run("run copies.toml --dry-run").unwrap().exits(0).shows(&[
        "memory.copy:method=loop,size=1MiB (for comparison)",
        "; 2 of them for comparison",
    ]);
    // A ceiling has no ceilings of its own.
    let again = parsed(&place.run("run copies.toml --ceilings --dry-run --json").unwrap().exits(0));
    let workloads = |document: &Value| {
        let points = document["points"].as_array().unwrap().iter();
        points.filter(|point| point["workload"] == "memory.copy").count()
    };
    assert_eq!(workloads(&again), workloads(&planned), "{again}");
    // Another suite asks for what the first one only compares with, in another way.
    let other = "name = 'other'\n[[point]]\nworkload = 'memory.copy'\nprecision = '50%'\n\
                 set = { method = 'loop', size = '1MiB' }\n";
    place.write("other.toml", other).unwrap();
    place.run("run copies.toml other.toml --dry-run").unwrap().exits(0).shows(&["±50 %"]);
    let run = "run copies.toml --max-invocations 2 --min-invocations 2 -q --no-lock --expect memory.copy=1B/s";
    place.run(run).unwrap().exits(0);
    let document = last(&place);
    for result in results(&document, "bandwidth") {
        let method = result["point"]["method"].as_str().unwrap();
        let is_asked = ["libc", "nt"].contains(&method);
        assert_eq!(result["is_ceiling"], !is_asked, "{result}");
        assert_eq!(result["baseline"]["source"] == "expectation", is_asked, "{result}");
    }
}

#[test]
fn the_clock_is_measured_only_for_figures_of_this_microarchitecture() {
    let place = place();
    let clocks = |options: &str| {
        let run = format!("run {options} --ceilings --dry-run --json");
        let document = parsed(&place.run(&run).unwrap().exits(0));
        let points = document["points"].as_array().unwrap();
        points.iter().filter(|point| point["workload"] == "cpu.frequency").count()
    };
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let figures = plumb_reference::microarchitecture(&cpuinfo).map_or(Vec::new(), |of| of.figures);
    let has_first_cache = figures.iter().any(|figure| figure.workload == "memory.latency");
    assert_eq!(clocks("memory.latency:size=16KiB"), usize::from(has_first_cache));
    assert_eq!(clocks("memory.latency:size=16KiB cpu.frequency"), 1);
    assert_eq!(clocks("scheduler.pipe"), 0, "no figure is known of it");
    assert_eq!(clocks("memory.latency:size=16KiB --with cpu.integer"), 0, "under a load");
}

#[test]
fn a_ceiling_that_is_not_supported_leaves_a_run_complete() {
    let place = place();
    let run = "run crypto.aead:bytes=1KiB,provider=system,acceleration=off --ceilings --max-invocations 1 -q --no-lock";
    place.run(run).unwrap().exits(0);
    let document = last(&place);
    assert_eq!(document["unsupported"].as_array().unwrap().len(), 2, "{document}");
    let why = "no result for comparison: other values of provider";
    assert_eq!(document["results"][0]["no_baseline"], why, "{document}");
}

/// A suite of one quick point, with more lines at its top.
fn quick_suite(name: &str, limit: u32, more: &str) -> String {
    format!(
        "name = '{name}'\n{more}\n[[point]]\nworkload = 'cpu.sieve'\nset = {{ limit = {limit} }}\n"
    )
}

#[test]
fn several_suites_keep_their_settings_to_their_own_points() {
    let place = place();
    let first = "precision = '50%'\nmax-invocations = 2\nwith = ['scheduler.yield']\n\
                 monitors = ['vmstat=2']\nlabels = { purpose = 'one' }";
    let second =
        "min-invocations = 3\nmax-invocations = 3\nset = ['nice=1']\nlabels = { owner = 'two' }";
    place.write("one.toml", &quick_suite("one", 100_000, first)).unwrap();
    place.write("two.toml", &quick_suite("two", 200_000, second)).unwrap();
    place.run("run one.toml two.toml --dry-run").unwrap().exits(0).shows(&[
        "cpu.sieve:limit=100000,with=scheduler.yield (±50 %, at most 2 invocations per point)",
        "cpu.sieve:limit=200000,set=nice=1 (at least 3 invocations, at most 3 invocations per point)",
    ]);
    let run =
        "run one.toml two.toml cpu.sieve:limit=300000 --no-lock -q --dir ../work --max-time 300ms";
    place.run(run).unwrap().exits(0);
    let shown = place.run("show last --json").unwrap().exits(0);
    let document: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let results = document["results"].as_array().unwrap();
    // A point has a result for each of its metrics.
    let mut points: Vec<(&str, bool)> = Vec::new();
    for result in results {
        let is_loaded = result["flags"].to_string().contains("ran alongside scheduler.yield");
        points.push((result["name"].as_str().unwrap(), is_loaded));
    }
    points.dedup();
    assert_eq!(
        points,
        [
            ("cpu.sieve:limit=100000,with=scheduler.yield", true),
            ("cpu.sieve:limit=200000,set=nice=1", false),
            ("cpu.sieve:limit=300000", false)
        ]
    );
    assert_eq!(document["run"]["labels"], serde_json::json!({"owner": "two", "purpose": "one"}));
    // A run of several suites is a run of none of them.
    assert!(document["run"]["suite"].is_null());
}

#[test]
fn several_suites_that_state_what_holds_for_a_whole_run_are_refused() {
    let place = place();
    let refused = |first: &str, second: &str, flags: &str| {
        place.write("one.toml", &quick_suite("one", 100_000, first)).unwrap();
        place.write("two.toml", &quick_suite("two", 200_000, second)).unwrap();
        place.run(&format!("run one.toml two.toml --dry-run {flags}")).unwrap()
    };
    let both = "the suites one and two can't be measured in one run";
    let remedy = "run them one after the other: plumb run one; plumb run two";
    let told = |setting: &str| format!("{both}: {setting}");
    let budget = told("one sets no budget, but the others do");
    refused("", "budget = '5m'", "").exits(2).says(&[&budget, remedy, "--budget TIME"]);
    refused("", "budget = '5m'", "--budget 1m").exits(0);
    // Budgets add up: each suite planned its own.
    refused("budget = '5m'", "budget = '2m'", "").exits(0).shows(&["7 min"]);
    let preset = told("one sets prepare = \"none\" for the whole run");
    refused("prepare = 'none'", "", "").exits(2).says(&[&preset, remedy, "--prepare PRESET"]);
    refused("prepare = 'none'", "", "--prepare none").exits(0);
    refused("prepare = 'none'", "prepare = 'none'", "").exits(0);
    let compare = told("one sets compare = \"first\" for the whole run");
    refused("compare = 'first'", "", "").exits(2).says(&[&compare, remedy]);
    let label = told("two sets the label a = \"2\"");
    let labels = ["labels = { a = '1' }", "labels = { a = '2' }"];
    refused(labels[0], labels[1], "").exits(2).says(&[&label, remedy, "--label a=VALUE"]);
    refused(labels[0], labels[1], "--label a=3").exits(0);
    refused(labels[0], labels[0], "").exits(0);
    let knob = "--set nice=2 and set = [\"nice=1\"] of the suite two conflict";
    refused("", "set = ['nice=1']", "--set nice=2").exits(2).says(&[knob, "plumb run two"]);
    let round = "the suite one sets drop-caches@round";
    refused("set = ['drop-caches@round']", "", "").exits(2).says(&[round, "plumb run one"]);
}

#[test]
fn a_point_of_two_suites_is_measured_once_or_refused() {
    let place = place();
    place.write("one.toml", &quick_suite("one", 100_000, "precision = '5%'")).unwrap();
    place.write("two.toml", &quick_suite("two", 100_000, "precision = '1%'")).unwrap();
    place.write("alike.toml", &quick_suite("alike", 100_000, "precision = '5%'")).unwrap();
    let refused = place.run("run one.toml two.toml --dry-run").unwrap().exits(2);
    refused.says(&["one and two", "two sets different settings for cpu.sieve:limit=100000"]);
    place.run("run one.toml alike.toml --dry-run").unwrap().exits(0).shows(&["1 point, each"]);
    // The same suite twice is that suite.
    place.run("run one.toml one.toml --dry-run").unwrap().exits(0).shows(&["1 point, each ±5 %"]);
}
