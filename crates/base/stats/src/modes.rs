//! Whether processes fall into two groups, as they do where layout or page placement has two outcomes.

use crate::describe::{all_finite, mad_around, median_of};

/// Each group holds at least this share of the processes.
const SMALLEST_SHARE: f64 = 0.2;
/// The gap between the groups is larger than this many MADs of the larger group.
const GAP_IN_MADS: f64 = 3.0;

/// Two groups of processes, in the unit of the medians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// The median of the lower group.
    pub low: f64,
    /// The median of the upper group.
    pub high: f64,
    /// The part of the processes in the upper group, from .2 to .8.
    pub share_high: f64,
}

/// The two groups that the largest gap between process medians divides, where there are two (docs/method.md, *Edge cases*).
///
/// `None` for one group, fewer than five processes, or a value that is not finite.
pub fn bimodal(process_medians: &[f64]) -> Option<Modes> {
    if process_medians.len() < 5 || !all_finite(process_medians) {
        return None;
    }
    let mut sorted = process_medians.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let gap_before = |&split: &usize| sorted[split] - sorted[split - 1];
    let split = (1..sorted.len()).max_by(|a, b| gap_before(a).total_cmp(&gap_before(b)))?;
    let (below, above) = sorted.split_at(split);
    let larger = if above.len() > below.len() { above } else { below };
    let smaller = sorted.len() - larger.len();
    let spread = mad_around(larger, median_of(larger));
    let apart = gap_before(&split) > GAP_IN_MADS * spread
        && smaller as f64 >= SMALLEST_SHARE * sorted.len() as f64;
    let share_high = above.len() as f64 / sorted.len() as f64;
    apart.then(|| Modes { low: median_of(below), high: median_of(above), share_high })
}

#[cfg(test)]
mod tests {
    use super::bimodal;

    #[test]
    fn two_groups_are_told_with_their_shares() {
        let modes = bimodal(&[1.0, 1.01, 1.02, 1.01, 1.08, 1.09, 1.03, 1.02, 1.01, 1.085]).unwrap();
        assert_eq!((modes.low, modes.high, modes.share_high), (1.01, 1.085, 0.3));
    }

    #[test]
    fn one_group_an_outlier_or_too_few_are_none() {
        assert_eq!(bimodal(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5]), None);
        assert_eq!(bimodal(&[1.0, 1.01, 1.0, 1.02, 1.01, 1.0, 9.0]), None);
        assert_eq!(bimodal(&[1.0, 2.0]), None);
        assert_eq!(bimodal(&[2.0; 8]), None);
        assert_eq!(bimodal(&[1.0, 1.0, 1.0, 2.0, 2.0, f64::NAN]), None);
    }
}
