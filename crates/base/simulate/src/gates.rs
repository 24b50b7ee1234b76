//! A gate that proves itself: whether the probability that it gives for finding a slow-down is the true one.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::gate_power::{RepeatedLooks, gate_power};
use plumb_stats::rng::Rng;
use plumb_stats::verdict::{Confidence, LookSchedule, Verdict, judge_pairs};

/// The slow-down that is planted.
const PLANTED: f64 = 0.02;
/// Pairs of the program with itself, and at most of the comparison.
const PAIRS: usize = 40;
/// The true power is counted in so many comparisons.
const TRUE_TRIALS: u64 = 4000;

const LOOKS: RepeatedLooks = RepeatedLooks {
    schedule: LookSchedule::Forty,
    confidence: Confidence::NinetyFive,
    comparisons: 3,
    margin: 0.01,
    pairs: PAIRS,
};

/// The noise of pairs.
#[derive(Debug, Clone, Copy)]
struct GateNoise {
    name: &'static str,
    sd: f64,
    heavy: bool,
    /// What a pair keeps of the noise of the pair before.
    memory: f64,
}

const CALM: GateNoise = GateNoise { name: "sd 2 %", sd: 0.02, heavy: false, memory: 0.0 };

const NOISES: [GateNoise; 5] = [
    GateNoise { name: "sd 1 %", sd: 0.01, ..CALM },
    CALM,
    GateNoise { name: "sd 3 %", sd: 0.03, ..CALM },
    GateNoise { name: "sd 2 %, heavy tails", heavy: true, ..CALM },
    GateNoise { name: "sd 2 %, with a memory of pairs", memory: 0.3, ..CALM },
];

impl GateNoise {
    fn draw(self, pairs: usize, rng: &mut Rng) -> Vec<f64> {
        let mut last = 0.0;
        let mut drawn = Vec::with_capacity(pairs);
        for _ in 0..pairs {
            let fresh = if self.heavy {
                let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
                rng.normal() / squares.sqrt()
            } else {
                rng.normal()
            };
            last = self.memory * last + (1.0 - self.memory * self.memory).sqrt() * fresh;
            drawn.push(self.sd * last);
        }
        drawn
    }

    /// How often a comparison finds the slow-down.
    fn true_power(self) -> f64 {
        let found = (0..TRUE_TRIALS).filter(|&seed| {
            let mut rng = Rng::new(seed ^ 0x7275_6500);
            let mut pairs = self.draw(PAIRS, &mut rng);
            pairs.iter_mut().for_each(|value| *value += PLANTED.ln_1p());
            is_found(&pairs)
        });
        found.count() as f64 / TRUE_TRIALS as f64
    }
}

fn is_found(pairs: &[f64]) -> bool {
    for look in LOOKS.schedule.looks() {
        let level = LOOKS.schedule.level_of_each(LOOKS.confidence, look, LOOKS.comparisons);
        match judge_pairs(&pairs[..look], level, LOOKS.margin).map(|judged| judged.verdict) {
            Ok(Verdict::Slower) => return true,
            Ok(Verdict::Inconclusive) | Err(_) => {}
            Ok(_) => return false,
        }
    }
    false
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let trials = replications.div_ceil(10);
    for noise in NOISES {
        let truth = noise.true_power();
        let hits = (0..trials)
            .filter(|&seed| {
                let mut rng = Rng::new(seed);
                let null = noise.draw(PAIRS, &mut rng);
                gate_power(&null, PLANTED.ln_1p(), LOOKS, &mut rng)
                    .is_ok_and(|power| (power.low..=power.high).contains(&truth))
            })
            .count() as u64;
        report(ValidationRow {
            promise: "the interval of a gate's power holds the true power",
            setting: format!("{} %, {}", 100.0 * PLANTED, noise.name),
            bar: Bar::AtLeast(0.9),
            measured: BarSeries::Share { hits, trials },
            note: format!("true power {truth:.2}"),
        });
    }
}
