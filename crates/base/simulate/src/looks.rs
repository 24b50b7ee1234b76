//! How often looking at every look of a schedule misleads about two equal programs: if the levels in
//! [`plumb_stats::verdict`] come from.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::distribution::two_sided_z;
use plumb_stats::pairs::walsh_rank;
use plumb_stats::rng::Rng;
use plumb_stats::verdict::{Confidence, LookSchedule};

/// Ranks cost little to simulate, and the bars are narrow: so many times more of them.
const RANKS_CHEAPER: u64 = 100;

/// Up to so many pairs they are ranked; `verdicts` simulates every pair of the longest comparisons.
const RANKED_UP_TO: usize = 200;

/// Every schedule with looks, and every confidence.
const SCHEDULES: [LookSchedule; 4] =
    [LookSchedule::Forty, LookSchedule::Ninety, LookSchedule::TwoHundred, LookSchedule::Long];
const CONFIDENCES: [(Confidence, &str, [f64; 2]); 2] = [
    (Confidence::NinetyFive, "95 %", [0.042, 0.051]),
    (Confidence::NinetyNine, "99 %", [0.0084, 0.0102]),
];

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for (confidence, name, [least, most]) in CONFIDENCES {
        for schedule in SCHEDULES {
            let trials = RANKS_CHEAPER * replications;
            let hits = misled(schedule, confidence, trials);
            for (bar, note) in
                [(Bar::AtMost(most), ""), (Bar::AtLeast(least), "uses all of its error rate")]
            {
                report(ValidationRow {
                    promise: "equal programs told apart at any look of a schedule",
                    setting: format!("{name}, up to {} pairs", schedule.most_pairs()),
                    bar,
                    measured: BarSeries::Share { hits, trials },
                    note: note.to_owned(),
                });
            }
        }
    }
}

/// In how many of `trials` comparisons of equal programs a look excludes 0; exact for any symmetric noise without ties,
/// because only ranks and signs count.
pub fn misled(schedule: LookSchedule, confidence: Confidence, trials: u64) -> u64 {
    let looks: Vec<LookRanks> = schedule
        .looks()
        .into_iter()
        .map(|pairs| LookRanks::new(schedule, confidence, pairs))
        .collect();
    let mut rng = Rng::new(schedule.most_pairs() as u64);
    let mut pairs = Pairs::default();
    (0..trials).map(|_| u64::from(pairs.any_look_misleads(&looks, &mut rng))).sum()
}

struct LookRanks {
    pairs: usize,
    /// What excludes 0: fewer Walsh averages on one side of it.
    rank: usize,
    /// The same as a distance in standard errors.
    distance: f64,
}

impl LookRanks {
    fn new(schedule: LookSchedule, confidence: Confidence, pairs: usize) -> Self {
        let level = schedule.level(confidence, pairs);
        let rank = if pairs > RANKED_UP_TO { 0 } else { walsh_rank(pairs, 1.0 - level) };
        Self { pairs, rank, distance: two_sided_z(level) }
    }
}

/// The pairs of one comparison, up to the look that they are for.
#[derive(Default)]
struct Pairs {
    /// Uniform in -1..1: the sign is its own coin.
    sizes: Vec<f64>,
    count: usize,
    sum: f64,
}

impl Pairs {
    fn any_look_misleads(&mut self, looks: &[LookRanks], rng: &mut Rng) -> bool {
        self.sizes.clear();
        self.count = 0;
        self.sum = 0.0;
        looks.iter().any(|look| {
            let more = look.pairs - self.count;
            self.count = look.pairs;
            if look.pairs > RANKED_UP_TO {
                self.by_sum(look, more, rng)
            } else {
                self.by_ranks(look, more, rng)
            }
        })
    }

    fn by_ranks(&mut self, look: &LookRanks, more: usize, rng: &mut Rng) -> bool {
        for _ in 0..more {
            let size = 2.0 * rng.uniform() - 1.0;
            self.sum += size;
            self.sizes.push(size);
        }
        self.sizes.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
        let ranked = (1..).zip(&self.sizes);
        let positive: usize = ranked.filter(|(_, size)| **size > 0.0).map(|(rank, _)| rank).sum();
        let smaller = positive.min(look.pairs * (look.pairs + 1) / 2 - positive);
        smaller < look.rank
    }

    /// Ranks of so many uniform sizes are as good as the sizes, and their sum is normal.
    fn by_sum(&mut self, look: &LookRanks, more: usize, rng: &mut Rng) -> bool {
        self.sum += (more as f64 / 3.0).sqrt() * rng.normal();
        self.sum.abs() > look.distance * (look.pairs as f64 / 3.0).sqrt()
    }
}
