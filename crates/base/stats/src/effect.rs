//! How far two groups of values lie apart, whatever their scale: for ranking what else changed between two arms.

use crate::NoInterval;
use crate::describe::finite;
use crate::stored_runs::rank_sum_cdf;

/// How far one group lies above another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankEffect {
    /// Cliff's delta: the share of pairs with the later value above the earlier one, less the share with it below. 1
    /// if all are above, -1 if all are below, 0 if neither is likelier (Cliff 1993).
    pub delta: f64,
    /// How likely groups of one law would lie so far apart, two-sided, by the rank-sum law (Mann & Whitney 1947). Ties
    /// count against a difference.
    pub p: f64,
}

/// How far `after` lies above `before`.
///
/// # Errors
/// [`NoInterval::TooFewSamples`] if one is empty, [`NoInterval::NotFinite`].
pub fn rank_effect(before: &[f64], after: &[f64]) -> Result<RankEffect, NoInterval> {
    finite(before)?;
    finite(after)?;
    if before.is_empty() || after.is_empty() {
        return Err(NoInterval::TooFewSamples);
    }
    let mut above = 0;
    let mut below = 0;
    for earlier in before {
        above += after.iter().filter(|later| *later > earlier).count();
        below += after.iter().filter(|later| *later < earlier).count();
    }
    let all = before.len() * after.len();
    // Ties count with the other side, so that they never make a difference look rarer than it is.
    let rarer = (all - above).min(all - below).min(all / 2);
    Ok(RankEffect {
        delta: (above as f64 - below as f64) / all as f64,
        p: (2.0 * rank_sum_cdf(rarer, before.len(), after.len())).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::rank_effect;
    use crate::NoInterval;
    use crate::rng::Rng;

    #[test]
    fn groups_apart_and_alike() {
        let apart = rank_effect(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).unwrap();
        assert_eq!(apart.delta, 1.0);
        // Two of the 70 ways to deal eight values to four and four.
        assert!((apart.p - 2.0 / 70.0).abs() < 1e-12, "{apart:?}");
        let back = rank_effect(&[5.0, 6.0, 7.0, 8.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((back.delta, back.p), (-1.0, apart.p));
        let same = rank_effect(&[0.0; 9], &[0.0; 7]).unwrap();
        assert_eq!((same.delta, same.p), (0.0, 1.0));
        assert_eq!(rank_effect(&[], &[1.0]), Err(NoInterval::TooFewSamples));
        assert_eq!(rank_effect(&[f64::NAN], &[1.0]), Err(NoInterval::NotFinite));
    }

    #[test]
    fn equal_laws_are_seldom_called_apart_with_and_without_ties() {
        let mut rng = Rng::new(5);
        for steps in [1e9, 2.0] {
            let mut small = 0;
            for _ in 0..2000 {
                let mut draw = |n| -> Vec<f64> {
                    (0..n).map(|_| (rng.normal() * steps).round() / steps).collect()
                };
                let one = draw(9);
                let other = draw(14);
                small += usize::from(rank_effect(&one, &other).unwrap().p <= 0.05);
            }
            // 5 % of 2000 is 100 with a deviation of 10.
            assert!(small < 135, "{small} of 2000 with steps of 1/{steps}");
        }
    }
}
