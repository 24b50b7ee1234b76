//! Large fleets: stores of many machines merged into one, and shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use plumb_analysis::slow_results;
use plumb_analysis::testing::{events, first_look};
use plumb_model::{
    FLEET_LABEL, FleetMachineRecord, FleetRecord, Id, MachineEnd, MachineOutcome, Owner, RunRecord,
    Stamped, short_id,
};
use plumb_stats::rng::Rng;
use plumb_store::Store;

use crate::BenchResult;
use crate::shares::TemporaryFolder;

/// The fleet, whose runs have the beginning of its id as a label.
const FLEET: Id = Id::from_u128(0x019a_b000_0000_7000_8000_0000_0000_0000);
/// One machine in so many is slow in one result.
const SLOW_EVERY: u32 = 50;
/// The cost of a slow result over the usual one.
const SLOW_COST: f64 = 1.15;
/// How much machines differ: the standard deviation of the log of a cost.
const SPREAD: f64 = 0.01;
/// Stores whose merging is timed together, at the beginning and at the end.
const TIMED: u32 = 100;
/// The workload that slow machines are slow in.
const SLOW_WORKLOAD: &str = "memory.copy";

/// Makes a fleet of so many machines, each a store of a made-up first look; merges the stores one by one, and shows the fleet.
pub fn bench(plumb: &Path, machines: u32) -> BenchResult<String> {
    let folder = TemporaryFolder::new()?;
    let path = folder.0.join("fleet.db");
    let store = Store::open(&path)?;
    store.begin_fleet(&fleet(machines), &Owner { pid: 1, start_ticks: 1, boot_id: "b".into() })?;
    let mut rng = Rng::new(1);
    let mut merge_s: Vec<f64> = Vec::new();
    for machine in 0..machines {
        let own = folder.0.join("machine.db");
        write_store(&own, &record(machine, &mut rng))?;
        let began = Instant::now();
        store.merge(&own)?;
        merge_s.push(began.elapsed().as_secs_f64());
        std::fs::remove_file(&own)?;
    }
    let end = MachineEnd { outcome: MachineOutcome::Complete, why: None, hints: Vec::new() };
    for position in 0..machines {
        store.end_machine(FLEET, position as usize, 0, &end)?;
    }
    drop(store);
    let timed = TIMED.min(machines) as usize;
    let first_s: f64 = merge_s[..timed].iter().sum();
    let last_s: f64 = merge_s[merge_s.len() - timed..].iter().sum();
    let megabytes = std::fs::metadata(&path)?.len() as f64 * 1e-6;
    let first_show_s = show(plumb, &path)?.0;
    let (later_show_s, text) = show(plumb, &path)?;
    let found = found(&path, machines)?;
    Ok(format!(
        "{machines} stores of a made-up first look, merged one by one: **{:.0} s** in all, the last {timed} in {:.2} times as long as \
         the first {timed} ({first_s:.1} s), {megabytes:.0} MB. `plumb fleet show`: **{first_show_s:.1} s** the first time, then \
         **{later_show_s:.1} s**. {found}\n\n```text\n{text}```",
        merge_s.iter().sum::<f64>(),
        last_s / first_s,
    ))
}

fn fleet(machines: u32) -> FleetRecord {
    let machine =
        |number: u32| FleetMachineRecord { name: name(number), run: run(number), end: None };
    FleetRecord {
        fleet: FLEET,
        started_unix_ns: 0,
        command: vec!["plumb".into(), "run".into(), "first-look".into()],
        is_running: false,
        machines: (0..machines).map(machine).collect(),
    }
}

fn name(machine: u32) -> String {
    format!("n{machine:05}")
}

fn is_slow(machine: u32) -> bool {
    machine % SLOW_EVERY == SLOW_EVERY - 1
}

/// What a machine measured: every point at a level of its own.
fn record(machine: u32, rng: &mut Rng) -> RunRecord {
    let mut record = first_look();
    record.run = run(machine);
    record.plan.labels.insert(FLEET_LABEL.into(), short_id(FLEET));
    for target in &mut record.targets {
        target.host = name(machine).parse().unwrap_or_default();
    }
    let mut cost_of_point: BTreeMap<usize, f64> = BTreeMap::new();
    for (index, planned) in record.plan.points.iter().enumerate() {
        let slow = is_slow(machine) && planned.point.workload == SLOW_WORKLOAD;
        let usual = (SPREAD * rng.normal()).exp();
        cost_of_point.insert(index, if slow { SLOW_COST * usual } else { usual });
    }
    for (number, invocation) in record.invocations.iter_mut().enumerate() {
        invocation.invocation = Id::from_u128((u128::from(machine) + 1) << 64 | number as u128);
        let cost = cost_of_point.get(&invocation.point).copied().unwrap_or(1.0);
        for elapsed_ns in &mut invocation.samples.elapsed_ns {
            *elapsed_ns = (*elapsed_ns as f64 * cost) as u64;
        }
    }
    record
}

fn write_store(path: &Path, record: &RunRecord) -> BenchResult<()> {
    let all: Vec<Stamped> = events(record, false);
    let mut writer = Store::open(path)?.writer()?;
    for event in &all {
        writer.write(event)?;
    }
    Ok(())
}

/// How many of the slow machines are found, and how many others.
fn found(path: &Path, machines: u32) -> BenchResult<String> {
    let store = Store::open_read_only(path)?;
    let mut slow: BTreeSet<(Id, String)> = BTreeSet::new();
    for kind in plumb_query::kinds_of_fleet(&store, &fleet(machines))? {
        for results in slow_results(&kind) {
            let run = results.run;
            slow.extend(results.series.into_iter().map(|series| (run, series)));
        }
    }
    let planted: BTreeSet<Id> =
        (0..machines).filter(|machine| is_slow(*machine)).map(run).collect();
    let is_planted =
        |run: &Id, series: &str| planted.contains(run) && series.starts_with(SLOW_WORKLOAD);
    let right: BTreeSet<&Id> =
        slow.iter().filter(|(run, series)| is_planted(run, series)).map(|(run, _)| run).collect();
    let wrong = slow.iter().filter(|(run, series)| !is_planted(run, series)).count();
    Ok(format!(
        "Machines differ by {} %; {} of {} machines that are {:.0} % slow in `{SLOW_WORKLOAD}` are found, with {wrong} false results \
         among {}.",
        SPREAD * 100.0,
        right.len(),
        planted.len(),
        (SLOW_COST - 1.0) * 100.0,
        slow.len(),
    ))
}

/// The run of a machine.
fn run(machine: u32) -> Id {
    Id::from_u128(u128::from(machine) + 1)
}

/// How long `plumb fleet show` takes, in seconds, and what it prints.
fn show(plumb: &Path, store: &Path) -> BenchResult<(f64, String)> {
    let began = Instant::now();
    let output = Command::new(plumb)
        .args(["fleet", "show", "--store"])
        .arg(store)
        .env("COLUMNS", "120")
        .stderr(Stdio::inherit())
        .output()?;
    let seconds = began.elapsed().as_secs_f64();
    if !output.status.success() {
        return Err(format!("plumb fleet show: {}", output.status).into());
    }
    Ok((seconds, String::from_utf8(output.stdout)?))
}
