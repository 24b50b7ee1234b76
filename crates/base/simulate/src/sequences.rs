//! Looking after every pair, for hundreds of pairs: how often equality of equal programs is ever excluded.

use super::bars::{Bar, BarSeries, ValidationRow};
use super::fixed::PAIRS;
use plumb_stats::precision::CONFIDENCE;
use plumb_stats::rng::Rng;
use plumb_stats::sequence::{FEWEST_PAIRS, anytime_interval};

/// Pairs until sampling ends after all.
const MOST_PAIRS: usize = 400;

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for (name, noise) in PAIRS {
        let hits = (0..replications)
            .filter(|&seed| ever_misleads(noise, &mut Rng::new(seed)))
            .count() as u64;
        report(ValidationRow {
            promise: "equal programs told apart after any number of pairs up to 400",
            setting: name.to_owned(),
            bar: Bar::AtMost(0.05),
            measured: BarSeries::Share { hits, trials: replications },
            note: String::new(),
        });
    }
}

fn ever_misleads(noise: fn(&mut Rng) -> f64, rng: &mut Rng) -> bool {
    let logs: Vec<f64> = (0..MOST_PAIRS).map(|_| noise(rng)).collect();
    (FEWEST_PAIRS..=MOST_PAIRS).any(|pairs| {
        anytime_interval(&logs[..pairs], CONFIDENCE).is_ok_and(|found| !found.contains(0.0))
    })
}
