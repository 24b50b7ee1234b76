//! Long-run variance: what a mean really costs when neighbours depend on each other.
//!
//! Batch means whose number grows with the series, as Glynn & Whitt (1991) require of a stopping rule: batches are
//! doubled until their lag-1 correlation is no larger than chance, and what is left of it is corrected for.

use crate::NoInterval;
use crate::describe::{finite, lag_one, mean_of, variance_of};

/// With fewer batches than this after another doubling, the dependence counts as unresolved.
const FEWEST_BATCHES: usize = 20;
/// A lag-1 correlation of b independent batch means exceeds .84/sqrt(b) one time in five.
pub(crate) const CHANCE: f64 = 0.84;
/// The largest correlation that is corrected for.
pub(crate) const MOST_CORRELATED: f64 = 0.9;

/// The long-run variance of a series and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongRun {
    /// n times the variance of the mean of n values, in the square of the series' unit.
    pub variance: f64,
    /// Integrated autocorrelation: long-run variance over plain variance; 1 for independent values.
    pub tau: f64,
    /// How many independent values the series is worth: n / max(tau, 1).
    pub n_eff: f64,
    /// Degrees of freedom of the variance.
    pub df: f64,
    /// Whether the batches became long enough to look independent; if not, `variance` is too small.
    pub resolved: bool,
}

/// The long-run variance of a series in time order.
///
/// # Errors
/// [`NoInterval::TooFewSamples`] below two values, [`NoInterval::NotFinite`].
pub fn long_run(series: &[f64]) -> Result<LongRun, NoInterval> {
    long_run_with(series, FEWEST_BATCHES)
}

/// [`long_run`] with another fewest number of batches, for short segments.
pub(crate) fn long_run_with(series: &[f64], fewest_batches: usize) -> Result<LongRun, NoInterval> {
    finite(series)?;
    if series.len() < 2 {
        return Err(NoInterval::TooFewSamples);
    }
    let mut size = 1;
    loop {
        let means = batch_means(series, size);
        let count = means.len();
        let correlation = lag_one(&means);
        let resolved = correlation <= CHANCE / (count as f64).sqrt();
        if resolved || count / 2 < fewest_batches {
            return Ok(corrected(series, &means, size, correlation, resolved));
        }
        size *= 2;
    }
}

/// Means of consecutive batches; what does not fill a batch is dropped at the start.
fn batch_means(series: &[f64], size: usize) -> Vec<f64> {
    // Dropped at the start and not at the end, because what is left of a warm-up is there.
    series[series.len() % size..].chunks_exact(size).map(mean_of).collect()
}

fn corrected(
    series: &[f64],
    means: &[f64],
    size: usize,
    correlation: f64,
    resolved: bool,
) -> LongRun {
    let n = series.len() as f64;
    let count = means.len() as f64;
    // A lag-1 correlation of b values is too low by about 1/b.
    let left = (correlation + 1.0 / count).clamp(0.0, MOST_CORRELATED);
    let variance = size as f64 * variance_of(means) * (1.0 + left) / (1.0 - left);
    let plain = variance_of(series);
    let tau = if plain > 0.0 { variance / plain } else { 1.0 };
    LongRun { variance, tau, n_eff: n / tau.max(1.0), df: count - 1.0, resolved }
}

#[cfg(test)]
mod tests {
    use super::long_run;
    use crate::NoInterval;
    use crate::rng::Rng;

    fn autoregression(rho: f64, n: usize, rng: &mut Rng) -> Vec<f64> {
        let mut state = rng.normal();
        let innovation = (1.0 - rho * rho).sqrt();
        (0..n)
            .map(|_| {
                state = rho * state + innovation * rng.normal();
                state
            })
            .collect()
    }

    #[test]
    fn known_variance_of_an_autoregression_within_a_tenth() {
        let mut rng = Rng::new(31);
        for rho in [0.0, 0.5, 0.9] {
            let truth = (1.0 + rho) / (1.0 - rho);
            let series = (0..100).map(|_| autoregression(rho, 20_000, &mut rng));
            let mean =
                series.map(|series| long_run(&series).unwrap().variance / 100.0).sum::<f64>();
            assert!((mean / truth - 1.0).abs() < 0.1, "AR({rho}): {mean} against {truth}");
        }
    }

    #[test]
    fn independent_values_are_worth_about_their_number() {
        let series = autoregression(0.0, 5000, &mut Rng::new(32));
        let found = long_run(&series).unwrap();
        assert!(found.resolved && found.n_eff > 4000.0 && found.n_eff <= 5000.0, "{found:?}");
    }

    #[test]
    fn a_constant_costs_nothing() {
        let found = long_run(&[3.0; 50]).unwrap();
        assert_eq!(
            (found.variance, found.tau, found.n_eff, found.resolved),
            (0.0, 1.0, 50.0, true)
        );
    }

    #[test]
    fn a_line_never_resolves() {
        let line: Vec<f64> = (0..200).map(f64::from).collect();
        assert!(!long_run(&line).unwrap().resolved);
    }

    #[test]
    fn nothing_or_nonsense_is_refused() {
        assert_eq!(long_run(&[1.0]), Err(NoInterval::TooFewSamples));
        assert_eq!(long_run(&[1.0, f64::NAN]), Err(NoInterval::NotFinite));
    }
}
