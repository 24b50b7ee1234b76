//! When to stop measuring, and the interval to print: METHOD sections 1.3 and 1.4.
//!
//! Mode P, the default: samples come in clusters, one per fresh process, and only processes are independent. Mode S:
//! one long series from a single process, whose dependence is measured. In both the interval is made of order
//! statistics, which hold for any shape of noise: bimodal, skewed, heavy-tailed.
//!
//! Looking at the data again and again costs coverage; each look therefore has the level [`PER_LOOK_LEVEL`], so that
//! the interval at which sampling stops still covers at least 95 %.
//!
//! # The clustered interval
//! A value x is too low for the q-quantile if too many samples lie above it, judged between processes: with r_p the
//! number of samples of process p up to x, less q times their number, x is refused where
//! (sum r)^2 > t^2 sum r^2, t of Student with P - 1 degrees of freedom. The interval is all values that are not
//! refused. The sum of squares is taken around 0, which is where r would be centred if x were the quantile, and not
//! around its mean: at 10 processes, of which none or one happened to fall into a slow mode, that is the difference
//! between .915 and .95 coverage of the stopped interval, and it costs nothing where processes are many.

use crate::describe::{finite, mean_of, order_statistic, quantile_in, variance_of};
use crate::distribution::{two_sided_t, two_sided_z};
use crate::long_run::long_run;
use crate::{Interval, NoInterval, tail};

/// The level of the interval at each look; stopping at the first look that is precise enough leaves 95 %.
pub const PER_LOOK_LEVEL: f64 = 0.97;
/// Processes before the first look.
pub const FIRST_LOOK: usize = 10;
/// Processes before the first look where a sample is a process, and a process thus gives one number.
pub const FIRST_LOOK_SINGLE: usize = 13;
/// Samples before the first look in a single process (mode S).
pub const FIRST_LOOK_SERIAL: usize = 100;
/// Effective samples before sampling in a single process may stop: with fewer, the dependence that was measured is
/// too often an underestimate (coverage .93 under AR(.9) and AR(.98) without this rule).
const FEWEST_TO_STOP: f64 = 80.0;
/// A tail quantile needs this many effective samples beyond it.
const FEWEST_BEYOND: f64 = 10.0;
/// Quantiles nearer to an end than this are tails.
const TAIL: f64 = 0.25;
/// An interval is never narrower than independent samples would give at this level.
const FLOOR_LEVEL: f64 = 0.95;

/// The numbers of processes (or samples) at which to look: `first` times 1.25, 1.25^2 and so on, rounded up.
///
/// `looks(10)` gives 10, 13, 16, 20, 25, 31, 39 without end.
pub fn looks(first: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first as f64), |look| Some(look * 1.25))
        .map(|look| look.ceil() as usize)
}

/// The fewest processes that can give an interval of `level`: 7 for .95, 8 for .97.
pub fn fewest_processes(level: f64) -> usize {
    let possible =
        |&processes: &usize| two_sided_t(level, processes as f64 - 1.0).powi(2) < processes as f64;
    (2..100).find(possible).unwrap_or(100)
}

/// Mode P: the `q`-quantile over processes, each a slice of steady samples, with its interval at `level`.
///
/// Empty processes are ignored. Processes of one sample each are fine: the interval then is that of a binomial.
/// Ties are kept together, so that rounded times only widen the interval.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below [`fewest_processes`]; [`NoInterval::TooFewSamples`] where fewer than ten
/// effective samples lie beyond a tail quantile; [`NoInterval::OutOfRange`] where a bound would lie outside the
/// sample, or `q` or `level` outside (0, 1); [`NoInterval::NotFinite`].
pub fn clustered_quantile(
    processes: &[&[f64]],
    q: f64,
    level: f64,
) -> Result<Interval, NoInterval> {
    interior(q, level)?;
    let processes = filled(processes, level)?;
    let pool = by_value(&processes);
    let estimate = quantile_in(&mut pool.iter().map(|sample| sample.0).collect::<Vec<_>>(), q);
    let mut below = Below::nothing(&processes, q, level);
    let lowest_refused = below.too_few();
    let (mut low, mut high) = (None, None);
    for ties in pool.chunk_by(|one, next| one.0 == next.0) {
        if !below.too_many() {
            high = Some(ties[0].0);
        }
        let was_short = below.sum < 0.0;
        ties.iter().for_each(|&(_, process)| below.count(process));
        if was_short && below.sum >= 0.0 {
            enough_beyond(q, below.effective())?;
        }
        if !below.too_few() {
            low = low.or(Some(ties[0].0));
        }
    }
    match (low, high) {
        (Some(low), Some(high)) if lowest_refused && below.too_many() => {
            Ok(Interval { estimate, low: low.min(estimate), high: high.max(estimate) })
        }
        _ => Err(NoInterval::OutOfRange),
    }
}

/// Mode P for the mean: t on the means of processes.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below [`fewest_processes`]; [`NoInterval::HeavyTail`]; [`NoInterval::AllEqual`]
/// where all means are; [`NoInterval::OutOfRange`] for a `level` outside (0, 1); [`NoInterval::NotFinite`].
pub fn clustered_mean(processes: &[&[f64]], level: f64) -> Result<Interval, NoInterval> {
    interior(0.5, level)?;
    let processes = filled(processes, level)?;
    tail::guard_mean(&processes.concat())?;
    let means: Vec<f64> = processes.iter().map(|samples| mean_of(samples)).collect();
    let (count, estimate) = (means.len() as f64, mean_of(&means));
    let half = two_sided_t(level, count - 1.0) * (variance_of(&means) / count).sqrt();
    if half == 0.0 {
        return Err(NoInterval::AllEqual);
    }
    Ok(Interval { estimate, low: estimate - half, high: estimate + half })
}

/// A quantile of one long series, with what its dependence cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Serial {
    /// The quantile and its interval.
    pub interval: Interval,
    /// Integrated autocorrelation of "below the quantile": 1 for independent samples.
    pub tau: f64,
    /// How many independent samples the series is worth for this quantile.
    pub n_eff: f64,
}

impl Serial {
    /// Whether sampling may stop at this relative half-width: the interval is narrow enough, and rests on enough
    /// effective samples (80) to trust the dependence that was measured.
    pub fn may_stop(&self, precision: f64) -> bool {
        self.n_eff >= FEWEST_TO_STOP && self.interval.relative_half_width() <= precision
    }
}

/// Mode S: the `q`-quantile of samples of one process in time order, with its interval at `level`.
///
/// Says nothing about other processes: layout and regime are not sampled.
///
/// # Errors
/// [`NoInterval::Unresolved`] where the dependence outlasts the series; [`NoInterval::TooFewSamples`] where fewer
/// than ten effective samples lie beyond the quantile; [`NoInterval::OutOfRange`], [`NoInterval::NotFinite`].
pub fn serial_quantile(samples: &[f64], q: f64, level: f64) -> Result<Serial, NoInterval> {
    finite(samples)?;
    interior(q, level)?;
    if samples.is_empty() {
        return Err(NoInterval::TooFewSamples);
    }
    let mut pool = samples.to_vec();
    let estimate = quantile_in(&mut pool, q);
    let shares = shares_below(samples, estimate, q);
    let dependence = long_run(&shares)?;
    if !dependence.resolved {
        return Err(NoInterval::Unresolved);
    }
    if dependence.n_eff * q.min(1.0 - q) < FEWEST_BEYOND {
        return Err(NoInterval::TooFewSamples);
    }
    let n = samples.len() as f64;
    let independent = two_sided_z(level) * (n * q * (1.0 - q)).sqrt();
    let dependent = two_sided_t(level, dependence.df) * (n * dependence.variance).sqrt();
    let interval = around(&mut pool, estimate, q, independent.max(dependent))?;
    Ok(Serial { interval, tau: dependence.tau, n_eff: dependence.n_eff })
}

/// Mode S for the mean: one long series with its interval, t on the long-run variance.
///
/// # Errors
/// [`NoInterval::HeavyTail`] where the upper tail makes any interval of a mean worthless,
/// [`NoInterval::Unresolved`], [`NoInterval::AllEqual`], [`NoInterval::TooFewSamples`], [`NoInterval::NotFinite`].
pub fn serial_mean(samples: &[f64], level: f64) -> Result<Interval, NoInterval> {
    let dependence = long_run(samples)?;
    interior(0.5, level)?;
    tail::guard_mean(samples)?;
    if !dependence.resolved {
        return Err(NoInterval::Unresolved);
    }
    if dependence.variance == 0.0 {
        return Err(NoInterval::AllEqual);
    }
    let estimate = mean_of(samples);
    let half =
        two_sided_t(level, dependence.df) * (dependence.variance / samples.len() as f64).sqrt();
    Ok(Interval { estimate, low: estimate - half, high: estimate + half })
}

/// The processes that have samples, where they are enough.
fn filled<'a>(processes: &[&'a [f64]], level: f64) -> Result<Vec<&'a [f64]>, NoInterval> {
    let filled: Vec<&[f64]> =
        processes.iter().copied().filter(|samples| !samples.is_empty()).collect();
    filled.iter().try_for_each(|samples| finite(samples))?;
    let (have, need) = (filled.len(), fewest_processes(level));
    if have < need { Err(NoInterval::TooFewProcesses { have, need }) } else { Ok(filled) }
}

/// All samples with the index of their process, from the smallest.
fn by_value(processes: &[&[f64]]) -> Vec<(f64, usize)> {
    let owned = |(owner, samples): (usize, &&[f64])| {
        samples.iter().map(|&x| (x, owner)).collect::<Vec<_>>()
    };
    let mut pool: Vec<(f64, usize)> = processes.iter().enumerate().flat_map(owned).collect();
    pool.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    pool
}

/// Refuses a quantile or a level outside (0, 1).
fn interior(q: f64, level: f64) -> Result<(), NoInterval> {
    let inside = |p: f64| p > 0.0 && p < 1.0;
    if inside(q) && inside(level) { Ok(()) } else { Err(NoInterval::OutOfRange) }
}

/// Refuses a tail quantile with too few effective samples beyond it.
fn enough_beyond(q: f64, effective: f64) -> Result<(), NoInterval> {
    let beyond = q.min(1.0 - q);
    let enough = beyond >= TAIL || effective * beyond >= FEWEST_BEYOND;
    if enough { Ok(()) } else { Err(NoInterval::TooFewSamples) }
}

/// How many samples of each process lie below a value that moves up, against how many should.
struct Below {
    /// For each process, samples below less q times its samples.
    excess: Vec<f64>,
    sum: f64,
    squares: f64,
    /// The variance of `sum` if samples were independent.
    independent: f64,
    samples: f64,
    t_squared: f64,
    floor: f64,
}

impl Below {
    fn nothing(processes: &[&[f64]], q: f64, level: f64) -> Self {
        let excess: Vec<f64> = processes.iter().map(|samples| -q * samples.len() as f64).collect();
        let samples: usize = processes.iter().map(|samples| samples.len()).sum();
        let independent = samples as f64 * q * (1.0 - q);
        Self {
            sum: excess.iter().sum(),
            squares: excess.iter().map(|r| r * r).sum(),
            independent,
            samples: samples as f64,
            t_squared: two_sided_t(level, processes.len() as f64 - 1.0).powi(2),
            floor: two_sided_z(level.min(FLOOR_LEVEL)) * independent.sqrt(),
            excess,
        }
    }

    /// Counts one more sample of a process as below.
    fn count(&mut self, process: usize) {
        self.squares += 2.0 * self.excess[process] + 1.0;
        self.excess[process] += 1.0;
        self.sum += 1.0;
    }

    fn significant(&self) -> bool {
        self.sum.abs() > self.floor && self.sum * self.sum > self.t_squared * self.squares
    }

    fn too_few(&self) -> bool {
        self.sum < 0.0 && self.significant()
    }

    fn too_many(&self) -> bool {
        self.sum > 0.0 && self.significant()
    }

    /// How many independent samples these are worth.
    fn effective(&self) -> f64 {
        let clustered = self.squares - self.sum * self.sum / self.excess.len() as f64;
        self.samples / (clustered / self.independent).max(1.0)
    }
}

/// For each sample whether it lies below the estimate, as 1 or 0. Samples that equal it count for the same part each,
/// chosen so that all together count for nq: one half at an odd sample's median.
fn shares_below(samples: &[f64], estimate: f64, q: f64) -> Vec<f64> {
    let less = samples.iter().filter(|&&sample| sample < estimate).count() as f64;
    let equal = samples.iter().filter(|&&sample| sample == estimate).count() as f64;
    let tie =
        if equal > 0.0 { ((samples.len() as f64 * q - less) / equal).clamp(0.0, 1.0) } else { 0.0 };
    let share = |&sample: &f64| if sample == estimate { tie } else { f64::from(sample < estimate) };
    samples.iter().map(share).collect()
}

/// The interval between the order statistics `reach` ranks to both sides of nq.
fn around(pool: &mut [f64], estimate: f64, q: f64, reach: f64) -> Result<Interval, NoInterval> {
    let centre = pool.len() as f64 * q;
    let (low, high) = ((centre - reach).floor(), (centre + reach).ceil() + 1.0);
    if low < 1.0 || high > pool.len() as f64 {
        return Err(NoInterval::OutOfRange);
    }
    let low = order_statistic(pool, low as usize);
    let high = order_statistic(pool, high as usize);
    Ok(Interval { estimate, low, high })
}

#[cfg(test)]
mod tests {
    use super::{
        FIRST_LOOK, FIRST_LOOK_SERIAL, clustered_mean, clustered_quantile, fewest_processes, looks,
        serial_mean, serial_quantile,
    };
    use crate::distribution::binomial_cdf;
    use crate::rng::Rng;
    use crate::{Interval, NoInterval};

    fn views(processes: &[Vec<f64>]) -> Vec<&[f64]> {
        processes.iter().map(Vec::as_slice).collect()
    }

    fn singles(count: usize) -> Vec<Vec<f64>> {
        (1..=count).map(|value| vec![value as f64]).collect()
    }

    fn normals(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..count).map(|_| 100.0 + rng.normal()).collect()
    }

    #[test]
    fn looks_grow_by_a_quarter_rounded_up() {
        assert_eq!(
            looks(FIRST_LOOK).take(9).collect::<Vec<_>>(),
            [10, 13, 16, 20, 25, 31, 39, 48, 60]
        );
        assert_eq!(looks(FIRST_LOOK_SERIAL).take(4).collect::<Vec<_>>(), [100, 125, 157, 196]);
        assert_eq!(looks(13).take(4).collect::<Vec<_>>(), [13, 17, 21, 26]);
    }

    #[test]
    fn ranks_of_single_samples_are_the_narrowest_that_a_binomial_allows() {
        for (count, low) in [(13, 3.0), (16, 4.0), (20, 5.0), (40, 13.0)] {
            let found = clustered_quantile(&views(&singles(count)), 0.5, 0.97).unwrap();
            assert_eq!(
                (found.low, found.high),
                (low, count as f64 + 1.0 - low),
                "{count} processes"
            );
            let miss = 2.0 * binomial_cdf(low as u64 - 1, count as u64, 0.5);
            assert!(miss <= 0.03, "{count} processes: {miss}");
        }
    }

    #[test]
    fn fewest_processes_of_a_level() {
        assert_eq!((fewest_processes(0.95), fewest_processes(0.97)), (7, 8));
        let too_few = NoInterval::TooFewProcesses { have: 7, need: 8 };
        assert_eq!(clustered_quantile(&views(&singles(7)), 0.5, 0.97), Err(too_few));
        assert_eq!(clustered_mean(&views(&singles(7)), 0.97), Err(too_few));
        assert!(clustered_quantile(&views(&singles(8)), 0.5, 0.97).is_ok());
    }

    #[test]
    fn empty_processes_do_not_count() {
        let mut processes = singles(13);
        processes.push(Vec::new());
        let with = clustered_quantile(&views(&processes), 0.5, 0.97);
        assert_eq!(with, clustered_quantile(&views(&singles(13)), 0.5, 0.97));
    }

    #[test]
    fn equal_values_give_an_interval_of_no_width() {
        let processes = vec![vec![25.0; 10]; 10];
        let point = Interval { estimate: 25.0, low: 25.0, high: 25.0 };
        assert_eq!(clustered_quantile(&views(&processes), 0.5, 0.97), Ok(point));
        assert_eq!(clustered_mean(&views(&processes), 0.97), Err(NoInterval::AllEqual));
        assert_eq!(serial_mean(&[25.0; 200], 0.97), Err(NoInterval::AllEqual));
    }

    #[test]
    fn one_slow_process_is_excluded_among_thirteen_but_not_among_ten() {
        let fast: Vec<f64> = (0..10).map(|value| 100.0 + f64::from(value) / 10.0).collect();
        let slow: Vec<f64> = fast.iter().map(|value| value + 8.0).collect();
        let high_among = |count: usize| {
            let mut processes = vec![fast.clone(); count - 1];
            processes.push(slow.clone());
            clustered_quantile(&views(&processes), 0.5, 0.97).unwrap().high
        };
        assert_eq!(high_among(10), 108.0);
        assert!(high_among(13) < 101.0);
    }

    #[test]
    fn tails_need_samples_beyond_them() {
        let processes: Vec<Vec<f64>> = (0..10).map(|seed| normals(10, seed)).collect();
        assert_eq!(
            clustered_quantile(&views(&processes), 0.99, 0.97),
            Err(NoInterval::TooFewSamples)
        );
        let processes: Vec<Vec<f64>> = (0..20).map(|seed| normals(100, seed)).collect();
        assert!(clustered_quantile(&views(&processes), 0.99, 0.97).is_ok());
        assert_eq!(serial_quantile(&normals(500, 1), 0.99, 0.97), Err(NoInterval::TooFewSamples));
        assert!(serial_quantile(&normals(2000, 1), 0.99, 0.97).is_ok());
    }

    #[test]
    fn a_walk_is_unresolved() {
        let mut rng = Rng::new(3);
        let mut level = 0.0;
        let walk: Vec<f64> = (0..300)
            .map(|_| {
                level += rng.normal();
                level
            })
            .collect();
        assert_eq!(serial_quantile(&walk, 0.5, 0.97), Err(NoInterval::Unresolved));
        assert_eq!(serial_mean(&walk, 0.97), Err(NoInterval::Unresolved));
    }

    #[test]
    fn stopping_in_one_process_takes_eighty_effective_samples() {
        let short = serial_quantile(&normals(60, 4), 0.5, 0.97).unwrap();
        assert!(short.interval.relative_half_width() < 0.01 && !short.may_stop(0.01));
        let long = serial_quantile(&normals(200, 4), 0.5, 0.97).unwrap();
        assert!(long.may_stop(0.01) && !long.may_stop(0.0001));
    }

    #[test]
    fn means_of_heavy_tails_are_refused() {
        let mut rng = Rng::new(5);
        let processes: Vec<Vec<f64>> =
            (0..20).map(|_| (0..20).map(|_| (rng.exponential() / 1.5).exp()).collect()).collect();
        assert!(
            matches!(clustered_mean(&views(&processes), 0.95), Err(NoInterval::HeavyTail { hill }) if hill < 2.5)
        );
        assert!(matches!(
            serial_mean(&processes.concat(), 0.95),
            Err(NoInterval::HeavyTail { .. })
        ));
    }

    #[test]
    fn nonsense_is_refused() {
        let mut processes = singles(13);
        assert_eq!(clustered_quantile(&views(&processes), 0.0, 0.97), Err(NoInterval::OutOfRange));
        assert_eq!(clustered_quantile(&views(&processes), 0.5, 1.0), Err(NoInterval::OutOfRange));
        processes[4][0] = f64::NAN;
        assert_eq!(clustered_quantile(&views(&processes), 0.5, 0.97), Err(NoInterval::NotFinite));
        assert_eq!(clustered_mean(&views(&processes), 0.97), Err(NoInterval::NotFinite));
        assert_eq!(serial_quantile(&[f64::INFINITY], 0.5, 0.97), Err(NoInterval::NotFinite));
        assert_eq!(serial_quantile(&[], 0.5, 0.97), Err(NoInterval::TooFewSamples));
        assert_eq!(serial_quantile(&normals(100, 1), f64::NAN, 0.97), Err(NoInterval::OutOfRange));
    }
}
