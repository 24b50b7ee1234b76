//! The storage workloads, driven through their traits as the engine drives them.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plumb_model::{Flag, FlagKind, Point, Ready, Role, Samples, Settings, Value};
use plumb_protocol::{Batch, Held, Instance, Start, StartError, Workload};

const SIZE: u64 = 4 << 20;

/// The kernel's account of device bytes is one per process: one point at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn workload(id: &str) -> &'static dyn Workload {
    plumb_workloads::find(id).expect("it is registered")
}

fn start_of(id: &str, dir: &Path, settings: &[(&str, &str)]) -> Start {
    let mut given: Settings = [("size".to_owned(), Value::Integer(SIZE))].into();
    given.extend(settings.iter().map(|(k, v)| ((*k).to_owned(), Value::Text((*v).to_owned()))));
    let point = Point::new(&workload(id).describe(), &given, 1).expect("the point is valid");
    Start {
        role: Role::Workload,
        params: point.settings,
        dir: dir.display().to_string(),
        scratch: dir.display().to_string(),
        seed: 42,
        endpoints: [].into(),
        facts: plumb_model::Facts::default(),
    }
}

/// A prepared and started point; fields drop in this order.
struct Running {
    instance: Box<dyn Instance>,
    ready: Ready,
    file: String,
    _fixture: Box<dyn Held>,
}

fn run_in(id: &str, dir: &Path, settings: &[(&str, &str)]) -> Running {
    let mut start = start_of(id, dir, settings);
    let (prepared, fixture) = workload(id).prepare(&start).map_err(show).expect("prepared");
    assert!(prepared.bytes_on_disk >= SIZE * 9 / 10 || prepared.bytes_on_disk == SIZE);
    start.endpoints = prepared.endpoints.clone();
    let started = workload(id).start(&start).map_err(show).expect("started");
    let file = prepared.endpoints["file"].clone();
    Running { instance: started.instance, ready: started.ready, file, _fixture: fixture }
}

fn show(error: StartError) -> String {
    format!("{error:?}")
}

impl Running {
    fn sample(&mut self, iterations: &[u64]) -> (Samples, Vec<Flag>) {
        let mut batch = Batch::with_room(iterations.len(), self.instance.value_names());
        self.instance.batch(iterations, &mut batch).expect("the batch worked");
        self.instance.verify().expect("the result is right");
        let (samples, flags) = batch.finish();
        samples.check().expect("the columns fit");
        assert_eq!(samples.iterations, iterations);
        (samples, flags)
    }
}

fn has(flags: &[Flag], kind: &FlagKind) -> bool {
    flags.iter().any(|flag| flag.flag == *kind)
}

#[test]
fn every_way_reads_and_writes_what_was_laid_out() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for id in ["storage.sequential", "storage.random"] {
        for operation in ["read", "write"] {
            for engine in ["auto", "psync"] {
                for direct in ["auto", "no"] {
                    let settings = [
                        ("operation", operation),
                        ("engine", engine),
                        ("direct", direct),
                        ("block", "16KiB"),
                        ("depth", "4"),
                    ];
                    let mut running = run_in(id, dir.path(), &settings);
                    let (samples, _) = running.sample(&[3, 1, 40, 300]);
                    assert_eq!(samples.len(), 4, "{id} {settings:?}");
                    running.sample(&[5]);
                }
            }
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "files are left");
}

#[test]
fn the_method_and_the_fallback_are_said() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let running = run_in("storage.sequential", dir.path(), &[]);
    assert!(running.ready.notes[0].starts_with("method: "), "{:?}", running.ready.notes);
    assert!((running.ready.work["bandwidth"] - 1_048_576.0).abs() < 0.1);
    let running = run_in("storage.sequential", dir.path(), &[("engine", "psync")]);
    assert!(running.ready.notes[0].contains("depth 1"), "{:?}", running.ready.notes);
    assert!(has(&running.ready.flags, &FlagKind::Capped));
}

#[test]
fn what_comes_from_the_page_cache_is_flagged_with_both_figures() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let mut running = run_in("storage.sequential", dir.path(), &[("direct", "no")]);
    running.sample(&[4]);
    let (samples, flags) = running.sample(&[4, 4]);
    let flag = flags.iter().find(|flag| flag.flag == FlagKind::Cached).expect("flagged");
    assert!(flag.why.contains("of 8 MiB that were read") || flag.why.contains("of 1"), "{flag:?}");
    if let Some(ratios) = samples.values.get("device_ratio") {
        assert!(ratios.iter().all(|ratio| *ratio < 0.9), "{ratios:?}");
    }
}

#[test]
fn direct_reads_reach_the_device() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let mut running = run_in("storage.random", dir.path(), &[]);
    let in_memory = has(&running.ready.flags, &FlagKind::Tmpfs);
    let (samples, flags) = running.sample(&[200]);
    let direct = running.ready.notes[0].contains("O_DIRECT");
    if direct && !in_memory && samples.values.contains_key("device_ratio") {
        assert!((samples.values["device_ratio"][0] - 1.0).abs() < 0.1, "{samples:?}");
        assert!(flags.is_empty(), "{flags:?}");
    }
    let latency = |name: &str| samples.values[name][0];
    assert!(latency("latency_p50") > 0.0);
    assert!(latency("latency_p50") <= latency("latency_p99"));
    assert!(latency("latency_p99") <= latency("latency_max"));
}

#[test]
fn memory_is_flagged_as_memory() {
    let _alone = alone();
    let dir = tempfile::tempdir_in("/dev/shm").unwrap_or_else(|error| {
        panic!("this test needs a folder in memory: {error}; mount -t tmpfs tmpfs /dev/shm")
    });
    let mut running = run_in("storage.random", dir.path(), &[]);
    assert!(has(&running.ready.flags, &FlagKind::Tmpfs), "{:?}", running.ready);
    let (_, flags) = running.sample(&[50]);
    assert!(has(&flags, &FlagKind::Cached), "{flags:?}");
}

#[test]
fn foreign_bytes_fail_the_invocation() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for (at, whole) in [(0_u64, true), (1024, false)] {
        let mut running = run_in("storage.sequential", dir.path(), &[("block", "4KiB")]);
        let file = OpenOptions::new().write(true).open(&running.file).unwrap();
        let bad = vec![0; if whole { 4096 } else { 512 }];
        for block in 0..SIZE / 4096 {
            file.write_all_at(&bad, block * 4096 + at).unwrap();
        }
        file.sync_all().unwrap();
        let mut batch = Batch::with_room(1, running.instance.value_names());
        let failure = running
            .instance
            .batch(&[4], &mut batch)
            .and_then(|()| running.instance.verify())
            .expect_err("foreign bytes pass");
        assert!(failure.0.contains("offset"), "{failure}");
    }
}

#[test]
fn twice_the_work_takes_about_twice_the_time() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let mut running = run_in("storage.random", dir.path(), &[]);
    let mut best = |k: u64| {
        let (samples, _) = running.sample(&[k; 8]);
        samples.elapsed_ns.iter().copied().min().unwrap_or(0)
    };
    let mut ratios = Vec::new();
    for _ in 0..8 {
        #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
        let ratio = 1.0 / best(200) as f64 * best(400) as f64;
        if (1.5..2.7).contains(&ratio) {
            return;
        }
        ratios.push(ratio);
    }
    panic!("twice the work took {ratios:?} times as long");
}

#[test]
fn writes_through_the_page_cache_are_synced_unless_told_otherwise() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let write = [("operation", "write"), ("direct", "no"), ("block", "64KiB")];
    let running = run_in("storage.sequential", dir.path(), &write);
    assert!(running.ready.notes.iter().any(|n| n.contains("fdatasync")), "{:?}", running.ready);
    let unsynced = [write.as_slice(), &[("sync", "none")]].concat();
    let running = run_in("storage.sequential", dir.path(), &unsynced);
    assert!(has(&running.ready.flags, &FlagKind::Cached), "{:?}", running.ready);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_a_reason() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for (name, value, word) in [
        ("block", "1000", "multiple of 512"),
        ("depth", "0", "`depth`"),
        ("block", "8MiB", "less than one block"),
    ] {
        let mut start = start_of("storage.random", dir.path(), &[(name, value)]);
        start.endpoints = [("file".to_owned(), "/nowhere".to_owned())].into();
        let Err(StartError::Failed(why)) = workload("storage.random").start(&start) else {
            panic!("{name}={value} was taken");
        };
        assert!(why.contains(word), "{why}");
    }
    let start = start_of("storage.random", dir.path(), &[]);
    let Err(StartError::Failed(why)) = workload("storage.random").start(&start) else {
        panic!("it needs no file");
    };
    assert!(why.contains("fixture"), "{why}");
}

#[test]
fn manuals_name_every_parameter_and_metric() {
    for id in ["storage.sequential", "storage.random"] {
        let (manual, description) = (workload(id).manual(), workload(id).describe());
        for parameter in &description.parameters {
            assert!(manual.contains(&format!("`{}`", parameter.name)), "{id}: {}", parameter.name);
        }
        for metric in &description.metrics {
            assert!(manual.contains(&format!("`{}`", metric.name)), "{id}: {}", metric.name);
        }
    }
}
