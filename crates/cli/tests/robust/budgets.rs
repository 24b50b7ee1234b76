//! A run ends at most five seconds plus one sample after its budget, whatever its workload or its load does, and keeps what was
//! measured until then.

use std::time::{Duration, Instant};

use plumb_workload_testing::{Lack, skip_part};

use crate::common::TestEnvironment;
use crate::{last, parsed, place};

/// Time for each run.
const BUDGET: Duration = Duration::from_millis(200);
/// A run is over so long after its budget and one sample.
const GRACE: Duration = Duration::from_secs(5);
/// Runs at a time: they are not here for their figures.
const AT_ONCE: usize = 2;
/// Workloads whose defaults need gigabytes of disk or many seconds, with what makes them small.
const SMALL: &[(&str, &str)] = &[
    ("scheduler.compile", ":files=2"),
    ("storage.bonnie", ":size=4MiB,files=0,seeks=100,byte_size=64KiB"),
    ("storage.random", ":size=4MiB"),
    ("storage.sequential", ":size=4MiB"),
];

/// Runs that are not a workload with its defaults: commands, other goals, shapes, suites.
const OTHER_RUNS: &[&str] = &[
    "exec ls pwd --budget 200ms --no-lock -q",
    "exec --spread 150ms ls --budget 200ms --no-lock -q",
    "ab ls pwd --budget 200ms --no-lock -q",
    "run network.tcp:direction=each --budget 200ms --no-lock -q",
    "run memory.copy --stream 3s --no-lock -q",
    "run cpu.sieve --for 1s --no-lock -q",
    "run board --budget 200ms --no-lock -q",
    "run bonnie --budget 200ms --no-lock -q -- -s 4:8k:64:2 -f -n 1 -b -d ../work",
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
    // From the right: the names at the left can have commas of their own.
    let Some(column) = names.rsplit(',').position(|name| name == "elapsed_ns") else {
        return Duration::ZERO;
    };
    let lengths = lines.filter_map(|line| line.rsplit(',').nth(column)?.parse().ok());
    Duration::from_nanos(lengths.max().unwrap_or(0))
}

/// What is wrong with the end of this run; none if it ended in time and kept what it measured.
fn wrong_end(run: &str) -> Option<String> {
    let place = place();
    let began = Instant::now();
    let output = place.run(run).unwrap();
    let took = began.elapsed();
    let longest = longest_sample(&place);
    if took > BUDGET + GRACE + longest {
        return Some(format!("{run}: took {took:?}"));
    }
    // 3: this machine lacks what the workload or the load needs.
    match output.code {
        Some(0) if longest == Duration::ZERO => Some(format!("{run}: no sample was kept")),
        Some(0 | 3) => None,
        code => Some(format!("{run}: exit {code:?}: {}", output.stderr)),
    }
}

#[test]
fn every_workload_and_every_load_ends_with_the_budget() {
    let of_command = "process.command";
    let points: Vec<String> = ids("workload").into_iter().filter(|id| id != of_command).collect();
    let loads: Vec<String> = ids("load").into_iter().filter(|id| id != of_command).collect();
    assert!(points.len() > 50 && loads.len() <= points.len(), "{} {}", points.len(), loads.len());
    // Each workload next to a load of another family.
    let runs: Vec<String> = points
        .iter()
        .zip(loads.iter().cycle().skip(loads.len() / 2))
        .map(|(point, load)| {
            let point = small(point);
            let load = small(load);
            format!("run {point} --with {load} --dir ../work --budget 200ms --no-lock -q")
        })
        .collect();
    let others = OTHER_RUNS.iter().map(|run| (*run).to_owned());
    let runs: Vec<String> = runs.into_iter().chain(others).collect();
    let shares = runs.chunks(runs.len().div_ceil(AT_ONCE));
    let mut wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = shares
            .map(|share| {
                scope.spawn(|| share.iter().filter_map(|run| wrong_end(run)).collect::<Vec<_>>())
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    // Some 800 processes, and a calibration that takes seconds. On a machine that is full, processes end late: alone.
    wrong.extend(wrong_end("run scheduler.messaging:groups=20 --budget 200ms --no-lock -q"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rates_that_nobody_can_reach_end_with_the_budget_and_are_measured() {
    for point in
        ["network.rr:transport=udp,rate=20M/s", "network.rr:rate=20M/s", "network.icmp:rate=20M/s"]
    {
        let place = place();
        let began = Instant::now();
        place.run(&format!("run {point} --budget 2s --no-lock -q")).unwrap();
        assert!(began.elapsed() < Duration::from_secs(7), "{point}: {:?}", began.elapsed());
        let document = last(&place);
        if document["unsupported"].as_array().is_some_and(|unsupported| !unsupported.is_empty()) {
            let why = document["unsupported"][0]["why"].to_string();
            skip_part(point, Lack::of_reason(&why));
            continue;
        }
        let results = document["results"].as_array().unwrap();
        let rate = results.iter().find(|result| result["metric"] == "rate").unwrap();
        let rate = rate["estimate"].as_f64().unwrap();
        // What a machine can reach, it exceeds for moments, to catch up after a pause: 1M/s was not enough.
        assert!(rate > 100.0 && rate < 20e6, "{point}: {rate}");
    }
}
