//! Every export is read by the program that it is made for. `scripts/install-test-needs` installs
//! them; one that is missing fails.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;

use plumb_analysis::testing::{self, Builder, RunsAtHand, Spec};
use plumb_analysis::{
    BaselineRuns, Caveats, CheckedAgainst, Checker, ConfirmingSessions, FreshRun, OtherRuns,
    RunFinding, RunReader, summarise,
};
use plumb_export::{
    bmf, check_junit, go_bench, hyperfine, junit, machine_checks_junit, openmetrics, otava, xlsx,
};
use plumb_model::{By, Id, ParameterType, RunRecord};
use plumb_report::{CheckOfMachine, View};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::poison::poison;

const HOSTILE: &str = "=cmd|'/c calc'!A1\u{1b}[2J\"},{\n# EOF\r\n<!--]]>&amp;<x a='\u{ffff}\u{0}\\\"> Benchmark 1 2 ns/op";

/// A program that `scripts/install-test-needs` puts under `target/test-needs`.
fn need(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/test-needs");
    let path = root.join(name);
    assert!(path.exists(), "{} is missing: run scripts/install-test-needs", path.display());
    path
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {out}{err}");
    out
}

/// The export as `read.py` reads it.
fn read(format: &str, content: &[u8]) -> Value {
    let file = tempfile::Builder::new().suffix(&format!(".{format}")).tempfile().unwrap();
    std::fs::write(file.path(), content).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/read.py");
    let python = need("venv/bin/python");
    let seen = run(Command::new(python).arg(script).arg(format).arg(file.path()));
    serde_json::from_str(&seen).unwrap()
}

/// Equal but for the last digit, which reading JSON may cost.
fn near(a: Option<f64>, b: Option<f64>) -> bool {
    a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= 1e-15 * a.abs())
}

/// A run of three points, `n` days after the first, with bandwidths multiplied.
fn run_of(n: u32, factor: f64) -> RunRecord {
    let copy = Spec {
        id: "memory.copy",
        metric: "bandwidth",
        unit: "B/s",
        parameters: &[
            ("method", ParameterType::Choice, "libc", "nt"),
            ("size", ParameterType::Bytes, "1MiB", "8MiB"),
        ],
        value: 1e10 * factor,
        within: 0.01,
        between: 0.004,
        processes: 12,
        samples: 9,
        cpu: (99, 0, 0),
        memory_mib: 4,
    };
    let fork = Spec {
        id: "process.fork",
        metric: "time",
        unit: "s",
        parameters: &[],
        value: 1e-4,
        ..copy
    };
    let few = Spec { id: "ssh.cipher", parameters: &[], processes: 2, ..copy };
    let mut record =
        Builder::new(Some("mine")).measured(&copy).measured(&fork).measured(&few).build();
    record.run = Id::from_u128(record.run.as_u128() + u128::from(n));
    let day_ns = i64::from(n) * 86_400_000_000_000;
    record.started_unix_ns += day_ns;
    record.ended_unix_ns = record.ended_unix_ns.map(|ended| ended + day_ns);
    record.plan.labels.insert("commit".into(), format!("c{n}"));
    // Another run, other numbers: no two runs have the same samples.
    for invocation in &mut record.invocations {
        for elapsed in &mut invocation.samples.elapsed_ns {
            *elapsed += u64::from(n) * 997;
        }
    }
    record
}

/// A first look, and the same with hostile text everywhere.
fn hostile() -> Vec<RunRecord> {
    let mut poisoned = testing::first_look();
    poison(&mut poisoned, HOSTILE);
    poisoned.run = Id::from_u128(7);
    poisoned.started_unix_ns += 1;
    vec![testing::first_look(), poisoned]
}

fn findings(records: &[RunRecord]) -> Vec<RunFinding> {
    records.iter().map(summarise).collect()
}

fn views(findings: &[RunFinding]) -> Vec<View<'_>> {
    findings.iter().map(View::new).collect()
}

fn benchstat(arguments: &[&str], files: &[String]) -> String {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(need("bin/benchstat"));
    command.current_dir(folder.path()).args(["-format", "csv"]).args(arguments);
    for (i, text) in files.iter().enumerate() {
        let name = format!("run{i}.txt");
        std::fs::write(folder.path().join(&name), text).unwrap();
        command.arg(name);
    }
    run(&mut command)
}

#[test]
fn benchstat_compares_two_runs() {
    let findings = findings(&[run_of(0, 1.0), run_of(1, 0.5)]);
    let views = views(&findings);
    let apart = benchstat(&[], &[go_bench(&views[..1]), go_bench(&views[1..])]);
    let copy =
        apart.lines().find(|line| line.starts_with("Memory.copy/method=nt/size=8MiB,")).unwrap();
    let fields: Vec<&str> = copy.split(',').collect();
    // name, old, its interval, new, its interval, change, p value
    let old: f64 = fields[1].parse().unwrap();
    // Its median of medians, our estimate.
    assert!((old / views[0].rows[0].finding.estimate.value - 1.0).abs() < 0.01, "{copy}");
    assert!(fields[2].ends_with('%') && fields[4].ends_with('%'), "{copy}");
    assert!(fields[5].starts_with("-4") || fields[5].starts_with("-5"), "{copy}");
    assert!(fields[6].starts_with("p=0.000 n=12"), "{copy}");
    assert!(
        apart.contains("Process.fork,") && apart.contains("sec/op") && apart.contains("B/s"),
        "{apart}"
    );
    let together = benchstat(&["-col", "run"], &[go_bench(&views)]);
    assert!(together.contains("p=0.000 n=12"), "{together}");
}

#[test]
fn benchstat_reads_hostile_names() {
    let findings = findings(&hostile());
    let views = views(&findings);
    let text = go_bench(&views[1..]);
    let lines = text.lines().filter(|line| line.starts_with("Benchmark")).count();
    let processes = views[1].rows.iter().map(|row| row.finding.process_medians.len());
    assert!(lines > 0 && lines <= processes.sum(), "{lines}");
    let known = ["Benchmark", "Unit ", "cpu: "];
    assert!(text.lines().all(|line| known.iter().any(|start| line.starts_with(start))), "{text}");
    let seen = benchstat(&[], &[text]);
    assert!(seen.contains("=cmd|'/c_calc'!A1"), "{seen}");
}

/// Names and types of a document's fields: what is always there, and what may be.
fn shape(result: &Value) -> Vec<(&String, &'static str)> {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(items) if items.iter().all(Value::is_u64) => "integers",
        Value::Array(items) if items.iter().all(Value::is_number) => "numbers",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    result.as_object().unwrap().iter().map(|(name, value)| (name, kind(value))).collect()
}

#[test]
fn commands_have_the_shape_of_a_real_hyperfine() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("real.json");
    run(Command::new("hyperfine").args(["-N", "-r", "3", "true"]).arg("--export-json").arg(&file));
    let real: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let ours: Value = serde_json::from_str(&hyperfine(&[testing::exec()]).unwrap()).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&ours), keys(&real));
    for result in ours["results"].as_array().unwrap() {
        let mut real = real["results"][0].clone();
        // Newer than the hyperfine of some systems, and only in some results.
        for newer in ["memory_usage_byte", "parameters"] {
            real.as_object_mut().unwrap().remove(newer);
        }
        let mut ours = result.clone();
        for newer in ["memory_usage_byte", "parameters"] {
            ours.as_object_mut().unwrap().remove(newer);
        }
        assert_eq!(shape(&ours), shape(&real));
    }
}

#[test]
fn hyperfine_has_the_times_of_commands_and_of_iterations() {
    let record = testing::exec();
    let document: Value =
        serde_json::from_str(&hyperfine(std::slice::from_ref(&record)).unwrap()).unwrap();
    let finding = summarise(&record);
    for (result, found) in document["results"].as_array().unwrap().iter().zip(&finding.results) {
        assert_eq!(result["command"], json!(found.point.name));
        let times = result["times"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap());
        assert!(
            times.zip(&found.process_medians).all(|(time, median)| near(Some(time), Some(*median)))
        );
        assert_eq!(result["exit_codes"], json!(vec![0; found.process_medians.len()]));
        assert!((result["median"].as_f64().unwrap() - found.estimate.value).abs() < 1e-12);
        let user = result["user"].as_f64().unwrap() / result["mean"].as_f64().unwrap();
        assert!((user - found.cpu.unwrap().user).abs() < 1e-9);
    }
    let runs = hyperfine(&[run_of(0, 1.0), run_of(1, 1.0)]).unwrap();
    let document: Value = serde_json::from_str(&runs).unwrap();
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    assert_eq!(results[0]["parameters"]["method"], "nt");
    assert_ne!(results[0]["parameters"]["run"], results[3]["parameters"]["run"]);
    assert_eq!(results[0]["times"].as_array().unwrap().len(), 12);
    assert!(hyperfine(&hostile()).is_ok());
}

#[test]
fn bencher_gets_the_documented_shape() {
    let finding = summarise(&run_of(0, 1.0));
    let document: Value = serde_json::from_str(&bmf(&View::new(&finding)).unwrap()).unwrap();
    let benchmarks = document.as_object().unwrap();
    assert_eq!(benchmarks.len(), 3);
    let measure = &benchmarks["memory.copy:method=nt,size=8MiB"]["bandwidth-B-s"];
    let found = &finding.results[0].estimate;
    let wanted =
        json!({"value": found.value, "lower_value": found.low(), "upper_value": found.high()});
    for field in ["value", "lower_value", "upper_value"] {
        assert!(near(measure[field].as_f64(), wanted[field].as_f64()), "{measure}");
    }
    // Two processes have no interval: the optional bounds are left out.
    let few = benchmarks["ssh.cipher"]["bandwidth-B-s"].as_object().unwrap();
    assert_eq!(few.keys().collect::<Vec<_>>(), ["value"]);
    let findings = findings(&hostile());
    let document: Value = serde_json::from_str(&bmf(&View::new(&findings[1])).unwrap()).unwrap();
    for measures in document.as_object().unwrap().values() {
        for (slug, measure) in measures.as_object().unwrap() {
            assert!(slug.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{slug}");
            assert!(measure["value"].is_number());
        }
    }
}

/// Otava on these runs, configured for this metric.
fn otava_sees(views: &[View], metric: &str, then: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    let table = folder.path().join("runs.csv");
    let config = folder.path().join("otava.yaml");
    std::fs::write(&table, otava(views)).unwrap();
    let yaml = json!({"tests": {"plumb": {
        "type": "csv", "file": table, "time_column": "time",
        "attributes": ["run", "commit", "machine"],
        "metrics": {"it": {"column": metric, "direction": 1}},
    }}});
    std::fs::write(&config, yaml.to_string()).unwrap();
    let mut command = Command::new(need("venv/bin/otava"));
    run(command.env("HOME", folder.path()).env("OTAVA_CONFIG", &config).args(then))
}

#[test]
fn otava_finds_the_change_in_a_series_of_runs() {
    let records: Vec<RunRecord> =
        (0..12).rev().map(|n| run_of(n, if n < 6 { 1.0 } else { 0.8 })).collect();
    let findings = findings(&records);
    let views = views(&findings);
    let series = "memory.copy:method=nt,size=8MiB/bandwidth";
    let since = ["analyze", "plumb", "--since", "2026-01-01", "--until", "2028-01-01"];
    let seen = otava_sees(&views, series, &since);
    for commit in 0..12 {
        assert!(seen.contains(&format!(" c{commit} ")), "{seen}");
    }
    assert!(seen.contains("-20.") || seen.contains("-19."), "{seen}");
}

#[test]
fn otava_reads_hostile_names_and_gaps() {
    let mut records = hostile();
    records.push(run_of(1, 1.0));
    let findings = findings(&records);
    let views = views(&findings);
    let since = ["analyze", "plumb", "--since", "2026-01-01", "--until", "2028-01-01"];
    let seen = otava_sees(&views, "memory.copy:method=nt,size=8MiB/bandwidth", &since);
    assert!(seen.contains("nan") && !seen.contains('\u{1b}'), "{seen}");
}

#[test]
fn junit_validates_and_counts() {
    let findings = findings(&hostile());
    let views = views(&findings);
    let cases = read("junit", junit(&views).as_bytes());
    let cases = cases.as_array().unwrap();
    let of = |suite: &str, kind: &str| {
        let wanted = if kind.is_empty() { json!([]) } else { json!([kind]) };
        cases.iter().filter(|case| case[0] == suite && case[2] == wanted).count()
    };
    assert_eq!(of("first-look", ""), views[0].rows.len());
    assert_eq!(of("first-look", "Skipped"), 1);
    assert_eq!(of("first-look", "Error"), 1);
    let series: Vec<&str> = cases.iter().filter_map(|case| case[1].as_str()).collect();
    assert!(series.contains(&"memory.copy:method=nt/bandwidth"), "{series:?}");
    assert!(
        series.iter().any(|name| name.starts_with("=cmd|'/c calc'!A1\\u{1b}[2J\"},{")),
        "{series:?}"
    );
}

#[test]
fn a_check_fails_as_a_case_where_a_regression_is_confirmed() {
    let baseline: Vec<RunRecord> =
        [1.0, 1.01, 0.99, 1.005, 0.995, 1.0].iter().zip(0..).map(|(f, n)| run_of(n, *f)).collect();
    let slow: Vec<RunRecord> = (10..14).map(|n| run_of(n, 0.5)).collect();
    let baseline = RunsAtHand::of(&baseline);
    let against = CheckedAgainst {
        name: "good",
        current: BaselineRuns { runs: &baseline.runs, series: &baseline.series },
        first: None,
        earlier: OtherRuns { series: &[], by: By::Host },
    };
    let checker = Checker::new(against, 0.01, 0).unwrap();
    let fresh: Vec<FreshRun> = slow.iter().map(FreshRun::of).collect();
    assert!(!checker.screen(&fresh[0]).is_empty());
    let confirming = ConfirmingSessions { sessions: vec![fresh[1..].to_vec()], apart_s: 600.0 };
    let record = |_| -> Result<_, Infallible> { panic!("a verdict takes no record") };
    let finding = |vetoes| {
        let doubts = Caveats { vetoes, canary_shift: None, proof: None };
        let mut reader = RunReader::new(&record);
        checker.finish(&fresh[0], &confirming, doubts, None, &mut reader).unwrap()
    };
    let kinds = |document: &str| {
        let cases = read("junit", document.as_bytes());
        let cases = cases.as_array().unwrap().clone();
        cases.iter().filter(|case| case[2] == json!(["Failure"])).count()
    };
    let found = finding(Vec::new());
    assert!(found.regressions().count() > 0);
    assert_eq!(kinds(&check_junit(&found)), found.regressions().count());
    let vetoed = finding(vec!["<it> was noisy".to_owned()]);
    assert!(vetoed.is_inconclusive());
    assert_eq!(kinds(&check_junit(&vetoed)), 0);
    let unreachable = ("cannot be <reached>".to_owned(), &[][..]);
    let machines = machine_checks_junit(&[
        CheckOfMachine { name: "web1", found: Ok(&found) },
        CheckOfMachine { name: "a&b", found: Err(unreachable) },
    ]);
    assert_eq!(kinds(&machines), found.regressions().count());
    let cases = read("junit", machines.as_bytes());
    let lost = cases.as_array().unwrap().last().unwrap();
    assert_eq!(lost[0], "check of a&b");
    assert_eq!(lost[2], json!(["Error"]));
}

#[test]
fn prometheus_reads_estimates_and_ends() {
    let findings = findings(&[run_of(0, 1.0), run_of(1, 1.0)]);
    let views = views(&findings);
    let seen = read("openmetrics", openmetrics(&views).as_bytes());
    let seen = seen.as_array().unwrap();
    let found = &findings[1].results[0];
    let value = |gauge: &str| {
        let family = format!("plumb_{gauge}_bytes_per_second");
        let mut samples = seen.iter().filter(|sample| {
            sample[0] == family.as_str()
                && sample[3]["series"] == found.series.as_str()
                && sample[3]["run"] == findings[1].run.id.to_string()
        });
        let sample = samples.next().unwrap();
        assert_eq!((&sample[1], &sample[2]), (&json!("gauge"), &json!("bytes_per_second")));
        assert!(samples.next().is_none());
        sample[4].as_f64()
    };
    assert!(near(value("estimate"), Some(found.estimate.value)));
    assert!(near(value("low"), found.estimate.low()) && near(value("high"), found.estimate.high()));
    let without = |sample: &&Value| sample[3]["workload"] == "ssh.cipher";
    assert_eq!(seen.iter().filter(without).count(), 2);
}

#[test]
fn prometheus_reads_hostile_labels() {
    let findings = findings(&hostile());
    let views = views(&findings);
    let seen = read("openmetrics", openmetrics(&views).as_bytes());
    let ends = |view: &View| {
        let rows = view.rows.iter();
        rows.map(|row| if row.finding.estimate.interval.is_ok() { 3 } else { 1 }).sum::<usize>()
    };
    assert_eq!(seen.as_array().unwrap().len(), views.iter().map(ends).sum::<usize>());
    let text = seen.to_string();
    assert!(text.contains("=cmd|'/c calc'!A1"), "{text}");
    assert!(openmetrics(&[]).ends_with("# EOF\n"));
}

#[test]
fn a_workbook_holds_both_tables() {
    let records = hostile();
    let findings = findings(&records);
    let views = views(&findings);
    let seen = read("xlsx", &xlsx(&views, &records).unwrap());
    let results = &seen["results"];
    let samples = &seen["samples"];
    let rows: usize = views.iter().map(|view| view.rows.len()).sum();
    assert_eq!(results.as_array().unwrap().len(), rows + 1);
    let column = results[0].as_array().unwrap().iter().position(|name| name == "estimate").unwrap();
    assert!(near(results[1][column].as_f64(), Some(findings[0].results[0].estimate.value)));
    let reason =
        results[0].as_array().unwrap().iter().position(|name| name == "no_interval").unwrap();
    assert_eq!(results[1][reason], Value::Null);
    assert!(results.to_string().contains("too few processes"));
    let all = records.iter().flat_map(|record| &record.invocations);
    let counted: usize = all.map(|i| i.samples.len()).sum();
    assert!(samples.as_array().unwrap().len() > counted / 2);
    assert_eq!(samples[1][9].as_u64(), records[0].invocations[0].samples.start_ns.first().copied());
    assert!(results.to_string().contains("=cmd|'/c calc'!A1"));
}

#[test]
fn nothing_measured_is_still_a_file() {
    let record = Builder::new(None).build();
    let findings = findings(std::slice::from_ref(&record));
    let views = views(&findings);
    assert_eq!(read("openmetrics", openmetrics(&views).as_bytes()), json!([]));
    assert_eq!(read("junit", junit(&views).as_bytes()), json!([]));
    let workbook = read("xlsx", &xlsx(&views, std::slice::from_ref(&record)).unwrap());
    assert_eq!(workbook["results"].as_array().unwrap().len(), 1);
    assert_eq!(hyperfine(&[record]).unwrap(), "{\n  \"results\": []\n}");
    assert_eq!(bmf(&views[0]).unwrap(), "{}");
    assert_eq!(otava(&views).lines().count(), 2);
}
