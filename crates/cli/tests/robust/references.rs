//! References: published ones, and those that users make of their own runs.

use std::fs;

use crate::common::TestEnvironment;
use crate::{parsed, place};

/// Runs of this machine under a label.
fn measured(place: &TestEnvironment, runs: usize) {
    for _ in 0..runs {
        let run = "run cpu.sieve process.fork -p threads=1 --label good=1 --max-invocations 3 --min-invocations 3 -q \
                   --no-lock";
        place.run(run).unwrap().exits(0);
    }
}

#[test]
fn a_run_is_compared_with_published_figures() {
    let place = place();
    let run = "run memory.copy -p method=libc,loop -p size=4MiB --max-invocations 2 --min-invocations 2 -q --no-lock";
    place.run(run).unwrap().exits(0);
    place.run("compare reference:bifferboard-2009 last").unwrap().exits(0).shows(&[
        "2 of 29 figures can be compared",
        "mbw DUMB",
        "memory.copy:size=4MiB/bandwidth",
        "uncalibrated",
        "not measured: plumb run storage.bonnie",
        "bonnie++ 1.03 uses putc and getc",
    ]);
    let ran = place.run("compare last reference:bifferboard-2009 --json").unwrap().exits(0);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["schema"], "plumb.reference-comparison/1");
    assert_eq!(json["verdict"], "uncalibrated");
    let row = &json["compared"][0];
    // mbw 1.1.1 swaps its labels: MEMCPY is the loop.
    assert_eq!(row["figure"], "mbw MEMCPY");
    assert_eq!(row["series"], "memory.copy:method=loop,size=4MiB/bandwidth");
    let result = row["result"]["estimate"].as_f64().unwrap();
    let printed = 25.637 * 1_048_576.0;
    let times = row["performance"]["estimate"].as_f64().unwrap();
    assert!((times - result / printed).abs() < 1e-3 * times, "{row}");
    let all = json["compared"].as_array().unwrap().len();
    assert_eq!(all + json["not_compared"].as_array().unwrap().len(), 29);
}

#[test]
fn an_unknown_reference_has_its_nearest_name_as_a_hint() {
    let place = place();
    measured(&place, 1);
    place
        .run("compare reference:linod-360-2010 last")
        .unwrap()
        .exits(2)
        .says(&["no reference is called `linod-360-2010`", "did you mean `linode-360-2010`?"]);
    place.run("reference show /etc/passwd").unwrap().exits(2).says(&["no reference is called"]);
    place
        .run("compare reference:efs reference:rrdtool-2010")
        .unwrap()
        .exits(2)
        .says(&["one reference at a time"]);
    place
        .run("compare reference:efs last --by kernel")
        .unwrap()
        .exits(2)
        .says(&["--by does not apply"]);
    place.run("show reference:efs").unwrap().exits(0).shows(&["Amazon EFS"]);
    place
        .run("show reference:efs --in-words")
        .unwrap()
        .exits(2)
        .says(&["plumb reference show efs"]);
    place.run("export reference:efs").unwrap().exits(2).says(&["only plumb show, compare and run"]);
    place
        .run("run cpu.sieve --expect reference:efs --no-lock -q")
        .unwrap()
        .exits(2)
        .says(&["measures nothing that the reference has"]);
}

#[test]
fn runs_of_one_machine_become_the_expectation_of_others_of_its_kind() {
    let place = place();
    measured(&place, 2);
    let exported = place.run("reference export ours good=1").unwrap().exits(0).stdout.clone();
    assert!(exported.contains("name = \"process.fork/time\""), "{exported}");
    assert!(!exported.contains("id1:"), "a reference names no hosts: {exported}");
    let document: toml::Table = toml::from_str(&exported).unwrap();
    let figures = document["figure"].as_array().unwrap();
    let fork =
        figures.iter().find(|figure| figure["name"].as_str() == Some("process.fork/time")).unwrap();
    let runs = fork["hosts"].as_array().unwrap()[0].as_array().unwrap();
    let value = fork["value"].as_float().unwrap();
    let middle = f64::midpoint(runs[0].as_float().unwrap(), runs[1].as_float().unwrap());
    assert!((value - middle).abs() < 1e-12);
    place.write("ours.toml", &exported).unwrap();
    place.run("reference add ours.toml").unwrap().exits(0).says(&["added the reference ours"]);
    place.run("reference add ours.toml").unwrap().exits(2).says(&["--replace", "merges both"]);
    place.run("reference add ours.toml --replace").unwrap().exits(0);
    place.run("reference list").unwrap().exits(0).shows(&["1 host, of this kind of machine"]);
    let run = "run process.fork --max-invocations 3 --min-invocations 3 -q --no-lock";
    place.run(run).unwrap().exits(0).shows(&["(reference ours, whose worst run is"]);
    let ran = place.run("show --json").unwrap().exits(0);
    let shown: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let results = shown["results"].as_array().unwrap();
    let fork = results.iter().find(|result| result["metric"] == "time").unwrap();
    assert_eq!(fork["baseline"]["source"], "reference");
    assert_eq!(fork["baseline"]["reference"], "ours");
    // As typed wins over the reference of this kind.
    let typed = format!("{run} --expect process.fork=1ns");
    place.run(&typed).unwrap().exits(0).shows(&["of the expected 1.00 ns"]);
    // Under other conditions nobody expects the same.
    let under = |more: &str| {
        let ran = place.run(&format!("{run} {more}")).unwrap().exits(0);
        assert!(!ran.stdout.contains("(reference ours"), "{}", ran.stdout);
    };
    under("--set nice=1");
    under("--with cpu.sieve");
    place
        .run("reference export both good=1 --merge ours.toml")
        .unwrap()
        .exits(2)
        .says(&["the reference ours has the same runs of"]);
    place
        .run("reference export tuned last~1 last")
        .unwrap()
        .exits(2)
        .says(&["prepared differently"]);
    place.run("reference export loaded last").unwrap().exits(3).says(&["next to a load"]);
    place.run("reference remove ours").unwrap().exits(0);
    place.run("reference remove efs").unwrap().exits(2).says(&["plumb ships"]);
    let again = place.run(run).unwrap().exits(0).stdout.clone();
    assert!(!again.contains("(reference ours"), "{again}");
}

#[test]
fn files_that_are_no_references_are_refused_and_added_ones_that_break_are_reported() {
    let place = place();
    for (text, why) in [
        ("name = 'x'", "its schema is ``"),
        ("schema = 'plumb.reference/2'", "its schema is `plumb.reference/2`"),
        ("schema = 'plumb.reference/1'\nname = ", "is not a reference: line 2: "),
        (
            "schema = 'plumb.reference/1'\nname = '../x'\nsummary = ''\nsource = ''\nmachine = ''\nfigure = []",
            "`../x`",
        ),
        (
            "schema = 'plumb.reference/1'\nname = 'x'\nsummary = ''\nsource = ''\nmachine = ''\nfigure = []",
            "no figures",
        ),
    ] {
        place.write("bad.toml", text).unwrap();
        place.run("reference add bad.toml").unwrap().exits(6).says(&[why]);
    }
    place.run("reference add missing.toml").unwrap().exits(6).says(&["can't read missing.toml"]);
    let folder = place.root().join("data/plumb/references");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("half.toml"), "schema = ").unwrap();
    place
        .run("reference list")
        .unwrap()
        .exits(0)
        .says(&["half.toml is not a reference", "plumb reference remove half"]);
    place.run("reference show half").unwrap().exits(6).says(&["half.toml is not a reference"]);
    let run = "run cpu.sieve --max-invocations 1 --min-invocations 1 -q --no-lock";
    place.run(run).unwrap().exits(0).says(&["half.toml is not a reference"]);
    place.run("reference remove half").unwrap().exits(0);
    let shipped = "schema = 'plumb.reference/1'\nname = 'efs'\nsummary = ''\nsource = ''\nmachine = ''\n\
                   [[figure]]\nname = 'x'\nvalue = 1\nunit = 's'\nnot-comparable = 'no'";
    place.write("efs.toml", shipped).unwrap();
    place.run("reference add efs.toml").unwrap().exits(2).says(&["plumb ships a reference named"]);
}

#[test]
fn the_figures_of_a_machine_hold_for_every_run_unless_others_are_typed() {
    let place = place();
    let settings = place.root().join("home/.config/plumb");
    fs::create_dir_all(&settings).unwrap();
    let file = settings.join("expect.toml");
    // What this run does not measure is of other runs.
    let text = "[expect]\n\"cpu.sieve\" = \"1Tops/s\"\n\"network.tcp\" = \"9Gbit/s\"\n";
    fs::write(&file, text).unwrap();
    let run =
        "run cpu.sieve:limit=20000 --max-invocations 2 --min-invocations 2 -q --no-lock --json";
    let expected = |more: &str| {
        let document = parsed(&place.run(&format!("{run}{more}")).unwrap().exits(0));
        let baseline = document["results"][0]["baseline"].clone();
        assert_eq!(baseline["source"], "expectation", "{document}");
        baseline["value"].as_f64().unwrap()
    };
    assert!((expected("") / 1e12 - 1.0).abs() < 1e-9);
    assert!((expected(" --expect cpu.sieve=1ops/s") - 1.0).abs() < 1e-9);
    // What no run can measure is reported, and everything else still counts.
    fs::write(&file, "[expect]\n'cpu.sive' = '1ops/s'\n'cpu.sieve' = '1ops/s'\n").unwrap();
    let ran = place.run(run).unwrap().exits(0);
    ran.says(&["expect.toml: no workload `cpu.sive`; did you mean `cpu.sieve`?"]);
    assert!((expected("") - 1.0).abs() < 1e-9);
    fs::write(&file, "[expect]\n\"cpu.sieve\" = \"1GB/s\"\n").unwrap();
    place
        .run(run)
        .unwrap()
        .exits(2)
        .says(&["expect.toml: cpu.sieve: `1GB/s` is not a value in ops/s"]);
    fs::write(&file, "[expected]\n").unwrap();
    place.run(run).unwrap().exits(2).says(&[
        "expect.toml",
        "unknown field `expected`",
        "a table [expect]",
    ]);
}
