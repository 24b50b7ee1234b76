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

/// The figures of the last run, by series.
fn estimates(place: &TestEnvironment) -> Vec<(String, f64)> {
    let document = last(place);
    let results = document["results"].as_array().unwrap().iter();
    let named = results.map(|result| {
        (result["series"].as_str().unwrap().to_owned(), result["estimate"].as_f64().unwrap())
    });
    named.collect()
}

#[test]
fn interim_reports_are_no_results() {
    let place = place();
    copy(&place, "fio-3.28-status-interval.json");
    place.run("import fio-3.28-status-interval.json").unwrap().exits(0);
    assert!((estimates(&place)[0].1 - 10_000.0).abs() < 1e-6, "{:?}", estimates(&place));
    copy(&place, "dd-9.1-progress.txt");
    place.run("import dd-9.1-progress.txt").unwrap().exits(0);
    let [(_, bandwidth)] = &estimates(&place)[..] else { panic!("{:?}", estimates(&place)) };
    assert!((bandwidth - 107_374_182.4).abs() < 1e-3, "{bandwidth}");
}

#[test]
fn results_in_one_file_are_not_mixed() {
    let place = place();
    let both = ["sysbench-memory.txt", "sysbench-0.4.12.txt"]
        .map(|name| fs::read_to_string(fixture(name)).unwrap());
    place.write("both.txt", &both.concat()).unwrap();
    let ran = place.run("import both.txt").unwrap().exits(0);
    ran.shows(&["sysbench 1.0.20 is now run", "sysbench 0.4.12 is now run"]);
    copy(&place, "hyperfine-1.18-same-command.json");
    place.run("import hyperfine-1.18-same-command.json").unwrap().exits(0);
    let walls: Vec<f64> = estimates(&place).iter().map(|(_, seconds)| *seconds).collect();
    assert_eq!(walls.len(), 3, "{walls:?}");
    assert!((walls[0] - 2.0).abs() < 1e-9 && (walls[1] - 0.2).abs() < 1e-9, "{walls:?}");
}

#[test]
fn failed_jobs_and_runs_are_shown() {
    let place = place();
    for (name, words) in [
        ("fio-3.36-failed.json", "fio reports error 28"),
        ("hyperfine-1.18-same-command.json", "a signal ended the command"),
        ("stress-ng-0.17-miscellaneous.txt", "stress-ng failed it"),
        ("sockperf-3.7-no-answer.txt", "No messages were received"),
    ] {
        copy(&place, name);
        place.run(&format!("import {name}")).unwrap().exits(0);
        place.run("show last").unwrap().exits(0).shows(&[words]);
    }
    copy(&place, "ping-no-reply.txt");
    place.run("import ping-no-reply.txt").unwrap().exits(0);
    place.run("show last --all").unwrap().exits(0).shows(&["1 point measured", "100 none", "%"]);
}

#[test]
fn what_is_not_read_is_listed_and_refused_with_all() {
    let place = place();
    let name = "stress-ng-0.17-miscellaneous.txt";
    copy(&place, name);
    let words = ["2 rows not read: a miscellaneous metric of stress-ng (2, the first in line 8)"];
    place.run(&format!("import --all {name}")).unwrap().exits(6).says(&words);
    assert!(!place.store().exists(), "not even a store");
    place.run(&format!("import {name}")).unwrap().exits(0).says(&words);
    let again = parsed(&place.run(&format!("import {name} --json")).unwrap().exits(0));
    assert_eq!(again["not_read"][0]["count"], 2, "{again}");
    copy(&place, "mbw-1.5.txt");
    place.run("import --all mbw-1.5.txt").unwrap().exits(0);
}

#[test]
fn a_file_of_windows_is_that_of_linux() {
    let place = place();
    let text = fs::read_to_string(fixture("bonnie-1.97-concurrency.csv")).unwrap();
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let utf16: Vec<u8> = windows.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, content) in [("utf8.csv", windows.into_bytes()), ("utf16.csv", utf16)] {
        fs::write(place.cwd().join(name), content).unwrap();
        place.run(&format!("import {name}")).unwrap().exits(0);
        assert!((estimates(&place)[0].1 - 531.0 * 1024.0).abs() < 1e-6, "{name}: the first line");
    }
}

#[test]
fn another_form_or_unit_is_named_as_such() {
    let place = place();
    copy(&place, "openssl-1.0.1-slow.txt");
    place.run("import openssl-1.0.1-slow.txt").unwrap().exits(0);
    let rates = estimates(&place);
    let sign = rates.iter().find(|(series, _)| series.contains("sign:algorithm=rsa4096")).unwrap();
    assert!((sign.1 - 1.0 / 1.805).abs() < 1e-9, "{sign:?}");
    copy(&place, "bonnie-1.03-files.csv");
    place.run("import bonnie-1.03-files.csv").unwrap().exits(0);
    place.write("keys.txt", "+F4:9:256:0.010000:0.012500\n").unwrap();
    place.run("import keys.txt --format openssl").unwrap().exits(6).says(&["--tool-version"]);
    place.write("other.csv", &format!("2.1{}\n", ",1".repeat(51))).unwrap();
    let ran = place.run("import other.csv --format bonnie").unwrap().exits(6);
    ran.says(&["line 1: 52 fields"]);
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

/// The text with each number that has a decimal point in place of another.
fn with_decimals(text: &str, other: &str) -> String {
    let mut changed = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[begin..];
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        // A sentence may end in a number, and versions and addresses have several points.
        let is_decimal = number.matches('.').count() == 1 && !number.ends_with('.');
        changed.push_str(&rest[..begin]);
        changed.push_str(if is_decimal { other } else { number });
        rest = after;
    }
    changed + rest
}

/// Fails if a text shows a number that is none, or one of more digits than anybody reads.
fn assert_readable(command: &str, text: &str) {
    // The command line that an output names may hold the text of the file itself.
    let parts = text.split(|c: char| !c.is_alphanumeric());
    let wrong = parts.filter(|part| {
        let small = part.to_ascii_lowercase();
        let is_hash = small.chars().any(|c| c.is_ascii_alphabetic());
        ["inf", "nan", "infinity"].contains(&small.as_str()) || (part.len() > 25 && !is_hash)
    });
    let wrong: Vec<&str> = wrong.collect();
    assert!(wrong.is_empty(), "{command}: {wrong:?}\n{text}");
}

/// The text of a page without its markup and scripts, which have words of their own.
fn in_words(page: &str) -> String {
    let parts =
        page.split('<').filter(|part| !part.starts_with("script") && !part.starts_with("style"));
    parts.filter_map(|part| Some(part.split_once('>')?.1)).collect::<Vec<_>>().join(" ")
}

#[test]
fn no_output_shows_a_figure_that_is_none_whatever_was_imported() {
    let place = place();
    let run = |command: &str, code: i32| {
        let ran = place.run(command).unwrap().exits(code);
        assert_readable(command, &ran.stdout);
        assert_readable(command, &ran.stderr);
        ran
    };
    // Whole files of one value: their ratios and percentages are beyond every number.
    let commands = |values: &[f64]| {
        let times = serde_json::json!(values);
        let sum: f64 = values.iter().sum();
        serde_json::json!({"results": [{"command": "it", "mean": sum / 12.0, "median": values[0],
            "min": values[0], "max": values[11], "user": 1e300, "system": 5e-324, "times": times}]})
    };
    let rates = fs::read_to_string(fixture("stream-5.10.txt")).unwrap();
    let ordinary: Vec<f64> = (0..12).map(|value| 1.0 + 0.01 * f64::from(value)).collect();
    let tiny: Vec<f64> = ordinary.iter().map(|value| value * 1e-300).collect();
    let mixed: Vec<f64> = (0..12).map(|value| if value % 2 == 0 { 1e8 } else { 5e-324 }).collect();
    let mut shown = String::new();
    for (number, times) in [&ordinary, &tiny, &vec![5e-324; 12], &mixed].into_iter().enumerate() {
        place.write("times.json", &commands(times).to_string()).unwrap();
        run(&format!("import --label n=hyperfine{number} times.json"), 0);
        // The rate of the first line; STREAM prints it next to its times.
        let changed = rates.replace("20975.1", ["1e300", "5e-324", "1e-300", "20000.5"][number]);
        place.write("rates.txt", &changed).unwrap();
        run(&format!("import --label n=stream{number} rates.txt"), 0);
        for tool in ["hyperfine", "stream"] {
            let of = format!("n={tool}{number}");
            for command in [
                format!("show {of} --all"),
                format!("show {of} --in-words"),
                format!("export {of} --format json"),
                format!("export {of} --format csv"),
                format!("export {of} --format openmetrics"),
                format!("report {of} --output {number}-{tool}"),
            ] {
                run(&command, 0);
            }
            let page = place.cwd().join(format!("{number}-{tool}/index.html"));
            assert_readable("report", &in_words(&fs::read_to_string(&page).unwrap()));
            if number > 0 {
                for before in 0..number {
                    let sides = format!("n={tool}{before} {of}");
                    shown += &run(&format!("compare {sides}"), 0).stdout;
                    run(&format!("compare {sides} --json"), 0);
                }
            }
        }
    }
    assert!(shown.contains("over 10000 \u{d7}"), "{shown}");
    run("history hyperfine.command:command=it/wall", 0);
    run("history hyperfine.command:command=it/wall --json", 0);
}

#[test]
fn files_of_all_tools_with_extreme_numbers_are_refused_or_readable() {
    let place = place();
    let mut kept = 0;
    let folder = fixture("");
    for file in fs::read_dir(&folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        for extreme in ["1e300", "5e-324"] {
            place.write(&name, &with_decimals(&text, extreme)).unwrap();
            let imported = place.run(&format!("import {name} --json")).unwrap();
            assert_readable(&name, &imported.stderr);
            if imported.code != Some(0) {
                continue;
            }
            kept += 1;
            let run = parsed(&imported)["run"].clone();
            for command in ["show --all", "export --format json"] {
                let command = format!("{command} {}", run.as_str().unwrap_or("last"));
                let ran = place.run(&command).unwrap().exits(0);
                assert_readable(&command, &(ran.stdout + &ran.stderr));
            }
        }
    }
    assert!(kept > 20, "{kept}");
}
