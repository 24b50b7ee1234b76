//! The interval of the machine over ten minutes, from a short session.
//!
//! The interval of a session, however well it allows for the correlation that it sees, speaks of its own seconds. The
//! noise of a shared host also has parts slower than any session (flicker, noise of spectrum 1/f): their Allan variance
//! does not fall as blocks of neighbours grow, where that of independent noise falls with a block's length (Allan 1966).
//! From eight consecutive blocks the part that independent noise does not explain is taken, and carried on to ten
//! minutes: under 1/f noise the mean of T differs from that of W around it with a variance of the Allan variance times
//! the integral of (sinc f - sinc(f W/T))² / f over 2 ln 2, which is log₂(W/T)/2 - 1/4 within .05 from W = 2 T on. Twice as
//! much is taken: on recordings that noise comes and goes, and a calm session sees less of it than the minutes around it
//! have. It is joined to the interval of the session in quadrature.
//!
//! What independent noise explains is only taken off as far as a session tells the two apart, by its length and by the
//! number of its values. And a session of a second says nothing of the minutes around it, nor does one of ten seconds
//! next to other work, which is calm for seconds and busy for others, nor do two minutes of a single process.
//!
//! Times and rates are positive, and noise multiplies them: all of this is done with their logarithms, so that no bound
//! reaches zero. Only if a unit is zero or negative (counts, differences) the units are taken as they are. An interval
//! whose upper bound is more than four times the lower one is not given: what was seen is said instead.

use crate::Interval;
use crate::describe::{finite, median, order_statistic};
use crate::distribution::two_sided_t;

/// The time that the interval describes, in seconds.
pub const HORIZON_S: f64 = 600.0;
/// Blocks of neighbours whose medians are compared.
const BLOCKS: usize = 8;
/// How long a session must be, in seconds, to begin to know independent noise from slow noise, and to know it.
const TELLS_S: (f64, f64) = (10.0, 30.0);
/// With so many doublings of values in a block it knows; with a single value in each it does not.
const TELLS_DOUBLINGS: f64 = 8.0;
/// Shorter sessions, in seconds, say nothing of the machine.
const LEAST_S: f64 = 2.0;
/// The same next to other work.
const LEAST_BESIDE_S: f64 = 12.0;
/// The same of the samples of a single process.
const LEAST_SERIES_S: f64 = 120.0;
/// How long a session takes at least, in seconds, if it is to describe the machine, and the same next to other work: a
/// little more than the least times, and at 4 s twice, because that is cheap and tells more.
const DEFAULT_LEAST_S: f64 = 4.0;
const DEFAULT_LEAST_BESIDE_S: f64 = 13.0;
/// A session that can't reach its precision ends after this time, in seconds, if there is no other work: on recordings,
/// more time hardly makes the interval of the machine narrower or more often right.
const DEFAULT_MOST_S: f64 = 16.0;
/// Under 1/f noise, what a doubling of the time adds to the variance, in Allan variances, and what it begins with.
const PER_DOUBLING: f64 = 0.5;
const AT_ONCE: f64 = -0.25;
/// Noise that comes and goes has so much more of it than a session sees.
const COMES_AND_GOES: f64 = 2.0;
/// Independent noise shows up to this much of its Allan variance more, in eight blocks: a standard deviation of them.
const BY_CHANCE: f64 = 1.5;
/// An interval whose upper bound is more than so many times its lower one says too little to be printed.
pub const WIDEST_RATIO: f64 = 4.0;
/// Standard errors of an order-statistic interval at .95.
const STANDARD_ERRORS: f64 = 1.96;

/// The samples of a session, and how they were taken.
#[derive(Debug, Clone, Copy)]
pub struct Taken<'a> {
    /// In order of time, a number each: medians of processes, or the samples of a single one.
    pub units: &'a [f64],
    /// Seconds from the first unit to the last.
    pub seconds: f64,
    /// Whether the machine had other work.
    pub beside: bool,
    /// Whether the units are samples of a single process.
    pub is_series: bool,
}

impl Taken<'_> {
    /// Whether it is long enough to say something of the machine.
    fn is_long(&self) -> bool {
        let least_s = match self {
            Self { is_series: true, .. } => LEAST_SERIES_S,
            Self { beside: true, .. } => LEAST_BESIDE_S,
            _ => LEAST_S,
        };
        self.seconds.is_finite() && self.seconds >= least_s
    }
}

/// How long a session takes if nobody says otherwise, in seconds: at least, and at most if it can't reach its precision.
#[must_use]
pub fn default_length_s(beside: bool) -> (f64, Option<f64>) {
    match beside {
        true => (DEFAULT_LEAST_BESIDE_S, None),
        false => (DEFAULT_LEAST_S, Some(DEFAULT_MOST_S)),
    }
}

/// The session is too noisy for an interval of the machine: what was seen of its units, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooNoisy {
    /// The lowest unit.
    pub lowest: f64,
    /// The highest unit.
    pub highest: f64,
}

/// The interval of this machine over ten minutes, from that of a session, whose level is `level`.
///
/// None with fewer than eight units, one that is not finite, or too short a time: 2 s, 12 s next to other work, two
/// minutes in a single process.
///
/// # Errors
///
/// [`TooNoisy`] if the upper bound would exceed [`WIDEST_RATIO`] times the lower one.
#[must_use]
pub fn machine_interval(
    session: Interval,
    taken: Taken<'_>,
    level: f64,
) -> Option<Result<Interval, TooNoisy>> {
    interval_over(session, taken, (level, HORIZON_S))
}

/// The interval of [`machine_interval`] over `horizon_s` seconds instead of ten minutes.
///
/// # Errors
///
/// [`TooNoisy`] if the upper bound would exceed [`WIDEST_RATIO`] times the lower one.
#[must_use]
pub fn interval_over(
    session: Interval,
    taken: Taken<'_>,
    (level, horizon_s): (f64, f64),
) -> Option<Result<Interval, TooNoisy>> {
    let Taken { units, seconds, .. } = taken;
    if units.len() < BLOCKS || finite(units).is_err() || !taken.is_long() {
        return None;
    }
    let lowest = units.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = units.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if lowest <= 0.0 || session.low <= 0.0 {
        let added = slow_variance_over(units, seconds, (level, horizon_s))?;
        let low = session.estimate - in_quadrature(session.estimate - session.low, added);
        let high = session.estimate + in_quadrature(session.high - session.estimate, added);
        // What can't be negative is not said to be.
        let low = if session.low >= 0.0 { low.max(0.0) } else { low };
        return Some(Ok(Interval { estimate: session.estimate, low, high }));
    }
    let logs: Vec<f64> = units.iter().map(|unit| unit.ln()).collect();
    let added = slow_variance_over(&logs, seconds, (level, horizon_s))?;
    let half_below = (session.estimate / session.low).ln();
    let half_above = (session.high / session.estimate).ln();
    let wider_below = in_quadrature(half_below, added);
    let wider_above = in_quadrature(half_above, added);
    if wider_below + wider_above > WIDEST_RATIO.ln() {
        return Some(Err(TooNoisy { lowest, highest }));
    }
    // Multiplied by what is added, so that the bounds stay exactly those of the session if nothing is.
    Some(Ok(Interval {
        estimate: session.estimate,
        low: session.low * (half_below - wider_below).exp(),
        high: session.high * (wider_above - half_above).exp(),
    }))
}

/// The square of the half-width that slow noise adds over `horizon_s` seconds, in the square of the units' unit.
fn slow_variance_over(units: &[f64], seconds: f64, (level, horizon_s): (f64, f64)) -> Option<f64> {
    let slow = slow_variance(units, seconds)?;
    // At least one doubling: below half of one, AT_ONCE would make the added variance negative.
    let doublings = (horizon_s / seconds).max(2.0).log2();
    let t = two_sided_t(level, BLOCKS as f64 - 1.0);
    Some(t * t * slow * COMES_AND_GOES * (PER_DOUBLING * doublings + AT_ONCE))
}

/// A half-width to which a variance is added.
fn in_quadrature(half: f64, added: f64) -> f64 {
    (half * half + added).sqrt()
}

/// The Allan variance of the medians of blocks, less what independent noise and chance explain.
fn slow_variance(units: &[f64], seconds: f64) -> Option<f64> {
    let size = units.len() / BLOCKS;
    let blocks = units[units.len() - BLOCKS * size..].chunks_exact(size);
    let medians: Vec<f64> = blocks.map(median).collect::<Option<_>>()?;
    let squares: f64 = medians.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let allan = squares / (2.0 * (BLOCKS as f64 - 1.0));
    let independent = BY_CHANCE * BLOCKS as f64 * standard_error(units).powi(2);
    Some((allan - independent * tells(units.len(), seconds)).max(0.0))
}

/// How far so many units in so many seconds tell independent noise from slow noise, from 0 to 1.
fn tells(units: usize, seconds: f64) -> f64 {
    let (begins_s, knows_s) = TELLS_S;
    let long = (seconds - begins_s) / (knows_s - begins_s);
    let many = (units as f64 / BLOCKS as f64).log2() / TELLS_DOUBLINGS;
    long.clamp(0.0, 1.0) * many.clamp(0.0, 1.0)
}

/// The standard error of the median of independent units, from their order statistics.
fn standard_error(units: &[f64]) -> f64 {
    let n = units.len() as f64;
    let reach = 0.5 * STANDARD_ERRORS * n.sqrt();
    let mut pool = units.to_vec();
    let low = order_statistic(&mut pool, (n / 2.0 - reach).floor().max(1.0) as usize);
    let high = order_statistic(&mut pool, ((n / 2.0 + reach).ceil() + 1.0).min(n) as usize);
    (high - low) / (2.0 * STANDARD_ERRORS)
}

#[cfg(test)]
mod tests {
    use super::{Taken, TooNoisy, machine_interval, tells};
    use crate::Interval;
    use crate::rng::Rng;

    const SESSION: Interval = Interval { estimate: 100.0, low: 99.0, high: 101.0 };

    fn normals(count: usize, rng: &mut Rng) -> Vec<f64> {
        (0..count).map(|_| 100.0 + rng.normal()).collect()
    }

    fn over(session: Interval, units: &[f64], seconds: f64) -> Option<Interval> {
        answer(session, units, seconds).map(|found| found.expect("not too noisy"))
    }

    fn answer(
        session: Interval,
        units: &[f64],
        seconds: f64,
    ) -> Option<Result<Interval, TooNoisy>> {
        let taken = Taken { units, seconds, beside: false, is_series: false };
        machine_interval(session, taken, 0.95)
    }

    /// Eighty units around 40 that drift slowly by this factor up and down.
    fn drifting(factor: f64) -> Vec<f64> {
        let mut rng = Rng::new(9);
        let slow = |at: u32| (f64::from(at) / 80.0 * std::f64::consts::TAU).sin();
        (0..80).map(|at| 40.0 * factor.powf(slow(at)) * (0.01 * rng.normal()).exp()).collect()
    }

    #[test]
    fn no_bound_of_positive_units_reaches_zero() {
        let session = Interval { estimate: 40.0, low: 36.0, high: 44.0 };
        let found = over(session, &drifting(1.2), 4.0).unwrap();
        assert!(found.low > 0.5 * session.low && found.low < 0.95 * session.low, "{found:?}");
        // As far below the estimate as above it, in logarithms.
        let [below, above] = [found.estimate / found.low, found.high / found.estimate];
        assert!((below / above - 1.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn an_interval_of_more_than_a_factor_of_four_is_too_noisy_to_say() {
        let session = Interval { estimate: 40.0, low: 36.0, high: 44.0 };
        let units = drifting(3.0);
        let noisy = answer(session, &units, 4.0).unwrap().unwrap_err();
        let lowest = units.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = units.iter().copied().fold(0.0, f64::max);
        assert_eq!(noisy, TooNoisy { lowest, highest });
        assert!((12.0..14.0).contains(&noisy.lowest), "{noisy:?}");
        // Just inside and just outside, without any slow noise.
        let calm = [40.0; 9];
        let inside = Interval { estimate: 40.0, low: 20.1, high: 80.0 };
        assert_eq!(answer(inside, &calm, 5.0), Some(Ok(inside)));
        let outside = Interval { low: 19.9, ..inside };
        assert!(answer(outside, &calm, 5.0).unwrap().is_err());
    }

    #[test]
    fn what_may_be_zero_keeps_its_scale() {
        let session = Interval { estimate: 1.0, low: 0.0, high: 2.0 };
        let units: Vec<f64> = (0..16).map(|at| f64::from(at / 4 % 3)).collect();
        let found = over(session, &units, 5.0).unwrap();
        assert!(found.low == 0.0 && found.high > 2.0, "{found:?}");
        let below = Interval { low: -1.0, ..session };
        assert!(over(below, &units, 5.0).unwrap().low < -1.0);
    }

    #[test]
    fn slow_noise_widens_and_independent_noise_hardly_does_in_a_long_session() {
        let mut rng = Rng::new(5);
        let half = |found: Interval| 0.5 * (found.high - found.low);
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        // The session's interval of 800 independent normals has a half-width of about .09.
        let session = Interval { estimate: 100.0, low: 99.91, high: 100.09 };
        let independent =
            (0..200).map(|_| half(over(session, &normals(800, &mut rng), 40.0).unwrap()));
        let independent = mean(independent.collect());
        assert!((0.09..0.16).contains(&independent), "{independent}");
        let mut rng = Rng::new(6);
        let slow = (0..200).map(|_| {
            let mut level = 0.0;
            let mut units = normals(800, &mut rng);
            for (at, unit) in units.iter_mut().enumerate() {
                level += if at % 100 == 0 { 0.5 * rng.normal() } else { 0.0 };
                *unit += level;
            }
            half(over(session, &units, 40.0).unwrap())
        });
        let slow = mean(slow.collect());
        assert!(slow > 4.0 * independent, "{slow} beside {independent}");
    }

    #[test]
    fn a_short_session_says_less_than_a_long_one() {
        let units = normals(80, &mut Rng::new(7));
        let of = |seconds| over(SESSION, &units, seconds).unwrap();
        assert!(of(2.0).low < of(30.0).low && of(2.0).high > of(30.0).high);
        assert!(of(30.0).low <= SESSION.low && of(30.0).high >= SESSION.high);
    }

    #[test]
    fn length_and_number_tell_independent_noise_from_slow_noise() {
        assert_eq!([tells(4000, 60.0), tells(8, 60.0), tells(4000, 10.0)], [1.0, 0.0, 0.0]);
        assert_eq!([tells(128, 60.0), tells(4000, 20.0), tells(128, 20.0)], [0.5, 0.5, 0.25]);
    }

    #[test]
    fn too_few_units_or_too_short_a_time_give_none() {
        let units = normals(8, &mut Rng::new(8));
        let of = |units: &[f64], seconds| over(SESSION, units, seconds);
        assert!(of(&units[1..], 5.0).is_none());
        for seconds in [0.0, 1.9, -1.0, f64::NAN, f64::INFINITY] {
            assert!(of(&units, seconds).is_none());
        }
        let hard = |seconds, beside, is_series| {
            let taken = Taken { units: &units, seconds, beside, is_series };
            machine_interval(SESSION, taken, 0.95)
        };
        assert!(of(&units, 11.0).is_some() && hard(11.0, true, false).is_none());
        assert!(hard(12.0, true, false).is_some() && hard(119.0, false, true).is_none());
        assert!(hard(120.0, false, true).is_some());
        assert!(of(&[f64::NAN; 9], 5.0).is_none());
        assert_eq!(of(&[100.0; 9], 5.0), Some(SESSION));
    }
}
