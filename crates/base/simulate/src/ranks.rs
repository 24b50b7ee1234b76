//! Rank sets of several items: how often all of them hold the true ranks, and how often neighbours are separated.

use super::bars::{Bar, BarSeries, ValidationRow, decided};
use plumb_stats::distribution::{normal_cdf, normal_quantile};
use plumb_stats::ranks::{BlockDraws, IndependentDraws, NoRanking, RankSet, Ranking};
use plumb_stats::rng::Rng;

/// The level of the rank sets.
const LEVEL: f64 = 0.95;
/// Standard deviation of the log cost of a process.
const SD: f64 = 0.02;
/// Items that are told apart differ by so much from their neighbours, relative.
const APART: f64 = 0.05;
/// What common slow noise adds from one block to the next, as a standard deviation.
const SLOW_STEP: f64 = 0.01;
/// One process in ten is disturbed, by so many standard deviations on average.
const DISTURBED: (f64, f64) = (0.1, 10.0);
const ITEMS: [usize; 3] = [3, 8, 20];
const VALUES: [usize; 3] = [8, 15, 40];
/// The draws of a bar; replications count from 0.
const SEED: u64 = 1 << 40;
const COVERAGE: Bar = Bar::AtLeast(0.94);

/// The noise of processes.
#[derive(Debug, Clone, Copy)]
struct ItemNoise {
    name: &'static str,
    shape: NoiseShape,
    /// The standard deviations of items, in turn, relative to the typical one.
    spreads: &'static [f64],
    bar: Bar,
}

#[derive(Debug, Clone, Copy)]
enum NoiseShape {
    Normal,
    /// Lognormal with sigma 1 on the scale of logs, so its skewness is over 6.
    Skewed,
    /// Student's t on 3 degrees of freedom.
    HeavyTails,
    /// Normal, with exponential disturbances.
    Disturbed,
}

const NORMAL: ItemNoise =
    ItemNoise { name: "normal", shape: NoiseShape::Normal, spreads: &[1.0], bar: COVERAGE };
const UNEQUAL: &[f64] = &[0.2, 1.0, 5.0];
const NOISES: [ItemNoise; 7] = [
    NORMAL,
    ItemNoise { name: "skewed (lognormal)", shape: NoiseShape::Skewed, ..NORMAL },
    ItemNoise { name: "heavy tails (t of 3)", shape: NoiseShape::HeavyTails, ..NORMAL },
    ItemNoise { name: "unequal spreads (1 to 25)", spreads: UNEQUAL, ..NORMAL },
    ItemNoise {
        name: "heavy tails, unequal spreads",
        shape: NoiseShape::HeavyTails,
        spreads: UNEQUAL,
        ..NORMAL
    },
    ItemNoise { name: "one process in ten disturbed", shape: NoiseShape::Disturbed, ..NORMAL },
    ItemNoise {
        name: "skewed, unequal spreads",
        shape: NoiseShape::Skewed,
        spreads: UNEQUAL,
        bar: Bar::Exempt("few values do not show a long tail"),
    },
];
/// Of blocks with common slow noise, and of blocks that slow some items down more than others.
const IN_BLOCKS: [(ItemNoise, BlockNoise); 6] = [
    (NOISES[0], BlockNoise::Alike),
    (NOISES[1], BlockNoise::Alike),
    (NOISES[2], BlockNoise::Alike),
    (NOISES[3], BlockNoise::Alike),
    (NOISES[0], BlockNoise::EverySecondItem),
    (NOISES[0], BlockNoise::OtherDirection),
];

/// How the noise of a block reaches its items.
#[derive(Debug, Clone, Copy)]
enum BlockNoise {
    /// All alike: slow noise.
    Alike,
    /// Every second one, with no memory from block to block.
    EverySecondItem,
    /// Every second one gains what the others lose, with no memory from block to block.
    OtherDirection,
}

impl BlockNoise {
    fn name(self) -> &'static str {
        match self {
            Self::Alike => "slow noise common to a block",
            Self::EverySecondItem => "noise of a block in every second item",
            Self::OtherDirection => "noise of a block with either sign",
        }
    }

    fn sign(self, item: usize) -> f64 {
        match self {
            Self::EverySecondItem if item % 2 == 1 => 0.0,
            Self::OtherDirection if item % 2 == 1 => -1.0,
            _ => 1.0,
        }
    }
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for items in ITEMS {
        for values in VALUES {
            let draws = IndependentDraws::new(&vec![values; items], &mut Rng::new(SEED));
            let size = ItemsAndValues { items, values, apart: 0.0 };
            for noise in NOISES {
                report(decided(replications, replications, |trials| {
                    coverage(noise, size, trials, |rng| {
                        draws.rank(&independent(noise, size, rng), LEVEL)
                    })
                }));
            }
        }
    }
    for items in ITEMS {
        for values in VALUES {
            let draws = BlockDraws::new(items, values, &mut Rng::new(SEED));
            let size = ItemsAndValues { items, values, apart: 0.0 };
            for (noise, of_blocks) in IN_BLOCKS {
                let mut row = decided(replications, replications, |trials| {
                    coverage(noise, size, trials, |rng| {
                        draws.rank(&blocks(noise, of_blocks, size, rng), LEVEL)
                    })
                });
                row.promise = "rank sets in blocks that all hold the true ranks";
                row.setting = format!("{}, {}", row.setting, of_blocks.name());
                report(row);
            }
        }
    }
    for items in ITEMS {
        let size = ItemsAndValues { items, values: 15, apart: APART };
        let draws = IndependentDraws::new(&vec![size.values; items], &mut Rng::new(SEED));
        report(separated(size, "independent", replications, |rng| {
            draws.rank(&independent(NORMAL, size, rng), LEVEL)
        }));
        let draws = BlockDraws::new(items, size.values, &mut Rng::new(SEED));
        report(separated(size, "in blocks with common slow noise", replications, |rng| {
            draws.rank(&blocks(NORMAL, BlockNoise::Alike, size, rng), LEVEL)
        }));
    }
}

#[derive(Debug, Clone, Copy)]
struct ItemsAndValues {
    items: usize,
    values: usize,
    /// How far each item lies above the one before.
    apart: f64,
}

/// The noise of one value of so many; its location is 0.
fn drawn(shape: NoiseShape, values: usize, rng: &mut Rng) -> f64 {
    let normal = rng.normal();
    match shape {
        NoiseShape::Normal => normal,
        NoiseShape::Skewed => normal.exp() - trimmed_centre(values),
        NoiseShape::HeavyTails => {
            let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
            normal / (squares / 3.0).sqrt()
        }
        NoiseShape::Disturbed if rng.uniform() < DISTURBED.0 => {
            normal + DISTURBED.1 * rng.exponential()
        }
        NoiseShape::Disturbed => normal,
    }
}

/// The mean of exp(normal) without the share at each end that is trimmed of so many values. Items of unequal spread are
/// equal only if this is their centre.
fn trimmed_centre(values: usize) -> f64 {
    let share = (values / 10).max(1) as f64 / values as f64;
    let end = -normal_quantile(share);
    let inside = normal_cdf(end - 1.0) - normal_cdf(-end - 1.0);
    0.5f64.exp() * inside / (1.0 - 2.0 * share)
}

/// A value of an item; each item lies so far above the one before.
fn value(noise: ItemNoise, item: usize, size: ItemsAndValues, rng: &mut Rng) -> f64 {
    let spread = noise.spreads[item % noise.spreads.len()];
    size.apart * item as f64 + SD * spread * drawn(noise.shape, size.values, rng)
}

fn independent(noise: ItemNoise, size: ItemsAndValues, rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut items = Vec::with_capacity(size.items);
    for item in 0..size.items {
        items.push((0..size.values).map(|_| value(noise, item, size, rng)).collect());
    }
    items
}

fn blocks(
    noise: ItemNoise,
    of_blocks: BlockNoise,
    size: ItemsAndValues,
    rng: &mut Rng,
) -> Vec<Vec<f64>> {
    let mut level = 0.0;
    let mut blocks = Vec::with_capacity(size.values);
    for _ in 0..size.values {
        level = match of_blocks {
            BlockNoise::Alike => level + SLOW_STEP * rng.normal(),
            // As large as the noise of an item itself: what remains in differences is half of their noise or more.
            _ => SD * rng.normal(),
        };
        let items = 0..size.items;
        let values = items.map(|item| of_blocks.sign(item) * level + value(noise, item, size, rng));
        blocks.push(values.collect());
    }
    blocks
}

/// How often all rank sets of equal items hold all ranks, which is the hardest case: every pair can err.
fn coverage(
    noise: ItemNoise,
    size: ItemsAndValues,
    replications: u64,
    rank: impl Fn(&mut Rng) -> Result<Ranking, NoRanking>,
) -> ValidationRow {
    let all = RankSet { best: 1, worst: size.items };
    let found = (0..replications).map(|seed| rank(&mut Rng::new(seed)));
    let holds = found.flatten().filter(|found| found.sets.iter().all(|set| *set == all));
    ValidationRow {
        promise: "rank sets that all hold the true ranks",
        setting: format!("{} items of {} values, {}", size.items, size.values, noise.name),
        bar: noise.bar,
        measured: BarSeries::Share { hits: holds.count() as u64, trials: replications },
        note: String::new(),
    }
}

/// How often an item that differs from its neighbours has one rank alone, and the right one.
fn separated(
    size: ItemsAndValues,
    how: &str,
    replications: u64,
    rank: impl Fn(&mut Rng) -> Result<Ranking, NoRanking>,
) -> ValidationRow {
    let found = (0..replications).map(|seed| rank(&mut Rng::new(seed)));
    let sets: Vec<Vec<RankSet>> = found.flatten().map(|found| found.sets).collect();
    let right = sets.iter().map(|sets| {
        let alone = (1..=size.items).map(|rank| RankSet { best: rank, worst: rank });
        let right = sets.iter().zip(alone).filter(|(set, alone)| *set == alone).count();
        right as f64 / size.items as f64
    });
    let together = sets.iter().filter(|sets| sets.iter().all(|set| set.size() == 1)).count();
    ValidationRow {
        promise: "items 5 % apart that have one rank each",
        setting: format!("{} items of {} values, noise 2 %, {how}", size.items, size.values),
        bar: Bar::AtLeast(0.9),
        measured: BarSeries::mean(&right.collect::<Vec<f64>>()),
        note: format!("all items at once in {:.3}", together as f64 / replications as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::{NoiseShape, drawn, trimmed_centre};
    use plumb_stats::describe::mean;
    use plumb_stats::rng::Rng;

    #[test]
    fn skewed_noise_is_centred_where_trimming_leaves_it() {
        let mut rng = Rng::new(1);
        for values in [8, 40] {
            let mut drawn: Vec<f64> =
                (0..200_000).map(|_| drawn(NoiseShape::Skewed, values, &mut rng)).collect();
            drawn.sort_unstable_by(f64::total_cmp);
            let trimmed = drawn.len() * (values / 10).max(1) / values;
            let centre = mean(&drawn[trimmed..drawn.len() - trimmed]).unwrap();
            assert!(centre.abs() < 0.01, "{values}: {centre}");
        }
        assert!(trimmed_centre(40) < trimmed_centre(15));
    }
}
