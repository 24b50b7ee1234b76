//! The machines of a fleet by kind.

use plumb_model::{Id, RunRecord, RunStatus, SeriesInRun};

use crate::testing::{Builder, COPY, Spec};
use crate::{CONFIRMS_LABEL, KindFinding, MachineOfFleet, by_kind, series_in_run, slow_results};

/// A run of two workloads on a machine, at so many times the usual bandwidth of the first.
fn run(level: f64, machine: usize) -> RunRecord {
    let first = Spec { value: 1e10 * level, ..COPY };
    let second = Spec { id: "memory.fill", ..COPY };
    let mut record = Builder::new(Some("s")).measured(&first).measured(&second).build();
    record.run = Id::from_u128(machine as u128);
    record
}

fn found(records: &[RunRecord]) -> Vec<KindFinding> {
    found_with(records, &[])
}

/// The same with fresh runs that confirm them.
fn found_with(records: &[RunRecord], fresh: &[RunRecord]) -> Vec<KindFinding> {
    let machines: Vec<MachineOfFleet> = records
        .iter()
        .enumerate()
        .map(|(index, record)| MachineOfFleet { name: format!("web{index}"), run: record.run })
        .collect();
    let series: Vec<SeriesInRun> = records.iter().chain(fresh).flat_map(series_in_run).collect();
    by_kind(&machines, &series)
}

/// Machines that differ by about 1 %.
fn usual_machines(number: usize) -> Vec<RunRecord> {
    (0..number).map(|machine| run(1.0 + 0.005 * (machine % 5) as f64, machine)).collect()
}

#[test]
fn a_machine_that_is_slow_for_its_kind_is_named() {
    let mut records = usual_machines(20);
    assert!(found(&records)[0].series.iter().all(|series| {
        series.usual.as_ref().unwrap().ratios.iter().flatten().all(|ratio| !ratio.is_slow)
    }));
    records[7] = run(0.8, 7);
    let kinds = found(&records);
    assert_eq!(kinds.len(), 1);
    assert_eq!(kinds[0].machines.len(), 20);
    let copy = &kinds[0].series[0];
    let slow = copy.usual.as_ref().unwrap().ratios[7].as_ref().unwrap();
    assert!(slow.is_slow);
    // Four fifths of the bandwidth are 1.25 times the cost.
    assert!((slow.ratio.value - 1.26).abs() < 0.03, "{slow:?}");
    assert!((copy.cost_ratio(copy.values[7].unwrap()) - 1.26).abs() < 0.03);
    let others = copy.usual.as_ref().unwrap().ratios.iter().enumerate();
    assert!(others.filter(|(index, _)| *index != 7).all(|(_, one)| !one.as_ref().unwrap().is_slow));
}

#[test]
fn three_fresh_runs_confirm_that_a_machine_is_slow_or_do_not() {
    let mut records = usual_machines(20);
    records[7] = run(0.8, 7);
    let fresh = |levels: &[f64]| {
        let mut fresh = Vec::new();
        for (level, number) in levels.iter().zip(100..) {
            let mut record = run(*level, number);
            record.plan.labels.insert(CONFIRMS_LABEL.to_owned(), records[7].run.to_string());
            fresh.push(record);
        }
        let kinds = found_with(&records, &fresh);
        assert_eq!(kinds[0].machines.len(), 20, "fresh runs are of no other machine");
        assert_eq!(slow_results(&kinds[0]).len(), 1);
        kinds[0].series[0].slow_ratio(7).unwrap().is_confirmed
    };
    assert_eq!(fresh(&[]), None);
    assert_eq!(fresh(&[0.8, 0.8]), None);
    assert_eq!(fresh(&[0.8, 0.79, 0.81]), Some(true));
    assert_eq!(fresh(&[1.0, 1.01, 0.8]), Some(false));
}

#[test]
fn other_kinds_are_apart_and_few_machines_have_nothing_usual() {
    let mut records = usual_machines(10);
    for record in &mut records[7..] {
        record.targets[0].machine.fingerprint = "fp1:other".to_owned();
    }
    let kinds = found(&records);
    assert_eq!(kinds.iter().map(|kind| kind.machines.len()).collect::<Vec<_>>(), [7, 3]);
    assert!(kinds.iter().flat_map(|kind| &kind.series).all(|series| series.usual.is_none()));
    assert_eq!(kinds[1].series[0].values.len(), 3);
    // A machine without results is of no kind.
    assert!(found(&[]).is_empty());
}

#[test]
fn ceilings_and_runs_that_broke_off_are_not_judged() {
    let mut records = usual_machines(20);
    records[7] = run(0.8, 7);
    records[7].status = RunStatus::Interrupted;
    let kinds = found(&records);
    assert!(slow_results(&kinds[0]).is_empty());
    let copy = &kinds[0].series[0];
    assert!(copy.values[7].is_some() && copy.usual.as_ref().unwrap().ratios[7].is_none());
    for record in &mut records {
        record.plan.points[1].is_ceiling = true;
    }
    assert_eq!(found(&records)[0].series.len(), 1);
}

#[test]
fn of_equal_points_the_first_counts() {
    let mut record = run(1.0, 1);
    let again = Spec { value: 1e9, ..COPY };
    let twice = Builder::new(Some("s")).measured(&Spec { value: 1e10, ..COPY }).measured(&again);
    let twice = twice.build();
    record.plan = twice.plan;
    record.invocations = twice.invocations;
    let value = found(&[record])[0].series[0].values[0].unwrap();
    assert!(value > 5e9, "{value}");
}

#[test]
fn the_share_of_false_ones_is_that_of_all_kinds_together() {
    let slow = |level: f64, kinds: usize| {
        let mut records = usual_machines(20 * kinds);
        records[7] = run(level, 7);
        for (machine, record) in records.iter_mut().enumerate() {
            record.targets[0].machine.fingerprint = format!("fp1:{}", machine / 20);
        }
        let found = found(&records);
        assert_eq!(found.len(), kinds);
        !slow_results(&found[0]).is_empty()
    };
    // What is just slow enough among 20 machines is not among 1,200 of other kinds.
    let level = (1..40).map(|step| 1.0 - 0.005 * f64::from(step)).find(|level| slow(*level, 1));
    assert!(!slow(level.unwrap(), 60));
}
