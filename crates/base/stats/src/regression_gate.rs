//! Does a machine still give what it gave? A new run against a baseline of earlier ones: docs/method.md,
//! *Regression gate*.
//!
//! The unit is the run. A series (one metric of one point) is its log estimate in every run; a new run differs from the
//! baseline's mean by the noise between runs, which six or more earlier runs show but badly. So the variances of all
//! series are drawn together, as far as they are alike (Smyth 2004, empirical Bayes on log variances). A screening of
//! one new run flags series; fresh sessions alone confirm them, by Holm over all series. The runs of one session share
//! its noise, so they count as one.
//!
//! Runs of one hour have not seen what differs between days. Such noise grows with the logarithm of time
//! ([`crate::flicker`]): every doubling of time that the baseline does not cover adds a share of its variance. Levels
//! that a host switches between are not seen at all in so short a time. Earlier runs as far apart as baseline and check
//! show them; without such runs a small change stays undecided.

use crate::describe::{finite, mean_of, variance_of};
use crate::distribution::{digamma, t_cdf, trigamma, trigamma_inverse, two_sided_t};
use crate::gate_power::GatePower;
use crate::multiple::holm;
use crate::rng::Rng;
use crate::stored_runs::{DifferenceNoise, FEWEST_RUNS};
use crate::{Interval, NoInterval};

/// A series is flagged whose p in the screening is no larger. Confirming takes long, and a change that can be confirmed
/// has a smaller p.
pub const SCREEN_P: f64 = 0.02;
/// Fresh runs of a session that confirms what was flagged.
pub const CONFIRM_RUNS: usize = 3;
/// From the screening to a session that confirms, and from one such session to the next, in seconds.
pub const CONFIRM_APART_S: f64 = 600.0;
/// The chance of any false alarm, up or down, among all series and baselines.
pub const CONFIRM_ALPHA: f64 = 0.20;
/// No series is confirmed whose p is larger, so that its 95 % interval supports it.
const CONFIRM_P: f64 = 0.05;

/// Runs of a baseline that began within this time, in seconds, have not seen what differs between times.
pub const HASTE_S: f64 = 3600.0;
/// Within ten minutes, sessions of 15 s on the recorded hosts without other work differ by up to this, as a log ratio...
const KNOWN_SHIFT: f64 = 0.065;
/// ...which is up to this many standard deviations of neighbouring sessions.
const KNOWN_SDS: f64 = 6.5;
/// No program of an idle guest was seen to differ by more than this between sessions, however noisy it is.
const MOST_KNOWN: f64 = 0.25;
/// Hours show more than ten minutes; nobody has recorded them.
const TIMES_KNOWN: f64 = 1.5;

/// The share of the variance of neighbouring runs that a doubling of time adds, as the first recorded traces of minutes
/// show it; nobody has recorded days.
pub const PER_DOUBLING: f64 = 0.175;
/// Runs are no closer together than this, in seconds.
const LEAST_SPAN_S: f64 = 60.0;
/// The span of a baseline over the time between two of its runs: e^(3/2) in the geometric mean, were they drawn evenly.
const APART: f64 = 4.48;

/// Variances that are drawn for the power of a check, and checks with each.
const POWER_VARIANCES: usize = 200;
const POWER_CHECKS: usize = 100;
/// The bounds of the power leave out this share of them on either side.
const POWER_TAIL: f64 = 0.025;

/// Student's t is normal from here on.
const MOST_DF: f64 = 1e9;

/// The common part of the variances of series: as if each had been seen in `df` more runs with `variance`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The typical variance between runs, in square log units.
    pub variance: f64,
    /// How much it counts, in degrees of freedom; 0 if series have nothing in common, infinite if they are alike.
    pub df: f64,
}

impl Prior {
    /// Estimates it from variances with their degrees of freedom; those of 0 do not take part.
    pub fn of(variances: &[(f64, f64)]) -> Self {
        let seen: Vec<&(f64, f64)> =
            variances.iter().filter(|(s2, df)| *s2 > 0.0 && *df > 0.0).collect();
        if seen.len() < 2 {
            return Self { variance: 0.0, df: 0.0 };
        }
        let logs: Vec<f64> =
            // The logarithm of an estimated variance is too low on average; digamma corrects for that (Smyth 2004).
            seen.iter().map(|(s2, df)| s2.ln() - digamma(0.5 * df) + (0.5 * df).ln()).collect();
        let chance: Vec<f64> = seen.iter().map(|(_, df)| trigamma(0.5 * df)).collect();
        let beyond_chance = variance_of(&logs) - mean_of(&chance);
        // The series differ no more than chance makes estimates of one variance differ.
        if beyond_chance <= 0.0 {
            return Self { variance: mean_of(&logs).exp(), df: f64::INFINITY };
        }
        let half = trigamma_inverse(beyond_chance);
        Self { variance: (mean_of(&logs) + digamma(half) - half.ln()).exp(), df: 2.0 * half }
    }

    /// A series' own variance drawn towards the common one, with its degrees of freedom.
    pub(crate) fn moderate(&self, variance: f64, df: f64) -> (f64, f64) {
        if self.df.is_infinite() {
            // The weighted mean below would be infinity over infinity.
            return (self.variance, f64::INFINITY);
        }
        let total = self.df + df;
        ((self.df * self.variance + df * variance) / total, total)
    }
}

/// How far new runs are from the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The log ratio of the new runs to the baseline with its 95 % interval.
    pub interval: Interval,
    /// Two-sided p of no shift; 0 or 1 if no run of the baseline differs from another.
    pub p: f64,
}

/// A slow-down that a check is to report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowDown {
    /// Its log ratio.
    pub effect: f64,
    /// The chance of any false alarm among all series.
    pub alpha: f64,
    /// The smallest relative change that matters.
    pub margin: f64,
}

/// One series of a baseline: log estimates of its runs, summed up.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LogSums {
    mean: f64,
    variance: f64,
    runs: f64,
}

/// A baseline of all series that a check looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionGate {
    series: Vec<LogSums>,
    prior: Prior,
    /// The variance that the baseline's runs were too close together to show, as a share of what they show.
    unseen: f64,
    /// From the first run of the baseline to the last, in seconds; infinite if that is not known.
    span_s: f64,
    /// The variance of the difference of two runs that are as far apart as baseline and check, with its degrees of
    /// freedom, for every series whose earlier runs show it.
    between_times: Vec<Option<(f64, f64)>>,
}

impl RegressionGate {
    /// Takes the log estimates of every series in the runs of the baseline.
    ///
    /// # Errors
    /// [`NoInterval::TooFewProcesses`] if a series has fewer than [`FEWEST_RUNS`] runs: it is uncalibrated, leave it
    /// out; [`NoInterval::NotFinite`].
    pub fn new(baseline: &[&[f64]]) -> Result<Self, NoInterval> {
        let series: Vec<LogSums> =
            baseline.iter().map(|runs| baseline_series(runs)).collect::<Result<_, _>>()?;
        let variances: Vec<(f64, f64)> =
            series.iter().map(|series| (series.variance, series.runs - 1.0)).collect();
        let between_times = vec![None; series.len()];
        Ok(Self {
            prior: Prior::of(&variances),
            series,
            unseen: 0.0,
            span_s: f64::INFINITY,
            between_times,
        })
    }

    /// The same for fresh runs `age_s` after the middle of a baseline whose runs began within `span_s`, both in
    /// seconds: noise slower than the baseline (flicker) adds the share of its variance a doubling of time that
    /// recorded traces show of shorter times (docs/method.md, *Regression gate*). Two runs of a baseline are about a
    /// quarter of its span apart, in the mean of logarithms.
    #[must_use]
    pub fn after(self, span_s: f64, age_s: f64) -> Self {
        // Runs that began in the same second, as imported ones may, would make the ratio infinite.
        let doublings = (APART * age_s / span_s.max(LEAST_SPAN_S)).log2();
        Self { unseen: PER_DOUBLING * doublings.max(0.0), span_s, ..self }
    }

    /// The same for series whose earlier runs, as far apart as baseline and check, show the noise between these times. The
    /// variances of all series are drawn together as those of the baseline.
    ///
    /// # Panics
    /// Unless there is one entry per series.
    #[must_use]
    pub fn with_noise_between_times(self, earlier: &[Option<DifferenceNoise>]) -> Self {
        assert_eq!(earlier.len(), self.series.len(), "an entry per series");
        let squares: Vec<Option<(f64, f64)>> = earlier
            .iter()
            .map(|noise| noise.map(|noise| (noise.sd_of_difference.powi(2), noise.df)))
            .collect();
        let known: Vec<(f64, f64)> = squares.iter().copied().flatten().collect();
        let prior = Prior::of(&known);
        let between_times = squares
            .iter()
            .map(|square| square.map(|(variance, df)| prior.moderate(variance, df)))
            .collect();
        Self { between_times, ..self }
    }

    /// Whether a shift of the series could be noise between times of which nothing is known: the baseline is of less than
    /// [`HASTE_S`], no earlier runs are as far apart as it and the check, and recorded hosts show shifts of this size.
    ///
    /// # Panics
    /// For the number of a series that was not given.
    pub fn could_be_the_time(&self, series: usize, shift: &Shift) -> bool {
        let largest = self.unknown_of_times(series);
        largest.is_some_and(|largest| shift.interval.estimate.abs() <= largest)
    }

    /// The largest shift of a series that noise between times could explain, if nothing is known of that noise.
    fn unknown_of_times(&self, series: usize) -> Option<f64> {
        let LogSums { variance, runs, .. } = self.series[series];
        let is_hasty = self.span_s < HASTE_S;
        if !is_hasty || self.between_times[series].is_some() || variance == 0.0 {
            return None;
        }
        let (variance, _) = self.prior.moderate(variance, runs - 1.0);
        let known = KNOWN_SHIFT.max(KNOWN_SDS * variance.sqrt()).min(MOST_KNOWN);
        Some(TIMES_KNOWN * known)
    }

    /// How far the machine and its environment moved a series, if what the baseline measured is measured again and has this
    /// log cost: the interval also holds what unknown noise between times could add or take away.
    ///
    /// # Errors
    /// As of [`Self::shift`].
    ///
    /// # Panics
    /// For the number of a series that was not given.
    pub fn environment(&self, series: usize, again: f64) -> Result<Interval, NoInterval> {
        let Interval { estimate, low, high } = self.shift(series, &[again])?.interval;
        let unknown = self.unknown_of_times(series).unwrap_or(0.0);
        Ok(Interval {
            estimate,
            low: low.min(estimate - unknown),
            high: high.max(estimate + unknown),
        })
    }

    /// The probability that a check reports this slow-down of one series. The true variance of the series is drawn from
    /// what its runs leave open, and a screening run and a session are drawn for each.
    ///
    /// # Panics
    /// For the number of a series that was not given.
    pub fn power(&self, series: usize, slow_down: SlowDown, rng: &mut Rng) -> GatePower {
        let LogSums { variance, runs, .. } = self.series[series];
        let (moderate, df) = self.prior.moderate(variance, runs - 1.0);
        let mut shares: Vec<f64> = Vec::with_capacity(POWER_VARIANCES);
        for _ in 0..POWER_VARIANCES {
            let truth = if variance == 0.0 { 0.0 } else { moderate / chi_squared_over_df(df, rng) };
            let found = (0..POWER_CHECKS).filter(|_| self.reports(series, slow_down, truth, rng));
            shares.push(found.count() as f64 / POWER_CHECKS as f64);
        }
        shares.sort_by(f64::total_cmp);
        let tail = (POWER_VARIANCES as f64 * POWER_TAIL).round() as usize;
        let probability = mean_of(&shares);
        GatePower {
            probability,
            low: shares[tail].min(probability),
            high: shares[POWER_VARIANCES - 1 - tail].max(probability),
        }
    }

    /// Whether one check that is drawn reports the slow-down, if the series has this variance.
    fn reports(&self, series: usize, slow_down: SlowDown, variance: f64, rng: &mut Rng) -> bool {
        let LogSums { mean, runs, .. } = self.series[series];
        // Screening and session share the error of the baseline and the noise between its time and theirs.
        let of_runs = variance * (1.0 + 1.0 / runs + self.unseen);
        let of_times = self.between_times[series].map_or(of_runs, |(of_times, _)| {
            (of_times - variance * (1.0 - 1.0 / runs)).max(of_runs)
        });
        let common = mean + slow_down.effect + (of_times - variance).sqrt() * rng.normal();
        let mut fresh = || self.shift(series, &[common + variance.sqrt() * rng.normal()]);
        let (Ok(screen), Ok(session)) = (fresh(), fresh()) else { return false };
        let could_be_the_time =
            self.could_be_the_time(series, &screen) || self.could_be_the_time(series, &session);
        screen.is_flagged()
            && !could_be_the_time
            && session.interval.estimate >= slow_down.margin.ln_1p()
            && !self.confirm(&[(series, session)], slow_down.alpha).is_empty()
    }

    /// How many times as wide the interval of one fresh run is as if the baseline covered the time since, where it
    /// has so many runs.
    pub fn widened(&self, runs: usize) -> f64 {
        (1.0 + self.unseen / (1.0 + 1.0 / runs as f64)).sqrt()
    }

    /// What the variances have in common.
    pub fn prior(&self) -> Prior {
        self.prior
    }

    /// How far the mean of `fresh` sessions of a series (numbered as they were given) is from its baseline; each is the
    /// mean of its runs.
    ///
    /// A series without any variance, such as a counter, is compared exactly: nothing is lent to it.
    ///
    /// # Errors
    /// [`NoInterval::TooFewSamples`] for no sessions, [`NoInterval::NotFinite`].
    ///
    /// # Panics
    /// For the number of a series that was not given.
    pub fn shift(&self, series: usize, fresh: &[f64]) -> Result<Shift, NoInterval> {
        self.shift_counting(series, fresh, fresh.len())
    }

    /// The same for sessions that began so many seconds apart. If the runs of the baseline are farther apart than these,
    /// part of the noise between its runs is common to all sessions, so that they count as one.
    ///
    /// # Errors
    /// As of [`Self::shift`].
    ///
    /// # Panics
    /// For the number of a series that was not given.
    pub fn shift_of_sessions(
        &self,
        series: usize,
        fresh: &[f64],
        apart_s: f64,
    ) -> Result<Shift, NoInterval> {
        let are_independent = apart_s >= self.span_s / APART;
        self.shift_counting(series, fresh, if are_independent { fresh.len() } else { 1 })
    }

    fn shift_counting(
        &self,
        series: usize,
        fresh: &[f64],
        independent: usize,
    ) -> Result<Shift, NoInterval> {
        finite(fresh)?;
        if fresh.is_empty() {
            return Err(NoInterval::TooFewSamples);
        }
        let LogSums { mean, variance, runs } = self.series[series];
        let estimate = mean_of(fresh) - mean;
        if variance == 0.0 {
            let p = if estimate == 0.0 { 1.0 } else { 0.0 };
            return Ok(Shift { interval: Interval::exactly(estimate), p });
        }
        let (variance, df) = self.prior.moderate(variance, runs - 1.0);
        // Fresh runs of one hour share the slow noise, so more of them do not reduce `unseen`.
        let of_runs = variance * (1.0 / independent as f64 + 1.0 / runs + self.unseen);
        let by_runs = shift_of(estimate, of_runs, df);
        let Some((of_times, df)) = self.between_times[series] else { return Ok(by_runs) };
        // Their difference has the noise of two single runs, the shift that of one and of the baseline's mean.
        let of_times = (of_times - variance * (1.0 - 1.0 / runs)).max(of_runs);
        let by_times = shift_of(estimate, of_times, df);
        // Both kinds of noise must be excluded: few earlier runs may by chance show less than the baseline does.
        Ok(if by_times.p > by_runs.p { by_times } else { by_runs })
    }

    /// Which of the flagged series are confirmed by the shifts of fresh sessions alone, if the chance of any false alarm is
    /// to be at most `alpha`: `flagged` are series and shifts.
    pub fn confirm(&self, flagged: &[(usize, Shift)], alpha: f64) -> Vec<usize> {
        // Holm over the flagged series alone would fail .14 to .19 of clean checks: the screening chose the extreme
        // ones.
        let mut p_values = vec![1.0; self.series.len()];
        flagged.iter().for_each(|(series, shift)| p_values[*series] = shift.p);
        let rejected = holm(&p_values, alpha);
        (0..p_values.len()).filter(|&at| rejected[at] && p_values[at] <= CONFIRM_P).collect()
    }
}

impl Shift {
    /// Whether one new run differs enough to be measured again.
    pub fn is_flagged(&self) -> bool {
        self.p <= SCREEN_P
    }
}

/// A draw of the chi-squared law over its degrees of freedom, by the cube root of Wilson & Hilferty (1931).
fn chi_squared_over_df(df: f64, rng: &mut Rng) -> f64 {
    let ninth = 2.0 / (9.0 * df);
    (1.0 - ninth + rng.normal() * ninth.sqrt()).max(0.1).powi(3)
}

/// A log ratio with the variance of its error, which has `df` degrees of freedom.
fn shift_of(estimate: f64, variance: f64, df: f64) -> Shift {
    let df = df.min(MOST_DF);
    let error = variance.sqrt();
    let half = two_sided_t(0.95, df) * error;
    let interval = Interval { estimate, low: estimate - half, high: estimate + half };
    Shift { interval, p: 2.0 * t_cdf(-estimate.abs() / error, df) }
}

fn baseline_series(runs: &[f64]) -> Result<LogSums, NoInterval> {
    finite(runs)?;
    if runs.len() < FEWEST_RUNS {
        return Err(NoInterval::TooFewProcesses { have: runs.len(), need: FEWEST_RUNS });
    }
    // Rounding in a mean of equal values would give a counter some variance.
    let constant = runs.iter().all(|&run| run == runs[0]);
    let mean = if constant { runs[0] } else { mean_of(runs) };
    let variance = if constant { 0.0 } else { variance_of(runs) };
    Ok(LogSums { mean, variance, runs: runs.len() as f64 })
}

#[cfg(test)]
mod tests {
    use super::{CONFIRM_ALPHA, HASTE_S, Prior, RegressionGate, SlowDown};
    use crate::NoInterval;
    use crate::describe::variance_of;
    use crate::rng::Rng;
    use crate::stored_runs::DifferenceNoise;

    fn runs(count: usize, sd: f64, rng: &mut Rng) -> Vec<f64> {
        (0..count).map(|_| sd * rng.normal()).collect()
    }

    fn prior(series: usize, sd: impl Fn(&mut Rng) -> f64) -> Prior {
        let mut rng = Rng::new(1);
        let variance = |_| {
            let sd = sd(&mut rng);
            (variance_of(&runs(8, sd, &mut rng)), 7.0)
        };
        Prior::of(&(0..series).map(variance).collect::<Vec<_>>())
    }

    #[test]
    fn alike_variances_count_for_much_and_unlike_ones_for_little() {
        let alike = prior(2000, |_| 0.01);
        assert!(alike.df > 50.0 && (alike.variance / 1e-4 - 1.0).abs() < 0.05, "{alike:?}");
        let unlike = prior(2000, |rng| 0.01 * (1.5 * rng.normal()).exp());
        assert!(unlike.df < 2.0, "{unlike:?}");
    }

    #[test]
    fn the_prior_is_recovered_from_its_own_law() {
        // Variances whose inverses are chi-square with 6 degrees of freedom over 6: Smyth's model with d0 = 6.
        let recovered = prior(20_000, |rng| {
            let chi_square: f64 = (0..6).map(|_| rng.normal().powi(2)).sum();
            0.01 * (6.0 / chi_square).sqrt()
        });
        assert!((recovered.df / 6.0 - 1.0).abs() < 0.1, "{recovered:?}");
        assert!((recovered.variance / 1e-4 - 1.0).abs() < 0.05, "{recovered:?}");
    }

    #[test]
    fn one_series_stands_alone() {
        assert_eq!(Prior::of(&[(2.0, 7.0)]), Prior { variance: 0.0, df: 0.0 });
        let baseline = [0.0, 0.01, -0.01, 0.02, -0.02, 0.0];
        let gate = RegressionGate::new(&[&baseline]).unwrap();
        let shift = gate.shift(0, &[0.1]).unwrap();
        // t of .95 with 5 degrees of freedom times sd sqrt(1 + 1/6).
        let half = 2.570_581_8 * (0.0002f64).sqrt() * (7.0f64 / 6.0).sqrt();
        assert!((shift.interval.high - 0.1 - half).abs() < 1e-8, "{shift:?}");
        assert!(shift.is_flagged());
    }

    #[test]
    fn interval_and_p_agree() {
        let mut rng = Rng::new(2);
        let baseline: Vec<Vec<f64>> = (0..20).map(|_| runs(6, 0.01, &mut rng)).collect();
        let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
        let gate = RegressionGate::new(&views).unwrap();
        for series in 0..20 {
            let shift = gate.shift(series, &runs(1, 0.02, &mut rng)).unwrap();
            assert_eq!(!shift.interval.contains(0.0), shift.p < 0.05);
        }
    }

    #[test]
    fn counters_are_compared_exactly() {
        let varying = [0.0, 0.01, -0.01, 0.02, -0.02, 0.0];
        let gate = RegressionGate::new(&[&[1.0; 6], &varying, &varying]).unwrap();
        let same = gate.shift(0, &[1.0, 1.0, 1.0]).unwrap();
        let moved = gate.shift(0, &[1.1, 1.1, 1.1]).unwrap();
        assert_eq!((same.p, moved.p), (1.0, 0.0));
        assert_eq!(gate.confirm(&[(0, moved), (1, same)], CONFIRM_ALPHA), [0]);
    }

    #[test]
    fn a_baseline_of_one_hour_says_less_of_the_next_week() {
        let mut rng = Rng::new(4);
        let baseline: Vec<Vec<f64>> = (0..20).map(|_| runs(8, 0.01, &mut rng)).collect();
        let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
        let gate = RegressionGate::new(&views).unwrap();
        let half = |gate: &RegressionGate| {
            let interval = gate.shift(0, &[0.0]).unwrap().interval;
            0.5 * (interval.high - interval.low)
        };
        let hour = 3600.0;
        let day = 86_400.0;
        let week = 604_800.0;
        let usual = half(&gate);
        for (span, age) in [(hour, 0.2 * hour), (week, day), (week, 0.0)] {
            let same = gate.clone().after(span, age);
            assert_eq!((half(&same), same.widened(8)), (usual, 1.0));
        }
        let soon = gate.clone().after(hour, day);
        let late = gate.clone().after(hour, week);
        assert!((half(&soon) / usual - soon.widened(8)).abs() < 1e-9);
        // log2(168 * 4.48) = 9.56 doublings of .175 each, next to 1 + 1/8.
        assert!((late.widened(8) - (1.0f64 + 0.175 * 9.555_816 / 1.125).sqrt()).abs() < 1e-6);
        assert!(late.widened(8) > soon.widened(8));
    }

    #[test]
    fn a_short_baseline_leaves_small_changes_undecided() {
        let mut rng = Rng::new(5);
        let baseline: Vec<Vec<f64>> = (0..20).map(|_| runs(8, 0.005, &mut rng)).collect();
        let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
        let gate = RegressionGate::new(&views).unwrap();
        let could_be = |gate: &RegressionGate, change: f64| {
            gate.could_be_the_time(0, &gate.shift(0, &[change]).unwrap())
        };
        let short = gate.clone().after(600.0, 3600.0);
        assert!(could_be(&short, 0.08) && !could_be(&short, 0.15));
        // Nothing is undecided if the baseline is long, or if earlier runs show the noise between times.
        assert!(!could_be(&gate.clone().after(HASTE_S, 86_400.0), 0.08));
        let seen = DifferenceNoise { sd_of_difference: 0.04, df: 6.0, runs: 12 };
        let known = short.clone().with_noise_between_times(&[Some(seen); 20]);
        assert!(!could_be(&known, 0.08));
        let alone = short.shift(0, &[0.08]).unwrap();
        let with_history = known.shift(0, &[0.08]).unwrap();
        assert!(alone.is_flagged() && !with_history.is_flagged(), "{alone:?} {with_history:?}");
    }

    #[test]
    fn the_power_grows_with_the_effect_and_is_none_where_nothing_can_be_decided() {
        let mut rng = Rng::new(6);
        let baseline: Vec<Vec<f64>> = (0..5).map(|_| runs(8, 0.01, &mut rng)).collect();
        let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
        let gate = RegressionGate::new(&views).unwrap();
        let power = |gate: &RegressionGate, effect: f64| {
            let slow_down = SlowDown { effect, alpha: CONFIRM_ALPHA, margin: 0.01 };
            gate.power(0, slow_down, &mut Rng::new(7))
        };
        let steps = [0.0, 0.02, 0.05, 0.1].map(|effect| power(&gate, effect));
        assert!(steps.windows(2).all(|two| two[0].probability <= two[1].probability), "{steps:?}");
        assert!(steps[0].probability < 0.02 && steps[3].probability > 0.98, "{steps:?}");
        assert!(
            steps
                .iter()
                .all(|found| found.low <= found.probability && found.probability <= found.high)
        );
        // Time could explain 9.75 % here; nothing below is ever reported.
        let short = gate.clone().after(600.0, 600.0);
        assert!(power(&short, 0.05).high < 0.05 && power(&short, 0.25).low > 0.9);
    }

    #[test]
    fn what_the_machine_did_also_holds_what_time_could_have_done() {
        let baseline = [0.0, 0.01, -0.01, 0.02, -0.02, 0.0];
        let gate = RegressionGate::new(&[&baseline]).unwrap();
        let known = gate.environment(0, 0.05).unwrap();
        assert_eq!(known, gate.shift(0, &[0.05]).unwrap().interval);
        assert!(known.low > 0.0);
        let short = gate.after(600.0, 600.0).environment(0, 0.05).unwrap();
        assert!(short.low < 0.05 - 0.097 && short.high > 0.05 + 0.097, "{short:?}");
    }

    #[test]
    fn sessions_closer_together_than_the_runs_of_the_baseline_count_as_one() {
        let baseline = [0.0, 0.01, -0.01, 0.02, -0.02, 0.0];
        let gate = RegressionGate::new(&[&baseline]).unwrap().after(86_400.0, 0.0);
        let half = |sessions: &[f64], apart_s: f64| {
            let interval = gate.shift_of_sessions(0, sessions, apart_s).unwrap().interval;
            interval.high - interval.estimate
        };
        let one = half(&[0.1], 600.0);
        assert!((half(&[0.1; 3], 600.0) - one).abs() < 1e-12);
        // Variances 1/3 + 1/6 instead of 1 + 1/6.
        let expected = one * (0.5f64 / (7.0 / 6.0)).sqrt();
        assert!((half(&[0.1; 3], 86_400.0) - expected).abs() < 1e-12);
    }

    #[test]
    fn unflagged_series_count_in_holm() {
        let mut rng = Rng::new(3);
        let baseline: Vec<Vec<f64>> = (0..40).map(|_| runs(8, 0.01, &mut rng)).collect();
        let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
        let gate = RegressionGate::new(&views).unwrap();
        let mut shift = gate.shift(5, &[0.05; 3]).unwrap();
        assert_eq!(gate.confirm(&[(5, shift)], CONFIRM_ALPHA), [5]);
        shift.p = 0.02;
        assert_eq!(gate.confirm(&[(5, shift)], CONFIRM_ALPHA), [0usize; 0]);
    }

    #[test]
    fn too_few_or_not_a_number_is_refused() {
        let need = NoInterval::TooFewProcesses { have: 5, need: 6 };
        assert_eq!(RegressionGate::new(&[&[1.0; 5]]).map(|_| ()), Err(need));
        assert_eq!(RegressionGate::new(&[&[f64::NAN; 6]]).map(|_| ()), Err(NoInterval::NotFinite));
        let gate = RegressionGate::new(&[&[1.0; 6]]).unwrap();
        assert_eq!(gate.shift(0, &[]).map(|_| ()), Err(NoInterval::TooFewSamples));
        assert_eq!(gate.shift(0, &[f64::NAN]).map(|_| ()), Err(NoInterval::NotFinite));
    }
}
