//! Several workers on one file, and open loops, driven as the engine drives them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use plumb_model::{FlagKind, Samples};
use plumb_protocol::{Batch, StartedWorkload, take};
use plumb_workload_storage::ALL;
use plumb_workload_testing::{TestPoint, alone, assert_ratio, refusal, samples};

const BOTH: [&str; 2] = ["storage.sequential", "storage.random"];

/// A started point with its file of 4 MiB in `folder`; the file is gone with the point.
fn started(
    id: &str,
    folder: &Path,
    settings: &[(&str, &str)],
) -> (TestPoint<'static>, StartedWorkload) {
    let settings = [&[("size", "4MiB")], settings].concat();
    let mut point = TestPoint::new(ALL, id, &settings).in_folder(folder);
    point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    let started = point.started();
    (point, started)
}

/// Blocks whose times are known, of each sample.
fn timed(samples: &Samples) -> Vec<u64> {
    let counts = samples.histograms["latency"].iter().map(|histogram| histogram.counts().unwrap());
    counts.map(|buckets| buckets.iter().map(|(_, count)| count).sum()).collect()
}

#[test]
fn workers_read_and_write_what_was_laid_out() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for id in BOTH {
        for operation in ["read", "write", "mixed"] {
            for (engine, direct) in [("auto", "auto"), ("psync", "auto"), ("auto", "no")] {
                for sync in ["none", "sample"] {
                    let settings = [
                        ("workers", "3"),
                        ("operation", operation),
                        ("engine", engine),
                        ("direct", direct),
                        ("sync", sync),
                        ("block", "16KiB"),
                        ("depth", "4"),
                    ];
                    let (_point, mut started) = started(id, folder.path(), &settings);
                    let taken = samples(&mut started, &[3, 1, 40, 300]);
                    assert_eq!(taken.iterations, [3, 1, 40, 300], "{id} {settings:?}");
                    if id == "storage.random" {
                        assert_eq!(timed(&taken), [3, 1, 40, 300], "{settings:?}");
                        assert!(taken.values["latency_max"].iter().all(|latency| *latency > 0.0));
                    }
                    // A second batch goes on where the first ended.
                    assert_eq!(samples(&mut started, &[50]).len(), 1);
                }
            }
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

#[test]
fn samples_of_workers_follow_each_other_without_a_gap() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for depth in ["1", "8"] {
        let settings = [("workers", "2"), ("depth", depth)];
        let (_point, mut started) = started("storage.random", folder.path(), &settings);
        let least = started.instance.least_iterations();
        // Without io_uring there is one block in flight.
        let is_had = started.ready.notes[0].ends_with(&format!("depth {depth}"));
        assert!(!is_had || least == 4 * 2 * depth.parse::<u64>().unwrap(), "{least}");
        let taken = samples(&mut started, &[100; 5]);
        let ends = taken.start_ns.iter().zip(&taken.elapsed_ns).map(|(start, long)| start + long);
        let ends: Vec<u64> = ends.collect();
        assert_eq!(ends[..4], taken.start_ns[1..], "depth {depth}");
        let words = "2 workers, each with a separate queue";
        assert!(started.ready.notes.iter().any(|note| note == words), "{:?}", started.ready.notes);
    }
}

#[test]
fn a_foreign_block_that_any_worker_reads_fails_the_invocation() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let settings = [("workers", "2"), ("block", "4KiB"), ("depth", "2")];
    let (point, mut started) = started("storage.sequential", folder.path(), &settings);
    let file = &point.fixture.endpoints["file"];
    let file = OpenOptions::new().write(true).open(file).unwrap();
    for block in 0..1024 {
        file.write_all_at(&[0; 4096], block * 4096).unwrap();
    }
    file.sync_all().unwrap();
    let mut batch = Batch::with_room(1, started.instance.value_names());
    let failure = started.instance.batch(&[100], &mut batch).unwrap_err();
    assert!(failure.0.contains("offset"), "{failure}");
}

#[test]
fn a_write_of_workers_that_is_lost_is_found() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let settings = [("workers", "2"), ("operation", "write"), ("sync", "sample")];
    let (point, mut started) = started("storage.random", folder.path(), &settings);
    let file = &point.fixture.endpoints["file"];
    let laid_out = std::fs::read(file).unwrap();
    let mut batch = Batch::with_room(1, started.instance.value_names());
    started
        .instance
        .distributions()
        .iter_mut()
        .for_each(|distribution| distribution.make_room(1, 20));
    started.instance.batch(&[20], &mut batch).unwrap();
    let written = OpenOptions::new().write(true).open(file).unwrap();
    written.write_all_at(&laid_out, 0).unwrap();
    written.sync_all().unwrap();
    let failure = started.instance.verify().unwrap_err();
    assert!(failure.0.contains("was lost"), "{failure}");
}

#[test]
fn an_open_loop_of_any_number_of_workers_keeps_its_rate() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for id in BOTH {
        for (workers, arrivals) in [("1", "fixed"), ("3", "fixed"), ("3", "poisson")] {
            let settings = [
                ("workers", workers),
                ("rate", "2000/s"),
                ("arrivals", arrivals),
                ("block", "4KiB"),
                ("depth", "16"),
            ];
            let (_point, mut started) = started(id, folder.path(), &settings);
            let said = started
                .ready
                .notes
                .iter()
                .any(|note| note.contains("2000 blocks are due per second"));
            assert!(said, "{id}: {:?}", started.ready.notes);
            // 600 blocks are due in 300 ms.
            assert_ratio(&format!("{id} {workers} {arrivals}"), 0.7..1.4, || {
                let taken = samples(&mut started, &[200; 3]);
                assert!(taken.values["in_time"][0] <= 1.0);
                let elapsed: u64 = taken.elapsed_ns.iter().sum();
                elapsed as f64 / 3e8
            });
        }
    }
}

#[test]
fn blocks_in_order_that_can_not_be_sent_in_time_are_flagged() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for workers in ["1", "2"] {
        let settings = [("workers", workers), ("rate", "50M/s"), ("block", "4KiB")];
        let (_point, mut started) = started("storage.sequential", folder.path(), &settings);
        let (taken, flags) = take(started.instance.as_mut(), &[500]).unwrap();
        assert!(taken.values["in_time"][0] < 0.9, "{:?}", taken.values);
        assert!(flags.iter().any(|flag| flag.flag == FlagKind::ClientBound), "{flags:?}");
    }
}

#[test]
fn workers_share_a_trial() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for (arrivals, operation) in [("poisson", "read"), ("fixed", "read"), ("poisson", "write")] {
        let settings = [
            ("workers", "3"),
            ("rate", "search"),
            ("arrivals", arrivals),
            ("p99", "100ms"),
            ("depth", "4"),
            ("operation", operation),
            ("sync", "none"),
        ];
        let (_point, mut started) = started("storage.random", folder.path(), &settings);
        let mut trial = |load, duration_ns| {
            let counts = started.instance.trial(load, duration_ns).unwrap();
            started.instance.verify().unwrap();
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
}

#[test]
fn numbers_of_workers_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for workers in ["0", "1025"] {
        let settings = [("size", "1MiB"), ("workers", workers)];
        let mut point = TestPoint::new(ALL, "storage.random", &settings).in_folder(folder.path());
        point.prepare().unwrap();
        let why = refusal(workers, point.try_start());
        assert!(why.contains("`workers`") && why.contains("1 to 1024"), "{why}");
    }
    let settings =
        [("workers", "2"), ("rate", "100/s"), ("sync", "sample"), ("operation", "write")];
    let settings = [&[("size", "1MiB")], settings.as_slice()].concat();
    let mut point = TestPoint::new(ALL, "storage.sequential", &settings).in_folder(folder.path());
    point.prepare().unwrap();
    assert!(refusal("synced", point.try_start()).contains("an open loop"));
}
