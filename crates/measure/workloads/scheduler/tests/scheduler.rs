//! The family `scheduler`, driven as the engine drives it.

use plumb_model::CpuPlace;
use plumb_protocol::StartError;
use plumb_workload_scheduler::ALL;
use plumb_workload_testing::{
    TWICE, TestPoint, alone, assert_doubles, assert_ratio, fastest_ns, samples, take, unsupported,
};

#[test]
fn twice_the_work_takes_twice_the_time_for_processes_and_threads() {
    let _alone = alone();
    for mode in ["process", "thread"] {
        assert_ratio("twice the messages", TWICE, || {
            let time = |loops| {
                let settings =
                    [("fds", "5"), ("loops", loops), ("mode", mode), ("transport", "pipe")];
                fastest_ns(&mut TestPoint::new(ALL, "scheduler.messaging", &settings).started(), 1)
            };
            time("400") / time("200")
        });
        let mut pipe = TestPoint::new(ALL, "scheduler.pipe", &[("mode", mode)]).started();
        assert_doubles("round trips", &mut pipe, 300);
    }
}

#[test]
fn round_trips_work_wherever_the_tasks_are_placed() {
    for placement in ["same-cpu", "cross-cpu", "free", "spread", "cpu:0"] {
        match TestPoint::new(ALL, "scheduler.pipe", &[("placement", placement)]).try_start() {
            Ok(mut pipe) => assert_eq!(samples(&mut pipe, &[100, 50]).iterations, [100, 50]),
            Err(StartError::Unsupported { why, .. }) => assert!(why.contains("needs two"), "{why}"),
            Err(StartError::Failed(why)) => panic!("{placement}: {why}"),
        }
    }
}

#[test]
fn siblings_are_used_where_there_are_some_and_asked_for_where_not() {
    let settings = [("placement", "siblings"), ("mode", "thread")];
    let mut point = TestPoint::new(ALL, "scheduler.pipe", &settings);
    let (why, _) = unsupported("no SMT", point.try_start());
    assert!(why.contains("SMT is off, hidden from this virtual machine"), "{why}");
    let place = |cpu| CpuPlace { cpu, core: 0, node: 0 };
    point.start.facts.places = vec![place(0), place(1)];
    // Where the machine of the test has one CPU, it can't pin to two.
    if let Ok(mut pipe) = point.try_start() {
        assert_eq!(pipe.ready.notes[0], "worker and partner on CPUs 0, 1 in turn");
        let switches = &samples(&mut pipe, &[200]).values["switches"];
        assert!(switches[0] > 0.5, "{switches:?}");
    }
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
fn yields_are_counted_for_every_thread_and_the_cpu_goes_round() {
    let _alone = alone();
    for (threads, placement) in
        [("1", "same-cpu"), ("5", "same-cpu"), ("3", "free"), ("3", "spread")]
    {
        let settings = [("threads", threads), ("placement", placement)];
        let mut yielding = TestPoint::new(ALL, "scheduler.yield", &settings).started();
        let samples = samples(&mut yielding, &[5_000; 3]);
        for i in 0..samples.len() {
            let value = |name: &str| samples.values[name][i];
            let yields = value("rate") * samples.elapsed_ns[i] as f64 * 1e-9;
            assert!(yields > 4_999.0, "{settings:?}: {yields}");
            let n: f64 = threads.parse().unwrap();
            assert!((1.0 / n - 1e-9..=1.0 + 1e-9).contains(&value("fairness")), "{settings:?}");
            if placement == "same-cpu" {
                assert!((value("time") * value("rate") - 1.0).abs() < 1e-9);
                // Alone it switches only when something else takes its CPU.
                assert_eq!(value("switches") > 0.5, threads != "1", "{settings:?}: {samples:?}");
                assert!(yields > 2_500.0 * n, "{settings:?}: the others worked, too: {yields}");
            }
        }
    }
}

#[test]
fn a_run_of_hackbench_is_timed_without_the_making_of_its_tasks() {
    let settings = [("groups", "4"), ("fds", "5"), ("loops", "1"), ("placement", "spread")];
    let mut whole = TestPoint::new(ALL, "scheduler.messaging", &settings).started();
    assert!((whole.ready.work["messages"] - 100.0).abs() < 1e-9);
    let before = std::time::Instant::now();
    let samples = samples(&mut whole, &[2, 1]);
    let all = before.elapsed().as_nanos();
    let timed: u64 = samples.elapsed_ns.iter().sum();
    assert!(u128::from(timed) < all, "{timed} of {all}");
    assert_eq!(samples.iterations, [2, 1]);
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
fn twice_the_rounds_of_a_ring_take_twice_the_time_and_memory_costs() {
    let _alone = alone();
    for mode in ["process", "thread"] {
        let settings = [("mode", mode), ("tasks", "4"), ("size", "4KiB")];
        let mut ring = TestPoint::new(ALL, "scheduler.switch", &settings).started();
        assert_doubles(mode, &mut ring, 200);
        let samples = samples(&mut ring, &[500]);
        let time = samples.elapsed_ns[0] as f64 * 1e-9 / (500.0 * 4.0);
        // A switch costs something next to the token, and each hand-over is one.
        let token = samples.values["token"][0];
        assert!(token > 1e-8 && token < 3.0 * time, "{mode}: token {token}, time {time}");
        let switches = samples.values["switches"][0];
        assert!((0.9..2.0).contains(&switches), "{mode}: {switches} switches");
    }
    let time = |size| {
        let settings = [("size", size), ("mode", "thread")];
        fastest_ns(&mut TestPoint::new(ALL, "scheduler.switch", &settings).started(), 100)
    };
    assert_ratio("1 MiB at each turn", 3.0..1e6, || time("1MiB") / time("0"));
    let mut point = TestPoint::new(ALL, "scheduler.switch", &[("size", "1GiB")]);
    point.start.facts.memory_bytes = 1 << 30;
    let (_, fix) = unsupported("2 × 1 GiB of 1 GiB", point.try_start());
    assert!(fix.contains("set size to 268435456"), "{fix}");
}

#[test]
fn a_tree_is_built_anew_each_time_and_one_that_does_not_build_says_so() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let point = |settings: &[(&str, &str)]| {
        TestPoint::new(ALL, "scheduler.compile", settings).in_folder(folder.path())
    };
    let mut build = match point(&[("files", "4"), ("jobs", "2")]).try_start() {
        Ok(started) => started,
        // Without a compiler nothing can be built here.
        Err(StartError::Unsupported { why, .. }) => {
            return assert!(why.contains("not found"), "{why}");
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
    };
    let taken = samples(&mut build, &[1, 1]);
    let first = taken.values["cpu"][0];
    let second = taken.values["cpu"][1];
    assert!(second > 0.5 * first, "the second copy was built, too: {first} s, then {second} s");
    let versions = build.ready.versions;
    let other = point(&[("files", "5")]).started().ready.versions;
    assert!(versions["tree"] != other["tree"] && versions["cc"] == other["cc"], "{versions:?}");
    drop(build.instance);
    let tree = folder.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let tree_named = tree.display().to_string();
    let (why, _) = unsupported("no Makefile", point(&[("tree", &tree_named)]).try_start());
    assert!(why.ends_with("is not a folder with a Makefile"), "{why}");
    std::fs::write(tree.join("Makefile"), "all:\n\t@echo fine >&2; exit 3\n").unwrap();
    let mut broken = point(&[("tree", &tree_named)]).started();
    let why = take(broken.instance.as_mut(), &[1]).unwrap_err().0;
    assert!(
        why.contains("make -j1 failed (exit status 2): make: *** [Makefile:2: all] Error 3"),
        "{why}"
    );
    drop(broken);
    let mut option = point(&[("tree", &tree_named), ("target", "--version")]).started();
    let why = take(option.instance.as_mut(), &[1]).unwrap_err().0;
    assert!(why.contains("No rule to make target '--version'"), "{why}");
    drop(option);
    std::fs::write(tree.join("Makefile"), "half:\n\tsleep 0.02\nwhole: half\n\tsleep 0.02\n")
        .unwrap();
    let time =
        |target| fastest_ns(&mut point(&[("tree", &tree_named), ("target", target)]).started(), 1);
    assert_ratio("twice the work", TWICE, || time("whole") / time("half"));
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "only the tree is left");
}
