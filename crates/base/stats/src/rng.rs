//! A small seeded generator of random numbers, so that orders, jitter and simulations can be repeated.
//!
//! xoshiro256++ 1.0 by Blackman and Vigna (public domain, "Scrambled linear pseudorandom number generators",
//! ACM TOMS 2021), seeded by SplitMix64 as its authors advise. Not for cryptography.

/// A seeded generator; the same seed gives the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
    spare_normal: Option<f64>,
}

impl Rng {
    /// A generator whose whole state comes from `seed`; every seed is good, 0 included.
    pub fn new(seed: u64) -> Self {
        let mut mixer = seed;
        let state = std::array::from_fn(|_| split_mix(&mut mixer));
        Self { state, spare_normal: None }
    }

    /// An independent generator drawn from this one, for a part that must not shift the rest.
    pub fn fork(&mut self) -> Self {
        Self::new(self.next_u64())
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..n without bias; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n == 0 {
            return 0;
        }
        // Draws beyond the last whole multiple of n would favour small numbers.
        let limit = u64::MAX - u64::MAX % n;
        loop {
            let draw = self.next_u64();
            if draw < limit {
                return (draw % n) as usize;
            }
        }
    }

    /// A fair coin.
    pub fn coin(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }

    /// Puts the items into a uniformly random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Normal with mean 0 and standard deviation 1 (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        loop {
            let u = 2.0 * self.uniform() - 1.0;
            let v = 2.0 * self.uniform() - 1.0;
            let square = u * u + v * v;
            // Only points inside the unit circle have a uniform direction; its centre has no logarithm.
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare_normal = Some(v * scale);
                return u * scale;
            }
        }
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Rng, split_mix};

    #[test]
    fn split_mix_gives_the_published_sequence() {
        // The reference output for seed 1234567, as printed in the authors' and Rosetta Code's listings.
        let mut state = 1_234_567;
        let drawn: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(
            drawn,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn xoshiro_gives_the_published_sequence() {
        // The reference output for the state 1, 2, 3, 4.
        let mut rng = Rng { state: [1, 2, 3, 4], spare_normal: None };
        let drawn: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn moments_of_normal_and_exponential() {
        let mut rng = Rng::new(1);
        let n = 200_000;
        let mut sum = 0.0;
        let mut squares = 0.0;
        let mut waits = 0.0;
        for _ in 0..n {
            let x = rng.normal();
            sum += x;
            squares += x * x;
            waits += rng.exponential();
        }
        let n = f64::from(n);
        assert!(
            (sum / n).abs() < 0.01
                && (squares / n - 1.0).abs() < 0.02
                && (waits / n - 1.0).abs() < 0.02
        );
    }

    #[test]
    fn every_order_of_three_is_as_likely() {
        let mut rng = Rng::new(2);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|&count| (850..1150).contains(&count)), "{seen:?}");
    }

    #[test]
    fn below_stays_below_and_coin_is_fair() {
        let mut rng = Rng::new(3);
        assert_eq!(rng.below(0), 0);
        assert!((0..1000).all(|_| rng.below(7) < 7));
        let heads = (0..10_000).filter(|_| rng.coin()).count();
        assert!((4800..5200).contains(&heads));
    }

    #[test]
    fn a_fork_differs_and_repeats() {
        let mut one = Rng::new(4);
        let mut two = Rng::new(4);
        let mut first = one.fork();
        let mut second = two.fork();
        assert_eq!(first.next_u64(), second.next_u64());
        assert_ne!(first.next_u64(), one.next_u64());
    }
}
