//! `plumb report -o DIR`: pages as a folder.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::ran;
use crate::{exec, in_namespace, measured, place};

/// The names of the files of a folder, and of its data.
fn files(folder: &Path) -> Vec<String> {
    let names = |folder: &Path, lead: &str| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| format!("{lead}{}", entry.file_name().to_string_lossy())).collect()
    };
    let mut all = names(folder, "");
    all.extend(names(&folder.join("data"), "data/"));
    all.sort();
    all
}

/// The charts of a page, of its file under `data`: `plumb.charts(PAGE,PACKED);`.
fn unpacked(file: &Path) -> Vec<Value> {
    let call = fs::read_to_string(file).unwrap();
    let packed = call.trim_end().rsplit('"').nth(1).unwrap();
    let deflated = miniz_oxide::inflate::decompress_to_vec(&from_base64(packed)).unwrap();
    serde_json::from_slice(&deflated).unwrap()
}

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let mut bits = 0u32;
    let mut held = 0;
    for digit in text.chars().filter_map(|digit| DIGITS.find(digit)) {
        (bits, held) = (bits << 6 | u32::try_from(digit).unwrap(), held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    bytes
}

fn chart<'c>(charts: &'c [Value], id: &str) -> &'c Value {
    let ids = || charts.iter().map(|chart| chart["id"].as_str().unwrap()).collect::<Vec<_>>();
    charts
        .iter()
        .find(|chart| chart["id"] == id)
        .unwrap_or_else(|| panic!("no {id} in {:?}", ids()))
}

/// What these are called.
fn names(all: &Value) -> Vec<&str> {
    all.as_array().unwrap().iter().map(|named| named["name"].as_str().unwrap()).collect()
}

/// Every relative link of every page leads to a file of the folder.
fn links_lead_somewhere(folder: &Path) -> usize {
    let all = files(folder);
    let mut count = 0;
    for name in all.iter().filter(|name| name.ends_with(".html")) {
        let page = fs::read_to_string(folder.join(name)).unwrap();
        for attribute in [" href=\"", " src=\""] {
            for rest in page.split(attribute).skip(1) {
                let to = rest.split('"').next().unwrap();
                let file = to.split('#').next().unwrap();
                if to.starts_with("data:") {
                    continue;
                }
                assert!(file.is_empty() || all.iter().any(|known| known == file), "{name}: {to}");
                count += 1;
            }
        }
        let charts = format!("data/{}.js", name.trim_end_matches(".html"));
        assert_eq!(page.contains("<figure"), all.contains(&charts), "{name}");
    }
    count
}

#[test]
fn a_store_becomes_a_folder_of_pages() {
    let place = measured();
    exec(&place, "-n 2 -q --label round=2", &["true", "sleep 0.01"]).exits(0);
    let report = place.run("report -o out/pages").unwrap().exits(0);
    report.says(&["out/pages: ", " pages of 2 runs, ", "xdg-open out/pages/index.html"]);
    let folder = place.cwd().join("out/pages");
    assert!(links_lead_somewhere(&folder) > 50);
    let index = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(index.contains("round=1") && index.contains("round=2"), "{index}");
    let named = |start: &str| files(&folder).iter().filter(|name| name.starts_with(start)).count();
    let histories = named("history-");
    assert!(named("compare-") == 1 && named("machine-") == 1 && histories >= 2);
    // Once more over it, and of one run alone: nothing else is left.
    place.run("report round=1 -o out/pages").unwrap().exits(0).says(&["of 1 run,"]);
    assert_eq!(named("compare-"), 0);
    links_lead_somewhere(&folder);
    let both = place.run("report round=1 round=2 -o both --quiet").unwrap().exits(0);
    assert_eq!(both.stderr, "");
    links_lead_somewhere(&place.cwd().join("both"));
}

#[test]
fn compared_runs_show_their_monitors_over_each_other() {
    let place = place();
    for kernel in ["a", "b"] {
        exec(&place, &format!("-n 2 -q --label kernel={kernel}"), &["sleep 0.4"]).exits(0);
    }
    place.run("report kernel=a kernel=b -o out").unwrap().exits(0);
    let out = place.cwd().join("out");
    let charts = files(&out).into_iter().find(|name| name.starts_with("data/compare-")).unwrap();
    let charts = unpacked(&out.join(charts));
    let switches = chart(&charts, "process.command/monitor/stat.ctxt");
    let groups: Vec<&str> = names(&switches["groups"]);
    assert_eq!(groups[..2], ["kernel=a", "kernel=b"]);
}

#[test]
fn six_groups_are_a_page_and_every_chart_has_all_of_them() {
    let place = place();
    let measure = "run scheduler.yield -p threads=1,2 --min-invocations 2 --max-invocations 2 --max-time 20ms";
    for kernel in 1..=6 {
        let run = format!("{measure} --no-lock -q --label kernel=6.{kernel}");
        place.run(&run).unwrap().exits(0);
    }
    place.run("report --by kernel -o out").unwrap().exits(0);
    let out = place.cwd().join("out");
    links_lead_somewhere(&out);
    let index = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(index.contains("href=\"compare-by-kernel.html\""), "{index}");
    let charts = unpacked(&out.join("data/compare-by-kernel.js"));
    let kernels: Vec<String> = (1..=6).map(|minor| format!("6.{minor}")).collect();
    let curve = chart(&charts, "comparison/by-threads/scheduler.yield");
    assert_eq!(names(&curve["groups"]), kernels);
    let bars = chart(&charts, "comparison/bars/scheduler.yield");
    assert_eq!(names(&bars["groups"]), kernels);
    let stacked = chart(&charts, "comparison/cpu/scheduler.yield");
    assert_eq!(names(&stacked["groups"])[..2], ["user", "system"]);
    let map = chart(&charts, "comparison/map/scheduler.yield");
    assert_eq!(map["layers"][0]["value"].as_array().unwrap().len(), 12);
    let boxes = chart(&charts, "scheduler.yield:threads=1/rate/arms");
    assert_eq!(boxes["y"]["categories"], Value::from(kernels));
    assert_eq!(boxes["layers"][0]["median"].as_array().unwrap().len(), 6);
    // Each of them without a browser, too.
    for it in [curve, bars, stacked, map, boxes] {
        let id = it["id"].as_str().unwrap();
        place.run(&format!("report --by kernel --chart {id} -o c.svg")).unwrap().exits(0);
        assert!(fs::read_to_string(place.cwd().join("c.svg")).unwrap().contains("<svg"), "{id}");
        place.run(&format!("report --by kernel --chart {id}")).unwrap().exits(0);
    }
    let refused = place.run("report --by nosuch -o other").unwrap().exits(2);
    refused.says(&["all these runs have the same nosuch, or none"]);
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let place = measured();
    place.write("letter.txt", "mine").unwrap();
    place
        .run("report -o letter.txt")
        .unwrap()
        .exits(2)
        .says(&["letter.txt is a file, not a folder"]);
    let refused = place.run("report -o .").unwrap().exits(2);
    refused.says(&[". is not empty and is not a plumb report", "--force"]);
    assert_eq!(files(&place.cwd()), ["letter.txt"]);
    place.run("report -o . --force").unwrap().exits(0);
    assert!(place.cwd().join("letter.txt").exists() && place.cwd().join("index.html").exists());
    // Now it is a report, in which the pages before are replaced and nothing else.
    place.write("diary.html", "<!doctype html><p>mine").unwrap();
    place.write("data/diary.js", "mine()").unwrap();
    place
        .write("run-gone.html", "<!doctype html>\n<html lang=\"en\" data-page=\"run-gone\"")
        .unwrap();
    place.run("report -o .").unwrap().exits(0);
    assert_eq!(fs::read_to_string(place.cwd().join("letter.txt")).unwrap(), "mine");
    let left = files(&place.cwd());
    let is_left = |name: &str| left.iter().any(|file| file == name);
    assert!(is_left("diary.html") && is_left("data/diary.js") && !is_left("run-gone.html"));
}

#[test]
fn what_can_not_be_reported_is_told() {
    let place = place();
    place.run("report -o pages").unwrap().exits(2).says(&["there is no store"]);
    assert!(!place.cwd().join("pages").exists());
    let place = measured();
    place.run("report nosuch -o pages").unwrap().exits(2).says(&["nosuch"]);
    place.run("report last last -o pages").unwrap().exits(2).says(&["are the same run"]);
    assert!(!place.cwd().join("pages").exists());
    place.write("file", "").unwrap();
    place.run("report -o file/pages").unwrap().exits(6).says(&["can't be written"]);
    place.run("report -o /proc/pages").unwrap().exits(6).says(&["/proc/pages can't be written"]);
    place.run("report").unwrap().exits(2).says(&["--output"]);
}

#[test]
fn a_full_disk_leaves_no_first_page() {
    let place = measured();
    let script = "mkdir pages && mount -t tmpfs -o size=200k tmpfs pages
                  $PLUMB report -o pages; echo exit $?; ls pages/index.html || echo none";
    let ran = in_namespace(&place, "--mount", script);
    ran.exits(0)
        .says(&["can't be written: No space left", "it has no index.html"])
        .shows(&["exit 6", "none"]);
}

#[test]
fn an_interrupted_report_leaves_no_first_page() {
    let place = measured();
    place.run("report -o pages").unwrap().exits(0);
    assert!(place.cwd().join("pages/index.html").exists());
    // The style is a pipe that nobody reads: writing waits until the signal has come.
    let script = "cd pages && rm plumb.css && mkfifo plumb.css && cd ..
                  $PLUMB report -o pages & sleep 0.5; kill -INT $!; sleep 0.2; cat pages/plumb.css > /dev/null
                  wait $!; echo exit $?; ls pages/index.html || echo none";
    let mut shell = place.program("bash");
    shell.args(["-c", script]).env("PLUMB", place.binary());
    ran(&mut shell).unwrap().exits(0).says(&["interrupted"]).shows(&["exit 130", "none"]);
}
