//! The family `language`, driven as the engine drives it.

use std::path::Path;

use plumb_model::Value;
use plumb_protocol::StartError;
use plumb_workload_language::ALL;
use plumb_workload_testing::{TestPoint, refusal, samples, take};

/// The point with its fixture; none if the language is missing.
fn prepared(
    language: &str,
    limit: &str,
    scratch: &Path,
) -> Result<TestPoint<'static>, (String, String)> {
    let settings = [("language", language), ("limit", limit)];
    let mut point = TestPoint::new(ALL, "language.sieve", &settings).in_folder(scratch);
    match point.prepare() {
        Ok(()) => {}
        Err(StartError::Unsupported { why, fix }) => return Err((why, fix)),
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
    assert!(point.fixture.bytes_on_disk > 0 && !point.fixture.versions.is_empty());
    Ok(point)
}

/// The languages of which the tests have no compiler or interpreter.
const NOT_HERE: [&str; 2] = ["bun", "deno"];

#[test]
fn every_language_finds_the_primes() {
    let scratch = tempfile::tempdir().unwrap();
    let parameters = ALL[0].describe().parameters;
    let languages = parameters.iter().find(|parameter| parameter.name == "language").unwrap();
    assert!(languages.allowed.len() >= 18);
    for language in languages.allowed.iter().filter_map(|value| value.text()) {
        let mut point = match prepared(language, "9", scratch.path()) {
            Ok(point) => point,
            Err((why, fix)) if NOT_HERE.contains(&language) => {
                assert_eq!(fix, format!("npm install -g {language}"), "{why}");
                continue;
            }
            // scripts/install-test-needs installs all others.
            Err((why, fix)) => panic!("{language}: {why}; {fix}"),
        };
        // 100, of which no multiple of the root's square lies beyond the end, and a square.
        for limit in [9, 10, 25, 100, 100_000] {
            point.start.params.insert("limit".into(), Value::Integer(limit));
            let mut sieve = point.started();
            let samples = samples(&mut sieve, &[1]);
            assert!(samples.values["cpu"].iter().all(|&cpu| cpu > 0.0), "{language} {limit}");
            assert!(sieve.ready.versions.values().all(|version| !version.is_empty()), "{language}");
        }
        point.clean();
    }
}

#[test]
fn every_language_loops_in_one_process() {
    let scratch = tempfile::tempdir().unwrap();
    let parameters = ALL[1].describe().parameters;
    let languages = parameters.iter().find(|parameter| parameter.name == "language").unwrap();
    for language in languages.allowed.iter().filter_map(|value| value.text()) {
        if NOT_HERE.contains(&language) {
            continue;
        }
        let settings = [("language", language), ("limit", "100000")];
        let mut point = TestPoint::new(ALL, "language.loop", &settings).in_folder(scratch.path());
        point.prepare().unwrap_or_else(|error| panic!("{language}: {error:?}"));
        let mut looping = point.started();
        let process = looping.instance.helpers()[0];
        let samples = samples(&mut looping, &[1, 3]);
        for value in ["first", "cpu", "peak_memory"] {
            assert!(samples.values[value].iter().all(|value| *value > 0.0), "{language} {value}");
        }
        assert_eq!(looping.instance.helpers()[0], process, "{language}: one process");
        drop(looping);
        point.clean();
    }
}

#[test]
fn a_loop_that_prints_something_else_or_ends_is_caught() {
    let scratch = tempfile::tempdir().unwrap();
    let mut point = TestPoint::new(ALL, "language.loop", &[]).in_folder(scratch.path());
    point.start.endpoints.insert("program".into(), "/bin/sh".into());
    let wrong = [
        ("echo 7", "printed \"7\\n\" instead of ready"),
        ("echo ready; read line; echo 7", "printed \"7\\n\" instead of \"Found"),
        ("echo ready; read line; echo no memory >&2", "exited before it printed a line: no memory"),
        ("exit 0", "exited before it printed a line"),
    ];
    for (script, reason) in wrong {
        point.start.endpoints.insert("arguments".into(), format!("-c\n{script}"));
        let why = refusal(script, point.try_start());
        assert!(why.contains(reason), "{why}");
    }
}

#[test]
fn a_sieve_that_says_something_else_is_caught_and_its_folder_goes() {
    let mut point = TestPoint::new(ALL, "language.sieve", &[]);
    let why = refusal("without a fixture", point.try_start());
    assert!(why.contains("not prepared"), "{why}");
    for program in ["/bin/echo", "/bin/true"] {
        point.start.endpoints.insert("program".into(), program.into());
        let mut wrong = point.started();
        let failure = take(wrong.instance.as_mut(), &[1]).unwrap_err();
        assert!(failure.0.contains("Found 78498 prime numbers."), "{failure}");
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut point = prepared("c", "1000", scratch.path()).unwrap_or_else(|why| panic!("{why:?}"));
    point.clean();
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}
