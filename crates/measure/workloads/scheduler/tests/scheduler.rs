//! The family `scheduler`, driven as the engine drives it.

use plumb_protocol::StartError;
use plumb_workload_scheduler::ALL;
use plumb_workload_testing::{TestPoint, alone, assert_doubles, assert_ratio, fastest_ns, samples};

#[test]
fn twice_the_work_takes_twice_the_time_for_processes_and_threads() {
    let _alone = alone();
    for mode in ["process", "thread"] {
        assert_ratio("twice the messages", 1.5..2.7, || {
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
            Err(StartError::Unsupported { why, .. }) => assert!(why.contains("two CPUs"), "{why}"),
            Err(StartError::Failed(why)) => panic!("{placement}: {why}"),
        }
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
