//! How often looking at every look of a schedule misleads about two equal programs: where the levels in
//! [`crate::verdict`] come from.

use super::bars::{Bar, Measured, Row};
use crate::pairs::walsh_rank;
use crate::rng::Rng;
use crate::verdict::{Confidence, Schedule};

/// Ranks cost little to simulate, and the bars are narrow: so many times more of them.
const RANKS_CHEAPER: u64 = 100;

/// Every schedule with looks, and every confidence.
const SCHEDULES: [Schedule; 3] = [Schedule::Forty, Schedule::Ninety, Schedule::TwoHundred];
const CONFIDENCES: [(Confidence, &str, [f64; 2]); 2] = [
    (Confidence::NinetyFive, "95 %", [0.042, 0.051]),
    (Confidence::NinetyNine, "99 %", [0.0084, 0.0102]),
];

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(Row)) {
    for (confidence, name, [least, most]) in CONFIDENCES {
        for schedule in SCHEDULES {
            let trials = RANKS_CHEAPER * replications;
            let hits = misled(schedule, confidence, trials);
            let row = |bar, note: &str| Row {
                promise: "any look of a schedule excludes equality of equal programs",
                setting: format!("{name}, up to {} pairs", schedule.most_pairs()),
                bar,
                measured: Measured::Share { hits, trials },
                note: note.to_owned(),
            };
            report(row(Bar::AtMost(most), ""));
            report(row(Bar::AtLeast(least), "no level is given away"));
        }
    }
}

/// In how many of `trials` comparisons of equal programs a look excludes 0; exact for any symmetric noise without ties,
/// because only ranks and signs count.
pub fn misled(schedule: Schedule, confidence: Confidence, trials: u64) -> u64 {
    let alpha = 1.0 - schedule.level(confidence);
    let looks: Vec<(usize, usize)> =
        schedule.looks().into_iter().map(|look| (look, walsh_rank(look, alpha))).collect();
    let mut rng = Rng::new(schedule.most_pairs() as u64);
    let mut sizes: Vec<f64> = Vec::new();
    (0..trials).map(|_| u64::from(any_look_misleads(&looks, &mut sizes, &mut rng))).sum()
}

fn any_look_misleads(looks: &[(usize, usize)], sizes: &mut Vec<f64>, rng: &mut Rng) -> bool {
    sizes.clear();
    looks.iter().any(|&(look, rank)| {
        // Uniform in -1..1: the sign is a coin of its own.
        sizes.extend((sizes.len()..look).map(|_| 2.0 * rng.uniform() - 1.0));
        sizes.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
        let positive: usize =
            (1..).zip(sizes.iter()).filter(|(_, size)| **size > 0.0).map(|(rank, _)| rank).sum();
        let smaller = positive.min(look * (look + 1) / 2 - positive);
        // Fewer than `rank` Walsh averages lie on one side of 0.
        smaller < rank
    })
}
