//! An interval that may be looked at after every pair, for sampling without a planned end: docs/method.md, *Pairs*.
//!
//! A confidence sequence covers at all times at once, so that nobody need plan looks; the price is a wider interval at
//! each of them. This one is the asymptotic sequence of Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas ("Time-uniform
//! central limit theory and asymptotic confidence sequences", Annals of Statistics 2024, theorem 2.2), narrowest around
//! 40 pairs. It holds in the limit only; from 20 pairs on it does in simulation.

use crate::describe::{finite, mean_of, variance_of};
use crate::distribution::two_sided_z;
use crate::{Interval, NoInterval};

/// The sequence starts here; earlier it misleads too often.
pub const FEWEST_PAIRS: usize = 20;
/// Where the interval is narrowest compared with what is possible.
const NARROWEST_AT: f64 = 40.0;

/// The mean of the log ratios so far, with an interval that may be looked at after every pair at one `level` over all
/// looks. It estimates the mean, [`crate::pairs`] the pseudo-median; on the symmetric values of pairs they are one.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below [`FEWEST_PAIRS`], [`NoInterval::AllEqual`], [`NoInterval::NotFinite`].
pub fn anytime_interval(log_ratios: &[f64], level: f64) -> Result<Interval, NoInterval> {
    finite(log_ratios)?;
    let pairs = log_ratios.len();
    if pairs < FEWEST_PAIRS {
        return Err(NoInterval::TooFewProcesses { have: pairs, need: FEWEST_PAIRS });
    }
    if log_ratios.iter().all(|&value| value == log_ratios[0]) {
        return Err(NoInterval::AllEqual);
    }
    let estimate = mean_of(log_ratios);
    let half = variance_of(log_ratios).sqrt() * boundary(pairs as f64, 1.0 - level);
    Ok(Interval { estimate, low: estimate - half, high: estimate + half })
}

/// How many times wider than at one preset look an interval of `level` must be to hold at every number of units.
///
/// Any estimate that is about a mean over units, as a median is of their influences, takes the same factor.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below [`FEWEST_PAIRS`].
pub fn widening(units: usize, level: f64) -> Result<f64, NoInterval> {
    if units < FEWEST_PAIRS {
        return Err(NoInterval::TooFewProcesses { have: units, need: FEWEST_PAIRS });
    }
    Ok(boundary(units as f64, 1.0 - level) * (units as f64).sqrt() / two_sided_z(level))
}

/// The half-width in standard deviations.
fn boundary(pairs: f64, alpha: f64) -> f64 {
    let log = -2.0 * alpha.ln();
    // Any constant keeps the promise; this one makes the interval narrowest at `NARROWEST_AT` pairs.
    let rho_squared = (log + log.ln() + 1.0) / NARROWEST_AT;
    let scaled = pairs * rho_squared;
    (2.0 * (scaled + 1.0) / (pairs * scaled) * ((scaled + 1.0).sqrt() / alpha).ln()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{anytime_interval, boundary, widening};
    use crate::NoInterval;
    use crate::pairs::signed_rank_interval;
    use crate::precision::clustered_quantile;
    use crate::rng::Rng;

    #[test]
    fn the_boundary_by_hand() {
        // rho^2 = (5.99146 + 1.79034 + 1)/40 = .219545, so that 40 rho^2 + 1 = 9.7818.
        let expected = (2.0 * 9.7818 / (40.0 * 8.7818) * (9.7818f64.sqrt() / 0.05).ln()).sqrt();
        assert!((boundary(40.0, 0.05) - expected).abs() < 1e-5);
    }

    #[test]
    fn looking_at_any_time_costs_width() {
        let mut rng = Rng::new(1);
        let values: Vec<f64> = (0..40).map(|_| rng.normal()).collect();
        let width = |found: crate::Interval| found.high - found.low;
        let once = width(signed_rank_interval(&values, 0.95).unwrap());
        let always = width(anytime_interval(&values, 0.95).unwrap());
        assert!(always > 1.3 * once && always < 1.8 * once, "{always} {once}");
    }

    #[test]
    fn a_median_that_is_widened_holds_at_every_look() {
        let mut rng = Rng::new(3);
        let mut plain = 0;
        let mut widened = 0;
        let runs = 300;
        for _ in 0..runs {
            // Lognormal: a mean and a median are not the same.
            let values: Vec<f64> = (0..200).map(|_| (0.5 * rng.normal()).exp()).collect();
            let misses = |factor: fn(usize) -> f64| {
                (20..=200).any(|units| {
                    let seen: Vec<&[f64]> = values[..units].chunks(1).collect();
                    let found = clustered_quantile(&seen, 0.5, 0.95).unwrap();
                    let wider = |end: f64| found.estimate + factor(units) * (end - found.estimate);
                    !(wider(found.low)..=wider(found.high)).contains(&1.0)
                })
            };
            plain += usize::from(misses(|_| 1.0));
            widened += usize::from(misses(|units| widening(units, 0.95).unwrap()));
        }
        assert!(plain > runs / 8 && widened <= runs / 20, "{plain} {widened} of {runs}");
    }

    #[test]
    fn too_few_equal_or_not_a_number_is_refused() {
        let need = NoInterval::TooFewProcesses { have: 19, need: 20 };
        assert_eq!(anytime_interval(&[0.1; 19], 0.95), Err(need));
        assert_eq!(anytime_interval(&[0.1; 20], 0.95), Err(NoInterval::AllEqual));
        assert_eq!(anytime_interval(&[f64::NAN; 20], 0.95), Err(NoInterval::NotFinite));
    }
}
