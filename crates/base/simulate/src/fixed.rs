//! Intervals without stopping: a tail quantile of one long series and of histograms of many processes, pairs of the same
//! program, long-run variance.

use super::bars::{Bar, BarSeries, ValidationRow, decided};
use super::noise::{Noise, NoiseSource};
use plumb_stats::distribution::normal_quantile;
use plumb_stats::histogram::{ValueCounts, pooled_quantile};
use plumb_stats::long_run::long_run;
use plumb_stats::pairs::{differences, signed_rank_interval};
use plumb_stats::precision::{CONFIDENCE, serial_quantile};
use plumb_stats::rng::Rng;

/// Samples in a long series.
const LONG: usize = 20_000;

/// Pairs cost little to simulate, and their level is exact: so many times more of them.
const PAIRS_CHEAPER: u64 = 10;

/// Draws the log ratio of a pair, symmetric about 0 as the coin makes it.
pub(super) type PairNoise = fn(&mut Rng) -> f64;

/// Shapes that the noise of pairs may have.
pub(super) const PAIRS: [(&str, PairNoise); 5] = [
    ("normal", Rng::normal),
    ("t of 3 degrees of freedom", |rng| {
        let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
        rng.normal() / (squares / 3.0).sqrt()
    }),
    ("two modes", |rng| {
        f64::from(i8::from(rng.coin()) - i8::from(rng.coin())) * 4.0 + rng.normal()
    }),
    ("bursts", |rng| if rng.uniform() < 0.1 { 10.0 * rng.normal() } else { rng.normal() }),
    ("Cauchy", |rng| rng.normal() / rng.normal()),
];

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for (rho, q) in [(0.9, 0.5), (0.9, 0.99), (0.7, 0.99)] {
        report(tail_quantile(replications, rho, q));
    }
    for (processes, q) in [(10, 0.5), (10, 0.99), (30, 0.99), (30, 0.999)] {
        report(pooled(replications.div_ceil(40), processes, q));
    }
    for rho in [0.7, 0.9, 0.98] {
        report(variance_bias(replications.div_ceil(4), rho));
    }
    for (name, noise) in PAIRS {
        for pairs in [12, 20, 40] {
            report(decided(replications, PAIRS_CHEAPER * replications, |trials| {
                same_program(trials, name, noise, pairs)
            }));
        }
    }
    for (name, noise) in PAIRS {
        for pairs in [12, 40] {
            report(decided(replications, PAIRS_CHEAPER * replications, |trials| {
                shifted(trials, name, noise, pairs)
            }));
        }
    }
}

fn share(hits: usize, trials: usize) -> BarSeries {
    BarSeries::Share { hits: hits as u64, trials: trials as u64 }
}

fn tail_quantile(replications: u64, rho: f64, q: f64) -> ValidationRow {
    let noise = Noise::autoregressive("", rho);
    let found: Vec<bool> = (0..replications)
        .filter_map(|seed| {
            let mut source = NoiseSource::new(noise, seed);
            let found = serial_quantile(&source.samples(LONG), q, CONFIDENCE).ok()?;
            Some(found.interval.contains(source.truth(q)))
        })
        .collect();
    let refused = replications as usize - found.len();
    ValidationRow {
        promise: "95 % interval of a quantile of 20,000 samples in one process",
        setting: format!("AR({rho}), quantile {q}"),
        bar: Bar::AtLeast(0.93),
        measured: share(found.iter().filter(|&&covered| covered).count(), found.len()),
        note: format!("{refused} without an interval"),
    }
}

/// Values of a process in a histogram.
const PER_PROCESS: usize = 5_000;

/// The histogram of a process, lognormal around 0.1 ms, by the deviations of its level and within it.
fn lognormal_counts((levels, within): (f64, f64), rng: &mut Rng) -> ValueCounts {
    let level = levels * rng.normal();
    let mut counts = ValueCounts::new();
    for _ in 0..PER_PROCESS {
        let value = 1e5 * (level + within * rng.normal()).exp();
        *counts.entry(value as u64).or_default() += 1;
    }
    counts
}

/// Latencies of processes at their own levels, lognormal, in nanoseconds, as histograms.
fn pooled(replications: u64, processes: usize, q: f64) -> ValidationRow {
    const LEVELS: f64 = 0.05;
    const WITHIN: f64 = 0.3;
    // The sum of both is normal, in logs.
    let truth = 1e5 * (normal_quantile(q) * LEVELS.hypot(WITHIN)).exp();
    let found: Vec<bool> = (0..replications)
        .filter_map(|seed| {
            let mut rng = Rng::new(seed);
            let all: Vec<ValueCounts> =
                (0..processes).map(|_| lognormal_counts((LEVELS, WITHIN), &mut rng)).collect();
            pooled_quantile(&all, q, CONFIDENCE).ok().map(|found| found.contains(truth))
        })
        .collect();
    ValidationRow {
        promise: "95 % interval of a pooled quantile of histograms",
        setting: format!("{processes} processes of {PER_PROCESS} values, quantile {q}"),
        bar: Bar::AtLeast(0.94),
        measured: share(found.iter().filter(|&&covered| covered).count(), found.len()),
        note: format!("{} without an interval", replications as usize - found.len()),
    }
}

fn variance_bias(replications: u64, rho: f64) -> ValidationRow {
    // Of a first-order autoregression with marginal variance 1.
    let truth = (1.0 + rho) / (1.0 - rho);
    let noise = Noise::autoregressive("", rho);
    let ratios: Vec<f64> = (0..replications)
        .filter_map(|seed| {
            let samples = NoiseSource::new(noise, seed).samples(LONG);
            let logs: Vec<f64> = samples.iter().map(|sample| sample.ln() / noise.sd).collect();
            Some(long_run(&logs).ok()?.variance / truth)
        })
        .collect();
    let mean = plumb_stats::describe::mean(&ratios).unwrap_or(0.0);
    let error = (plumb_stats::describe::variance(&ratios).unwrap_or(0.0)
        / ratios.len().max(1) as f64)
        .sqrt();
    ValidationRow {
        promise: "bias of the long-run variance at 20,000 samples",
        setting: format!("AR({rho})"),
        bar: Bar::AtMost(0.1),
        // Too small is as bad as too large.
        measured: BarSeries::Mean { mean: (mean - 1.0).abs(), error },
        note: format!("{mean:.3} of the truth"),
    }
}

fn same_program(replications: u64, name: &str, noise: PairNoise, pairs: usize) -> ValidationRow {
    let mut rng = Rng::new(pairs as u64);
    let mut hits = 0;
    for _ in 0..replications {
        let ratios: Vec<f64> = (0..pairs).map(|_| noise(&mut rng)).collect();
        let found = signed_rank_interval(&ratios, CONFIDENCE);
        hits += usize::from(found.is_ok_and(|found| found.contains(0.0)));
    }
    ValidationRow {
        promise: "95 % interval of the ratio of a program to itself",
        setting: format!("{pairs} pairs, {name}"),
        bar: Bar::AtLeast(0.95),
        measured: share(hits, replications as usize),
        note: String::new(),
    }
}

/// Two programs whose times differ by a fixed amount, in rounds that are slower or quicker for both.
fn shifted(replications: u64, name: &str, noise: PairNoise, pairs: usize) -> ValidationRow {
    const SHIFT: f64 = 0.7;
    const ROUNDS: f64 = 5.0;
    let mut rng = Rng::new(pairs as u64);
    let mut hits = 0;
    for _ in 0..replications {
        let rounds: Vec<(u32, f64)> =
            (0..pairs as u32).map(|round| (round, 100.0 + ROUNDS * rng.normal())).collect();
        // Rounds differ by far more than programs, so that only differences inside a round show the shift.
        let mut side = |shift: f64| -> Vec<(u32, f64)> {
            rounds.iter().map(|&(round, level)| (round, level + shift + noise(&mut rng))).collect()
        };
        let first = side(0.0);
        let later = side(SHIFT);
        let found = signed_rank_interval(&differences(&first, &later, 1), CONFIDENCE);
        hits += usize::from(found.is_ok_and(|found| found.contains(SHIFT)));
    }
    ValidationRow {
        promise: "95 % interval of the difference of two programs in rounds of different speed",
        setting: format!("{pairs} pairs, {name}"),
        bar: Bar::AtLeast(0.95),
        measured: share(hits, replications as usize),
        note: String::new(),
    }
}
