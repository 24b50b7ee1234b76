//! The sums of machines that measured together.

use plumb_model::{Better, RunRecord, SharedStart};

use crate::testing::{Builder, COPY, Spec};
use crate::{TogetherFinding, together};

/// Rounds of each machine.
const ROUNDS: usize = 12;
/// Length of a sample, in nanoseconds.
const SAMPLE_NS: u64 = 50_000_000;
/// When the samples of a round begin by the clock of the near end, in nanoseconds.
const ROUND_NS: u64 = 10_000_000_000;

/// A machine whose clock is ahead by so much, that begins so much late in each round, at this rate.
fn machine(rate: f64, ahead_ns: i64, late_ns: u64) -> RunRecord {
    let spec =
        Spec { value: rate, processes: ROUNDS, samples: 40, within: 0.0, between: 0.0, ..COPY };
    let mut record = Builder::new(Some("s")).measured(&spec).build();
    for (round, invocation) in record.invocations.iter_mut().enumerate() {
        invocation.round = round as u32;
        let at_ns = ((round as u64 + 1) * ROUND_NS).saturating_add_signed(ahead_ns);
        invocation.ready.shared_start = Some(SharedStart { at_ns, ahead_ns, error_ns: 70_000 });
        invocation.ready.work.insert("bandwidth".to_owned(), 1.0);
        let samples = &mut invocation.samples;
        let count = samples.len() as u64;
        samples.start_ns = (0..count).map(|number| at_ns + late_ns + number * SAMPLE_NS).collect();
        samples.elapsed_ns = vec![SAMPLE_NS; samples.len()];
        samples.iterations = vec![(rate * SAMPLE_NS as f64 * 1e-9) as u64; samples.len()];
    }
    record
}

fn sums(records: &[Option<RunRecord>]) -> Vec<TogetherFinding> {
    together(records).sums
}

#[test]
fn points_without_a_sum_have_a_reason() {
    let why = |one: RunRecord, other: RunRecord| {
        let found = together(&[Some(one), Some(other)]);
        assert!(found.sums.is_empty(), "{found:?}");
        let without = &found.without_sum[0];
        assert_eq!(without.point, "memory.copy");
        without.why.clone()
    };
    let mut alone = machine(1e9, 0, 0);
    alone.invocations.iter_mut().for_each(|invocation| invocation.ready.shared_start = None);
    assert_eq!(why(alone.clone(), alone), "there was no time in which all machines measured it");
    let mut failed = machine(1e9, 0, 0);
    failed.invocations.clear();
    assert_eq!(why(machine(1e9, 0, 0), failed), "fewer than two machines measured it");
    let mut times = machine(1e9, 0, 0);
    for metric in &mut times.plan.points[0].description.metrics {
        metric.better = Better::Lower;
    }
    assert_eq!(why(times.clone(), times), "bandwidth of several machines does not add up");
}

#[test]
fn rates_are_added_in_the_common_time_whatever_the_clocks_show() {
    for ahead_ns in [0, 7_000_000_000_000, -9_000_000_000] {
        let records = [Some(machine(2e9, 0, 0)), None, Some(machine(1e9, ahead_ns, 4_000_000))];
        let found = sums(&records);
        assert_eq!(found.len(), 1);
        let sum = &found[0];
        assert!((sum.sum.value - 3e9).abs() < 3e6, "{sum:?}");
        assert_eq!((sum.rounds, sum.left_out), (ROUNDS, 0));
        assert_eq!((sum.start_skew_ns, sum.clock_error_ns), (4_000_000, 70_000));
        // Two seconds, of which four milliseconds were not common to both.
        assert!((0.997..0.999).contains(&sum.overlap) && !sum.is_unaligned(), "{sum:?}");
        let parts: Vec<(usize, usize)> =
            sum.parts.iter().map(|part| (part.machine, part.last_to_start)).collect();
        assert_eq!(parts, [(0, 0), (2, ROUNDS)]);
    }
}

#[test]
fn work_outside_the_common_time_does_not_count() {
    let mut burst = machine(1e9, 0, 0);
    for invocation in &mut burst.invocations {
        // Before the other begins, it is a hundred times as fast.
        for iterations in &mut invocation.samples.iterations[..10] {
            *iterations *= 100;
        }
    }
    let found = sums(&[Some(burst), Some(machine(1e9, 0, 10 * SAMPLE_NS))]);
    assert!((found[0].sum.value - 2e9).abs() < 2e6, "{:?}", found[0]);
    assert!(found[0].is_unaligned(), "half a second of two: {:?}", found[0]);
}

#[test]
fn rounds_that_a_machine_missed_are_left_out_and_counted() {
    let mut other = machine(1e9, 0, 0);
    other.invocations.remove(3);
    // It began when the first was over.
    for start_ns in &mut other.invocations[6].samples.start_ns {
        *start_ns += 3_000_000_000;
    }
    let found = sums(&[Some(machine(1e9, 0, 0)), Some(other)]);
    assert_eq!((found[0].rounds, found[0].left_out), (ROUNDS - 2, 2));
    // Machines that measured alone have no sum.
    let mut alone = machine(1e9, 0, 0);
    alone.invocations.iter_mut().for_each(|invocation| invocation.ready.shared_start = None);
    assert!(sums(&[Some(alone.clone()), Some(alone)]).is_empty());
    assert!(sums(&[]).is_empty());
    // Nor have different workloads, or one machine alone.
    let mut writes = machine(1e9, 0, 0);
    writes.plan.points[0].point.workload = "memory.write".into();
    assert!(sums(&[Some(machine(1e9, 0, 0)), Some(writes)]).is_empty());
    assert!(sums(&[Some(machine(1e9, 0, 0)), None]).is_empty());
    // A number of a round that nobody can reach costs no time.
    let mut hostile = machine(1e9, 0, 0);
    hostile.invocations[5].round = u32::MAX;
    let found = sums(&[Some(machine(1e9, 0, 0)), Some(hostile)]);
    assert_eq!((found[0].rounds, found[0].left_out), (ROUNDS - 1, 2));
}
