//! The family `memory`, driven as the engine drives it.

use plumb_model::FlagKind;
use plumb_protocol::StartError;
use plumb_workload_memory::ALL;
use plumb_workload_testing::{TestPoint, alone, assert_ratio, fastest_ns, unsupported, values};

#[test]
fn four_times_the_array_takes_about_four_times_as_long() {
    let _alone = alone();
    let time =
        |size| fastest_ns(&mut TestPoint::new(ALL, "memory.copy", &[("size", size)]).started(), 3);
    assert_ratio("four times the array", 3.0..8.0, || time("8MiB") / time("2MiB"));
}

#[test]
fn every_method_of_copying_gives_a_plausible_bandwidth() {
    let metric = ALL[0].describe().metrics[0].clone();
    for method in ["libc", "loop", "block", "nt"] {
        let settings = [("size", "512KiB"), ("method", method), ("threads", "2")];
        let mut started = match TestPoint::new(ALL, "memory.copy", &settings).try_start() {
            Err(StartError::Unsupported { why, .. }) if method == "nt" => {
                assert!(why.contains("non-temporal"), "{why}");
                continue;
            }
            other => other.unwrap_or_else(|error| panic!("{error:?}")),
        };
        assert!((started.ready.work["bandwidth"] - f64::from(2 << 19)).abs() < 0.1);
        let rates = values(&mut started, &metric, &[2, 3, 2]);
        assert!(rates.iter().all(|rate| (1e7..1e12).contains(rate)), "{method}: {rates:?}");
    }
}

#[test]
fn larger_cycles_are_slower_and_no_load_is_faster_than_a_cache() {
    let _alone = alone();
    let metric = ALL[1].describe().metrics[0].clone();
    let latency = |size: &str, k| {
        let mut started = TestPoint::new(ALL, "memory.latency", &[("size", size)]).started();
        let all = values(&mut started, &metric, &[k; 5]);
        all.into_iter().fold(f64::INFINITY, f64::min)
    };
    // Unoptimised code spends longer between two loads than a cache takes.
    assert_ratio("ns of a load from the first-level cache", 0.2..30.0, || {
        latency("16KiB", 20) * 1e9
    });
    assert_ratio("32 MiB against 16 KiB", 2.0..1000.0, || {
        latency("32MiB", 5) / latency("16KiB", 20)
    });
}

#[test]
fn huge_pages_are_there_or_the_reader_learns_why_not() {
    let settings = [("size", "4MiB"), ("pages", "huge")];
    match TestPoint::new(ALL, "memory.latency", &settings).try_start() {
        Ok(mut started) => {
            started.instance.run(100).unwrap();
            started.instance.verify().unwrap();
        }
        Err(StartError::Unsupported { why, fix }) => {
            assert!(why.contains("huge pages") && fix.contains("transparent_hugepage"), "{why}");
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
}

#[test]
fn what_cannot_be_run_says_why_and_what_to_set() {
    for (id, size, wanted) in [
        ("memory.copy", "1GiB", "`size` below"),
        ("memory.copy", "100", "multiple of 64"),
        ("memory.latency", "1GiB", "`size` below"),
    ] {
        let (why, fix) = unsupported(id, TestPoint::new(ALL, id, &[("size", size)]).try_start());
        assert!(!why.is_empty() && fix.contains(wanted), "{id}: {why}; {fix}");
    }
}

#[test]
fn both_sizes_are_shown_where_a_cache_may_help() {
    let ready = |id, settings: &[(&str, &str)]| TestPoint::new(ALL, id, settings).started().ready;
    for id in ["memory.copy", "memory.latency"] {
        let large = ready(id, &[("size", "8MiB")]);
        assert_eq!(large.flags[0].flag, FlagKind::Capped);
        assert_eq!(large.flags[0].why, "8MiB, where 4 × last-level cache would be 128MiB");
        assert!(ready(id, &[("size", "16KiB")]).flags.is_empty());
    }
    let three = ready("memory.copy", &[("size", "64KiB"), ("threads", "3")]);
    assert_eq!(three.flags[0].why, "3 threads share 2 CPUs");
}
