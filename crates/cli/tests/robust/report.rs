//! `plumb report`: one chart as a file.

use std::fs;

use crate::{last, measured, parsed, place};

#[test]
fn a_chart_is_written_as_its_file_is_called() {
    let place = measured();
    let chart = "process.command/boxes";
    place.run(&format!("report --chart {chart} -o c.csv")).unwrap().exits(0).says(&["c.csv"]);
    let table = fs::read_to_string(place.cwd().join("c.csv")).unwrap();
    assert!(table.starts_with("group,mark,name,x,y,low,"), "{table}");
    assert!(table.contains(",boxes,true,") && table.contains("sleep 0.01"), "{table}");
    place.run(&format!("report last --chart {chart} -o c.json")).unwrap().exits(0);
    let mut ran = place.run("show").unwrap();
    ran.stdout = fs::read_to_string(place.cwd().join("c.json")).unwrap();
    let document = parsed(&ran);
    assert_eq!((&document["schema"], &document["id"]), (&"plumb.chart/1".into(), &chart.into()));
    place.run(&format!("report --chart {chart} -o c.svg")).unwrap().exits(0);
    let svg = fs::read_to_string(place.cwd().join("c.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains(">sleep 0.01</text>"), "{svg}");
    place.run(&format!("report --chart {chart} -o c.png")).unwrap().exits(0);
    assert!(fs::read(place.cwd().join("c.png")).unwrap().starts_with(b"\x89PNG"));
    place
        .run(&format!("report --chart {chart} -o c.bmp"))
        .unwrap()
        .exits(2)
        .says(&["`c.bmp`", ".svg, .png, .csv"]);
    place.run(&format!("report --chart {chart} -o /nowhere/c.csv")).unwrap().exits(6);
    place.run("report -o c.csv").unwrap().exits(2).says(&["--chart"]);
}

#[test]
fn a_chart_that_is_none_lists_those_that_there_are() {
    let place = measured();
    let ran = place.run("report --chart process.comand/boxs -o c.csv").unwrap().exits(2);
    ran.says(&[
        "`process.comand/boxs`",
        "did you mean `process.command/boxes`",
        "process.command/ecdf",
    ]);
    let ran = place.run("report --chart run/boxes -o c.csv").unwrap().exits(2);
    assert!(!ran.stderr.contains("process.command/"), "{}", ran.stderr);
    let ran = place.run("report --chart process.comand/wall/history -o c.csv").unwrap();
    ran.exits(2).says(&["process.comand"]);
    assert!(!place.cwd().join("c.csv").exists());
}

#[test]
fn histories_and_comparisons_have_charts() {
    let place = measured();
    let series = "true/history";
    place.run(&format!("report --chart {series} -o h.json")).unwrap().exits(0);
    let written = fs::read_to_string(place.cwd().join("h.json")).unwrap();
    assert!(written.contains("/history\"") && written.contains("intervals"), "{written}");
    crate::exec(&place, "-n 2 -q", &["true", "sleep 0.01"]).exits(0);
    place.run("report last~1 last --chart comparison/ratios -o r.csv").unwrap().exits(0);
    let table = fs::read_to_string(place.cwd().join("r.csv")).unwrap();
    assert!(table.contains("margin,spans,") && table.contains(",intervals,true/"), "{table}");
    place.run("report last last --chart comparison/ratios -o r.csv").unwrap().exits(2);
}

#[test]
fn the_whole_run_is_drawn_against_the_last_comparable_one() {
    let place = place();
    let drawn = || {
        crate::exec(&place, "-n 8 -q", &["true", "sleep 0.01"]).exits(0);
        place.run("report --chart run/overview").unwrap().exits(0).stdout.clone()
    };
    let first = drawn();
    assert!(first.contains("its own 95 % interval") && first.contains("sleep 0.01"), "{first}");
    let second = drawn();
    let verdicts = ["no verdict", "than in the last run", "as in the last run"];
    assert!(verdicts.iter().any(|verdict| second.contains(verdict)), "{second}");
}

#[test]
fn sides_have_charts_beside_each_other() {
    let place = measured();
    for (kind, says) in [("boxes", "steady samples"), ("bars", "sleep 0.01"), ("cpu", "user")] {
        let ran = place.run(&format!("report --chart sides/{kind}")).unwrap().exits(0);
        ran.shows(&[says, "true", "sleep 0.01"]);
    }
}

#[test]
fn charts_are_drawn_on_the_terminal_too() {
    let place = measured();
    let drawn = place.run("report --chart process.command/boxes").unwrap().exits(0);
    let drawn = drawn.shows(&["steady samples of every point", "true", "sleep 0.01"]);
    assert!(drawn.stdout.contains('\u{2503}') || drawn.stdout.contains('|'), "{}", drawn.stdout);
    let document = parsed(&place.run("report --chart process.command/boxes --json").unwrap());
    assert_eq!(document["schema"], "plumb.chart/1");
}

#[test]
fn what_monitors_read_has_charts_over_time() {
    let place = place();
    crate::exec(&place, "-n 2 -q", &["sleep 0.4"]).exits(0);
    place.run("report --chart process.command/monitor/stat.ctxt -o m.csv").unwrap().exits(0);
    let table = fs::read_to_string(place.cwd().join("m.csv")).unwrap();
    assert!(table.contains(",line,") && table.lines().count() > 2, "{table}");
    let ran = place.run("report --chart process.command/monitor/stat.ctx -o m.csv").unwrap();
    ran.exits(2).says(&["did you mean `process.command/monitor/stat.ctxt`"]);
}

#[test]
fn without_a_store_there_is_a_command_to_type() {
    let place = place();
    place.run("report --chart a/boxes -o a.csv").unwrap().exits(2).says(&["plumb run"]);
}

#[test]
fn points_behind_a_link_say_what_binds_them() {
    let place = place();
    let grid = "-p up=8Mbit/s,24Mbit/s -p rtt=10ms,20ms";
    let points = format!("block.remote -p operation=write -p size=4MiB {grid}");
    let often = "--min-invocations 8 --max-invocations 8 --invocation-time 100ms";
    let ran = place.run(&format!("run --full --no-lock {points} {often}")).unwrap().exits(0);
    let terms = "operations × round trip / depth";
    ran.shows(&["Curves", "by up and rtt", terms, "rtt=20ms: bandwidth"]);
    let links = &last(&place)["links"];
    // Each write waits for the one before, as far as a busy machine lets that be seen.
    let depth = links[0]["depth"].as_f64().unwrap();
    assert!((0.4..2.5).contains(&depth), "{links}");
    for point in links[0]["points"].as_array().unwrap() {
        let share = |of: &str| point["shares"][of]["estimate"].as_f64().unwrap();
        let all = share("bandwidth") + share("round_trips") + share("rest");
        assert!((all - 1.0).abs() < 1e-9 && point["shares"]["left_out"].is_f64(), "{links}");
    }
    for format in ["--format markdown", "--in-words"] {
        place.run(&format!("show {format}")).unwrap().exits(0).shows(&[terms]);
    }
    place.run("report last -o pages").unwrap().exits(0);
    let pages = fs::read_dir(place.cwd().join("pages")).unwrap().map(|entry| entry.unwrap().path());
    let shown =
        pages.filter(|page| fs::read_to_string(page).is_ok_and(|text| text.contains(terms)));
    assert!(shown.count() >= 2, "on the page of the run and on that of the workload");
}

#[test]
fn a_curve_is_on_the_scorecard_in_every_format_and_on_its_chart() {
    let place = place();
    let points = "crypto.aead -p bytes=64..1024 --min-invocations 8 --max-invocations 8 --invocation-time 30ms";
    let ran = place.run(&format!("run --full --no-lock {points}")).unwrap().exits(0);
    ran.shows(&["Curves", "crypto.aead by bytes", "per call +", "× bytes"]);
    let document = last(&place);
    let curve = &document["curves"][0];
    assert_eq!((&curve["kind"], &curve["parameter"]), (&"line".into(), &"bytes".into()));
    assert_eq!(curve["points"].as_array().unwrap().len(), 5);
    let cost = |of: &str| curve["line"][of]["estimate"].as_f64().unwrap();
    assert!(cost("each") > 0.0 && cost("fixed") < 1e-3, "{curve}");
    assert!(curve["line"]["each"]["low"].as_f64().unwrap() <= cost("each"), "{curve}");
    for format in ["--format markdown", "--in-words"] {
        place.run(&format!("show {format}")).unwrap().exits(0).shows(&["× bytes"]);
    }
    place.run("report --chart crypto.aead/by-bytes -o c.json").unwrap().exits(0);
    let mut ran = place.run("show").unwrap();
    ran.stdout = fs::read_to_string(place.cwd().join("c.json")).unwrap();
    let drawn = parsed(&ran);
    assert!(drawn["groups"].to_string().contains("fitted line"), "{drawn}");
    assert_eq!(drawn["x"]["scale"], "log");
}

#[test]
fn what_limits_a_copy_over_ssh_is_measured_part_by_part() {
    let place = place();
    let often = "--min-invocations 8 --max-invocations 8 --min-time 200ms";
    let copies = "ssh.copy:size=1KiB ssh.copy:size=20KiB,files=20";
    let ran = place.run(&format!("run --full --no-lock {copies} --ceilings {often}")).unwrap();
    ran.exits(0).shows(&["the bottleneck is: login", "all parts predict"]);
    let document = last(&place);
    let found = &document["bottlenecks"][0];
    assert_eq!(found["bottleneck"], "login", "{found:#}");
    let parts = found["parts"].as_array().unwrap().iter();
    let names: Vec<&str> = parts.map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!(names[0], "login");
    assert!(names.contains(&"page cache") && names.contains(&"cipher and CPU"), "{names:?}");
    // There is no path, so no window to wait for either.
    assert_eq!(names.len(), 3, "{names:?}");
    let of_predicted = found["of_predicted"]["estimate"].as_f64().unwrap();
    assert!((0.3..1.5).contains(&of_predicted), "{found:#}");
    // Many files have a cost of their own, which includes the login. The points that measure parts have no parts.
    let of_files = &document["bottlenecks"][1];
    assert_eq!(of_files["bottleneck"], "small files", "{of_files:#}");
    assert!(!of_files["parts"].to_string().contains("login"), "{of_files:#}");
    assert_eq!(document["bottlenecks"].as_array().unwrap().len(), 2);
}
