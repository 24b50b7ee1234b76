//! Which entity an operation is for: uniform, Zipf, or the latest ones, as YCSB draws them (Cooper et al. 2010,
//! "Benchmarking cloud serving systems with YCSB").

use plumb_protocol::SplitMix64;

/// The exponent of YCSB's Zipf distribution.
const THETA: f64 = 0.99;

/// Spreads popular entities over all keys: a prime larger than any number of entities, so that no two share a key.
const SPREAD: u64 = 2_654_435_761;

/// How keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyOrder {
    /// All equally often.
    Uniform,
    /// Few very often, spread over all keys.
    Zipf,
    /// The newest most often.
    Latest,
}

impl KeyOrder {
    /// The word of the parameter `keys` for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipf => "zipf",
            Self::Latest => "latest",
        }
    }
}

/// Draws keys of a number of entities that may grow.
#[derive(Debug, Clone)]
pub(super) struct KeyChooser {
    order: KeyOrder,
    /// The number of entities for which the Zipf distribution was made.
    entities: f64,
    zeta: f64,
    eta: f64,
    alpha: f64,
}

impl KeyChooser {
    /// For so many entities.
    #[expect(clippy::cast_precision_loss, reason = "numbers of entities stay far below 2^53")]
    pub(super) fn new(order: KeyOrder, entities: u64) -> Self {
        let zeta_of = |count: u64| (1..=count).map(|rank| (rank as f64).powf(-THETA)).sum::<f64>();
        let zeta = match order {
            KeyOrder::Uniform => 1.0,
            KeyOrder::Zipf | KeyOrder::Latest => zeta_of(entities),
        };
        let count = entities as f64;
        let eta = (1.0 - (2.0 / count).powf(1.0 - THETA)) / (1.0 - zeta_of(2) / zeta);
        Self { order, entities: count, zeta, eta, alpha: 1.0 / (1.0 - THETA) }
    }

    /// A key from 1 to `newest`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of entities is a positive integer"
    )]
    pub(super) fn key(&self, newest: u64, random: &mut SplitMix64) -> u64 {
        match self.order {
            KeyOrder::Uniform => 1 + random.below(newest),
            // Among those of the beginning, so that the most popular key stays the same while entities are inserted.
            KeyOrder::Zipf => {
                let spread = self.rank(random).wrapping_mul(SPREAD) % self.entities as u64;
                1 + spread.min(newest - 1)
            }
            KeyOrder::Latest => newest - self.rank(random).min(newest - 1),
        }
    }

    /// A rank from 0, by the method of Gray et al. 1994, "Quickly generating billion-record synthetic databases".
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank is positive and below the number of entities"
    )]
    fn rank(&self, random: &mut SplitMix64) -> u64 {
        let unit = random.open_unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(THETA) {
            return 1;
        }
        let rank = self.entities * (self.eta * unit - self.eta + 1.0).powf(self.alpha);
        rank.min(self.entities - 1.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyChooser, KeyOrder, SplitMix64};

    const ENTITIES: u64 = 1000;

    fn counts(order: KeyOrder) -> Vec<u64> {
        let chooser = KeyChooser::new(order, ENTITIES);
        let mut random = SplitMix64::new(1);
        let mut counts = vec![0; ENTITIES as usize];
        for _ in 0..100_000 {
            counts[chooser.key(ENTITIES, &mut random) as usize - 1] += 1;
        }
        counts
    }

    #[test]
    fn uniform_keys_are_all_drawn_equally_often() {
        let counts = counts(KeyOrder::Uniform);
        assert!(counts.iter().all(|count| (50..160).contains(count)));
    }

    #[test]
    fn zipf_draws_the_first_ranks_as_often_as_the_law_says() {
        let mut counts = counts(KeyOrder::Zipf);
        assert!(counts.iter().position(|count| *count == counts[1]) < Some(ENTITIES as usize));
        counts.sort_unstable_by(|one, other| other.cmp(one));
        // The law: the share of rank r is r^-θ / ζ(1000), and ζ is 7.73 for θ = 0.99.
        let share = |rank: usize| counts[rank - 1] as f64 / 100_000.0;
        assert!((share(1) - 0.1294).abs() < 0.005, "{}", share(1));
        assert!((share(2) - 0.0652).abs() < 0.004, "{}", share(2));
        assert!((share(10) - 0.0132).abs() < 0.003, "{}", share(10));
    }

    #[test]
    fn the_most_popular_key_stays_while_entities_are_inserted() {
        let chooser = KeyChooser::new(KeyOrder::Zipf, ENTITIES);
        let most_popular = |newest: u64| {
            let mut random = SplitMix64::new(1);
            let mut counts = vec![0; 2 * ENTITIES as usize];
            for _ in 0..10_000 {
                counts[chooser.key(newest, &mut random) as usize - 1] += 1;
            }
            counts.iter().position(|count| Some(count) == counts.iter().max())
        };
        assert_eq!(most_popular(ENTITIES), most_popular(ENTITIES + 1));
        assert_eq!(most_popular(ENTITIES), most_popular(2 * ENTITIES));
    }

    #[test]
    fn the_latest_are_drawn_most_often_and_none_from_the_future() {
        let counts = counts(KeyOrder::Latest);
        let newest = ENTITIES as usize - 1;
        assert_eq!(counts.iter().max(), Some(&counts[newest]));
        assert!(counts[newest] > 10 * counts[newest / 2].max(1));
        let chooser = KeyChooser::new(KeyOrder::Latest, ENTITIES);
        let mut random = SplitMix64::new(1);
        assert!((0..1000).all(|_| (1..=3).contains(&chooser.key(3, &mut random))));
    }
}
