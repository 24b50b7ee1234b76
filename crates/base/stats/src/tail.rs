//! How heavy the upper tail is: below an index of 2.5 a mean has no interval worth printing.

use crate::NoInterval;
use crate::describe::{all_finite, median_of};

/// Below this index means are refused an interval. A tail of index a has moments below a only; the flag catches 99 %
/// of series with 5 % Pareto(1.5) outliers, and about 10 % of lognormal ones.
pub const HEAVY_BELOW: f64 = 2.5;

/// Fewer exceedances than this say nothing about a tail.
const FEWEST_EXCEEDANCES: usize = 5;

/// Hill's tail index (Hill 1975) of the top 5 % of x - median; the smaller, the heavier.
///
/// `None` where there are fewer than 100 values, or the top 5 % do not lie above the median.
/// Infinite where the top 5 % are all equal.
pub fn hill_top5(values: &[f64]) -> Option<f64> {
    let exceedances = values.len() / 20;
    if exceedances < FEWEST_EXCEEDANCES || !all_finite(values) {
        return None;
    }
    let centre = median_of(values);
    let mut distances: Vec<f64> = values.iter().map(|value| value - centre).collect();
    let first = values.len() - exceedances;
    let (_, &mut threshold, top) = distances.select_nth_unstable_by(first - 1, f64::total_cmp);
    let logs: f64 = top.iter().map(|distance| (distance / threshold).ln()).sum();
    (threshold > 0.0).then(|| exceedances as f64 / logs)
}

/// The check before an interval of a mean.
pub(crate) fn guard_mean(values: &[f64]) -> Result<(), NoInterval> {
    match hill_top5(values) {
        Some(hill) if hill < HEAVY_BELOW => Err(NoInterval::HeavyTail { hill }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::hill_top5;
    use crate::rng::Rng;

    #[test]
    fn a_pareto_tail_has_nearly_its_index() {
        let mut rng = Rng::new(5);
        let values: Vec<f64> =
            (0..100_000).map(|_| rng.uniform().max(1e-12).powf(-1.0 / 1.5)).collect();
        let hill = hill_top5(&values).unwrap();
        // Below 1.5, because distances are taken from the median and not from 0.
        assert!((1.2..1.35).contains(&hill), "{hill}");
    }

    #[test]
    fn light_tails_have_a_large_index() {
        let mut rng = Rng::new(6);
        let values: Vec<f64> = (0..10_000).map(|_| (0.03 * rng.normal()).exp()).collect();
        assert!(hill_top5(&values).unwrap() > 3.0);
    }

    #[test]
    fn too_little_or_nothing_above_the_median_is_none() {
        assert_eq!(hill_top5(&[1.0; 99]), None);
        assert_eq!(hill_top5(&[1.0; 200]), None);
        let mut spiky = vec![1.0; 200];
        spiky[..20].fill(2.0);
        assert_eq!(hill_top5(&spiky), Some(f64::INFINITY));
    }
}
