//! The family `memory`, driven as the engine drives it.

use plumb_model::FlagKind;
use plumb_protocol::{StartError, StartedWorkload};
use plumb_workload_memory::ALL;
use plumb_workload_testing::{
    Lack, TWICE, TestPoint, alone, assert_doubles, assert_ratio, fastest_ns, refusal,
    refused_settings, samples, skip, skip_part, unsupported, values,
};

#[test]
fn four_times_the_array_takes_about_four_times_as_long() {
    let _alone = alone();
    // Of the one method whose stores are the same for any size: memcpy takes others from a size on.
    let time = |size| {
        let settings = [("size", size), ("method", "loop")];
        fastest_ns(&mut TestPoint::new(ALL, "memory.copy", &settings).started(), 3)
    };
    // Both too large for a cache that others share: an array of 2 MiB may lie in it, or not.
    assert_ratio("four times the array", 3.0..8.0, || time("64MiB") / time("16MiB"));
}

#[test]
fn only_one_method_prefetches() {
    let point = |method| {
        let settings = [("size", "64KiB"), ("method", method), ("prefetch", "1KiB")];
        TestPoint::new(ALL, "memory.copy", &settings).try_start()
    };
    let why = refusal("memcpy that prefetches", point("libc"));
    assert!(why.contains("`prefetch` applies only to method=nt"), "{why}");
    match point("nt") {
        Err(StartError::Unsupported { why, .. }) => {
            assert!(why.contains("non-temporal"), "{why}");
            skip(Lack::Hardware(&why));
        }
        started => assert_eq!(samples(&mut started.unwrap(), &[3]).iterations, [3]),
    }
}

#[test]
fn every_method_of_copying_gives_a_plausible_bandwidth() {
    let metric = ALL[0].describe().metrics[0].clone();
    for method in ["libc", "loop", "block", "nt"] {
        let settings = [("size", "512KiB"), ("method", method), ("threads", "2")];
        let mut started = match TestPoint::new(ALL, "memory.copy", &settings).try_start() {
            Err(StartError::Unsupported { why, .. }) if method == "nt" => {
                assert!(why.contains("non-temporal"), "{why}");
                skip_part("memory.copy with method=nt", Lack::Hardware(&why));
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
        ("memory.copy", "1GiB", "use size="),
        ("memory.copy", "100", "multiple of 64"),
        ("memory.latency", "1GiB", "use size="),
        ("memory.stream", "1GiB", "use size=170MiB or less"),
        ("memory.read", "100", "multiple of 64"),
        ("memory.write", "1GiB", "use size="),
        ("memory.loaded", "1GiB", "use size="),
        ("memory.fault", "1GiB", "use size="),
        ("memory.fault", "5000", "multiple of 4096"),
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
        assert_eq!(
            large.flags[0].why,
            "8MiB may fit in caches; 4 × the last-level cache is 128MiB"
        );
        assert!(ready(id, &[("size", "16KiB")]).flags.is_empty());
    }
    let three = ready("memory.copy", &[("size", "64KiB"), ("threads", "3")]);
    assert_eq!(three.flags[0].why, "3 threads share 2 CPUs");
}

/// The point started, or nothing if it is unsupported for this reason.
fn started_or(id: &str, settings: &[(&str, &str)], reason: &str) -> Option<StartedWorkload> {
    match TestPoint::new(ALL, id, settings).try_start() {
        Ok(started) => Some(started),
        Err(StartError::Unsupported { why, .. }) => {
            assert!(why.contains(reason), "{id} {settings:?}: {why}");
            skip_part(&format!("{id} {settings:?}"), Lack::Hardware(&why));
            None
        }
        Err(StartError::Failed(why)) => panic!("{id} {settings:?}: {why}"),
    }
}

#[test]
fn every_kernel_of_stream_runs_with_either_store_and_counts_as_stream_does() {
    for (kernel, counted) in [("triad", 3.0), ("copy", 2.0), ("scale", 2.0), ("add", 3.0)] {
        for stores in ["regular", "nt"] {
            let settings =
                [("kernel", kernel), ("stores", stores), ("size", "256KiB"), ("threads", "2")];
            let Some(mut started) = started_or("memory.stream", &settings, "non-temporal") else {
                continue;
            };
            let work = started.ready.work["bandwidth"];
            assert!((work - counted * f64::from(2 << 18)).abs() < 0.1, "{kernel}: {work}");
            let _samples = samples(&mut started, &[2, 3]);
        }
    }
}

#[test]
fn every_width_is_named_or_refused() {
    for id in ["memory.stream", "memory.read", "memory.write"] {
        for width in ["128", "256", "512"] {
            let settings = [("width", width), ("size", "64KiB")];
            let Some(started) = started_or(id, &settings, "this CPU has no") else { continue };
            let named = format!("registers of {width} bits");
            assert!(started.ready.notes.iter().any(|note| note.contains(&named)), "{id}");
        }
    }
}

#[test]
fn twice_the_work_takes_about_twice_as_long() {
    let _alone = alone();
    for (id, settings, k) in [
        ("memory.stream", vec![("size", "256KiB")], 60),
        ("memory.stream", vec![("size", "256KiB"), ("stores", "nt")], 20),
        ("memory.read", vec![("size", "256KiB")], 200),
        ("memory.write", vec![("size", "256KiB")], 100),
        ("memory.latency", vec![("size", "16KiB"), ("chains", "4")], 200),
        ("memory.exchange", vec![], 20),
        ("memory.fault", vec![("size", "1MiB")], 4),
        ("memory.fault", vec![("size", "1MiB"), ("operation", "unmap")], 8),
        ("memory.free", vec![], 100),
    ] {
        if let Some(mut started) = started_or(id, &settings, "non-temporal") {
            assert_doubles(id, &mut started, k);
        }
    }
}

#[test]
fn twice_the_array_takes_about_twice_as_long() {
    let _alone = alone();
    for id in ["memory.stream", "memory.read", "memory.write", "memory.fault"] {
        let time =
            |size, k| fastest_ns(&mut TestPoint::new(ALL, id, &[("size", size)]).started(), k);
        // Three arrays of the larger size still lie in any second-level cache of today.
        assert_ratio(id, TWICE, || time("128KiB", 40) / time("64KiB", 40));
    }
}

#[test]
fn loads_of_several_cycles_wait_for_memory_together() {
    let _alone = alone();
    let metric = ALL[1].describe().metrics[0].clone();
    let latency = |chains: &str| {
        let settings = [("size", "64MiB"), ("chains", chains)];
        let mut started = TestPoint::new(ALL, "memory.latency", &settings).started();
        let all = values(&mut started, &metric, &[8; 5]);
        all.into_iter().fold(f64::INFINITY, f64::min)
    };
    assert_ratio("one cycle against eight", 1.5..30.0, || latency("1") / latency("8"));
}

#[test]
fn injectors_move_bytes_and_fewer_when_they_pause() {
    let _alone = alone();
    let bandwidth = |load, pause| {
        let settings = [("size", "1MiB"), ("load", load), ("pause", pause)];
        let mut started = TestPoint::new(ALL, "memory.loaded", &settings).started();
        let all = samples(&mut started, &[200; 5]).values["bandwidth"].clone();
        all.into_iter().fold(0.0, f64::max)
    };
    for load in ["read", "write"] {
        assert_ratio(load, 1.5..10_000.0, || bandwidth(load, "0ns") / bandwidth(load, "20us"));
    }
}

#[test]
fn a_line_is_handed_over_between_the_two_that_were_named() {
    let _alone = alone();
    let settings = [("from", "0"), ("to", "1")];
    let mut started = TestPoint::new(ALL, "memory.exchange", &settings).started();
    assert_eq!(started.ready.notes[0], "between CPUs 0 and 1");
    let _samples = samples(&mut started, &[5, 5]);
    for (settings, wanted) in [
        (vec![("from", "1"), ("to", "1")], "would use CPU 1"),
        (vec![("from", "0"), ("to", "99")], "not allowed to run on CPU 99"),
        (vec![("placement", "same-cpu")], "would use CPU 1"),
    ] {
        let point = TestPoint::new(ALL, "memory.exchange", &settings);
        let (why, fix) = unsupported("memory.exchange", point.try_start());
        assert!(why.contains(wanted) && !fix.is_empty(), "{why}; {fix}");
    }
    for settings in [[("from", "0")], [("to", "x")], [("placement", "free")]] {
        let point = TestPoint::new(ALL, "memory.exchange", &settings);
        assert!(!refusal("memory.exchange", point.try_start()).is_empty());
    }
}

#[test]
fn two_cpus_are_needed_where_two_work() {
    for id in ["memory.loaded", "memory.exchange"] {
        let mut point = TestPoint::new(ALL, id, &[]);
        point.start.facts.cpus = vec![0];
        let (why, fix) = unsupported(id, point.try_start());
        assert!(why.contains("needs two") && fix.contains("give plumb two CPUs"), "{why}; {fix}");
    }
}

#[test]
fn huge_pages_cost_less_a_byte_or_are_refused_in_words() {
    let _alone = alone();
    let metrics = ALL
        .iter()
        .map(|workload| workload.describe())
        .find(|described| described.id == "memory.fault")
        .unwrap();
    let settings = [("size", "4MiB"), ("pages", "huge")];
    let Some(mut huge) = started_or("memory.fault", &settings, "huge pages") else { return };
    assert!((huge.ready.work["time"] - 2.0).abs() < 0.1);
    let mut small = TestPoint::new(ALL, "memory.fault", &[("size", "4MiB")]).started();
    assert!((small.ready.work["time"] - 1024.0).abs() < 0.1);
    let best = |started: &mut StartedWorkload| {
        values(started, &metrics.metrics[1], &[3; 5]).into_iter().fold(0.0, f64::max)
    };
    assert_ratio("bytes per second", 1.1..100.0, || best(&mut huge) / best(&mut small));
}

#[test]
fn free_memory_is_less_than_all_and_more_than_none() {
    let mut started = TestPoint::new(ALL, "memory.free", &[]).started();
    let taken = samples(&mut started, &[1, 2]);
    let last = |name: &str| taken.values[name][1];
    assert!(last("free") > 1e5 && last("available") > 1e5 && last("own") > 1e5);
    assert!(last("own") < 1e12);
}

#[test]
fn nodes_are_refused_where_there_is_one_and_words_where_they_are_none() {
    let bound = "memory.copy memory.stream memory.read memory.write memory.latency memory.loaded memory.fault";
    for id in bound.split(' ') {
        let point = |node| TestPoint::new(ALL, id, &[("node", node), ("size", "64KiB")]);
        let why = refusal(id, point("near").try_start());
        assert_eq!(why, "`near` is not a node: use `any` or a number");
        if let Some(started) = started_or(id, &[("node", "0"), ("size", "64KiB")], "node") {
            let bound = started.ready.notes.iter().any(|note| note.contains("bound to node 0"));
            assert!(bound, "{id}: {:?}", started.ready.notes);
        }
    }
    let why = refused_settings(ALL, "memory.latency", &[("chains", "17")]);
    assert!(why.contains("`17` is not 1 to 16"), "{why}");
}
