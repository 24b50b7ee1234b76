//! What pairs can distinguish here, and how many it takes: docs/method.md, *Pairs*.
//!
//! Both follow from one number, the scale of the pairs: the standard error of the Hodges-Lehmann estimate times the root
//! of the pairs. It is read off the signed-rank interval of one standard error, so that it counts what that estimate
//! suffers of the noise, whatever its shape: a few wild pairs hardly raise it.

use crate::distribution::{normal_cdf, normal_quantile, two_sided_z};
use crate::pairs::signed_rank_interval;
use crate::verdict::LookSchedule;

/// The chance that a change which is distinguished is found at that look.
const POWER: f64 = 0.8;

/// The scale of pairs; about their standard deviation if they are normal. None if they have no interval, or none
/// of some width.
pub fn pair_scale(log_ratios: &[f64]) -> Option<f64> {
    // The half-width of an interval at this level is one standard error.
    let level = 1.0 - 2.0 * normal_cdf(-1.0);
    let interval = signed_rank_interval(log_ratios, level).ok()?;
    let scale = 0.5 * (interval.high - interval.low) * (log_ratios.len() as f64).sqrt();
    (scale > 0.0).then_some(scale)
}

/// The smallest log ratio that `pairs` pairs of this scale show four times in five at one look at `level`; about a
/// relative change.
pub fn told_apart(scale: f64, pairs: usize, level: f64) -> f64 {
    (two_sided_z(level) + normal_quantile(POWER)) * scale / (pairs as f64).sqrt()
}

/// The pairs at the first look of a schedule that shows this log ratio four times in five; None if none does. `level`
/// gives the level of the interval at a look.
pub fn pairs_to_tell(
    log_ratio: f64,
    scale: f64,
    schedule: LookSchedule,
    level: &dyn Fn(usize) -> f64,
) -> Option<usize> {
    schedule.looks().into_iter().find(|&look| told_apart(scale, look, level(look)) <= log_ratio)
}

#[cfg(test)]
mod tests {
    use super::{pair_scale, pairs_to_tell, told_apart};
    use crate::rng::Rng;
    use crate::verdict::{Confidence, LookSchedule, Verdict, judge_pairs};

    fn mean_scale(pairs: usize, noise: fn(&mut Rng) -> f64) -> f64 {
        let mut rng = Rng::new(5);
        let scales: Vec<f64> = (0..400)
            .filter_map(|_| pair_scale(&(0..pairs).map(|_| noise(&mut rng)).collect::<Vec<_>>()))
            .collect();
        scales.iter().sum::<f64>() / scales.len() as f64
    }

    #[test]
    fn the_scale_of_normal_pairs_is_about_their_deviation() {
        for pairs in [8, 12, 40, 200] {
            let scale = mean_scale(pairs, Rng::normal);
            assert!((0.9..1.25).contains(&scale), "{pairs}: {scale}");
        }
        let wild =
            mean_scale(
                40,
                |rng| if rng.uniform() < 0.1 { 50.0 * rng.normal() } else { rng.normal() },
            );
        assert!((1.0..2.0).contains(&wild), "{wild}");
        assert_eq!(pair_scale(&[0.1; 9]), None);
        assert_eq!(pair_scale(&[0.1; 7]), None);
    }

    #[test]
    fn a_change_that_is_told_apart_is_found_four_times_in_five() {
        let schedule = LookSchedule::Long;
        let scale = 0.03;
        let mut rng = Rng::new(6);
        for change in [0.01_f64, 0.03] {
            let log = change.ln_1p();
            let level = |look| schedule.level(Confidence::NinetyFive, look);
            let pairs = pairs_to_tell(log, scale, schedule, &level).unwrap();
            let level = schedule.level(Confidence::NinetyFive, pairs);
            let found = (0..300).filter(|_| {
                let logs: Vec<f64> = (0..pairs).map(|_| log + scale * rng.normal()).collect();
                judge_pairs(&logs, level, 1e-6).unwrap().verdict == Verdict::Slower
            });
            // The look may come later than it must, and the scale of normal pairs is 1.023 deviations.
            let found = found.count();
            assert!((225..=298).contains(&found), "{change}: {found} of 300 with {pairs} pairs");
            assert!(told_apart(scale, pairs, level) <= log);
        }
        let level = |look| schedule.level(Confidence::NinetyFive, look);
        assert_eq!(pairs_to_tell(1e-6, 1.0, schedule, &level), None);
    }
}
