//! A suite of benchmarks of two versions in pairs: screened, and the flagged measured again.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::multiple::{
    CONFIRM_ALPHA, CONFIRM_PAIRS, SCREEN_P, SCREEN_PAIRS, benjamini_hochberg, common_mode, holm,
};
use plumb_stats::pairs::signed_rank_p;
use plumb_stats::rng::Rng;
use plumb_stats::standing_out::FALSE_SHARE;

/// Benchmarks of the suite, of which the first few are slower.
const BENCHMARKS: usize = 100;
const SLOWER: usize = 5;
const EFFECT: f64 = 0.03;
/// Standard deviation of the log ratio of a pair.
const PAIR_SD: f64 = 0.015;
/// Pairs and share of false ones if all are tested once.
const SINGLE_PAIRS: usize = 12;

/// The outcome of a suite.
#[derive(Default)]
struct SuiteOutcome {
    found: usize,
    wrong: usize,
    pairs: usize,
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    screened(replications, report);
    report(false_share(replications));
    for benchmarks in [12, 20, 100] {
        report(moves_together(benchmarks, 10 * replications));
    }
}

fn effect(benchmark: usize) -> f64 {
    if benchmark < SLOWER { EFFECT.ln_1p() } else { 0.0 }
}

fn p_of(benchmark: usize, pairs: usize, rng: &mut Rng) -> f64 {
    let logs: Vec<f64> = (0..pairs).map(|_| effect(benchmark) + PAIR_SD * rng.normal()).collect();
    signed_rank_p(&logs).unwrap_or(1.0)
}

fn screen_and_confirm(rng: &mut Rng) -> SuiteOutcome {
    let flagged: Vec<usize> = (0..BENCHMARKS)
        .filter(|&benchmark| p_of(benchmark, SCREEN_PAIRS, rng) <= SCREEN_P)
        .collect();
    // Fresh pairs alone convict: those of the screening chose the benchmarks.
    let p_values: Vec<f64> =
        flagged.iter().map(|&benchmark| p_of(benchmark, CONFIRM_PAIRS, rng)).collect();
    let pairs = BENCHMARKS * SCREEN_PAIRS + flagged.len() * CONFIRM_PAIRS;
    outcome(pairs, flagged.into_iter().zip(holm(&p_values, CONFIRM_ALPHA)))
}

fn outcome(pairs: usize, tested: impl Iterator<Item = (usize, bool)>) -> SuiteOutcome {
    let mut outcome = SuiteOutcome { pairs, ..SuiteOutcome::default() };
    for (benchmark, _) in tested.filter(|(_, rejected)| *rejected) {
        if benchmark < SLOWER { outcome.found += 1 } else { outcome.wrong += 1 }
    }
    outcome
}

fn screened(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let outcomes: Vec<SuiteOutcome> =
        (0..replications).map(|seed| screen_and_confirm(&mut Rng::new(seed))).collect();
    let wrong = outcomes.iter().filter(|outcome| outcome.wrong > 0).count() as u64;
    let mut row = |setting: &str, bar, measured| {
        report(ValidationRow {
            promise: "a suite of 100 benchmarks, five of them 3 % slower, screened and confirmed",
            setting: setting.to_owned(),
            bar,
            measured,
            note: String::new(),
        });
    };
    row(
        "any false alarm",
        Bar::AtMost(0.06),
        BarSeries::Share { hits: wrong, trials: replications },
    );
    let found: Vec<f64> =
        outcomes.iter().map(|outcome| outcome.found as f64 / SLOWER as f64).collect();
    row("share of slower benchmarks found", Bar::AtLeast(0.9), BarSeries::mean(&found));
    let pairs: Vec<f64> =
        outcomes.iter().map(|outcome| outcome.pairs as f64 / BENCHMARKS as f64).collect();
    row("pairs per benchmark", Bar::AtMost(11.0), BarSeries::mean(&pairs));
}

fn false_share(replications: u64) -> ValidationRow {
    let mut shares = Vec::new();
    for seed in 0..replications {
        let mut rng = Rng::new(seed);
        let p: Vec<f64> =
            (0..BENCHMARKS).map(|benchmark| p_of(benchmark, SINGLE_PAIRS, &mut rng)).collect();
        let rejected = benjamini_hochberg(&p, FALSE_SHARE).into_iter().enumerate();
        let SuiteOutcome { found, wrong, .. } = outcome(0, rejected);
        shares.push(wrong as f64 / (found + wrong).max(1) as f64);
    }
    ValidationRow {
        promise: "share of false positives among benchmarks that the Benjamini–Hochberg procedure reports",
        setting: format!("{SINGLE_PAIRS} pairs, q = {FALSE_SHARE}"),
        bar: Bar::AtMost(FALSE_SHARE),
        measured: BarSeries::mean(&shares),
        note: String::new(),
    }
}

fn moves_together(benchmarks: usize, trials: u64) -> ValidationRow {
    let mut hits = 0;
    for seed in 0..trials {
        let mut rng = Rng::new(seed);
        let logs: Vec<f64> = (0..benchmarks).map(|_| PAIR_SD * rng.normal()).collect();
        hits += u64::from(common_mode(&logs).is_some_and(|common| common.moved()));
    }
    ValidationRow {
        promise: "benchmarks wrongly reported as moving together",
        setting: format!("{benchmarks} benchmarks"),
        bar: Bar::AtMost(0.03),
        measured: BarSeries::Share { hits, trials },
        note: String::new(),
    }
}
