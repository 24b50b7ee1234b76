//! Machines that measured together: the sum of their rates in the time that all of them measured.

use std::collections::BTreeSet;

use plumb_model::{
    Better, Estimate, InvocationRecord, Metric, MetricSource, PlannedPoint, RunRecord,
};
use plumb_stats::describe::median;

use crate::estimate::median_of_processes;
use crate::facts::{PointFacts, point_facts};
use crate::method::CONFIDENCE;

/// Below this share of the time that they measured, machines did not measure together.
pub const LEAST_OVERLAP: f64 = 0.9;
/// Of each round, this part does not count, as warm-up: one part in so many. Where steady state begins is found per machine, and a machine
/// that loads the others must not make their time shorter.
const WARM_UP_PART: i128 = 10;

/// What the points of a run came to on machines that measured together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TogetherFindings {
    /// The sums of the points that are rates.
    pub sums: Vec<TogetherFinding>,
    /// The points without a sum.
    pub without_sum: Vec<PointWithoutSum>,
}

/// A point that has no sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointWithoutSum {
    /// The name of the point, on the first machine.
    pub point: String,
    /// Why it has no sum.
    pub why: String,
}

/// What a point came to on all machines together.
#[derive(Debug, Clone, PartialEq)]
pub struct TogetherFinding {
    /// The measured point with its settings.
    pub point: PointFacts,
    /// The metric that is summed.
    pub metric: String,
    /// Its unit, an SI base unit.
    pub unit: String,
    /// Rounds that all machines measured.
    pub rounds: usize,
    /// Rounds in which a machine failed, was disturbed, or did not measure at the same time.
    pub left_out: usize,
    /// The median over rounds of the sum, with its interval: a round is a unit.
    pub sum: Estimate,
    /// The part of each machine, in the order in which they were named.
    pub parts: Vec<MachineShare>,
    /// The median over rounds of the shortest measured part of the common time as a share of the longest time of a machine, from 0 to 1.
    pub overlap: f64,
    /// The median over rounds of the time from the first to the last machine that began, in nanoseconds.
    pub start_skew_ns: u64,
    /// The largest error of a clock, in nanoseconds.
    pub clock_error_ns: u64,
}

impl TogetherFinding {
    /// Whether the sum is one of machines that hardly measured at the same time.
    #[must_use]
    pub fn is_unaligned(&self) -> bool {
        self.overlap < LEAST_OVERLAP
    }
}

/// A machine's part of a sum.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineShare {
    /// Index of the machine.
    pub machine: usize,
    /// The median of its rate over rounds.
    pub rate: f64,
    /// Rounds in which it began last.
    pub last_to_start: usize,
}

/// What a machine measured in one round, by the clock of the near end.
struct MachineRound {
    /// Its samples: start and end in nanoseconds, and the rate.
    samples: Vec<(i128, i128, f64)>,
    clock_error_ns: u64,
}

impl MachineRound {
    /// None if the invocation did not begin together with others, or has no sample.
    fn of(invocation: &InvocationRecord, metric: &Metric) -> Option<Self> {
        let shared = invocation.ready.shared_start?;
        let all = &invocation.samples;
        let work = invocation.ready.work.get(&metric.name).copied().unwrap_or(1.0);
        let rates = all.metric(metric, work)?;
        let mut samples = Vec::with_capacity(all.len());
        for ((start_ns, elapsed_ns), rate) in all.start_ns.iter().zip(&all.elapsed_ns).zip(rates) {
            let start_ns = i128::from(*start_ns) - i128::from(shared.ahead_ns);
            samples.push((start_ns, start_ns + i128::from(*elapsed_ns), rate));
        }
        let is_empty = samples.is_empty();
        (!is_empty).then_some(Self { samples, clock_error_ns: shared.error_ns })
    }

    fn start_ns(&self) -> i128 {
        self.samples.first().map_or(0, |(start_ns, ..)| *start_ns)
    }

    fn end_ns(&self) -> i128 {
        self.samples.last().map_or(0, |(_, end_ns, _)| *end_ns)
    }

    fn length_ns(&self) -> i128 {
        self.end_ns() - self.start_ns()
    }

    /// How long it was measured between these times, in seconds: not while plumb checked its answers.
    fn measured_s(&self, from_ns: i128, to_ns: i128) -> f64 {
        let samples = self.samples.iter();
        samples.map(|(start_ns, end_ns, _)| common_s((*start_ns, *end_ns), (from_ns, to_ns))).sum()
    }

    /// Its rate between these times, over what was measured of them: while it checks its answers, it still loads what it shares.
    fn rate(&self, from_ns: i128, to_ns: i128) -> f64 {
        let mut work = 0.0;
        for (start_ns, end_ns, rate) in &self.samples {
            work += rate * common_s((*start_ns, *end_ns), (from_ns, to_ns));
        }
        work / self.measured_s(from_ns, to_ns)
    }
}

/// The length of the time that two times have in common, in seconds.
fn common_s(one: (i128, i128), other: (i128, i128)) -> f64 {
    seconds((one.1.min(other.1) - one.0.max(other.0)).max(0))
}

#[expect(clippy::cast_precision_loss, reason = "times of a run are far below 2^53 ns")]
fn seconds(ns: i128) -> f64 {
    ns as f64 * 1e-9
}

/// A round in which all machines measured at the same time.
struct CommonRound {
    rates: Vec<f64>,
    overlap: f64,
    start_skew_ns: u64,
    /// Index of the machine that began last.
    last: usize,
    clock_error_ns: u64,
}

impl CommonRound {
    /// None if there is no time in which all measured.
    fn of(machines: &[MachineRound]) -> Option<Self> {
        let first_ns = machines.iter().map(MachineRound::start_ns).min()?;
        let last_ns = machines.iter().map(MachineRound::start_ns).max()?;
        let to_ns = machines.iter().map(MachineRound::end_ns).min()?;
        let longest_ns = machines.iter().map(MachineRound::length_ns).max()?;
        let from_ns = last_ns + longest_ns / WARM_UP_PART;
        let least_s = machines
            .iter()
            .map(|machine| machine.measured_s(last_ns, to_ns))
            .fold(f64::INFINITY, f64::min);
        let all_measured = machines.iter().all(|machine| machine.measured_s(from_ns, to_ns) > 0.0);
        if !all_measured {
            return None;
        }
        Some(Self {
            rates: machines.iter().map(|machine| machine.rate(from_ns, to_ns)).collect(),
            overlap: least_s / seconds(longest_ns),
            start_skew_ns: u64::try_from(last_ns - first_ns).unwrap_or(u64::MAX),
            last: machines.iter().position(|machine| machine.start_ns() == last_ns)?,
            clock_error_ns: machines.iter().map(|machine| machine.clock_error_ns).max()?,
        })
    }
}

/// The sums of the first metrics of all points, if these are rates, from the runs of machines that measured together, in the order of the
/// machines; None for a machine without a run. A machine without a good invocation of a point, or with another workload in its
/// place, has no part in its sum; less than two have none.
///
/// Samples are mapped to one clock by the offset that was measured before each invocation. A machine's rate in the common time is its
/// work in it divided by its measured part; a sample that lies partly in it counts in proportion.
#[must_use]
pub fn together(records: &[Option<RunRecord>]) -> TogetherFindings {
    let records: Vec<(usize, &RunRecord)> = records
        .iter()
        .enumerate()
        .filter_map(|(machine, record)| Some((machine, record.as_ref()?)))
        .collect();
    let mut findings = TogetherFindings::default();
    let Some((_, first)) = records.first() else { return findings };
    for (index, planned) in first.plan.points.iter().enumerate() {
        let Some(metric) = planned.description.primary() else { continue };
        match sum_of_point(&records, (index, planned), metric) {
            Ok(sum) => findings.sums.push(sum),
            Err(why) => {
                findings.without_sum.push(PointWithoutSum { point: planned.name(), why });
            }
        }
    }
    findings
}

/// Whether values of several machines can be added.
fn is_rate(metric: &Metric) -> bool {
    let is_per_second = metric.source == MetricSource::Rate || metric.unit.ends_with("/s");
    is_per_second && metric.better == Better::Higher
}

/// Whether a run has measured this point. A machine with fewer CPUs may have another one in its place, because sizes and numbers of
/// threads depend on it.
fn has_measured(record: &RunRecord, index: usize, planned: &PlannedPoint, metric: &Metric) -> bool {
    let Some(other) = record.plan.points.get(index) else { return false };
    let Some(same) = other.description.primary() else { return false };
    other.point.workload == planned.point.workload
        && same.name == metric.name
        && same.unit == metric.unit
        && record.good_invocations(index).next().is_some()
}

fn sum_of_point(
    records: &[(usize, &RunRecord)],
    (index, planned): (usize, &PlannedPoint),
    metric: &Metric,
) -> Result<TogetherFinding, String> {
    if !is_rate(metric) {
        return Err(format!("{} of several machines does not add up", metric.name));
    }
    let records: Vec<(usize, &RunRecord)> = records
        .iter()
        .filter(|(_, record)| has_measured(record, index, planned, metric))
        .copied()
        .collect();
    if records.len() < 2 {
        return Err("fewer than two machines measured it".to_owned());
    }
    let numbers: BTreeSet<u32> = records
        .iter()
        .flat_map(|(_, record)| record.good_invocations(index))
        .filter(|invocation| invocation.ready.shared_start.is_some())
        .map(|invocation| invocation.round)
        .collect();
    let mut rounds = Vec::new();
    for number in &numbers {
        let machines: Option<Vec<MachineRound>> = records
            .iter()
            .map(|(_, record)| {
                let mut of_round =
                    record.good_invocations(index).filter(|invocation| invocation.round == *number);
                MachineRound::of(of_round.next()?, metric)
            })
            .collect();
        rounds.extend(machines.as_deref().and_then(CommonRound::of));
    }
    let left_out = numbers.len() - rounds.len();
    sum_of_rounds(&rounds, left_out, &records, (index, planned), metric)
        .ok_or_else(|| "there was no time in which all machines measured it".to_owned())
}

/// None without a round.
fn sum_of_rounds(
    rounds: &[CommonRound],
    left_out: usize,
    records: &[(usize, &RunRecord)],
    (index, planned): (usize, &PlannedPoint),
    metric: &Metric,
) -> Option<TogetherFinding> {
    let sums: Vec<[f64; 1]> = rounds.iter().map(|round| [round.rates.iter().sum()]).collect();
    let units: Vec<&[f64]> = sums.iter().map(<[f64; 1]>::as_slice).collect();
    let sum = median_of_processes(&units, CONFIDENCE)?.estimate;
    let mut parts = Vec::with_capacity(records.len());
    for (place, (machine, _)) in records.iter().enumerate() {
        let rates: Vec<f64> = rounds.iter().map(|round| round.rates[place]).collect();
        parts.push(MachineShare {
            machine: *machine,
            rate: median(&rates)?,
            last_to_start: rounds.iter().filter(|round| round.last == place).count(),
        });
    }
    let overlaps: Vec<f64> = rounds.iter().map(|round| round.overlap).collect();
    let mut skews: Vec<u64> = rounds.iter().map(|round| round.start_skew_ns).collect();
    skews.sort_unstable();
    Some(TogetherFinding {
        point: point_facts(index, planned),
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        rounds: rounds.len(),
        left_out,
        sum,
        parts,
        overlap: median(&overlaps)?,
        start_skew_ns: skews[skews.len() / 2],
        clock_error_ns: rounds.iter().map(|round| round.clock_error_ns).max()?,
    })
}
