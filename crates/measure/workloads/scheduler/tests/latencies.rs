//! Wake-ups, timers and shares of a CPU, driven as the engine drives them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plumb_model::Samples;
use plumb_workload_scheduler::ALL;
use plumb_workload_testing::{
    TestPoint, alone, assert_doubles, assert_ratio, example, refusal, refused_settings, samples,
    unsupported,
};

fn point(id: &str, settings: &[(&str, &str)]) -> TestPoint<'static> {
    TestPoint::new(ALL, id, settings)
}

/// All values of a distribution, each as often as it came, in nanoseconds.
fn counted(samples: &Samples, name: &str) -> Vec<(u64, u64)> {
    samples.histograms[name].iter().flat_map(|histogram| histogram.counts().unwrap()).collect()
}

#[test]
fn twice_the_wake_ups_and_sleeps_take_twice_the_time() {
    let _alone = alone();
    for settings in
        [vec![("rate", "2000")], vec![("rate", "2000"), ("workers", "3"), ("arrivals", "poisson")]]
    {
        let mut wakeups = point("scheduler.wakeup", &settings).started();
        assert_doubles("wake-ups", &mut wakeups, 20);
        let taken = samples(&mut wakeups, &[30, 50]);
        assert_eq!(counted(&taken, "latency").iter().map(|(_, count)| count).sum::<u64>(), 80);
        assert!(taken.values["latency_p50"].iter().all(|p50| *p50 > 0.0 && *p50 < 1.0));
    }
    let mut timers = point("scheduler.timer", &[("interval", "500us"), ("threads", "2")]).started();
    assert_doubles("sleeps", &mut timers, 20);
    let taken = samples(&mut timers, &[30, 50]);
    assert_eq!(counted(&taken, "latency").iter().map(|(_, count)| count).sum::<u64>(), 160);
    assert!(
        taken.values["latency_max"]
            .iter()
            .zip(&taken.values["latency_p50"])
            .all(|(max, p50)| max >= p50)
    );
}

fn signal(child: &Child, signal: &str) {
    Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
}

/// How many values of each ten milliseconds up to 200 a distribution has, with the worker stopped for 100 ms.
fn stopped() -> [[u64; 20]; 2] {
    let child = Command::new(example("stopped_worker")).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(250));
    signal(&child, "-STOP");
    std::thread::sleep(Duration::from_millis(100));
    signal(&child, "-CONT");
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    ["latency ", "wakeup "].map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let mut tens = [0; 20];
        for pair in line.unwrap_or_else(|| panic!("{text}")).split(' ') {
            let (ns, count) = pair.split_once(':').unwrap();
            let ten = ns.parse::<usize>().unwrap() / 10_000_000;
            tens[ten.min(19)] += count.parse::<u64>().unwrap();
        }
        tens
    })
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn a_stall_shows_in_all_the_wake_ups_that_it_delays() {
    let _alone = alone();
    assert_ratio("wake-ups of a stall of 100 ms at 1000/s", 0.8..1.4, || {
        let [latency, wakeup] = stopped();
        let delayed: u64 = latency[1..].iter().sum();
        // Spread evenly: some ten in each ten milliseconds; from the call on, at most the one that was under way.
        let spread = latency[1..9].iter().all(|count| (7..=13).contains(count));
        let blind = wakeup[1..].iter().sum::<u64>() <= 2;
        if spread && blind { delayed as f64 / 90.0 } else { 0.0 }
    });
}

#[test]
fn equal_threads_get_equal_shares_and_niced_ones_what_their_weight_says() {
    let _alone = alone();
    for (nice, threads) in [("0", "3"), ("5", "2"), ("0,3,6", "3")] {
        let settings = [("nice", nice), ("threads", threads)];
        let mut contest = point("scheduler.fairness", &settings).started();
        assert_ratio(nice, 0.0..0.12, || samples(&mut contest, &[600]).values["deviation"][0]);
        let taken = samples(&mut contest, &[50]);
        let elapsed = taken.elapsed_ns[0];
        assert!((50_000_000..250_000_000).contains(&elapsed), "{elapsed}");
        assert!(taken.values["least"][0] <= 1.0 && taken.values["most"][0] >= 1.0);
    }
    let why = |settings: &[(&str, &str)]| {
        refusal("nice", point("scheduler.fairness", settings).try_start())
    };
    assert!(why(&[("nice", "1,2")]).contains("2 levels for 4 threads"));
    assert!(why(&[("nice", "lots")]).contains("`lots` is not a nice level"));
}

#[test]
fn what_cannot_be_had_here_is_unsupported_and_names_the_limit() {
    for id in ["scheduler.switch", "scheduler.wakeup", "scheduler.timer", "scheduler.fairness"] {
        let (why, fix) = unsupported(id, point(id, &[("placement", "cpu:99")]).try_start());
        assert!(why.contains("CPU 99") && fix.contains("0, 1"), "{id}: {why}; {fix}");
        let many = if id == "scheduler.wakeup" { "workers" } else { "threads" };
        let many = if id == "scheduler.switch" { "tasks" } else { many };
        let why = refused_settings(ALL, id, &[(many, "20000")]);
        assert!(why.contains("`20000` is not 1 to 10000"), "{why}");
    }
    let why = refused_settings(ALL, "scheduler.timer", &[("interval", "1us")]);
    assert!(why.contains("`1us` is not 10us to"), "{why}");
}
