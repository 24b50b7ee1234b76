//! What happened to the two levels of one arm or both: which level moved, or whether only their shares did.

use plumb_stats::describe::median;
use plumb_stats::levels::{LevelPair, LevelsOf};
use plumb_stats::stored_runs::rank_sum_interval;

use crate::estimate::{Estimate, estimate};
use crate::method::CONFIDENCE;
use crate::one_run::levels::share_of;

/// The levels of two arms.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelsCompared {
    /// Whether the first arm has two levels, and the later one; where one has them, the other is parted where it is.
    pub found: [bool; 2],
    /// The later arm's faster level over the first's: a ratio of costs. None where one has nothing there.
    pub faster: Option<Estimate>,
    /// The later arm's slower level over the first's.
    pub slower: Option<Estimate>,
    /// The share of the slower level in the first arm, and in the later one.
    pub slower_share: [Estimate; 2],
    /// What differs by more than chance, and by more than the margin can explain away.
    pub moved: LevelShift,
}

/// What differs between the levels of two arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LevelShift {
    /// The faster level.
    pub faster: bool,
    /// The slower level.
    pub slower: bool,
    /// How much lies on either.
    pub shares: bool,
}

impl LevelsCompared {
    /// The levels of the log costs of processes, each arm's in time order; None where neither has two.
    pub(crate) fn of(first: &[f64], later: &[f64], margin: f64) -> Option<Self> {
        let arms = [first, later];
        let levels = arms.map(|logs| boundary(logs, margin));
        let known = levels[0].or(levels[1])?;
        let parted = [0, 1].map(|arm| {
            let boundary = levels[arm].unwrap_or(known);
            arms[arm].iter().copied().partition::<Vec<f64>, _>(|&log| log <= boundary)
        });
        let [one, other] = &parted;
        let faster = ratio(&one.0, &other.0);
        let slower = ratio(&one.1, &other.1);
        let share = |arm: usize| {
            let boundary = levels[arm].unwrap_or(known);
            let counts = arms[arm].iter().map(|&log| (usize::from(log > boundary), 1));
            share_of(&counts.collect::<Vec<_>>())
        };
        let slower_share = [share(0)?, share(1)?];
        let moved = LevelShift {
            faster: faster.as_ref().is_some_and(|ratio| differs(ratio, margin)),
            slower: slower.as_ref().is_some_and(|ratio| differs(ratio, margin)),
            shares: shares_differ(&slower_share),
        };
        let found = levels.map(|levels| levels.is_some());
        Some(Self { found, faster, slower, slower_share, moved })
    }
}

/// Where the log costs of an arm part into two levels.
fn boundary(logs: &[f64], margin: f64) -> Option<f64> {
    let costs: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
    let views: Vec<&[f64]> = costs.chunks(1).collect();
    let levels = LevelPair::of(&views, margin).filter(|levels| levels.of == LevelsOf::Processes);
    levels.map(|levels| levels.boundary.ln())
}

fn ratio(first: &[f64], later: &[f64]) -> Option<Estimate> {
    let found = rank_sum_interval(first, later, CONFIDENCE);
    let shift = match &found {
        Ok(interval) => interval.estimate,
        Err(_) => median(later)? - median(first)?,
    };
    Some(estimate(shift.exp(), found.map(|interval| interval.map(f64::exp))))
}

/// Whether a ratio's interval excludes equality, and does not lie inside the margin.
fn differs(ratio: &Estimate, margin: f64) -> bool {
    let Ok(ends) = &ratio.interval else { return false };
    let inside = ends.low > 1.0 / (1.0 + margin) && ends.high < 1.0 + margin;
    (ends.low > 1.0 || ends.high < 1.0) && !inside
}

/// Whether the interval of the difference of two shares excludes 0: Newcombe's, of both shares' own intervals.
fn shares_differ([first, later]: &[Estimate; 2]) -> bool {
    let (Ok(one), Ok(other)) = (&first.interval, &later.interval) else { return false };
    let difference = later.value - first.value;
    let below = (later.value - other.low).hypot(one.high - first.value);
    let above = (other.high - later.value).hypot(first.value - one.low);
    difference - below > 0.0 || difference + above < 0.0
}

#[cfg(test)]
mod tests {
    use plumb_stats::rng::Rng;

    use super::{LevelShift, LevelsCompared};

    /// Log costs of so many commands on two levels.
    fn arm(count: usize, faster: f64, slower: f64, share: f64, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let mut one = |_| {
            let level = if rng.uniform() < share { slower } else { faster };
            level.ln() + 0.005 * rng.normal()
        };
        (0..count).map(&mut one).collect()
    }

    fn moved(later: &[f64]) -> LevelShift {
        let first = arm(40, 0.385, 0.487, 0.4, 1);
        LevelsCompared::of(&first, later, 0.01).unwrap().moved
    }

    #[test]
    fn it_is_told_which_level_moved_or_that_only_shares_did() {
        let none = LevelShift::default();
        assert_eq!(moved(&arm(40, 0.385, 0.487, 0.4, 2)), none);
        assert_eq!(moved(&arm(40, 0.385, 0.487, 0.9, 3)), LevelShift { shares: true, ..none });
        assert_eq!(moved(&arm(40, 0.400, 0.487, 0.4, 4)), LevelShift { faster: true, ..none });
        assert_eq!(moved(&arm(40, 0.385, 0.470, 0.4, 5)), LevelShift { slower: true, ..none });
        // Differences inside the margin do not matter.
        assert_eq!(moved(&arm(400, 0.3865, 0.487, 0.4, 6)), none);
    }

    #[test]
    fn an_arm_of_one_level_is_parted_where_the_other_is() {
        let found = LevelsCompared::of(
            &arm(40, 0.385, 0.487, 0.4, 1),
            &arm(40, 0.385, 0.487, 0.0, 2),
            0.01,
        );
        let found = found.unwrap();
        assert_eq!(found.found, [true, false]);
        assert!(found.slower_share[1].value == 0.0 && found.slower.is_none());
        assert!(found.moved.shares && !found.moved.faster, "{found:?}");
        let one = arm(40, 0.385, 0.487, 0.0, 3);
        assert_eq!(LevelsCompared::of(&one, &one, 0.01), None);
    }
}
