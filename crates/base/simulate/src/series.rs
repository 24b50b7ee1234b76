//! Samples of one process that warms up, slows down or never settles, with the level that it settles at.

use plumb_stats::rng::Rng;

/// The course of the level over a series; fractions are of its length, sizes relative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LevelCourse {
    /// It stays the same from the first sample on.
    Flat,
    /// 20 % slower at first, decaying with a time constant of 5 % of the series.
    Exponential,
    /// 30 % slower for the first 10 %.
    Step,
    /// 30 % slower, then 10 %, for 8 % of the series each, then steady.
    TwoSteps,
    /// 5 % faster for the first 20 %.
    Slowdown,
    /// 3 % slower for the first 60 %.
    LateStep,
    /// 5 % slower by the end, evenly.
    Trend,
}

/// A course with its noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedSeries {
    /// The name that reports use.
    pub name: &'static str,
    /// What the level does.
    pub course: LevelCourse,
    /// Standard deviation in log time.
    pub sd: f64,
    /// Coefficient of first-order autoregression.
    pub rho: f64,
    /// Share of samples that are 50 % slower.
    pub spikes: f64,
}

impl SimulatedSeries {
    /// A course under independent noise of 3 %.
    pub const fn new(name: &'static str, course: LevelCourse) -> Self {
        Self { name, course, sd: 0.03, rho: 0.0, spikes: 0.0 }
    }

    /// Log times of `n` samples whose steady level is 0.
    pub fn draw(&self, n: usize, rng: &mut Rng) -> Vec<f64> {
        let mut state = rng.normal();
        (0..n)
            .map(|index| {
                state = self.rho * state + (1.0 - self.rho * self.rho).sqrt() * rng.normal();
                let spike = if rng.uniform() < self.spikes { 0.405 } else { 0.0 };
                self.level(index as f64 / n as f64) + self.sd * state + spike
            })
            .collect()
    }

    fn level(&self, at: f64) -> f64 {
        match self.course {
            LevelCourse::Flat => 0.0,
            LevelCourse::Exponential => 0.2 * (-at / 0.05).exp(),
            LevelCourse::Step => {
                if at < 0.1 {
                    0.3
                } else {
                    0.0
                }
            }
            LevelCourse::TwoSteps => {
                if at < 0.08 {
                    0.3
                } else if at < 0.16 {
                    0.1
                } else {
                    0.0
                }
            }
            LevelCourse::Slowdown => {
                if at < 0.2 {
                    -0.05
                } else {
                    0.0
                }
            }
            LevelCourse::LateStep => {
                if at < 0.6 {
                    0.03
                } else {
                    0.0
                }
            }
            LevelCourse::Trend => 0.05 * at,
        }
    }
}
