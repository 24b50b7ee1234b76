//! Results of other tools become runs, or nothing at all.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::TestEnvironment;
use crate::{exec, last, measured, parsed, place};

/// A committed result of a tool.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../base/classics/tests/fixtures").join(name)
}

fn copy(place: &TestEnvironment, name: &str) {
    fs::copy(fixture(name), place.cwd().join(name)).unwrap();
}

#[test]
fn an_imported_result_is_a_run_like_any_other() {
    let place = place();
    copy(&place, "fio-randread.json");
    let ran = place.run("import fio-randread.json").unwrap().exits(0);
    ran.shows(&["fio 3.33 is now run", "plumb show"]);
    let shown = place.run("show last --all").unwrap().exits(0);
    let shown = shown.shows(&["fio", "63.9 none", "too few processes: 1", "unknown CPU"]);
    shown.shows(&["2026-11-22", "not comparable with storage.random: fio counts"]);
    let document = last(&place);
    let machine = &document["targets"][0]["machine"];
    assert!(machine["fingerprint"].as_str().unwrap().starts_with("unknown:"));
    assert_eq!(machine["facts"].as_object().unwrap().keys().collect::<Vec<_>>(), ["machine"]);
    assert_eq!(document["targets"][0]["environment"]["facts"], serde_json::json!({}));
    assert_eq!(document["run"]["labels"]["tool"], "fio");
    assert_eq!(document["results"][0]["versions"]["fio"], "3.33");
    for format in ["csv", "samples-csv", "go-bench", "openmetrics", "otava", "junit"] {
        let ran = place.run(&format!("export tool=fio --format {format}")).unwrap().exits(0);
        ran.shows(&["andread"]);
    }
}

#[test]
fn the_last_run_is_the_last_that_came() {
    let place = measured();
    // Text of mbw has no date.
    copy(&place, "mbw-1.2.2.txt");
    place.run("import mbw-1.2.2.txt").unwrap().exits(0);
    place.run("show last").unwrap().exits(0).shows(&["mbw"]);
    // Of two results the one that came later is the last, whatever their names.
    copy(&place, "hackbench-2.4.txt");
    place.run("import hackbench-2.4.txt").unwrap().exits(0);
    place.run("show last").unwrap().exits(0).shows(&["hackbench"]);
    place.run("show last~1").unwrap().exits(0).shows(&["mbw"]);
    exec(&place, "-n 2 -q", &["true"]).exits(0);
    place.run("show last").unwrap().exits(0).shows(&["true"]);
    place.run("show last~2").unwrap().exits(0).shows(&["mbw"]);
}

#[test]
fn the_same_content_is_there_once_whatever_its_name() {
    let here = measured();
    let there = place();
    for place in [&here, &there] {
        copy(place, "hyperfine-1.15.json");
        place.run("import hyperfine-1.15.json").unwrap().exits(0).shows(&["is now run"]);
    }
    fs::rename(here.cwd().join("hyperfine-1.15.json"), here.cwd().join("b.json")).unwrap();
    let again = here.run("import b.json --json").unwrap().exits(0);
    let again = parsed(&again);
    assert_eq!((&again["runs"], &again["samples"]), (&0.into(), &0.into()));
    assert_eq!(
        (&again["tool"], &again["version"]),
        (&"hyperfine".into(), &serde_json::Value::Null)
    );
    here.run("import b.json").unwrap().exits(0).shows(&["is already stored as run"]);
    // The other store has the same run, imported elsewhere at another time.
    let other = there.store().display().to_string();
    here.run(&format!("import {other}")).unwrap().exits(0).shows(&["0 new runs"]);
    here.run("store info").unwrap().exits(0).shows(&["2 complete", "intact"]);
    let shown = here.run("show tool=hyperfine --full").unwrap().exits(0);
    shown.shows(&["date unknown", "sleep 0.001", "5×1"]);
    // What was measured before is the one before.
    here.run("show last~1").unwrap().exits(0).shows(&["sleep 0.01", "round=1"]);
}

#[test]
fn an_imported_result_and_a_run_of_the_same_command_are_compared_when_that_is_asked() {
    let place = place();
    copy(&place, "hyperfine-1.15.json");
    place.run("import hyperfine-1.15.json").unwrap().exits(0);
    crate::exec(&place, "-n 5 -q", &["sleep 0.001"]).exits(0);
    let apart = place.run("compare tool=hyperfine last").unwrap().exits(3);
    let both = ["measured hyperfine.command:command=sleep 0", "measured process.command:command="];
    apart.says(&both).says(&["no series in common", "plumb compare --across"]);
    let ran = place.run("compare --across tool=hyperfine last").unwrap().exits(0);
    ran.shows(&["sleep 0.001/wall"]).says(&["hyperfine subtracts the time of an empty shell"]);
}

#[test]
fn what_counts_the_same_is_a_series_of_plumbs_own() {
    let place = place();
    copy(&place, "mbw-1.2.2.txt");
    place.run("import --tool-version 1.2.2 mbw-1.2.2.txt").unwrap().exits(0);
    let document = last(&place);
    let manual = parsed(&place.run("explain memory.copy --json").unwrap());
    let series: Vec<&str> = document["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["series"].as_str().unwrap())
        .collect();
    let copies = [
        "memory.copy:size=16MiB/bandwidth",
        "mbw.copy:method=same_block,size=16MiB/bandwidth",
        "memory.copy:method=loop,size=16MiB/bandwidth",
    ];
    assert_eq!(series, copies);
    let libc = &document["results"][0];
    assert_eq!(libc["version"], manual["version"]);
    assert_eq!(libc["unit"], "B/s");
    // DUMB of 1.2.2: 11904.762 MiB/s, the median of its three passes.
    let median = libc["estimate"].as_f64().unwrap() / 1_048_576.0;
    assert!((median / 11904.762 - 1.0).abs() < 1e-3, "{median}");
    assert!(libc["notes"].to_string().contains("labels this DUMB, but it is libc"), "{libc}");
    // Another version is another reading: another run.
    place.run("import mbw-1.2.2.txt").unwrap().exits(0).shows(&["is now run"]);
}

#[test]
fn nothing_is_stored_of_files_of_which_one_is_broken() {
    let place = place();
    copy(&place, "fio-randread.json");
    let whole = fs::read_to_string(fixture("iperf3-tcp.json")).unwrap();
    place.write("cut.json", &whole[..whole.len() / 2]).unwrap();
    place.write("list.txt", "milk, eggs\n").unwrap();
    for (file, words) in [
        ("cut.json", &["can't import cut.json", "damaged or truncated", "iperf3"][..]),
        ("list.txt", &["neither a plumb store nor output of a supported tool", "hint:", "fio"]),
        ("--format fio list.txt", &["damaged or truncated fio JSON"]),
    ] {
        let ran = place.run(&format!("import fio-randread.json {file}")).unwrap().exits(6);
        ran.says(words);
        assert!(!place.store().exists(), "not even a store");
    }
    copy(&place, "iperf3-refused.json");
    let ran = place.run("import iperf3-refused.json").unwrap().exits(6);
    ran.says(&["no results in", "Connection refused"]);
    place.run("import --format nonsense list.txt").unwrap().exits(2).says(&["bonnie"]);
}

#[test]
fn hostile_names_in_a_result_stay_text() {
    let place = place();
    let whole = fs::read_to_string(fixture("hyperfine-1.15.json")).unwrap();
    let hostile = r#""command": "\u001b[2J=1+1\",\n<b>|`x`""#;
    place.write("hostile.json", &whole.replace(r#""command": "sleep 0""#, hostile)).unwrap();
    place.run("import hostile.json").unwrap().exits(0);
    for command in
        ["show last", "show last --format markdown", "export --format csv", "export --format junit"]
    {
        let shown = place.run(command).unwrap().exits(0).stdout;
        assert!(!shown.contains('\u{1b}') && shown.contains("u{1b}"), "{command}: {shown}");
    }
}

#[test]
fn imports_are_compared_and_their_machines_are_not_taken_for_one() {
    let place = place();
    copy(&place, "fio-randread.json");
    let whole = fs::read_to_string(fixture("fio-randread.json")).unwrap();
    place.write("later.json", &whole.replace("63937.062937", "70000.5")).unwrap();
    let imported = |file: &str| {
        parsed(&place.run(&format!("import {file} --json")).unwrap().exits(0))["run"].clone()
    };
    let first = imported("fio-randread.json");
    let second = imported("later.json");
    let compare = format!("compare {} {}", first.as_str().unwrap(), second.as_str().unwrap());
    let ran = place.run(&compare).unwrap().exits(0);
    let ran = ran.shows(&["fio.randread", "63.9", "70.0", "too little data for an interval"]);
    ran.shows(&["unknown (import"]);
}
