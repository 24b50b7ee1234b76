//! The resolution of a machine, from comparing programs with themselves: docs/method.md, *Audit*.

use crate::describe::finite;
use crate::distribution::{binomial_cdf, normal_quantile, two_sided_t};
use crate::outlook::told_apart;
use crate::precision::CONFIDENCE;
use crate::{Interval, NoInterval};

/// Standard error of a mean over that of the Hodges-Lehmann estimate, for normal values: sqrt(3 / pi).
const EFFICIENCY: f64 = 0.977_205_023_805_84;
/// How rarely chance alone may break a promise.
const RARE: f64 = 0.01;
/// How rarely noise alone may look like builds that differ.
const BY_NOISE: f64 = 0.02;
/// The fewest comparisons of a program with itself that give a noise floor.
pub const FEWEST_COMPARISONS: usize = 5;

/// The smallest log ratio that `pairs` pairs, whose log ratios have standard deviation `sd`, show four times in five at
/// one look at `level`; about a relative change.
pub fn detectable(sd: f64, pairs: usize, level: f64) -> f64 {
    told_apart(sd / EFFICIENCY, pairs, level)
}

/// The log ratio that a program compared with itself once more stays inside with a chance of 95 %, up or down: no
/// margin below it should be trusted on this machine.
///
/// `estimates` are the log ratios of programs compared with themselves, whose true value is 0: a prediction interval by
/// Student's t with as many degrees of freedom as values.
///
/// # Errors
/// [`NoInterval::TooFewSamples`] below [`FEWEST_COMPARISONS`], [`NoInterval::NotFinite`].
pub fn noise_floor(estimates: &[f64]) -> Result<f64, NoInterval> {
    finite(estimates)?;
    if estimates.len() < FEWEST_COMPARISONS {
        return Err(NoInterval::TooFewSamples);
    }
    let count = estimates.len() as f64;
    // Squares around 0, not around the mean: the true value is known, so no degree of freedom is lost.
    let squares: f64 = estimates.iter().map(|estimate| estimate * estimate).sum();
    Ok(two_sided_t(CONFIDENCE, count) * (squares / count).sqrt())
}

/// How far builds of one program differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BuildSpread {
    /// More than the noise of their comparisons explains: the log ratio that one more build stays inside with a chance
    /// of 95 %, without that noise.
    BeyondNoise(f64),
    /// Noise explains it: the same bound, noise included, is an upper limit.
    WithinNoise(f64),
}

/// How far builds differ whose log ratios to a first build are these, each with its standard error from so many pairs.
///
/// Cochran's Q (1954) decides whether noise explains them; the variance beyond noise is the mean square less the mean
/// squared error. An error from few pairs is itself uncertain, so its square is inflated as that of Student's t.
///
/// # Errors
/// [`NoInterval::TooFewSamples`] below [`FEWEST_COMPARISONS`], [`NoInterval::NotFinite`].
pub fn build_spread(builds: &[BuildEstimate]) -> Result<BuildSpread, NoInterval> {
    let logs: Vec<f64> = builds.iter().map(|build| build.log_ratio).collect();
    let bound = noise_floor(&logs)?;
    let count = builds.len() as f64;
    let mut q = 0.0;
    let mut noise = 0.0;
    for build in builds {
        let df = build.pairs as f64 - 1.0;
        let squared_error = build.error.powi(2) * df / (df - 2.0).max(1.0);
        finite(&[squared_error])?;
        q += build.log_ratio.powi(2) / squared_error.max(f64::MIN_POSITIVE);
        noise += squared_error / count;
    }
    if q <= chi_squared_beyond(count) {
        return Ok(BuildSpread::WithinNoise(bound));
    }
    let square = (logs.iter().map(|log| log * log).sum::<f64>() / count - noise).max(0.0);
    Ok(BuildSpread::BeyondNoise(two_sided_t(CONFIDENCE, count) * square.sqrt()))
}

/// One build compared with the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildEstimate {
    /// The estimate by Hodges and Lehmann.
    pub log_ratio: f64,
    /// The standard error of that estimate.
    pub error: f64,
    /// The number of pairs.
    pub pairs: usize,
}

/// What a chi-squared variable exceeds with the chance [`BY_NOISE`], by the cube root of Wilson & Hilferty (1931).
fn chi_squared_beyond(df: f64) -> f64 {
    let ninth = 2.0 / (9.0 * df);
    df * (1.0 - ninth + normal_quantile(1.0 - BY_NOISE) * ninth.sqrt()).powi(3)
}

/// The share of `trials` that were `hits`, such as wrong verdicts, with its exact interval (Clopper & Pearson 1934).
///
/// # Errors
/// [`NoInterval::TooFewSamples`] for no trials.
pub fn share_interval(hits: u64, trials: u64, level: f64) -> Result<Interval, NoInterval> {
    if trials == 0 {
        return Err(NoInterval::TooFewSamples);
    }
    let tail = 0.5 * (1.0 - level);
    let low = if hits == 0 { 0.0 } else { share_where(hits - 1, trials, 1.0 - tail) };
    let high = if hits >= trials { 1.0 } else { share_where(hits, trials, tail) };
    Ok(Interval { estimate: hits as f64 / trials as f64, low, high })
}

/// The largest number of wrong verdicts among `trials` that chance explains, if a verdict is wrong with the chance
/// `promised`: one set of trials in a hundred has more.
#[must_use]
pub fn wrong_by_chance(trials: u64, promised: f64) -> u64 {
    (0..trials).find(|&wrong| binomial_cdf(wrong, trials, promised) >= 1.0 - RARE).unwrap_or(trials)
}

/// The share with P(X <= `hits`) = `probability`, by halving: the probability falls as the share rises.
fn share_where(hits: u64, trials: u64, probability: f64) -> f64 {
    let mut low = 0.0;
    let mut high = 1.0;
    // 2^-60 is less than the rounding of a share.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if binomial_cdf(hits, trials, middle) > probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::{
        BuildEstimate, BuildSpread, build_spread, chi_squared_beyond, detectable, noise_floor,
        share_interval, wrong_by_chance,
    };
    use crate::NoInterval;
    use crate::outlook::pair_scale;
    use crate::pairs::{hodges_lehmann, signed_rank_interval};
    use crate::rng::Rng;

    /// Builds whose effects have this deviation, measured in pairs with noise of deviation 1.
    fn simulated(rng: &mut Rng, builds: usize, pairs: usize, effect: f64) -> BuildSpread {
        let mut estimates = Vec::new();
        for _ in 0..builds {
            let centre = effect * rng.normal();
            let logs: Vec<f64> = (0..pairs).map(|_| centre + rng.normal()).collect();
            estimates.push(BuildEstimate {
                log_ratio: hodges_lehmann(&logs).unwrap(),
                error: pair_scale(&logs).unwrap() / (pairs as f64).sqrt(),
                pairs,
            });
        }
        build_spread(&estimates).unwrap()
    }

    #[test]
    fn builds_of_one_layout_differ_by_noise_alone() {
        // qchisq(.98, c(10, 20)) of R.
        assert!((chi_squared_beyond(10.0) - 21.16).abs() < 0.05);
        assert!((chi_squared_beyond(20.0) - 35.02).abs() < 0.05);
        let mut rng = Rng::new(8);
        for (builds, pairs) in [(10, 14), (10, 40), (20, 18)] {
            let wrong = (0..400)
                .filter(|_| {
                    let found = simulated(&mut rng, builds, pairs, 0.0);
                    matches!(found, BuildSpread::BeyondNoise(_))
                })
                .count();
            assert!(wrong <= 16, "{builds} builds, {pairs} pairs: {wrong} of 400");
        }
    }

    #[test]
    fn layouts_that_differ_twice_as_much_as_noise_are_found_and_bounded_without_it() {
        let mut rng = Rng::new(9);
        let effect = 2.0 / 40_f64.sqrt();
        let mut bounds = Vec::new();
        for _ in 0..400 {
            if let BuildSpread::BeyondNoise(bound) = simulated(&mut rng, 10, 40, effect) {
                bounds.push(bound);
            }
        }
        assert!(bounds.len() >= 360, "{} of 400", bounds.len());
        // 95 % of builds lie within 1.96 deviations; Student's t of 10 values is 2.23.
        let middle = crate::describe::median(&bounds).unwrap() / effect;
        assert!((1.9..2.5).contains(&middle), "{middle}");
        assert_eq!(build_spread(&[]), Err(NoInterval::TooFewSamples));
    }

    #[test]
    fn chance_explains_some_wrong_verdicts_and_not_many() {
        // qbinom(.99, n, .05) of R.
        assert_eq!([20, 100, 540].map(|trials| wrong_by_chance(trials, 0.05)), [4, 11, 39]);
        assert_eq!(wrong_by_chance(0, 0.05), 0);
    }

    #[test]
    fn what_is_detectable_is_detected_four_times_in_five() {
        let mut rng = Rng::new(1);
        let effect = detectable(0.02, 20, 0.95);
        let found = (0..2000)
            .filter(|_| {
                let logs: Vec<f64> = (0..20).map(|_| effect + 0.02 * rng.normal()).collect();
                signed_rank_interval(&logs, 0.95).unwrap().low > 0.0
            })
            .count();
        assert!((1510..1690).contains(&found), "{found}");
    }

    #[test]
    fn nineteen_of_twenty_stay_under_the_floor() {
        let mut rng = Rng::new(2);
        let inside = (0..4000)
            .filter(|_| {
                let seen: Vec<f64> = (0..20).map(|_| rng.normal()).collect();
                rng.normal().abs() <= noise_floor(&seen).unwrap()
            })
            .count();
        assert!((3745..3855).contains(&inside), "{inside}");
        assert_eq!(noise_floor(&[0.0; 4]), Err(NoInterval::TooFewSamples));
        assert_eq!(noise_floor(&[0.0; 5]), Ok(0.0));
        assert_eq!(noise_floor(&[f64::NAN; 9]), Err(NoInterval::NotFinite));
    }

    #[test]
    fn shares_have_the_printed_bounds() {
        // Of 20: none up to 1 - .025^(1/20), one .0013 to .2487 (tables of Clopper and Pearson).
        let bounds = |hits| share_interval(hits, 20, 0.95).map(|found| (found.low, found.high));
        let (low, high) = bounds(0).unwrap();
        assert!(low == 0.0 && (high - 0.168_433).abs() < 1e-6);
        let (low, high) = bounds(1).unwrap();
        assert!((low - 0.001_265).abs() < 1e-6 && (high - 0.248_733).abs() < 1e-6);
        let (low, high) = bounds(20).unwrap();
        assert!((low - (1.0 - 0.168_433)).abs() < 1e-6 && high == 1.0);
        assert_eq!(share_interval(0, 0, 0.95), Err(NoInterval::TooFewSamples));
    }
}
