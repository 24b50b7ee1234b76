//! The commands that measure nothing: what they show, and in which form.

use std::fs;

use crate::common::{TestEnvironment, ran};
use serde_json::{Value, json};

use crate::{exec, freshly_measured, last, measured, parsed, place, results};

#[test]
fn bare_plumb_says_what_to_type_next() {
    let place = place();
    place.run("").unwrap().exits(0).shows(&["Usage: plumb", "Next: plumb run"]);
    let place = measured();
    place.run("").unwrap().exits(0).shows(&["Usage: plumb", "Next: plumb show", "1 run"]);
}

#[test]
fn every_command_has_its_help() {
    let place = place();
    for command in plumb_cli::command_line().get_subcommands() {
        let name = command.get_name();
        let ran = place.run(&format!("{name} --help")).unwrap().exits(0);
        ran.shows(&[&format!("Usage: plumb {name}"), "--help"]);
    }
    let ran = place.run("--help").unwrap().exits(0).shows(&["Exit codes: 0 success", "--json"]);
    assert!(!ran.stdout.contains("ssh-sink"), "hidden commands are hidden");
    place.run("--version").unwrap().exits(0).shows(&["plumb 0."]);
}

#[test]
fn the_charts_of_a_run_are_listed_and_each_can_be_drawn() {
    let place = measured();
    let listed = parsed(&place.run("list --charts --json").unwrap().exits(0));
    assert_eq!(listed["schema"], "plumb.charts/1");
    let charts = listed["charts"].as_array().unwrap();
    let text = place.run("list --charts").unwrap().exits(0).shows(&["plumb report last --chart"]);
    for chart in charts {
        let id = chart["id"].as_str().unwrap();
        assert!(text.stdout.contains(id), "{id} in {}", text.stdout);
    }
    assert!(charts.iter().any(|chart| chart["id"] == "process.command/boxes"), "{listed}");
    place.run("report --chart process.command/boxes").unwrap().exits(0);
    place.run("list --charts round=1").unwrap().exits(0).shows(&["process.command/boxes"]);
    place.run("list --charts nosuch").unwrap().exits(2).says(&["nosuch"]);
    place.run("report -o pages --json").unwrap().exits(2).says(&["--json", "--chart"]);
}

#[test]
fn everything_that_is_listed_is_explained() {
    let place = place();
    let listed = parsed(&place.run("list --json").unwrap().exits(0));
    let workloads = listed["workloads"].as_array().unwrap();
    assert!(workloads.len() >= 15);
    let text = place.run("list").unwrap().exits(0).shows(&["first-look", "plumb explain"]).stdout;
    for workload in workloads {
        let id = workload["id"].as_str().unwrap();
        assert!(text.contains(id), "{id} in {text}");
        let manual = place.run(&format!("explain {id}")).unwrap().exits(0).stdout;
        assert!(manual.len() > 400, "{id}: {manual}");
        for parameter in workload["parameters"].as_array().unwrap() {
            let name = parameter["name"].as_str().unwrap();
            assert!(manual.contains(name), "the manual of {id} is silent about {name}");
        }
        let described = parsed(&place.run(&format!("explain {id} --json")).unwrap().exits(0));
        assert_eq!(&described, workload);
    }
    place.run("explain first-look").unwrap().exits(0).shows(&["[[point]]"]);
    for (kind, name) in [
        ("monitor", "monitor.stat"),
        ("knob", "knob.thp"),
        ("layer", "medium.ext4"),
        ("suite", "first-look"),
    ] {
        let document = parsed(&place.run(&format!("explain {name} --json")).unwrap().exits(0));
        assert_eq!(document["schema"], "plumb.explain/1");
        assert_eq!((&document["kind"], &document["name"]), (&kind.into(), &name.into()));
        assert!(!document["summary"].as_str().unwrap().is_empty(), "{document}");
        let manual = place.run(&format!("explain {name}")).unwrap().exits(0).stdout;
        assert_eq!(document["manual"].as_str().unwrap().trim_end(), manual.trim_end());
    }
    place.run("explain cpu.sieve:limit=5").unwrap().exits(0);
}

#[test]
fn a_run_is_shown_in_every_form() {
    let place = measured();
    place.run("show").unwrap().exits(0).shows(&["complete", "sleep 0.01", "--full"]);
    place.run("show --full").unwrap().exits(0).shows(&["complete", "sleep 0.01", "plumb export"]);
    place.run("show --in-words").unwrap().exits(0).shows(&["sleep 0.01"]);
    place.run("show --format markdown").unwrap().exits(0).shows(&["| --"]);
    let one = place.run("show --json").unwrap().exits(0);
    // One spelling of JSON for documents of one run.
    for other in ["show --format json", "show --in-words --json", "show --runs --json"] {
        place.run(other).unwrap().exits(2);
    }
    assert_eq!(parsed(&one)["schema"], "plumb.run/1");
    let few = place.run("show").unwrap().stdout.lines().count();
    assert!(place.run("show --all").unwrap().exits(0).stdout.lines().count() > few);
    place.run("show --runs").unwrap().exits(0).shows(&["complete", "round=1"]);
    let id = parsed(&one)["run"]["id"].as_str().unwrap().to_owned();
    for name in [id.as_str(), &id[..13], "last", "round=1"] {
        let shown = place.run(&format!("show --json {name}")).unwrap().exits(0);
        assert_eq!(shown.stdout, one.stdout, "{name}");
    }
}

#[test]
fn exports_say_the_same_in_every_form() {
    let place = measured();
    exec(&place, "-n 3 -q", &["true"]).exits(0);
    let document = parsed(&place.run("export").unwrap().exits(0));
    assert_eq!(document, parsed(&place.run("show --json").unwrap()));
    let csv = place.run("export --format csv last last~1").unwrap().exits(0).stdout;
    let headers = |csv: &str| csv.lines().filter(|line| line.starts_with("run,series")).count();
    assert_eq!(headers(&csv), 1);
    let all = document["results"].as_array().unwrap().len();
    let first = parsed(&place.run("show --json last~1").unwrap());
    assert_eq!(csv.lines().count(), 1 + all + first["results"].as_array().unwrap().len());
    let samples = place.run("export --format samples-csv last last~1").unwrap().exits(0).stdout;
    assert_eq!(headers(&samples), 1);
    assert_eq!(samples.lines().count(), 1 + [document, first].iter().map(stored).sum::<usize>());
    place.run("export --format samples-csv last last~1 -o all.csv").unwrap().exits(0);
    assert_eq!(fs::read_to_string(place.cwd().join("all.csv")).unwrap(), samples);
    place.run("export -o missing/all.csv").unwrap().exits(6).says(&["can't write"]);
}

/// The values that a run has stored: of each metric the samples that count and those that do not.
fn stored(document: &Value) -> usize {
    let of = |result: &Value| {
        let count = |name: &str| result[name].as_u64().unwrap();
        usize::try_from(count("samples") + count("discarded")).unwrap()
    };
    document["results"].as_array().unwrap().iter().map(of).sum()
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = measured();
    let piped = |script: &str| {
        let mut shell = place.program("bash");
        let script = format!("set -o pipefail; {script}");
        ran(shell.args(["-c", &script]).env("PLUMB", place.binary())).unwrap()
    };
    for product in ["export --format samples-csv", "list", "--help", "show", "explain cpu.sieve"] {
        let ran = piped(&format!("$PLUMB {product} | true")).exits(0);
        assert_eq!(ran.stderr, "", "{product}");
    }
    piped("$PLUMB export --format samples-csv | head -1").exits(0).shows(&["run,series"]);
    piped("$PLUMB exec --no-lock -n 3 'sleep 0.1' 2>&1 | head -1").exits(0);
    piped("$PLUMB nonsense 2>&1 | true").exits(2);
    place.run("show --runs").unwrap().shows(&["exec --no-lock -n 3"]);
}

#[test]
fn importing_twice_brings_nothing_new() {
    let here = freshly_measured();
    let there = freshly_measured();
    let other = there.store().display().to_string();
    let import =
        |place: &TestEnvironment, from: &str| place.run(&format!("import {from}")).unwrap();
    import(&here, &other).exits(0).shows(&["1 new run"]);
    let again = import(&here, &format!("{other} --json")).exits(0);
    assert_eq!((&parsed(&again)["runs"], &parsed(&again)["samples"]), (&0.into(), &0.into()));
    here.run("store info").unwrap().exits(0).shows(&["2 complete", "intact"]);
    // The other order gives the same runs.
    import(&there, &here.store().display().to_string()).exits(0);
    let runs = |place: &TestEnvironment| {
        let csv = place.run("export --format samples-csv last last~1").unwrap().stdout;
        let mut lines: Vec<String> = csv.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(runs(&here), runs(&there));
    import(&here, "no-such.db").exits(6).says(&["no-such.db does not exist"]);
}

#[test]
fn the_store_tells_about_itself() {
    let place = measured();
    let path = place.store().display().to_string();
    place.run("store info").unwrap().exits(0).shows(&[&path, "1 complete", "intact"]);
    let document = parsed(&place.run("store info --json").unwrap().exits(0));
    assert_eq!(document["schema"], "plumb.store/1");
    assert_eq!((&document["runs"]["complete"], &document["problems"]), (&json!(1), &json!([])));
    let empty = crate::place();
    empty.run("store info").unwrap().exits(2).says(&["there is no store at", "plumb run"]);
    empty.run("show").unwrap().exits(2).says(&["there is no store at", "plumb run"]);
    // A kill while the file is created leaves it without content.
    std::fs::create_dir_all(empty.store().parent().unwrap()).unwrap();
    std::fs::write(empty.store(), "").unwrap();
    for command in ["store info", "show", "history true", "export last"] {
        empty.run(command).unwrap().exits(2).says(&["there is no store at", "plumb run"]);
    }
    empty.run("exec true -n 2 -q --no-lock").unwrap().exits(0);
    empty.run("show").unwrap().exits(0);
}

#[test]
fn the_default_store_is_below_the_data_folder() {
    let place = place();
    let run = |name: &str, value: &str| {
        let mut plumb = place.plumb("exec true -n 2 -q --no-lock");
        plumb.env_remove("PLUMB_STORE").env(name, value);
        ran(&mut plumb).unwrap()
    };
    run("A", "").exits(0);
    assert!(place.root().join("data/plumb/plumb.db").exists());
    run("XDG_DATA_HOME", "").exits(0);
    assert!(place.root().join("home/.local/share/plumb/plumb.db").exists());
    let mut nowhere = place.plumb("show");
    nowhere.env_remove("PLUMB_STORE").env_remove("HOME").env_remove("XDG_DATA_HOME");
    ran(&mut nowhere).unwrap().exits(2).says(&["neither XDG_DATA_HOME nor HOME", "--store FILE"]);
}

#[test]
fn pipes_and_no_color_get_plain_text_and_terminals_colour() {
    let place = measured();
    assert!(!place.run("show").unwrap().stdout.contains('\x1b'));
    // `script` runs it on a terminal.
    let on_terminal = |no_color: &str| {
        let mut script = place.program("script");
        script.args(["-qec", "$PLUMB show", "/dev/null"]).env("PLUMB", place.binary());
        ran(script.env("TERM", "xterm").env("NO_COLOR", no_color)).unwrap().exits(0).stdout
    };
    assert!(on_terminal("").contains("\x1b["));
    assert!(!on_terminal("1").contains("\x1b["));
}

#[test]
fn quiet_is_quiet_and_json_is_alone_on_stdout() {
    let place = place();
    let quiet = exec(&place, "-n 2 -q", &["true"]).exits(0);
    assert_eq!(quiet.stderr, "");
    let talking = exec(&place, "-n 2 --json", &["true"]).exits(0);
    assert!(!talking.stderr.is_empty());
    parsed(&talking);
    let dry = place.run("run --dry-run").unwrap().exits(0).shows(&["cpu.sieve", "points, each"]);
    assert!(dry.stderr.is_empty(), "{}", dry.stderr);
}

#[test]
fn every_export_is_written_for_its_reader() {
    let place = measured();
    exec(&place, "-n 2 -q", &["true"]).exits(0);
    for (format, words) in [
        ("json", &["plumb.run/1"][..]),
        ("csv", &["run,series,workload"]),
        ("samples-csv", &["run,series,workload", "steady"]),
        ("go-bench", &["Unit sec/op better=lower", "BenchmarkTrue 1 ", " sec/op"]),
        ("hyperfine", &["\"command\": \"true\"", "\"times\":", "\"memory_usage_byte\":"]),
        ("otava", &["time,run,plumb,machine,environment"]),
        ("junit", &["<testsuite id=\"1\"", "<testcase name="]),
        ("openmetrics", &["# TYPE plumb_estimate_seconds gauge", "# EOF"]),
    ] {
        place.run(&format!("export last last~1 --format {format}")).unwrap().exits(0).shows(words);
    }
    place.run("export --format bmf").unwrap().exits(0).shows(&["\"wall-s\":", "\"value\":"]);
    place.run("export last last~1 --format bmf").unwrap().exits(2).says(&["holds one run"]);
    let piped = place.plumb("export --format xlsx").output().unwrap();
    assert!(piped.status.success() && piped.stdout.starts_with(b"PK\x03\x04"));
    let plumb = format!("{} export --format xlsx", place.binary().display());
    let to_terminal = ran(place.program("script").args(["-qec", &plumb, "/dev/null"])).unwrap();
    to_terminal.exits(2).shows(&["xlsx is binary", "-o"]);
    place.run("export last last~1 --format xlsx -o runs.xlsx").unwrap().exits(0);
    assert!(fs::read(place.cwd().join("runs.xlsx")).unwrap().starts_with(b"PK\x03\x04"));
    let csv = place.run("export last last~1 --format csv").unwrap().stdout;
    assert_eq!(csv.matches("run,series,").count(), 1, "one header for all runs");
}

#[test]
fn what_a_result_should_be_stands_beside_it() {
    let place = place();
    let run = |more: &str| {
        place
            .run(&format!("run --full -q --no-lock --min-invocations 1 --dir ../work {more}"))
            .unwrap()
    };
    let ran = run(
        "memory.copy -p method=libc,loop -p size=1MiB --expect memory.copy:method=loop,size=1MiB=1TB/s",
    );
    ran.exits(0).shows(&["of expected", "of the expected 1.00 TB/s"]);
    let document = last(&place);
    let [libc, looped] = results(&document, "bandwidth")[..] else { panic!("{document}") };
    assert!(libc["of_baseline"].is_null());
    let share = looped["of_baseline"].as_f64().unwrap();
    assert!((share - looped["estimate"].as_f64().unwrap() / 1e12).abs() < 1e-9);
    assert_eq!(looped["baseline"]["source"], "expectation");
    assert_eq!(libc["no_baseline"], "no other method measured in this run was faster");
    // Without an expectation, the faster library is the ceiling, here by far: a busy machine hides smaller differences.
    run("crypto.aead -p provider=ring,rustcrypto").exits(0);
    let document = last(&place);
    let slower = results(&document, "throughput")[1];
    assert_eq!(slower["baseline"]["source"], "ceiling", "{slower}");
    assert!(slower["of_baseline"].as_f64().unwrap() < 0.9, "{slower}");
    // The same calls on a file in memory are the ceiling of those that reach a device.
    let ran = run("storage.random -p size=16MiB --ceilings").exits(0);
    ran.shows(&["random memory"]);
    let document = last(&place);
    let [device, memory] = results(&document, "rate")[..] else { panic!("{document}") };
    assert_eq!(memory["point"]["place"], "memory");
    assert!(!memory["flags"].to_string().contains("cached"), "{memory}");
    let below = device["estimate"].as_f64().unwrap();
    let above = memory["estimate"].as_f64().unwrap();
    match device["of_baseline"].as_f64() {
        Some(share) => {
            assert_eq!(device["baseline"]["source"], "ceiling");
            assert!((share - below / above).abs() < 1e-9);
        }
        // Next to other tests both may be equally fast.
        None => {
            let why = device["no_baseline"].as_str().unwrap();
            let reasons = ["not distinguishable from the fastest", "was faster"];
            assert!(reasons.iter().any(|reason| why.contains(reason)), "{device}");
        }
    }
    // The time of the fastest library is a part of the time of a slow one, and the rest is the step between them.
    run("crypto.aead:provider=rustcrypto --ceilings").exits(0);
    let document = last(&place);
    let rungs = document["ladders"][0]["rungs"].as_array().unwrap();
    let names: Vec<&str> = rungs.iter().map(|rung| rung["name"].as_str().unwrap()).collect();
    assert!(names[0].starts_with("provider=") && names[1] == "crypto.aead:provider=rustcrypto");
    let part = rungs[0]["of_whole"]["estimate"].as_f64().unwrap();
    let step = rungs[1]["step"]["estimate"].as_f64().unwrap();
    assert!(part < 0.9 && (part + step - 1.0).abs() < 1e-9, "{document}");
    let chart = "report --chart crypto.aead:provider=rustcrypto/parts";
    place.run(chart).unwrap().exits(0).shows(&[names[0], "share of the time"]);
    let suite =
        "name = 'x'\n[[point]]\nworkload = 'cpu.sieve'\n[expect]\n'cpu.sieve' = '1Mops/s'\n";
    place.write("suite.toml", suite).unwrap();
    run("suite.toml").exits(0).shows(&["of the expected 1.00 M ops/s"]);
    place.run("show --in-words").unwrap().exits(0).shows(&["of the expected"]);
    place.run("show --format markdown").unwrap().exits(0).shows(&["of the expected"]);
    run("cpu.sieve --expect cpu.sive=1ops/s").exits(2).says(&["does not measure", "cpu.sieve"]);
    run("cpu.sieve --expect cpu.sieve=1s").exits(2).says(&["not a value in ops/s"]);
    run("cpu.sieve --expect cpu.sieve").exits(2).says(&["SERIES=FIGURE"]);
}

#[test]
fn a_panic_in_any_thread_ends_plumb_with_70() {
    // Next to this test binary, which is in TARGET/debug/deps.
    let tests = std::env::current_exe().unwrap();
    let panics = tests.parent().unwrap().with_file_name("examples").join("panics");
    let ended = std::process::Command::new(panics).output().unwrap();
    let ended = crate::common::ProgramOutput::from(ended).exits(70);
    assert_eq!(ended.stdout, "");
    ended.says(&["a bug", "plumb panicked"]);
}
