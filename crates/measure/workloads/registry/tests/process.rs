//! The families `scheduler`, `process`, `compression` and `language` as the worker serves them.
#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is a failed test")]

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plumb_model::{Facts, Flag, Point, Role, Samples, Settings, Value};
use plumb_protocol::{Batch, Failure, Start, StartError, Started, Workload, serve};

const MINE: [&str; 7] = [
    "scheduler.messaging",
    "scheduler.pipe",
    "scheduler.yield",
    "process.fork",
    "process.command",
    "compression.7zip",
    "language.sieve",
];

/// Tests that time something, or that make this process large (a fork copies it), take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn workload(id: &str) -> &'static dyn Workload {
    plumb_workloads::find(id).unwrap()
}

fn start_of(id: &str, given: &[(&str, &str)]) -> Start {
    let given: Settings =
        given.iter().map(|(k, v)| ((*k).into(), Value::Text((*v).into()))).collect();
    let point = Point::new(&workload(id).describe(), &given, 2).unwrap();
    Start {
        role: Role::Workload,
        params: point.settings,
        dir: "/".into(),
        scratch: String::new(),
        seed: 7,
        endpoints: BTreeMap::new(),
        facts: Facts::default(),
    }
}

fn started(id: &str, given: &[(&str, &str)]) -> Result<Started, StartError> {
    workload(id).start(&start_of(id, given))
}

fn ready(id: &str, given: &[(&str, &str)]) -> Started {
    started(id, given).unwrap_or_else(|e| panic!("{e:?}"))
}

fn batch(started: &mut Started, iterations: &[u64]) -> Result<(Samples, Vec<Flag>), Failure> {
    let mut batch = Batch::with_room(iterations.len(), started.instance.value_names());
    started.instance.batch(iterations, &mut batch)?;
    started.instance.verify()?;
    let (samples, flags) = batch.finish();
    samples.check().unwrap();
    Ok((samples, flags))
}

/// The quickest of some samples, in nanoseconds: what other work on the machine disturbs least.
fn quickest(started: &mut Started, k: u64) -> f64 {
    let (samples, _) = batch(started, &[k; 15]).unwrap();
    samples.elapsed_ns.iter().copied().min().unwrap() as f64
}

fn quickest_of(id: &str, given: &[(&str, &str)], k: u64) -> f64 {
    quickest(&mut ready(id, given), k)
}

/// Compares `time(2)` with `time(1)`; other work on the machine gets many chances to pass by.
fn about_twice(what: &str, mut time: impl FnMut(u64) -> f64) {
    let mut ratio = 0.0;
    for _ in 0..20 {
        ratio = time(2) / time(1);
        if (1.5..2.7).contains(&ratio) {
            return;
        }
    }
    panic!("{what}: twice the work took {ratio:.2} times the time");
}

#[test]
fn manuals_name_every_parameter_and_metric() {
    for id in MINE {
        let (description, manual) = (workload(id).describe(), workload(id).manual());
        assert!(manual.starts_with(&format!("# {id}")), "{id}: the manual's first line");
        let parameters = description.parameters.iter().map(|p| &p.name);
        for name in parameters.chain(description.metrics.iter().map(|m| &m.name)) {
            assert!(manual.contains(&format!("`{name}`")), "{id}: `{name}` is not in the manual");
        }
    }
}

#[test]
fn twice_the_work_takes_twice_the_time() {
    let _turn = alone();
    for mode in ["process", "thread"] {
        about_twice("messaging", |n| {
            let loops = (200 * n).to_string();
            let given = [("fds", "5"), ("loops", &loops), ("mode", mode), ("transport", "pipe")];
            quickest_of("scheduler.messaging", &given, 1)
        });
        let mut pipe = ready("scheduler.pipe", &[("mode", mode)]);
        about_twice("pipe", |n| quickest(&mut pipe, 500 * n));
    }
    let points = [("method", "fork"), ("method", "vfork"), ("end", "exit"), ("threads", "3")];
    for (name, setting) in points {
        let mut fork = ready("process.fork", &[(name, setting), ("resident", "4MiB")]);
        about_twice(setting, |n| quickest(&mut fork, 8 * n));
    }
    about_twice("sleep", |n| {
        let command = format!(r#"["sleep","0.0{}"]"#, 2 * n);
        quickest_of("process.command", &[("command", &command)], 1)
    });
}

#[test]
fn round_trips_work_wherever_the_tasks_are_placed() {
    for placement in ["same-cpu", "cross-cpu", "free"] {
        match started("scheduler.pipe", &[("placement", placement)]) {
            Ok(mut pipe) => assert_eq!(batch(&mut pipe, &[100, 50]).unwrap().0.len(), 2),
            Err(StartError::Unsupported { why, .. }) => assert!(why.contains("two CPUs"), "{why}"),
            Err(StartError::Failed(why)) => panic!("{placement}: {why}"),
        }
    }
}

#[test]
fn yields_are_counted_for_every_thread_and_the_cpu_goes_round() {
    let _turn = alone();
    for (threads, placement) in [("1", "same-cpu"), ("5", "same-cpu"), ("3", "free")] {
        let given = [("threads", threads), ("placement", placement)];
        let mut yielding = ready("scheduler.yield", &given);
        let (samples, _) = batch(&mut yielding, &[20_000; 3]).unwrap();
        for i in 0..samples.len() {
            let value = |name: &str| samples.values[name][i];
            let yields = value("rate") * samples.elapsed_ns[i] as f64 * 1e-9;
            assert!(yields > 19_999.0, "{given:?}: {yields}");
            let n: f64 = threads.parse().unwrap();
            assert!((1.0 / n - 1e-9..=1.0 + 1e-9).contains(&value("fairness")), "{given:?}");
            if placement == "same-cpu" {
                assert!((value("time") * value("rate") - 1.0).abs() < 1e-9);
                // Alone it switches only when something else takes its CPU.
                assert_eq!(value("switches") > 0.5, threads != "1", "{given:?}: {samples:?}");
                assert!(yields > 10_000.0 * n, "{given:?}: the others worked, too: {yields}");
            }
        }
        if placement == "same-cpu" {
            about_twice("yield", |n| quickest(&mut yielding, 4_000 * n));
        }
    }
}

#[test]
fn a_run_of_hackbench_is_timed_without_the_making_of_its_tasks() {
    let given = [("groups", "4"), ("fds", "5"), ("loops", "1")];
    let mut whole = ready("scheduler.messaging", &given);
    assert!((whole.ready.work["messages"] - 100.0).abs() < 1e-9);
    let before = std::time::Instant::now();
    let (samples, _) = batch(&mut whole, &[2, 1]).unwrap();
    let all = before.elapsed().as_nanos();
    let timed: u64 = samples.elapsed_ns.iter().sum();
    assert!(u128::from(timed) < all, "{timed} of {all}");
    assert_eq!(samples.iterations, [2, 1]);
}

#[test]
fn forks_of_a_large_parent_cost_more() {
    let _turn = alone();
    let small = quickest_of("process.fork", &[], 20);
    let large = quickest_of("process.fork", &[("resident", "32MiB")], 20);
    assert!(large > 1.3 * small, "{large} against {small} ns for 20");
    let mut start = start_of("process.fork", &[("resident", "32MiB")]);
    start.facts.memory_bytes = 48 << 20;
    let Err(StartError::Unsupported { fix, .. }) = workload("process.fork").start(&start) else {
        panic!("32 MiB of 48 MiB are too much");
    };
    assert!(fix.contains("resident"), "{fix}");
}

#[test]
fn threads_make_their_children_side_by_side_and_handlers_are_kept_from_the_parent() {
    let _turn = alone();
    let mut start = start_of("process.fork", &[("threads", "8"), ("end", "exit")]);
    start.facts.cpus = vec![0, 1];
    let mut forks = workload("process.fork").start(&start).unwrap_or_else(|e| panic!("{e:?}"));
    assert!((forks.ready.work["rate"] - 8.0).abs() < 1e-9);
    assert_eq!(forks.ready.flags[0].why, "8 threads share 2 CPUs");
    assert_eq!(batch(&mut forks, &[20, 10]).unwrap().0.iterations, [20, 10]);
    let given = [("method", "vfork"), ("end", "exit")];
    let Err(StartError::Unsupported { fix, .. }) = started("process.fork", &given) else {
        panic!("handlers would run in the parent's memory");
    };
    assert!(fix.contains("method=fork"), "{fix}");
}

#[test]
fn commands_that_fail_are_named_with_how_they_ended() {
    let why = |given: &[(&str, &str)]| {
        let mut command = ready("process.command", given);
        batch(&mut command, &[1, 1]).err().map(|failure| failure.0)
    };
    assert_eq!(why(&[]), None);
    let failed = why(&[("command", r#"["sh","-c","exit 3"]"#)]).unwrap();
    assert!(failed.contains("sh -c exit 3: exit status 3"), "{failed}");
    let killed = why(&[("command", "kill -TERM $$"), ("shell", "yes")]).unwrap();
    assert!(killed.contains("signal 15 (SIGTERM)"), "{killed}");
    assert_eq!(why(&[("command", "false"), ("ignore_failure", "yes")]), None);
    for (command, reason, mend) in [
        ("no-such-command", "command not found: no-such-command", "install the program"),
        ("ls -l", "command not found: ls -l", r#"JSON array, like ["ls","-l"]"#),
    ] {
        match started("process.command", &[("command", command)]) {
            Err(StartError::Unsupported { why, fix }) => {
                assert!(why.contains(reason) && fix.contains(mend), "{why}; {fix}");
            }
            _ => panic!("`{command}` can't be started"),
        }
    }
    for (command, reason) in [("[1]", "a JSON array of texts"), ("[]", "empty list"), ("", "empty")]
    {
        match started("process.command", &[("command", command)]) {
            Err(StartError::Failed(why)) => assert!(why.contains(reason), "{why}"),
            _ => panic!("`{command}` can't be started"),
        }
    }
}

#[test]
fn a_sample_is_one_process_whatever_is_asked_for() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let start = serde_json::to_string(&start_of("process.command", &[])).unwrap();
    writeln!(writer, r#"{{"id":1,"type":"start",{}"#, &start[1..]).unwrap();
    writeln!(writer, r#"{{"id":2,"type":"calibrate","target_ns":1000000000}}"#).unwrap();
    writeln!(writer, r#"{{"id":3,"type":"sample","iterations":[1,7]}}"#).unwrap();
    writeln!(writer, r#"{{"id":4,"type":"stop"}}"#).unwrap();
    drop(writer);
    let mut output = Vec::new();
    serve(workload("process.command"), reader, &mut output).unwrap();
    let replies: Vec<serde_json::Value> = String::from_utf8(output)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(replies[0]["notes"][1].as_str().unwrap().starts_with("memory floor "), "{replies:?}");
    assert_eq!(replies[1]["iterations"], 1);
    assert_eq!(replies[2]["iterations"], serde_json::json!([1, 1]));
    assert!(replies[2]["values"]["peak_memory"][0].as_f64().unwrap() >= 4096.0);
    assert_eq!(replies[3]["type"], "done");
}

#[test]
fn the_installed_seven_zip_is_driven_and_read() {
    let _turn = alone();
    let mut zip = ready("compression.7zip", &[("threads", "2")]);
    let version = zip.ready.versions["7zip"].clone();
    assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{version}");
    let (samples, _) = batch(&mut zip, &[1]).unwrap();
    let value = |name: &str| samples.values[name][0];
    assert!(value("compress") > 1e5 && value("decompress") > value("compress"), "{samples:?}");
    assert!(value("rating") > 1e7 && value("cpu") > 0.0 && value("peak_memory") > 1e6);
}

/// Resident memory of this process in bytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
}

/// Runs in a process of its own, as a worker does; the test below starts it.
#[test]
fn helper_that_measures_memory() {
    if std::env::var_os("PLUMB_TEST_HELPER").is_none() {
        return;
    }
    let peak = |command: &str| {
        let mut command = ready("process.command", &[("command", command)]);
        let (samples, flags) = batch(&mut command, &[1, 1]).unwrap();
        let peak = samples.values["peak_memory"].iter().copied().fold(0.0, f64::max);
        (peak, flags)
    };
    let (big, flags) = peak(r#"["dd","if=/dev/zero","of=/dev/null","bs=64M","count=1"]"#);
    assert!(flags.is_empty(), "{flags:?}");
    let before = resident();
    let (small, flags) = peak("/bin/true");
    assert!(small < before, "code that was run is given back: {before} bytes, now {small}");
    assert!(flags.iter().all(|flag| flag.flag.word() == "memory-floor"), "{flags:?}");
    println!("\npeaks {big} {small}");
}

#[test]
fn a_small_command_after_a_big_one_and_below_a_big_process_reports_its_own_memory() {
    let _turn = alone();
    let large = vec![1_u8; 300 << 20];
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "helper_that_measures_memory", "--nocapture", "--test-threads=1"])
        .env("PLUMB_TEST_HELPER", "1")
        .output()
        .unwrap();
    assert!(std::hint::black_box(&large)[large.len() - 1] == 1);
    let text = String::from_utf8(output.stdout).unwrap();
    let peaks = text.lines().find_map(|line| line.strip_prefix("peaks ")).unwrap();
    let peaks: Vec<f64> = peaks.split(' ').map(|n| n.parse().unwrap()).collect();
    let mib = 1_048_576.0;
    assert!(peaks[0] >= 64.0 * mib && peaks[0] < 80.0 * mib, "dd of 64 MiB: {peaks:?}");
    assert!(peaks[1] < 16.0 * mib, "/bin/true: {peaks:?}");
}

fn prepared(language: &str, limit: &str, scratch: &std::path::Path) -> Option<(Start, Started)> {
    let mut start = start_of("language.sieve", &[("language", language), ("limit", limit)]);
    start.scratch = scratch.to_string_lossy().into_owned();
    let ready = match workload("language.sieve").prepare(&start) {
        Ok((ready, held)) => {
            std::mem::forget(held);
            ready
        }
        Err(StartError::Unsupported { .. }) => return None,
        Err(StartError::Failed(why)) => panic!("{why}"),
    };
    assert!(ready.bytes_on_disk > 0 && !ready.versions.is_empty());
    start.endpoints = ready.endpoints;
    let started = workload("language.sieve").start(&start).unwrap_or_else(|e| panic!("{e:?}"));
    Some((start, started))
}

#[test]
fn every_language_finds_the_primes() {
    let _turn = alone();
    let scratch = tempfile::tempdir().unwrap();
    for language in ["c", "python", "node"] {
        for limit in ["9", "10", "100000"] {
            let Some((_, mut sieve)) = prepared(language, limit, scratch.path()) else { continue };
            let (samples, _) = batch(&mut sieve, &[1, 1]).unwrap();
            assert!(samples.values["cpu"].iter().all(|&cpu| cpu > 0.0), "{language} {limit}");
            assert!(!sieve.ready.versions.is_empty());
        }
    }
    about_twice("sieve in C", |n| {
        let limit = (3_000_000 * n).to_string();
        let sieve = prepared("c", &limit, scratch.path());
        sieve.map_or(n as f64, |(_, mut sieve)| quickest(&mut sieve, 1))
    });
}

#[test]
fn a_sieve_that_says_something_else_is_caught_and_its_folder_goes() {
    let mut start = start_of("language.sieve", &[]);
    let Err(StartError::Failed(why)) = workload("language.sieve").start(&start) else {
        panic!("nothing was prepared");
    };
    assert!(why.contains("not prepared"), "{why}");
    for program in ["/bin/echo", "/bin/true"] {
        start.endpoints.insert("program".into(), program.into());
        let mut wrong =
            workload("language.sieve").start(&start).unwrap_or_else(|e| panic!("{e:?}"));
        let failure = batch(&mut wrong, &[1]).unwrap_err();
        assert!(failure.0.contains("Found 78498 prime numbers."), "{failure}");
    }
    let scratch = tempfile::tempdir().unwrap();
    start.scratch = scratch.path().to_string_lossy().into_owned();
    if let Ok((_, held)) = workload("language.sieve").prepare(&start) {
        held.clean().unwrap();
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
