//! Verdicts on pairs after looking at every look: how often they are wrong, found, and what they cost.

use super::bars::{Bar, Measured, Row};
use super::environment::{ENVIRONMENTS, Environment};
use super::fixed::PAIRS;
use crate::Interval;
use crate::pairs::signed_rank_interval;
use crate::rng::Rng;
use crate::verdict::{Confidence, Schedule, Verdict, judge};

/// The smallest change that matters.
const MARGIN: f64 = 0.01;
/// Standard deviation of the log ratio of a pair where only its law is studied.
const PAIR_SD: f64 = 0.02;
/// Samples of a process where whole machines are simulated.
const SAMPLES: usize = 8;
/// Pairs cost little to simulate, beside processes.
const PAIRS_CHEAPER: u64 = 5;

/// How one comparison ended.
#[derive(Debug, Clone, Copy)]
struct End {
    verdict: Verdict,
    pairs: usize,
    interval: Option<Interval>,
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(Row)) {
    for environment in ENVIRONMENTS {
        same_program(environment, replications, report);
    }
    for environment in ENVIRONMENTS {
        report(machine_finds(environment, replications));
    }
    let pairs = PAIRS_CHEAPER * replications;
    for (effect, least, most_pairs) in
        [(0.05, 0.999, Some(9.0)), (0.02, 0.99, Some(15.0)), (0.01, 0.7, None)]
    {
        finds(effect, least, most_pairs, pairs, report);
    }
    for (effect, most) in [(2.0 * MARGIN, 0.002), (MARGIN, 0.025)] {
        report(false_equivalent(effect, most, pairs));
    }
    for (name, noise) in PAIRS {
        report(coverage(name, noise, pairs));
    }
}

/// Draws pairs until there is a verdict, or none in reach.
fn compare(schedule: Schedule, mut pair: impl FnMut() -> f64) -> End {
    let level = schedule.level(Confidence::NinetyFive);
    let mut logs = Vec::new();
    let mut end = End { verdict: Verdict::Inconclusive, pairs: 0, interval: None };
    for look in schedule.looks() {
        logs.extend((logs.len()..look).map(|_| pair()));
        let Ok(interval) = signed_rank_interval(&logs, level) else { continue };
        let judged = judge(&interval, look, MARGIN);
        end = End { verdict: judged.verdict, pairs: look, interval: Some(interval) };
        if judged.settled() || schedule.hopeless(&judged, look) {
            return end;
        }
    }
    end
}

fn repeat(replications: u64, once: impl Fn(&mut Rng) -> End) -> Vec<End> {
    (0..replications).map(|seed| once(&mut Rng::new(seed))).collect()
}

fn normal_pairs(effect: f64, replications: u64) -> Vec<End> {
    let shift = effect.ln_1p();
    repeat(replications, |rng| compare(Schedule::Forty, || shift + PAIR_SD * rng.normal()))
}

/// Pairs of simulated processes on a machine with this environment, B slower than A by `effect`.
fn on_machine(environment: Environment, effect: f64, replications: u64) -> Vec<End> {
    let shift = effect.ln_1p();
    repeat(replications, |rng| {
        let mut machine = environment.machine(rng.next_u64());
        let mut coin = rng.fork();
        compare(Schedule::Forty, || {
            let b_first = coin.coin();
            let (first, second) = (machine.process(SAMPLES), machine.process(SAMPLES));
            shift + if b_first { first - second } else { second - first }
        })
    })
}

fn count(ends: &[End], is: impl Fn(&End) -> bool) -> Measured {
    let hits = ends.iter().filter(|end| is(end)).count() as u64;
    Measured::Share { hits, trials: ends.len() as u64 }
}

fn pairs_of(ends: &[End]) -> Measured {
    Measured::mean(&ends.iter().map(|end| end.pairs as f64).collect::<Vec<_>>())
}

fn pairs_note(ends: &[End]) -> String {
    format!("{:.1} pairs", pairs_of(ends).value())
}

fn same_program(environment: Environment, replications: u64, report: &mut dyn FnMut(Row)) {
    let ends = on_machine(environment, 0.0, replications);
    let row = |setting: String, most, measured| Row {
        promise: "a program called slower or faster than itself",
        setting,
        bar: Bar::AtMost(most),
        measured,
        note: pairs_note(&ends),
    };
    let different = |end: &End| matches!(end.verdict, Verdict::Slower | Verdict::Faster);
    report(row(environment.name.to_owned(), 0.05, count(&ends, different)));
    for (verdict, word) in [(Verdict::Slower, "slower"), (Verdict::Faster, "faster")] {
        let setting = format!("{}, {word}", environment.name);
        report(row(setting, 0.03, count(&ends, |end| end.verdict == verdict)));
    }
}

fn machine_finds(environment: Environment, replications: u64) -> Row {
    let ends = on_machine(environment, 0.02, replications);
    Row {
        promise: "2 % found on a simulated machine, up to 40 pairs",
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
    report: &mut dyn FnMut(Row),
) {
    let ends = normal_pairs(effect, replications);
    let setting = format!("{} %", 100.0 * effect);
    report(Row {
        promise: "a slow-down found where pairs have a standard deviation of 2 %",
        setting: setting.clone(),
        bar: Bar::AtLeast(least),
        measured: count(&ends, |end| end.verdict == Verdict::Slower),
        note: pairs_note(&ends),
    });
    if let Some(most) = most_pairs {
        report(Row {
            promise: "a slow-down found where pairs have a standard deviation of 2 %",
            setting: format!("{setting}, mean pairs"),
            bar: Bar::AtMost(most),
            measured: pairs_of(&ends),
            note: String::new(),
        });
    }
}

fn false_equivalent(effect: f64, most: f64, replications: u64) -> Row {
    let ends = normal_pairs(effect, replications);
    Row {
        promise: "called equivalent within 1 % though it is not",
        setting: format!("{} % slower", 100.0 * effect),
        bar: Bar::AtMost(most),
        measured: count(&ends, |end| end.verdict == Verdict::Equivalent),
        note: pairs_note(&ends),
    }
}

fn coverage(name: &str, noise: fn(&mut Rng) -> f64, replications: u64) -> Row {
    let ends = repeat(replications, |rng| compare(Schedule::Forty, || PAIR_SD * noise(rng)));
    Row {
        promise: "95 % interval of the ratio at the look where sampling stopped",
        setting: name.to_owned(),
        bar: Bar::AtLeast(0.95),
        measured: count(&ends, |end| end.interval.is_some_and(|found| found.contains(0.0))),
        note: pairs_note(&ends),
    }
}
