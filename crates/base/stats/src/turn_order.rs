//! In which order versions take their turns: docs/method.md, *Order*.
//!
//! The order is what makes a comparison fair. Its own coin for every pair makes the log ratio of equal programs
//! symmetric about 0 whatever the machine does meanwhile, and with it the signed-rank law exact (Fisher's randomisation;
//! balanced blocks of orders would make it only nearly so). Versions are numbered from 0, the first being A.

use crate::rng::Rng;

/// The order of a pair, AB or BA by a fair coin.
pub fn pair(rng: &mut Rng) -> [usize; 2] {
    if rng.coin() { [0, 1] } else { [1, 0] }
}

/// The order of a quad, ABBA or BAAB by a fair coin; its value is the mean of its two log ratios, in which linear
/// drift and effects of order cancel ([`crate::pairs::log_ratios`]).
pub fn quad(rng: &mut Rng) -> [usize; 4] {
    let [first, second] = pair(rng);
    [first, second, second, first]
}

/// The orders of `versions` rounds of as many versions: a random cyclic Latin square, in which every version has every
/// position once. Empty for no versions.
///
/// In a cyclic square a version mostly follows the same other one; draw a new square for every block of rounds, so that
/// this averages out. For two versions use [`pair`], whose orders do not depend on each other.
pub fn latin_square(versions: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut names: Vec<usize> = (0..versions).collect();
    let mut turns = names.clone();
    // Both shuffled, every cyclic square is equally likely.
    rng.shuffle(&mut names);
    rng.shuffle(&mut turns);
    turns
        .into_iter()
        .map(|turn| (0..versions).map(|at| names[(turn + at) % versions]).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{latin_square, pair, quad};
    use crate::rng::Rng;

    fn counted<T: Ord>(draws: u32, mut draw: impl FnMut() -> T) -> BTreeMap<T, u32> {
        let mut counts = BTreeMap::new();
        (0..draws).for_each(|_| *counts.entry(draw()).or_default() += 1);
        counts
    }

    #[test]
    fn pairs_are_tossed() {
        let mut rng = Rng::new(1);
        let counts = counted(4000, || pair(&mut rng));
        assert!((1870..2130).contains(&counts[&[0, 1]]) && counts.len() == 2, "{counts:?}");
        // One toss says nothing of the next.
        let alike = (0..4000).filter(|_| pair(&mut rng) == pair(&mut rng)).count();
        assert!((1870..2130).contains(&alike), "{alike}");
    }

    #[test]
    fn quads_cancel_a_linear_drift() {
        let mut rng = Rng::new(2);
        for _ in 0..20 {
            let order = quad(&mut rng);
            let time = |version| -> usize { (0..4).filter(|&at| order[at] == version).sum() };
            assert_eq!(time(0), time(1));
        }
    }

    #[test]
    fn every_version_has_every_turn_once() {
        let mut rng = Rng::new(3);
        for versions in 0..9 {
            let rounds = latin_square(versions, &mut rng);
            assert_eq!(rounds.len(), versions);
            let columns = (0..versions).map(|at| rounds.iter().map(|round| round[at]).collect());
            for mut line in rounds.iter().cloned().chain(columns) {
                let _: &Vec<usize> = &line;
                line.sort_unstable();
                assert!(line.into_iter().eq(0..versions));
            }
        }
    }

    #[test]
    fn every_square_of_three_is_as_likely() {
        let mut rng = Rng::new(4);
        let counts = counted(12_000, || latin_square(3, &mut rng));
        // All 12 Latin squares of order 3 are cyclic.
        assert_eq!(counts.len(), 12);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_seed_repeats() {
        assert_eq!(latin_square(5, &mut Rng::new(5)), latin_square(5, &mut Rng::new(5)));
    }
}
