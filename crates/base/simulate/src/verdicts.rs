//! Verdicts on pairs after looking at every look: how often they are wrong, found, and what they cost.

use super::bars::{Bar, BarSeries, ValidationRow, decided};
use super::environment::{ENVIRONMENTS, SimulatedKind, SimulatedMachine};
use super::fixed::PAIRS;
use plumb_stats::Interval;
use plumb_stats::pairs::log_ratios;
use plumb_stats::rng::Rng;
use plumb_stats::turn_order;
use plumb_stats::verdict::{Confidence, LookSchedule, MARGIN, Verdict, interval_of_pairs, judge};

/// Standard deviation of the log ratio of a pair where only its law is studied.
const PAIR_SD: f64 = 0.02;
/// Samples of a process where whole machines are simulated.
const SAMPLES: usize = 8;
/// Pairs cost little to simulate, next to processes.
const PAIRS_CHEAPER: u64 = 5;

/// How one comparison ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComparisonEnd {
    pub(super) verdict: Verdict,
    pub(super) pairs: usize,
    interval: Option<Interval>,
}

impl ComparisonEnd {
    fn is_different(&self) -> bool {
        matches!(self.verdict, Verdict::Slower | Verdict::Faster)
    }
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for environment in ENVIRONMENTS {
        same_program(environment, replications, report);
    }
    for (name, design) in [("quads", Design::Quads), ("rounds of 4", Design::Rounds(4))] {
        for environment in ENVIRONMENTS {
            report(decided(replications, replications, |trials| {
                same_program_by(name, design, environment, trials)
            }));
        }
    }
    for environment in ENVIRONMENTS {
        report(decided(replications, replications, |trials| machine_finds(environment, trials)));
    }
    let pairs = PAIRS_CHEAPER * replications;
    for (effect, least, most_pairs) in
        [(0.05, 0.999, Some(9.0)), (0.02, 0.99, Some(15.0)), (0.01, 0.7, None)]
    {
        finds(effect, least, most_pairs, pairs, report);
    }
    for (effect, most) in [(2.0 * MARGIN, 0.002), (MARGIN, 0.025)] {
        report(decided(replications, pairs, |trials| false_equivalent(effect, most, trials)));
    }
    for (name, noise) in PAIRS {
        report(decided(replications, pairs, |trials| coverage(name, noise, trials)));
    }
    for later_sides in [2, 9] {
        report(ValidationRow {
            promise: "any of several equal sides called slower or faster than the first",
            setting: format!("{} sides", later_sides + 1),
            bar: Bar::AtMost(0.05),
            measured: share_of_runs(later_sides, 0.0, pairs, |ends| {
                ends.iter().any(ComparisonEnd::is_different)
            }),
            note: String::new(),
        });
    }
    for later_sides in [2, 9] {
        report(ValidationRow {
            promise: "the one of several sides that is 2 % slower found if the standard deviation of pairs is 2 %",
            setting: format!("{} sides", later_sides + 1),
            bar: Bar::AtLeast(0.9),
            measured: share_of_runs(later_sides, 0.02, pairs, |ends| {
                ends.last().is_some_and(|end| end.verdict == Verdict::Slower)
            }),
            note: String::new(),
        });
    }
}

/// In how many runs of several sides, the last of them slower by `effect`, the comparisons end so.
fn share_of_runs(
    later_sides: usize,
    effect: f64,
    replications: u64,
    counts: impl Fn(&[ComparisonEnd]) -> bool,
) -> BarSeries {
    let hits = (0..replications)
        .filter(|&seed| counts(&several_sides(later_sides, effect, &mut Rng::new(seed))))
        .count();
    BarSeries::Share { hits: hits as u64, trials: replications }
}

/// Later sides against one first side, in the same rounds; the last one costs more by `effect`.
fn several_sides(later_sides: usize, effect: f64, rng: &mut Rng) -> Vec<ComparisonEnd> {
    let most = LookSchedule::Forty.most_pairs();
    let mut draws =
        || -> Vec<f64> { (0..most).map(|_| PAIR_SD * rng.normal() / 2.0_f64.sqrt()).collect() };
    let first = draws();
    let mut ends = Vec::new();
    for side in 1..=later_sides {
        let slower = if side == later_sides { effect.ln_1p() } else { 0.0 };
        let logs: Vec<f64> =
            draws().iter().zip(&first).map(|(later, first)| slower + later - first).collect();
        ends.push(compare_one_of(later_sides, LookSchedule::Forty, most, |pairs| {
            logs[..pairs].to_vec()
        }));
    }
    ends
}

/// In which turns versions are run; the second is compared with the first.
#[derive(Debug, Clone, Copy)]
enum Design {
    Pairs,
    Quads,
    /// Rounds of so many versions.
    Rounds(usize),
}

impl Design {
    /// The orders of the next units.
    fn orders(self, rng: &mut Rng) -> Vec<Vec<usize>> {
        match self {
            Self::Pairs => vec![turn_order::pair(rng).to_vec()],
            Self::Quads => vec![turn_order::quad(rng).to_vec()],
            Self::Rounds(versions) => turn_order::latin_square(versions, rng),
        }
    }

    /// How often a unit holds each side.
    fn a_unit(self) -> usize {
        if matches!(self, Self::Quads) { 2 } else { 1 }
    }
}

/// Has more pairs measured until their log ratios give a verdict, or none in reach.
fn compare(
    schedule: LookSchedule,
    most: usize,
    measured: impl FnMut(usize) -> Vec<f64>,
) -> ComparisonEnd {
    compare_one_of(1, schedule, most, measured)
}

/// The same for one of several comparisons that share the confidence.
fn compare_one_of(
    comparisons: usize,
    schedule: LookSchedule,
    most: usize,
    mut measured: impl FnMut(usize) -> Vec<f64>,
) -> ComparisonEnd {
    let mut end = ComparisonEnd { verdict: Verdict::Inconclusive, pairs: 0, interval: None };
    // A limit ends a comparison between two looks; the look at the end takes the place of the next.
    let all = schedule.looks().into_iter().filter(|&look| look < most).chain([most]);
    for look in all {
        let level = schedule.level_of_each(Confidence::NinetyFive, look, comparisons);
        // The first looks of a high confidence have no interval yet.
        let Ok(interval) = interval_of_pairs(&measured(look), level) else { continue };
        let judged = judge(&interval, look, MARGIN);
        end = ComparisonEnd { verdict: judged.verdict, pairs: look, interval: Some(interval) };
        if judged.settled() || schedule.hopeless(&judged, look, most) {
            return end;
        }
    }
    end
}

fn repeat(replications: u64, once: impl Fn(&mut Rng) -> ComparisonEnd) -> Vec<ComparisonEnd> {
    (0..replications).map(|seed| once(&mut Rng::new(seed))).collect()
}

/// Comparisons of up to so many pairs whose log ratios have this law.
pub(super) fn drawn(
    schedule: LookSchedule,
    most: usize,
    law: impl Fn(&mut Rng) -> f64,
    replications: u64,
) -> Vec<ComparisonEnd> {
    repeat(replications, |rng| {
        let mut logs = Vec::new();
        compare(schedule, most, |pairs| {
            logs.extend((logs.len()..pairs).map(|_| law(rng)));
            logs.clone()
        })
    })
}

fn normal_pairs(effect: f64, replications: u64) -> Vec<ComparisonEnd> {
    drawn(LookSchedule::Forty, 40, |rng| effect.ln_1p() + PAIR_SD * rng.normal(), replications)
}

/// Comparisons of simulated processes on a machine with this environment, B slower than A by `effect`.
fn on_machine(
    environment: SimulatedKind,
    design: Design,
    effect: f64,
    replications: u64,
) -> Vec<ComparisonEnd> {
    repeat(replications, |rng| {
        let mut simulated = SimulatedAb {
            machine: environment.machine(rng.next_u64()),
            // Orders come from another generator than the noise of the machine, as a real coin does.
            rng: rng.fork(),
            design,
            slower: [0.0, effect.ln_1p()],
            costs: [Vec::new(), Vec::new()],
            unit: 0,
        };
        compare(LookSchedule::Forty, 40, |units| simulated.measured(units))
    })
}

/// Two versions at work on a machine.
struct SimulatedAb {
    machine: SimulatedMachine,
    rng: Rng,
    design: Design,
    slower: [f64; 2],
    /// Costs of both by unit.
    costs: [Vec<(u32, f64)>; 2],
    unit: u32,
}

impl SimulatedAb {
    /// The log ratios of the first `units`, or a few more if rounds come in blocks.
    fn measured(&mut self, units: usize) -> Vec<f64> {
        while (self.unit as usize) < units {
            for order in self.design.orders(&mut self.rng) {
                self.measure(&order);
                self.unit += 1;
            }
        }
        // Rounds come in blocks, the last of which may reach beyond the units that were asked for.
        let [first, later] = self.costs.each_ref().map(|costs| {
            let end = costs.partition_point(|(unit, _)| (*unit as usize) < units);
            &costs[..end]
        });
        log_ratios(first, later, self.design.a_unit())
    }

    fn measure(&mut self, order: &[usize]) {
        for (position, &version) in order.iter().enumerate() {
            let log = self.machine.process(position, SAMPLES);
            if let Some(costs) = self.costs.get_mut(version) {
                costs.push((self.unit, (log + self.slower[version]).exp()));
            }
        }
    }
}

pub(super) fn count(ends: &[ComparisonEnd], counts: impl Fn(&ComparisonEnd) -> bool) -> BarSeries {
    let hits = ends.iter().filter(|end| counts(end)).count() as u64;
    BarSeries::Share { hits, trials: ends.len() as u64 }
}

pub(super) fn pairs_of(ends: &[ComparisonEnd]) -> BarSeries {
    BarSeries::mean(&ends.iter().map(|end| end.pairs as f64).collect::<Vec<_>>())
}

fn pairs_note(ends: &[ComparisonEnd]) -> String {
    format!("{:.1} pairs", pairs_of(ends).value())
}

fn same_program(
    environment: SimulatedKind,
    replications: u64,
    report: &mut dyn FnMut(ValidationRow),
) {
    let ends = on_machine(environment, Design::Pairs, 0.0, replications);
    let row = |setting: String, most, measured| ValidationRow {
        promise: "a program called slower or faster than itself",
        setting,
        bar: Bar::AtMost(most),
        measured,
        note: pairs_note(&ends),
    };
    report(row(environment.name.to_owned(), 0.05, count(&ends, ComparisonEnd::is_different)));
    for (verdict, word) in [(Verdict::Slower, "slower"), (Verdict::Faster, "faster")] {
        let setting = format!("{}, {word}", environment.name);
        report(row(setting, 0.03, count(&ends, |end| end.verdict == verdict)));
    }
}

fn same_program_by(
    name: &str,
    design: Design,
    environment: SimulatedKind,
    replications: u64,
) -> ValidationRow {
    let ends = on_machine(environment, design, 0.0, replications);
    ValidationRow {
        promise: "a program called slower or faster than itself, with the sides in other orders",
        setting: format!("{name}, {}", environment.name),
        bar: Bar::AtMost(0.05),
        measured: count(&ends, ComparisonEnd::is_different),
        note: pairs_note(&ends),
    }
}

fn machine_finds(environment: SimulatedKind, replications: u64) -> ValidationRow {
    let ends = on_machine(environment, Design::Pairs, 0.02, replications);
    ValidationRow {
        promise: "a 2 % difference found on a simulated machine in up to 40 pairs",
        setting: environment.name.to_owned(),
        bar: Bar::AtLeast(environment.finds),
        measured: count(&ends, |end| end.verdict == Verdict::Slower),
        note: pairs_note(&ends),
    }
}

fn finds(
    effect: f64,
    least: f64,
    most_pairs: Option<f64>,
    replications: u64,
    report: &mut dyn FnMut(ValidationRow),
) {
    let ends = normal_pairs(effect, replications);
    let setting = format!("{} %", 100.0 * effect);
    report(ValidationRow {
        promise: "a slow-down found if the standard deviation of pairs is 2 %",
        setting: setting.clone(),
        bar: Bar::AtLeast(least),
        measured: count(&ends, |end| end.verdict == Verdict::Slower),
        note: pairs_note(&ends),
    });
    if let Some(most) = most_pairs {
        report(ValidationRow {
            promise: "a slow-down found if the standard deviation of pairs is 2 %",
            setting: format!("{setting}, mean pairs"),
            bar: Bar::AtMost(most),
            measured: pairs_of(&ends),
            note: String::new(),
        });
    }
}

fn false_equivalent(effect: f64, most: f64, replications: u64) -> ValidationRow {
    let ends = normal_pairs(effect, replications);
    ValidationRow {
        promise: "a program called equivalent within 1 % although it is not",
        setting: format!("{} % slower", 100.0 * effect),
        bar: Bar::AtMost(most),
        measured: count(&ends, |end| end.verdict == Verdict::Equivalent),
        note: pairs_note(&ends),
    }
}

fn coverage(name: &str, noise: fn(&mut Rng) -> f64, replications: u64) -> ValidationRow {
    let ends = drawn(LookSchedule::Forty, 40, |rng| PAIR_SD * noise(rng), replications);
    ValidationRow {
        promise: "95 % interval of the ratio at the last look",
        setting: name.to_owned(),
        bar: Bar::AtLeast(0.95),
        measured: count(&ends, |end| end.interval.is_some_and(|found| found.contains(0.0))),
        note: pairs_note(&ends),
    }
}
