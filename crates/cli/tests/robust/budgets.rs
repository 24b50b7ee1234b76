//! A run ends at most five seconds plus one sample after its budget, whatever its workload or its load does, and keeps what was
//! measured until then.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::common::TestEnvironment;
use crate::{last, parsed, place};

/// Time for each run.
const BUDGET: Duration = Duration::from_millis(600);
/// A run is over so long after its budget and one sample.
const GRACE: Duration = Duration::from_secs(5);
/// Runs at a time: they are not here for their figures.
const AT_ONCE: usize = 2;
/// One of these tests at a time: on a machine that is full, processes end late.
static ALONE: Mutex<()> = Mutex::new(());
/// Workloads whose defaults need gigabytes of disk, with what makes them small.
const SMALL: &[(&str, &str)] = &[
    ("storage.bonnie", ":size=4MiB,files=0,seeks=100,byte_size=64KiB"),
    ("storage.random", ":size=4MiB"),
    ("storage.sequential", ":size=4MiB"),
];

/// The ids of the built-in workloads that can be started in this role.
fn ids(role: &str) -> Vec<String> {
    let place = place();
    let listed = parsed(&place.run("list --json").unwrap().exits(0));
    let workloads = listed["workloads"].as_array().unwrap().iter();
    let able =
        workloads.filter(|workload| workload["roles"].as_array().unwrap().contains(&role.into()));
    able.map(|workload| workload["id"].as_str().unwrap().to_owned()).collect()
}

/// A point of this workload that fits on a small disk.
fn small(id: &str) -> String {
    let more = SMALL.iter().find(|(of, _)| *of == id).map_or("", |(_, more)| more);
    format!("{id}{more}")
}

/// The longest sample of the last run; none if nothing was measured.
fn longest_sample(place: &TestEnvironment) -> Duration {
    let samples = place.run("export --format samples-csv").unwrap().stdout;
    let mut lines = samples.lines();
    let names = lines.next().unwrap_or_default();
    let Some(column) = names.split(',').position(|name| name == "elapsed_ns") else {
        return Duration::ZERO;
    };
    let lengths = lines.filter_map(|line| line.split(',').nth(column)?.parse().ok());
    Duration::from_nanos(lengths.max().unwrap_or(0))
}

/// The runs of this list that took too long.
fn late(runs: &[String]) -> Vec<String> {
    let mut late = Vec::new();
    for run in runs {
        let place = place();
        let began = Instant::now();
        place.run(run).unwrap();
        let took = began.elapsed();
        if took > BUDGET + GRACE && took > BUDGET + GRACE + longest_sample(&place) {
            late.push(format!("{run}: {took:?}"));
        }
    }
    late
}

fn assert_all_end(runs: &[String]) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let shares = runs.chunks(runs.len().div_ceil(AT_ONCE));
    let late = std::thread::scope(|scope| {
        let threads: Vec<_> = shares.map(|share| scope.spawn(|| late(share))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(late.is_empty(), "{late:#?}");
}

#[test]
fn every_workload_ends_with_its_budget() {
    let points = ids("workload").into_iter().filter(|id| id != "process.command");
    let runs: Vec<String> = points
        .map(|id| format!("run {} --dir ../work --budget 600ms --no-lock -q", small(&id)))
        .collect();
    assert!(runs.len() > 50, "{}", runs.len());
    assert_all_end(&runs);
}

#[test]
fn every_load_ends_with_the_budget() {
    let loads = ids("load").into_iter();
    let runs: Vec<String> = loads
        .map(|id| {
            format!("run cpu.sieve --with {} --dir ../work --budget 600ms --no-lock -q", small(&id))
        })
        .collect();
    assert!(!runs.is_empty());
    assert_all_end(&runs);
}

#[test]
fn rates_that_nobody_can_reach_end_with_the_budget_and_are_measured() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for point in
        ["network.rr:transport=udp,rate=1M/s", "network.rr:rate=1M/s", "network.icmp:rate=1M/s"]
    {
        let place = place();
        let began = Instant::now();
        place.run(&format!("run {point} --budget 1s --no-lock -q")).unwrap();
        assert!(began.elapsed() < Duration::from_secs(6), "{point}: {:?}", began.elapsed());
        let document = last(&place);
        if document["unsupported"].as_array().is_some_and(|unsupported| !unsupported.is_empty()) {
            continue;
        }
        let results = document["results"].as_array().unwrap();
        let rate = results.iter().find(|result| result["metric"] == "rate").unwrap();
        let rate = rate["estimate"].as_f64().unwrap();
        assert!(rate > 100.0 && rate < 1.02e6, "{point}: {rate}");
    }
}

#[test]
fn many_processes_end_with_the_budget() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place();
    let began = Instant::now();
    // Some 800 processes, and a calibration that takes seconds.
    place.run("run scheduler.messaging:groups=20 --budget 500ms --no-lock -q").unwrap();
    let took = began.elapsed();
    let most = Duration::from_millis(5500) + longest_sample(&place);
    assert!(took < most, "{took:?} of {most:?}");
}
