//! Is a machine as fast as healthy ones? docs/method.md, *Quick check*.
//!
//! Healthy runs show how much such runs differ, and so the highest cost that a healthy machine reaches: a prediction limit
//! (Hahn & Meeker, "Statistical Intervals", 2nd edition, 2017, section 4.7). A machine is slow if its cost lies above that limit,
//! and healthy if it lies below. Its own cost is measured process by process; the bounds of its mean hold at every look, because
//! look number j spends 6/(pi j)² of the error. Their variance is drawn towards that of processes of healthy runs (Smyth, "Linear
//! models and empirical Bayes methods", Stat. Appl. Genet. Mol. Biol. 3, 2004), so that two processes are enough for a first look.
//!
//! A cost that seems to be above the limit is only suspect: fresh processes alone decide.
//!
//! Of several tests, the next process belongs to the one from which it is expected to give the most information per
//! second about the question (Lindley, "On a measure of the information provided by an experiment", Ann. Math. Stat. 27, 1956).

use std::f64::consts::PI;

use crate::describe::{all_finite, mean, mean_of, variance, variance_of};
use crate::distribution::t_quantile;
use crate::regression_gate::Prior;

/// With fewer healthy runs there is no limit.
pub const FEWEST_HEALTHY_RUNS: usize = 6;
/// A healthy machine reaches a limit, in any of the tests of a check, with this probability at most.
const ABOVE_LIMIT: f64 = 0.005;
/// The bounds err upwards, in any of the tests of a check, with this probability at most.
const CALLED_SLOW: f64 = 0.005;
/// The bound of one test errs with this probability at most when it calls a machine healthy or suspect.
const CALLED_HEALTHY: f64 = 0.05;
/// Fewer processes give no bounds.
const FEWEST_PROCESSES: usize = 2;
/// Student's t is normal from here on.
const MOST_DF: f64 = 1e9;
/// Healthy processes count as so many observations of the variance at most: the machine may be noisier than they were.
const MOST_BORROWED: f64 = 10.0;

/// The share of machines that are taken to be slow, to choose the next test.
const PRIOR_SLOW: f64 = 0.05;
/// The same of a suspect machine, about which a process gives the most information.
const MOST_SUSPECT: f64 = 0.5;
/// A slow machine lies so many times as far from the centre as the limit, to choose the next test.
const TIMES_LIMIT: f64 = 2.0;
/// Steps of the numerical integral of the information, and how many standard deviations it covers on either side.
const STEPS: usize = 60;
const COVERED_SDS: f64 = 5.0;

/// The costs of healthy runs, as natural logs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HealthyCosts {
    /// Their mean over runs.
    pub centre: f64,
    /// The standard deviation between runs.
    pub run_sd: f64,
    /// Degrees of freedom of that deviation.
    pub run_df: f64,
    /// Number of runs.
    pub runs: usize,
    /// The standard deviation of a process around the mean of its run.
    pub process_sd: f64,
    /// Degrees of freedom of that deviation.
    pub process_df: f64,
}

impl HealthyCosts {
    /// Learns from healthy runs: the log costs of the processes of each. None with fewer than
    /// [`FEWEST_HEALTHY_RUNS`] runs, or if a value is not finite. Then see [`Self::draw_together`].
    #[must_use]
    pub fn learn(runs: &[Vec<f64>]) -> Option<Self> {
        if runs.len() < FEWEST_HEALTHY_RUNS || !runs.iter().all(|run| all_finite(run)) {
            return None;
        }
        let means: Vec<f64> = runs.iter().map(|run| mean(run)).collect::<Option<_>>()?;
        let process_df: f64 = runs.iter().map(|run| run.len() as f64 - 1.0).sum();
        let squares: f64 =
            runs.iter().filter_map(|run| Some(variance(run)? * (run.len() as f64 - 1.0))).sum();
        let run_sd = variance_of(&means).sqrt();
        // Runs of one process each show the deviation between runs, of which that between processes is a part.
        let process_sd = if process_df > 0.0 { (squares / process_df).sqrt() } else { run_sd };
        let run_df = runs.len() as f64 - 1.0;
        Some(Self {
            centre: mean_of(&means),
            run_sd,
            run_df,
            runs: runs.len(),
            process_sd,
            process_df,
        })
    }

    /// Draws the deviations between runs of several results towards what they have in common, as a check against a baseline
    /// does: a few runs show the deviation of one result only roughly. A result without any deviation keeps that.
    pub fn draw_together(all: &mut [Self]) {
        let variances: Vec<(f64, f64)> =
            all.iter().map(|costs| (costs.run_sd.powi(2), costs.run_df)).collect();
        let prior = Prior::of(&variances);
        for costs in all.iter_mut().filter(|costs| costs.run_sd > 0.0) {
            let (variance, df) = prior.moderate(costs.run_sd.powi(2), costs.run_df);
            costs.run_sd = variance.sqrt();
            // Documents have no infinite numbers.
            costs.run_df = df.min(MOST_DF);
        }
    }

    /// How far above the centre a healthy machine lies at most, if so many tests share the error; not less than the log of
    /// 1 + `margin`.
    #[must_use]
    pub fn reach(&self, margin: f64, tests: usize) -> f64 {
        let runs = self.runs as f64;
        let t = t_quantile(1.0 - ABOVE_LIMIT / tests.max(1) as f64, self.run_df);
        (t * self.run_sd * (1.0 + 1.0 / runs).sqrt()).max(margin.ln_1p())
    }
}

/// The state of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthState {
    /// More processes are needed.
    Open,
    /// It seems to be slow: fresh processes decide.
    Suspect,
    /// It is as fast as healthy machines.
    Healthy,
    /// It is slower than healthy machines.
    Slow,
}

/// The cost of a machine relative to the centre of healthy ones, as a log ratio with its bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HealthBounds {
    /// The mean of the processes that count.
    pub estimate: f64,
    /// It is no lower than this.
    pub low: f64,
    /// It is no higher than this.
    pub high: f64,
    /// How sure both are at this look.
    pub level: f64,
}

/// One result of a machine, compared with healthy runs, process by process.
#[derive(Debug, Clone)]
pub struct HealthTest {
    healthy: HealthyCosts,
    reach: f64,
    tests: usize,
    /// The log ratios to the centre, since the test became suspect if it did.
    ratios: Vec<f64>,
    state: HealthState,
}

impl HealthTest {
    /// A test of the standing in `healthy`, one of so many that share the error of a check.
    #[must_use]
    pub fn new(healthy: HealthyCosts, margin: f64, tests: usize) -> Self {
        Self {
            healthy,
            reach: healthy.reach(margin, tests),
            tests: tests.max(1),
            ratios: Vec::new(),
            state: HealthState::Open,
        }
    }

    /// What is known so far.
    #[must_use]
    pub fn state(&self) -> HealthState {
        self.state
    }

    /// The log ratio to the centre that a healthy machine reaches at most.
    #[must_use]
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// Takes in the log cost of one more process. A decided test stays as it is.
    pub fn add(&mut self, log_cost: f64) {
        if matches!(self.state, HealthState::Healthy | HealthState::Slow) || !log_cost.is_finite() {
            return;
        }
        self.ratios.push(log_cost - self.healthy.centre);
        let Some(bounds) = self.bounds() else { return };
        if bounds.high < self.reach {
            self.state = HealthState::Healthy;
        } else if bounds.low > self.reach {
            match self.state {
                HealthState::Suspect => self.state = HealthState::Slow,
                _ => {
                    self.state = HealthState::Suspect;
                    self.ratios.clear();
                }
            }
        }
    }

    /// The bounds by the processes that count; None with fewer than two.
    #[must_use]
    pub fn bounds(&self) -> Option<HealthBounds> {
        if self.ratios.len() < FEWEST_PROCESSES {
            return None;
        }
        let estimate = mean_of(&self.ratios);
        let (error, df) = self.standard_error();
        // The shares 6/(pi j)² of all looks sum to 1.
        let look = (self.ratios.len() + 1 - FEWEST_PROCESSES) as f64;
        let share = 6.0 / (PI * look).powi(2);
        let upwards = match self.state {
            HealthState::Suspect | HealthState::Slow => CALLED_SLOW / self.tests as f64,
            HealthState::Open | HealthState::Healthy => CALLED_HEALTHY,
        };
        Some(HealthBounds {
            estimate,
            low: estimate - t_quantile(1.0 - upwards * share, df) * error,
            high: estimate + t_quantile(1.0 - CALLED_HEALTHY * share, df) * error,
            level: 1.0 - (upwards + CALLED_HEALTHY) * share,
        })
    }

    /// The standard error of the mean of the processes that count, with its degrees of freedom.
    fn standard_error(&self) -> (f64, f64) {
        let borrowed = self.healthy.process_df.min(MOST_BORROWED);
        let own = (self.ratios.len() - 1) as f64;
        let squares = borrowed * self.healthy.process_sd.powi(2) + own * variance_of(&self.ratios);
        let df = borrowed + own;
        ((squares / df / self.ratios.len() as f64).sqrt(), df)
    }

    /// The information in nats that one more process is expected to give about whether the machine is slow; 0 if that is
    /// decided. Costs are taken to be normal here: it chooses an order, and decides nothing.
    #[must_use]
    pub fn expected_information(&self) -> f64 {
        let prior = match self.state {
            HealthState::Healthy | HealthState::Slow => return 0.0,
            HealthState::Open => PRIOR_SLOW,
            HealthState::Suspect => MOST_SUSPECT,
        };
        let process_variance = self.healthy.process_sd.powi(2).max(f64::MIN_POSITIVE);
        let healthy = Normal { mean: 0.0, variance: self.healthy.run_sd.powi(2) };
        let slow = Normal { mean: TIMES_LIMIT * self.reach, variance: (self.reach / 2.0).powi(2) };
        let fit_healthy = (1.0 - prior) * healthy.density_of_mean(&self.ratios, process_variance);
        let fit_slow = prior * slow.density_of_mean(&self.ratios, process_variance);
        let total = fit_healthy + fit_slow;
        // Far from both, rounding leaves nothing: then the prior is as good as anything.
        let p_slow = if total > 0.0 { fit_slow / total } else { prior };
        mutual_information(
            // The bounds need more than the model: as long as they leave a test open, it is not taken to be sure.
            p_slow.clamp(PRIOR_SLOW, MOST_SUSPECT),
            healthy.next(&self.ratios, process_variance),
            slow.next(&self.ratios, process_variance),
        )
    }
}

/// A normal distribution.
#[derive(Debug, Clone, Copy)]
struct Normal {
    mean: f64,
    variance: f64,
}

impl Normal {
    fn density(&self, value: f64) -> f64 {
        let squares = (value - self.mean).powi(2) / self.variance;
        (-0.5 * squares).exp() / (2.0 * PI * self.variance).sqrt()
    }

    /// The density of the mean of these values, each with its own noise around a value of this distribution; 1 without values.
    fn density_of_mean(&self, values: &[f64], noise: f64) -> f64 {
        let Some(mean) = mean(values) else { return 1.0 };
        Self { variance: self.variance + noise / values.len() as f64, ..*self }.density(mean)
    }

    /// The distribution of the next value, after these.
    fn next(&self, values: &[f64], noise: f64) -> Self {
        let Some(mean) = mean(values) else {
            return Self { variance: self.variance + noise, ..*self };
        };
        let noise_of_mean = noise / values.len() as f64;
        let weight = self.variance / (self.variance + noise_of_mean);
        Self {
            mean: self.mean + weight * (mean - self.mean),
            variance: weight * noise_of_mean + noise,
        }
    }
}

/// What a value tells about which of two distributions it is from, in nats; `p_second` is the probability of the second one.
fn mutual_information(p_second: f64, first: Normal, second: Normal) -> f64 {
    information_from(1.0 - p_second, first, p_second, second)
        + information_from(p_second, second, 1.0 - p_second, first)
}

/// The part of [`mutual_information`] of values that are from `own`.
fn information_from(p_own: f64, own: Normal, p_other: f64, other: Normal) -> f64 {
    let sd = own.variance.sqrt();
    let step = 2.0 * COVERED_SDS * sd / STEPS as f64;
    let mut information = 0.0;
    for index in 0..STEPS {
        let value = own.mean - COVERED_SDS * sd + (index as f64 + 0.5) * step;
        let density = own.density(value);
        let all = p_own * density + p_other * other.density(value);
        if density > 0.0 && all > 0.0 {
            information += p_own * density * (density / all).ln() * step;
        }
    }
    information.max(0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{HealthState, HealthTest, HealthyCosts};
    use crate::rng::Rng;

    fn healthy(run_sd: f64, process_sd: f64) -> HealthyCosts {
        HealthyCosts { centre: 1.0, run_sd, run_df: 7.0, runs: 8, process_sd, process_df: 40.0 }
    }

    #[test]
    fn healthy_runs_give_a_centre_and_two_deviations() {
        let runs: Vec<Vec<f64>> =
            (0..8).map(|run| vec![f64::from(run) - 0.5, f64::from(run) + 0.5]).collect();
        let learned = HealthyCosts::learn(&runs).unwrap();
        assert!((learned.centre - 3.5).abs() < 1e-12);
        assert!((learned.run_sd - 6.0_f64.sqrt()).abs() < 1e-12);
        assert!((learned.process_sd - 0.5_f64.sqrt()).abs() < 1e-12);
        assert!((learned.process_df - 8.0).abs() < 1e-12);
    }

    #[test]
    fn too_few_runs_and_values_that_are_not_finite_give_nothing() {
        let runs = vec![vec![1.0, 2.0]; 5];
        assert_eq!(HealthyCosts::learn(&runs), None);
        let mut runs = vec![vec![1.0, 2.0]; 8];
        runs[3][0] = f64::NAN;
        assert_eq!(HealthyCosts::learn(&runs), None);
        runs[3] = Vec::new();
        assert_eq!(HealthyCosts::learn(&runs), None);
    }

    #[test]
    fn deviations_are_drawn_together_and_what_never_varies_keeps_that() {
        let mut all = [0.008, 0.01, 0.012, 0.0].map(|run_sd| healthy(run_sd, 0.01));
        HealthyCosts::draw_together(&mut all);
        assert!((0.009..0.011).contains(&all[0].run_sd), "{all:?}");
        assert!(all[0].run_df > 100.0 && all[0].run_df.is_finite());
        assert!(all[0].reach(0.001, 20) < healthy(0.01, 0.01).reach(0.001, 20));
        assert!(all[3].run_sd == 0.0);
    }

    #[test]
    fn the_limit_is_the_margin_or_what_healthy_runs_show() {
        assert!((healthy(0.0, 0.01).reach(0.1, 20) - 0.1_f64.ln_1p()).abs() < 1e-12);
        // The 99.5th percentile of Student's t with 7 degrees of freedom is 3.499.
        let one = healthy(0.02, 0.01).reach(0.01, 1);
        assert!((one - 3.499 * 0.02 * 1.125_f64.sqrt()).abs() < 1e-4, "{one}");
        assert!(healthy(0.02, 0.01).reach(0.01, 20) > one);
    }

    #[test]
    fn a_slow_machine_is_suspect_first_and_fresh_processes_decide() {
        let mut test = HealthTest::new(healthy(0.01, 0.01), 0.05, 20);
        test.add(1.5);
        assert_eq!(test.state(), HealthState::Open);
        test.add(1.5);
        assert_eq!(test.state(), HealthState::Suspect);
        assert_eq!(test.bounds(), None);
        test.add(1.5);
        test.add(1.5);
        assert_eq!(test.state(), HealthState::Slow);
    }

    #[test]
    fn a_disturbance_that_has_passed_leaves_a_healthy_machine() {
        let mut test = HealthTest::new(healthy(0.01, 0.01), 0.05, 20);
        for cost in [1.5, 1.5, 1.0, 1.0, 1.0] {
            test.add(cost);
        }
        assert_eq!(test.state(), HealthState::Healthy);
    }

    #[test]
    fn information_is_worth_most_where_it_separates() {
        let clear = HealthTest::new(healthy(0.01, 0.01), 0.05, 20).expected_information();
        let noisy = HealthTest::new(healthy(0.01, 0.5), 0.05, 20).expected_information();
        // No more than the entropy of the prior.
        let entropy = -(0.05 * 0.05_f64.ln() + 0.95 * 0.95_f64.ln());
        assert!(clear > 0.8 * entropy && clear < 1.001 * entropy, "{clear} of {entropy}");
        assert!(noisy < 0.1 * clear, "{noisy} {clear}");
        let mut suspect = HealthTest::new(healthy(0.01, 0.01), 0.05, 20);
        suspect.add(1.5);
        suspect.add(1.5);
        assert!(suspect.expected_information() > clear);
        let mut done = HealthTest::new(healthy(0.01, 0.01), 0.05, 20);
        done.add(1.0);
        done.add(1.0);
        assert_eq!(done.state(), HealthState::Healthy);
        assert!(done.expected_information() == 0.0);
    }

    proptest! {
        #[test]
        fn bounds_hold_the_mean_and_states_follow_from_them(
            seed in any::<u64>(), run_sd in 0.0..0.1_f64, process_sd in 0.0..0.2_f64, shift in -1.0..1.0_f64,
        ) {
            let mut rng = Rng::new(seed);
            let mut test = HealthTest::new(healthy(run_sd, process_sd), 0.05, 20);
            for _ in 0..30 {
                test.add(1.0 + shift + process_sd * rng.normal());
                let information = test.expected_information();
                prop_assert!(information.is_finite() && information >= 0.0);
                let Some(bounds) = test.bounds() else { continue };
                prop_assert!(bounds.low <= bounds.estimate && bounds.estimate <= bounds.high);
                match test.state() {
                    HealthState::Healthy => prop_assert!(bounds.high < test.reach()),
                    HealthState::Slow => prop_assert!(bounds.low > test.reach()),
                    HealthState::Open | HealthState::Suspect => {}
                }
            }
        }
    }
}
