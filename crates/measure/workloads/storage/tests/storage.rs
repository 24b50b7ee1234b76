//! The family `storage`, driven as the engine drives it.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use plumb_model::{Flag, FlagKind, Samples};
use plumb_protocol::{Batch, StartError, StartedWorkload};
use plumb_workload_storage::ALL;
use plumb_workload_testing::{
    TestPoint, alone, assert_doubles, has_flag, refusal, take, unsupported,
};

const SIZE: u64 = 4 << 20;

/// A point with its file in `folder`.
fn point(id: &str, folder: &Path, settings: &[(&str, &str)]) -> TestPoint<'static> {
    let settings = [&[("size", "4MiB")], settings].concat();
    let mut point = TestPoint::new(ALL, id, &settings).in_folder(folder);
    point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    assert!(point.fixture.bytes_on_disk >= SIZE * 9 / 10);
    point
}

/// A started point; fields drop in this order. The kernel's account of device bytes is one per process, so
/// tests with a point take turns.
struct StartedPoint {
    started: StartedWorkload,
    point: TestPoint<'static>,
}

impl StartedPoint {
    fn new(id: &str, folder: &Path, settings: &[(&str, &str)]) -> Self {
        let point = point(id, folder, settings);
        Self { started: point.started(), point }
    }

    fn file(&self) -> &str {
        &self.point.fixture.endpoints["file"]
    }

    fn sample(&mut self, iterations: &[u64]) -> (Samples, Vec<Flag>) {
        let (samples, flags) = take(self.started.instance.as_mut(), iterations).unwrap();
        assert_eq!(samples.iterations, iterations);
        (samples, flags)
    }
}

#[test]
fn every_method_reads_and_writes_what_was_laid_out() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for id in ["storage.sequential", "storage.random"] {
        for operation in ["read", "write", "mixed"] {
            for engine in ["auto", "psync"] {
                for direct in ["auto", "no"] {
                    let settings = [
                        ("operation", operation),
                        ("engine", engine),
                        ("direct", direct),
                        ("block", "16KiB"),
                        ("depth", "4"),
                    ];
                    let mut running = StartedPoint::new(id, dir.path(), &settings);
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
    let running = StartedPoint::new("storage.sequential", dir.path(), &[]);
    assert!(
        running.started.ready.notes[0].starts_with("method: "),
        "{:?}",
        running.started.ready.notes
    );
    assert!((running.started.ready.work["bandwidth"] - 1_048_576.0).abs() < 0.1);
    let running = StartedPoint::new("storage.sequential", dir.path(), &[("engine", "psync")]);
    assert!(
        running.started.ready.notes[0].contains("depth 1"),
        "{:?}",
        running.started.ready.notes
    );
    assert!(has_flag(&running.started.ready.flags, &FlagKind::Capped));
}

#[test]
fn buffers_lie_in_huge_pages_or_it_is_said_why_not() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for id in ["storage.sequential", "storage.random"] {
        let settings = [("pages", "huge"), ("operation", "mixed"), ("depth", "3")];
        let point = point(id, dir.path(), &settings);
        match point.try_start() {
            Ok(mut started) => {
                assert!(started.ready.notes.iter().any(|note| note == "buffers in huge pages"));
                take(started.instance.as_mut(), &[3, 20]).unwrap();
            }
            refused => {
                let (why, fix) = unsupported(id, refused);
                assert!(
                    why.contains("huge pages") && fix.contains("transparent_hugepage"),
                    "{why}"
                );
            }
        }
    }
}

#[test]
fn what_comes_from_the_page_cache_is_flagged_with_both_figures() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let mut running = StartedPoint::new("storage.sequential", dir.path(), &[("direct", "no")]);
    running.sample(&[4]);
    let (samples, flags) = running.sample(&[4, 4]);
    let flag = flags.iter().find(|flag| flag.flag == FlagKind::Cached).unwrap();
    assert!(flag.why.contains("of the 8 MiB read") || flag.why.contains("of the 1"), "{flag:?}");
    if let Some(ratios) = samples.values.get("device_ratio") {
        assert!(ratios.iter().all(|ratio| *ratio < 0.9), "{ratios:?}");
    }
}

#[test]
fn direct_reads_reach_the_device() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let mut running = StartedPoint::new("storage.random", dir.path(), &[]);
    let in_memory = has_flag(&running.started.ready.flags, &FlagKind::Tmpfs);
    let (samples, flags) = running.sample(&[200]);
    let direct = running.started.ready.notes[0].contains("O_DIRECT");
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
    let mut running = StartedPoint::new("storage.random", dir.path(), &[]);
    assert!(
        has_flag(&running.started.ready.flags, &FlagKind::Tmpfs),
        "{:?}",
        running.started.ready
    );
    let (_, flags) = running.sample(&[50]);
    assert!(has_flag(&flags, &FlagKind::Cached), "{flags:?}");
}

#[test]
fn foreign_bytes_fail_the_invocation() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for (at, whole) in [(0_u64, true), (1024, false)] {
        let mut running = StartedPoint::new("storage.sequential", dir.path(), &[("block", "4KiB")]);
        let file = OpenOptions::new().write(true).open(running.file()).unwrap();
        let bad = vec![0; if whole { 4096 } else { 512 }];
        for block in 0..SIZE / 4096 {
            file.write_all_at(&bad, block * 4096 + at).unwrap();
        }
        file.sync_all().unwrap();
        let mut batch = Batch::with_room(1, running.started.instance.value_names());
        let failure = running
            .started
            .instance
            .batch(&[4], &mut batch)
            .and_then(|()| running.started.instance.verify())
            .unwrap_err();
        assert!(failure.0.contains("offset"), "{failure}");
    }
}

#[test]
fn only_who_reads_minds_what_another_wrote_over_the_file() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for (operation, minds) in [("write", false), ("mixed", true), ("read", true)] {
        let point = point("storage.random", dir.path(), &[("operation", operation)]);
        let size = usize::try_from(SIZE).unwrap();
        std::fs::write(&point.fixture.endpoints["file"], vec![0; size]).unwrap();
        match (point.try_start(), minds) {
            (Ok(mut started), false) => {
                take(started.instance.as_mut(), &[50]).unwrap();
            }
            (Err(StartError::Failed(why)), true) => {
                assert!(why.contains("unexpected bytes"), "{why}")
            }
            (started, _) => panic!("{operation}: {:?}", started.map(|started| started.ready)),
        }
    }
}

#[test]
fn twice_the_work_takes_about_twice_the_time() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let point = point("storage.random", folder.path(), &[]);
    assert_doubles("blocks", &mut point.started(), 150);
}

#[test]
fn writes_through_the_page_cache_are_synced_unless_told_otherwise() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let write = [("operation", "write"), ("direct", "no"), ("block", "64KiB")];
    let running = StartedPoint::new("storage.sequential", dir.path(), &write);
    assert!(
        running.started.ready.notes.iter().any(|n| n.contains("fdatasync")),
        "{:?}",
        running.started.ready
    );
    let unsynced = [write.as_slice(), &[("sync", "none")]].concat();
    let running = StartedPoint::new("storage.sequential", dir.path(), &unsynced);
    assert!(
        has_flag(&running.started.ready.flags, &FlagKind::Cached),
        "{:?}",
        running.started.ready
    );
}

#[test]
fn settings_that_make_no_sense_are_refused_with_a_reason() {
    for (name, value, word) in [
        ("block", "1000", "multiple of 512"),
        ("depth", "0", "`depth`"),
        ("block", "8MiB", "less than one block"),
        ("mix", "100", "it must be 1 to 99"),
    ] {
        let settings = [("size", "4MiB"), ("operation", "mixed"), (name, value)];
        let mut point = TestPoint::new(ALL, "storage.random", &settings);
        point.start.endpoints = [("file".to_owned(), "/nowhere".to_owned())].into();
        let why = refusal(name, point.try_start());
        assert!(why.contains(word), "{why}");
    }
    let why = refusal("without a file", TestPoint::new(ALL, "storage.random", &[]).try_start());
    assert!(why.contains("fixture"), "{why}");
}

#[test]
fn a_trial_offers_what_was_asked_for_and_counts_what_was_in_time() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for operation in ["read", "write"] {
        let settings = [
            ("rate", "search"),
            ("p99", "100ms"),
            ("depth", "8"),
            ("operation", operation),
            ("sync", "none"),
        ];
        let mut running = StartedPoint::new("storage.random", dir.path(), &settings);
        let mut trial = |load, duration_ns| {
            let counts = running.started.instance.trial(load, duration_ns).unwrap();
            running.started.instance.verify().unwrap();
            counts
        };
        let slow = trial(200.0, 100_000_000);
        assert_eq!(slow.offered, 20);
        assert!(slow.good >= 18, "{slow:?}");
        // No device and no memory does that: most could not even be sent.
        let most = trial(500_000_000.0, 10_000_000);
        assert_eq!(most.offered, 5_000_000);
        assert!(most.good < 2_500_000, "{most:?}");
    }
    let mut closed = StartedPoint::new("storage.random", dir.path(), &[]);
    assert!(closed.started.instance.trial(100.0, 10_000_000).is_err());
}

#[test]
fn a_tenth_of_mixed_blocks_is_written() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let settings = [("operation", "mixed"), ("depth", "8"), ("sync", "none")];
    let mut running = StartedPoint::new("storage.random", dir.path(), &settings);
    let count = |name: &str| -> u64 {
        let text = std::fs::read_to_string("/proc/self/io").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    let before = (count("read_bytes:"), count("write_bytes:"));
    running.sample(&[4000]);
    let read = count("read_bytes:") - before.0;
    let written = count("write_bytes:") - before.1;
    let direct = running.started.ready.notes[0].contains("O_DIRECT");
    if direct && !has_flag(&running.started.ready.flags, &FlagKind::Tmpfs) && read > 0 {
        #[expect(clippy::cast_precision_loss, reason = "a few MiB")]
        let share = written as f64 / (read + written) as f64;
        assert!((0.07..0.13).contains(&share), "{written} of {}", read + written);
    }
}
