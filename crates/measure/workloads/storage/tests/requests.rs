//! The workloads of small requests, driven as the engine drives them.

use std::fs;
use std::path::Path;

use plumb_model::FlagKind;
use plumb_protocol::{StartError, StartedWorkload};
use plumb_workload_kit::device::has_volatile_cache;
use plumb_workload_storage::ALL;
use plumb_workload_testing::{
    TestPoint, alone, has_flag, refusal, refused_settings, samples, unsupported,
};

fn try_block(dir: &Path, settings: &[(&str, &str)]) -> Result<StartedWorkload, StartError> {
    TestPoint::new(ALL, "storage.oneblock", settings).in_folder(dir).try_start()
}

#[test]
fn workers_share_the_operations() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for operation in ["read", "write"] {
        for (offset, workers, count) in [("zero", "1", 1.0), ("random", "4", 4.0)] {
            let settings = [("operation", operation), ("offset", offset), ("workers", workers)];
            let mut started = try_block(dir.path(), &settings).unwrap();
            let taken = samples(&mut started, &[64, 400]);
            let counts = taken.histograms["latency"][1].counts().unwrap();
            assert_eq!(counts.iter().map(|bucket| bucket.1).sum::<u64>(), 400);
            let value = |name: &str| taken.values[name][1];
            assert!(value("share_min") <= 1.0 && value("share_max") >= 1.0, "{taken:?}");
            // Little's law: never more than there are workers.
            let in_flight = value("in_flight");
            assert!(in_flight > 0.0 && in_flight <= count, "{in_flight} of {count}");
        }
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn blocks_that_direct_io_refuses_are_flagged() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let started = try_block(dir.path(), &[("block", "1")]).unwrap();
    assert!(has_flag(&started.ready.flags, &FlagKind::NotDirect), "{:?}", started.ready);
    let (why, fix) =
        unsupported("1 byte", try_block(dir.path(), &[("block", "1"), ("direct", "yes")]));
    assert!(why.contains("O_DIRECT") && fix.contains("direct=auto"), "{why} {fix}");
    for (name, value) in [("block", "0"), ("block", "2MiB"), ("workers", "0"), ("workers", "2000")]
    {
        let why = refused_settings(ALL, "storage.oneblock", &[(name, value)]);
        assert!(why.contains(" is not 1"), "{why}");
    }
    let too_much = [("offset", "random"), ("size", "8GiB"), ("workers", "1000")];
    assert!(unsupported("room", try_block(dir.path(), &too_much)).0.contains("80 %"));
}

#[test]
fn writes_that_nobody_flushes_are_flagged_where_the_device_may_lose_them() {
    let dir = tempfile::tempdir().unwrap();
    let volatile = has_volatile_cache(dir.path()) == Some(true);
    for (operation, sync, is_lost) in
        [("write", "none", true), ("write", "sample", false), ("read", "none", false)]
    {
        let settings = [("size", "1MiB"), ("operation", operation), ("sync", sync)];
        let mut point = TestPoint::new(ALL, "storage.random", &settings).in_folder(dir.path());
        point.prepare().unwrap();
        let started = point.started();
        let direct = !has_flag(&started.ready.flags, &FlagKind::Cached);
        let flagged = has_flag(&started.ready.flags, &FlagKind::Unflushed);
        assert_eq!(flagged, volatile && direct && is_lost, "{operation} {sync}");
    }
}

#[test]
fn a_log_holds_what_was_committed_and_begins_anew() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let log = |settings: &[(&str, &str)]| {
        TestPoint::new(ALL, "storage.log", settings).in_folder(dir.path()).try_start()
    };
    for sync in ["fdatasync", "fsync", "o_dsync"] {
        for file in ["append", "overwrite"] {
            let settings = [
                ("sync", sync),
                ("file", file),
                ("size", "64KiB"),
                ("record", "700"),
                ("records", "3"),
            ];
            let mut started = log(&settings).unwrap();
            // 64 KiB are 31 commits.
            let taken = samples(&mut started, &[30, 1, 40]);
            let counts = taken.histograms["latency"][2].counts().unwrap();
            assert_eq!(counts.iter().map(|bucket| bucket.1).sum::<u64>(), 40);
            started.instance.finish().unwrap();
        }
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    for (settings, words) in [("record", "`0B` is not 1B to 1MiB"), ("records", "`0` is not 1 to")]
    {
        let why = refused_settings(ALL, "storage.log", &[(settings, "0")]);
        assert!(why.contains(words), "{why}");
    }
    let small = log(&[("record", "4KiB"), ("size", "1KiB")]);
    assert!(refusal("small", small).contains("less than one commit"));
    assert!(unsupported("room", log(&[("size", "9000GiB")])).0.contains("80 %"));
}
