//! The family `datastore`, driven as the engine drives it.

use std::fs;
use std::path::Path;

use plumb_model::FlagKind;
use plumb_workload_datastore::ALL;
use plumb_workload_testing::{TestPoint, alone, samples, unsupported};

#[test]
fn an_entity_has_a_time_in_every_phase_and_nothing_is_left_behind() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let metrics = ALL[0].describe().metrics;
    let (total, phases) = metrics.split_first().unwrap();
    for durability in ["none", "batch", "entity"] {
        let settings = [("entities", "20"), ("durability", durability)];
        let point = TestPoint::new(ALL, "datastore.batch", &settings).in_folder(folder.path());
        let mut started = point.started();
        let samples = samples(&mut started, &[2, 1]);
        let whole = samples.metric(total, started.ready.work["time"]).unwrap();
        for (i, whole) in whole.into_iter().enumerate() {
            let parts: Vec<f64> =
                phases.iter().map(|m| samples.metric(m, 1.0).unwrap()[i]).collect();
            let sum: f64 = parts.iter().sum();
            assert!(parts.iter().all(|&part| part > 0.0) && sum <= whole, "{parts:?} of {whole}");
            assert!(sum > 0.9 * whole, "the phases make up the whole: {sum} of {whole}");
        }
        assert_eq!(started.ready.versions["sqlite"].split('.').count(), 3);
        drop(started);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{durability}");
    }
}

#[test]
fn what_cannot_be_run_says_why_and_what_to_set() {
    let cases: [(&[(&str, &str)], &str); 2] = [
        (&[("bytes", "8")], "`bytes` between"),
        (&[("entities", "10000000"), ("bytes", "1MiB")], "--dir"),
    ];
    for (settings, wanted) in cases {
        let point = TestPoint::new(ALL, "datastore.batch", settings);
        let (why, fix) = unsupported("datastore.batch", point.try_start());
        assert!(!why.is_empty() && fix.contains(wanted), "{why}; {fix}");
    }
}

#[test]
fn files_in_memory_are_flagged() {
    let memory = Path::new("/dev/shm");
    if fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
        let point = TestPoint::new(ALL, "datastore.batch", &[("entities", "1")]).in_folder(memory);
        assert_eq!(point.started().ready.flags[0].flag, FlagKind::Tmpfs);
    }
}
