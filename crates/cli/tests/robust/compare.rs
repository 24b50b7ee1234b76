//! `plumb compare`: stored runs side by side, and what can't be.

use std::fs;

use crate::{exec, parsed, place};

#[test]
fn two_runs_get_an_honest_sentence_and_a_history_a_verdict() {
    let place = place();
    let measure = |time: &str, label: &str| {
        let command = format!("sleep {time}");
        // One series, whatever the time: the command's text is what tells series apart.
        let script = place.write("work", &format!("#!/bin/sh\nexec {command}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(script, mode).unwrap();
        exec(&place, &format!("-n 5 -q --label what={label}"), &["./work"]).exits(0);
    };
    // A run that measured nothing is not one to repeat.
    let nothing = "run storage.sequential:size=900TiB --no-lock -q --label what=old";
    place.run(nothing).unwrap().exits(3);
    measure("0.02", "old");
    measure("0.3", "new");
    let ran = place.run("compare what=old what=new").unwrap().exits(0);
    let ran = ran.shows(&[
        "Compared with what=old",
        "no verdict",
        "uncalibrated",
        "this could be chance",
    ]);
    let ran = ran.says(&[
        "measure the sides in turns, 9 times each:",
        "--label what=old",
        "--label what=new",
    ]);
    assert!(!ran.stderr.contains("900TiB"), "{}", ran.stderr);
    place.run("compare --strict what=old what=new").unwrap().exits(5);
    let document = parsed(&place.run("compare --json what=old what=new").unwrap().exits(0));
    assert_eq!(document["schema"], "plumb.comparison/1");
    let against = &document["results"][0]["against_first"][0];
    assert!(against["verdict"].is_null() && against["break_even"].as_f64().unwrap() > 0.1);
    for _ in 0..8 {
        measure("0.02", "again");
    }
    let ran = place.run("compare what=old what=new").unwrap().exits(0);
    ran.shows(&["slower", "on their own"]);
    let markdown = place.run("compare --format markdown what=old what=new").unwrap().exits(0);
    markdown.shows(&["| series | arm |", "**slower**"]);
}

#[test]
fn ratios_are_shown_relative_to_a_named_series() {
    let place = place();
    for machine in ["one", "other"] {
        exec(&place, &format!("-n 3 -q --label machine={machine}"), &["true", "ls"]).exits(0);
    }
    let sides = "machine=one machine=other";
    let by = "--normalise-by true";
    let ran = place.run(&format!("compare {sides} {by}")).unwrap().exits(0);
    ran.shows(&["Relative ratios: each ratio divided by that of", "relative to"]);
    let document = parsed(&place.run(&format!("compare --json {sides} {by}")).unwrap().exits(0));
    let results = document["results"].as_array().unwrap();
    let relative = |index: usize| results[index]["arms"][1]["normalised"]["ratio"].as_f64();
    assert!(relative(0).is_none() && relative(1).unwrap() > 0.0, "{document}");
    let chart = format!("report {sides} --chart comparison/relative");
    place.run(&format!("{chart} {by} -o chart.csv")).unwrap().exits(0);
    let drawn = fs::read_to_string(place.cwd().join("chart.csv")).unwrap();
    assert!(drawn.contains("machine=other") && !drawn.contains("machine=one"), "{drawn}");
    place.run(&chart).unwrap().exits(2).says(&["no chart is called `comparison/relative`"]);
    let unknown = place.run(&format!("compare {sides} --normalise-by tru")).unwrap();
    unknown.exits(2).says(&["no run measured a series called"]);
}

#[test]
fn what_can_not_be_compared_is_said() {
    let place = place();
    exec(&place, "-n 2 -q --label a=1", &["true"]).exits(0);
    exec(&place, "-n 2 -q --label a=2", &["sleep 0.01"]).exits(0);
    place.run("compare last last~0").unwrap().exits(2).says(&["are the same run"]);
    place.run("compare last").unwrap().exits(2).says(&["compare needs two runs, or --by"]);
    place.run("compare last nothing=1").unwrap().exits(2);
    let apart = place.run("compare a=1 a=2").unwrap().exits(3);
    apart.says(&["no series in common", "a=1 measured process.command:command="]);
    place.run("compare --by kernel a=1 a=2").unwrap().exits(2).says(&["have the same kernel"]);
    // Without names, --by means all runs.
    place.run("compare --by kernel").unwrap().exits(2).says(&["have the same kernel"]);
    place.run("compare --by a").unwrap().exits(3).says(&["no series in common"]);
    place.run("run storage.sequential:size=900TiB --no-lock -q --label a=3").unwrap().exits(3);
    place.run("compare a=1 a=3").unwrap().exits(3).says(&["a=3 measured nothing"]);
    place.run("compare").unwrap().exits(2).says(&["<RUN>"]);
    let unknown = place.run("compare --by nosuch a=1 a=2").unwrap().exits(2);
    unknown.says(&["none of these runs has a label or fact `nosuch`"]);
}
