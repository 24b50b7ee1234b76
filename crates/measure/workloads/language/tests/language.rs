//! The family `language`, driven as the engine drives it.

use std::path::Path;

use plumb_protocol::StartError;
use plumb_workload_language::ALL;
use plumb_workload_testing::{TestPoint, refusal, samples, take};

/// The point with its fixture; none if the language is missing.
fn prepared(language: &str, limit: &str, scratch: &Path) -> Option<TestPoint<'static>> {
    let settings = [("language", language), ("limit", limit)];
    let mut point = TestPoint::new(ALL, "language.sieve", &settings).in_folder(scratch);
    match point.prepare() {
        Ok(()) => {}
        Err(StartError::Unsupported { .. }) => return None,
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
    assert!(point.fixture.bytes_on_disk > 0 && !point.fixture.versions.is_empty());
    Some(point)
}

#[test]
fn every_language_finds_the_primes() {
    let scratch = tempfile::tempdir().unwrap();
    for language in ["c", "python", "node"] {
        for limit in ["9", "10", "100000"] {
            let Some(point) = prepared(language, limit, scratch.path()) else { continue };
            let mut sieve = point.started();
            let samples = samples(&mut sieve, &[1]);
            assert!(samples.values["cpu"].iter().all(|&cpu| cpu > 0.0), "{language} {limit}");
            assert!(!sieve.ready.versions.is_empty());
        }
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
    if let Some(mut point) = prepared("c", "1000", scratch.path()) {
        point.clean();
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
