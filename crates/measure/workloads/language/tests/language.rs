//! The family `language`, driven as the engine drives it.

use std::fs;
use std::path::Path;

use plumb_model::Value;
use plumb_protocol::StartError;
use plumb_workload_language::ALL;
use plumb_workload_testing::{TestPoint, refusal, samples, take, unsupported};

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

/// One test of both workloads, because compilers take most of its time.
#[test]
fn every_language_finds_the_primes_in_fresh_processes_and_in_one() {
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
        loops_in_one_process(language, &point);
        point.clean();
    }
}

/// The program of this point also loops, as the fixture of `language.loop`.
fn loops_in_one_process(language: &str, prepared: &TestPoint<'_>) {
    let settings = [("language", language), ("limit", "100000")];
    let mut point = TestPoint::new(ALL, "language.loop", &settings);
    point.start.endpoints = prepared.start.endpoints.clone();
    let mut looping = point.started();
    let process = looping.instance.helpers()[0];
    let samples = samples(&mut looping, &[1, 3]);
    for value in ["first", "cpu", "peak_memory"] {
        assert!(samples.values[value].iter().all(|value| *value > 0.0), "{language} {value}");
    }
    assert_eq!(looping.instance.helpers()[0], process, "{language}: one process");
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

/// A stand-in for a checkout: its tests would take minutes.
#[test]
fn every_line_of_a_program_of_a_checkout_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().to_str().unwrap();
    let point = |settings: &[(&str, &str)]| {
        let python = [&[("language", "python")], settings].concat();
        TestPoint::new(ALL, "classic.langsperformance", &python).in_folder(folder.path())
    };
    let (why, fix) = unsupported("no checkout", point(&[]).prepare());
    assert_eq!(why, "the checkout of langs-performance is not set");
    assert!(fix.contains("git clone"), "{fix}");
    let (why, _) = unsupported("no source", point(&[("from", from)]).prepare());
    assert!(why.contains("primes.py: No such file"), "{why}");
    let programs = [
        (
            "for i in range(int(os.environ['RUN_TIME'])): print('Found 664579 prime numbers.')",
            Ok(3.0),
        ),
        ("print('Found 4 prime numbers.')", Err("printed \"Found 4 prime numbers.\" instead")),
        ("pass", Err("printed nothing")),
        ("sys.exit(3)", Err("the program failed: ")),
    ];
    for (program, outcome) in programs {
        fs::write(folder.path().join("primes.py"), format!("import os, sys\n{program}\n")).unwrap();
        let mut point = point(&[("from", from), ("time", "3s")]);
        point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
        let mut started = point.started();
        let taken = take(started.instance.as_mut(), &[1]);
        match (taken, outcome) {
            (Ok((samples, _)), Ok(loops)) => {
                assert_eq!(samples.values["loops"], [loops]);
                let cpu = samples.values["cpu"][0] * loops;
                assert!(cpu > 0.0 && cpu < 10.0, "{cpu} s");
            }
            (Err(failure), Err(why)) => assert!(failure.0.contains(why), "{failure}"),
            (taken, _) => panic!("{program}: {taken:?}"),
        }
        drop(started);
        point.clean();
    }
    let mut point = point(&[("from", from), ("time", "1500ms")]);
    point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(
        unsupported("half a second", point.try_start()).0,
        "the programs take whole seconds"
    );
    point.clean();
}

#[test]
fn a_limit_beyond_the_memory_is_unsupported_before_it_starts() {
    let settings = [("language", "node"), ("limit", "1000000")];
    let mut point = TestPoint::new(ALL, "language.loop", &settings);
    point.start.facts.memory_bytes = 64 << 20;
    let (why, _) = unsupported("a large limit", point.try_start());
    assert!(why.contains("79 MiB, too much for plumb's limit of 64 MiB"), "{why}");
    point.start.facts.memory_bytes = 1 << 30;
    point.start.endpoints.insert("heap".into(), (3 << 20).to_string());
    let (why, fix) = unsupported("a large limit", point.try_start());
    assert!(
        why.contains("a heap of at least 3 MiB, but the runtime limits its own to 3 MiB"),
        "{why}"
    );
    assert!(fix.contains("NODE_OPTIONS=--max-old-space-size"), "{fix}");
}

/// The limits of the runtimes are lowered here: reaching the usual ones takes minutes and gigabytes.
#[test]
fn a_runtime_that_uses_up_its_memory_is_unsupported() {
    let scratch = tempfile::tempdir().unwrap();
    let lowered = [
        ("java", "-Xmx4m", "OutOfMemoryError", "JDK_JAVA_OPTIONS"),
        ("java-arrays", "-Xmx4m", "OutOfMemoryError", "JDK_JAVA_OPTIONS"),
        ("node", "--max-old-space-size=8", "heap out of memory", "NODE_OPTIONS"),
    ];
    for (language, option, reason, fix) in lowered {
        for workload in ["language.loop", "language.sieve"] {
            let settings = [("language", language), ("limit", "4000000")];
            let mut point = TestPoint::new(ALL, workload, &settings).in_folder(scratch.path());
            point.prepare().unwrap_or_else(|error| panic!("{language}: {error:?}"));
            let heap: u64 = point.start.endpoints["heap"].parse().unwrap();
            assert!(heap > 64 << 20, "{language}: {heap}");
            // Little enough that language.sieve tries a process first.
            point.start.facts.memory_bytes = 512 << 20;
            let arguments = format!("{option}\n{}", point.start.endpoints["arguments"]);
            point.start.endpoints.insert("arguments".into(), arguments);
            let (why, told) = unsupported("a large limit", point.try_start());
            assert!(why.contains(reason) && told.contains(fix), "{language}: {why}; {told}");
            point.clean();
        }
    }
    let settings = [("language", "luajit"), ("limit", "4000000")];
    let mut point = TestPoint::new(ALL, "language.loop", &settings).in_folder(scratch.path());
    point.prepare().unwrap_or_else(|error| panic!("luajit: {error:?}"));
    let script = "ulimit -v 20000; exec \"$@\"";
    let endpoints = &mut point.start.endpoints;
    let rest = format!("{}\n{}", endpoints["program"], endpoints["arguments"]);
    endpoints.insert("arguments".into(), format!("-c\n{script}\nsh\n{rest}"));
    endpoints.insert("program".into(), "/bin/sh".into());
    let (why, told) = unsupported("a large limit", point.try_start());
    assert!(why.contains("not enough memory") && told.contains("LuaJIT"), "{why}; {told}");
    point.clean();
}

#[test]
fn another_tool_of_the_same_language_is_another_point() {
    let scratch = tempfile::tempdir().unwrap();
    let interpreters = ["/usr/bin/python3", "pypy3"];
    let mut versions = Vec::new();
    for tool in interpreters {
        let settings = [("language", "python"), ("tool", tool), ("limit", "1000")];
        let mut point = TestPoint::new(ALL, "language.loop", &settings).in_folder(scratch.path());
        point.prepare().unwrap_or_else(|error| panic!("{tool}: {error:?}"));
        let looping = point.started();
        versions.extend(looping.ready.versions.into_values());
        drop(looping.instance);
        point.clean();
    }
    assert!(versions[0].starts_with("cpython") && versions[1].starts_with("pypy"), "{versions:?}");
    for (tool, reason) in [
        ("bin/python3", "relative path"),
        ("/no/such/python", "/no/such/python: No such file"),
        ("no-such-python", "`no-such-python` is not in PATH"),
    ] {
        let settings = [("language", "python"), ("tool", tool)];
        let mut point = TestPoint::new(ALL, "language.sieve", &settings).in_folder(scratch.path());
        match point.prepare() {
            Err(StartError::Unsupported { why, .. }) => assert!(why.contains(reason), "{why}"),
            other => panic!("{tool}: {other:?}"),
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
    let mut point = prepared("c", "1000", scratch.path()).unwrap_or_else(|why| panic!("{why:?}"));
    point.clean();
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}
