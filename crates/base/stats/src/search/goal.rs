//! The goal of a search, and the coarser goals on its way.

use std::fmt;

/// Coarser goals before the goal itself: each has twice the width of the next.
const COARSER: u32 = 2;

/// The goal at a load, and how surely it must be known. Durations are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadGoal {
    /// The largest share of lost operations of a good trial, from 0 to below 1.
    pub loss_ratio: f64,
    /// The share of the duration of all trials of a load that bad ones may take while the goal still holds, from 0 to
    /// below 1.
    pub exceed_ratio: f64,
    /// How close the two bounds have to be, relative to the upper one; above 0 and below 1.
    pub width: f64,
    /// Length of the first trials, and the least length of any.
    pub initial_trial_ns: u64,
    /// Length of the last trials; shorter ones say less of a load.
    pub final_trial_ns: u64,
    /// Length of all trials of a load that settle it.
    pub duration_sum_ns: u64,
    /// The search ends before a trial that could make all trials together longer than this.
    pub most_ns: u64,
}

/// Why a goal or a range of loads can't be searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalError(pub &'static str);

impl fmt::Display for GoalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for GoalError {}

impl LoadGoal {
    /// Zero loss by trials of 50 ms, five a load, and 3 s for all: a search that fits into a benchmark.
    pub const QUICK: Self = Self {
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        width: 0.01,
        initial_trial_ns: 50_000_000,
        final_trial_ns: 50_000_000,
        duration_sum_ns: 250_000_000,
        most_ns: 3_000_000_000,
    };
    /// RFC 2544's throughput: one trial of 60 s a load, none of which may fail.
    pub const RFC2544: Self = Self {
        exceed_ratio: 0.0,
        width: 0.005,
        initial_trial_ns: 1_000_000_000,
        final_trial_ns: 60_000_000_000,
        duration_sum_ns: 60_000_000_000,
        most_ns: u64::MAX,
        ..Self::QUICK
    };
    /// ETSI TST 009's: two trials of 60 s a load, one of which may fail.
    pub const TST009: Self =
        Self { exceed_ratio: 0.5, duration_sum_ns: 120_000_000_000, ..Self::RFC2544 };
    /// FD.io CSIT's: 21 trials of 1 s a load, half of which may fail.
    pub const CSIT: Self =
        Self { final_trial_ns: 1_000_000_000, duration_sum_ns: 21_000_000_000, ..Self::TST009 };

    /// # Errors
    /// The first number that is out of its range.
    pub fn check(&self) -> Result<(), GoalError> {
        let share = 0.0..1.0;
        if !share.contains(&self.loss_ratio) {
            Err(GoalError("the loss ratio of a goal must be at least 0 and below 1"))
        } else if !share.contains(&self.exceed_ratio) {
            Err(GoalError("the exceed ratio of a goal must be at least 0 and below 1"))
        } else if !share.contains(&self.width) || self.width < 1e-6 {
            Err(GoalError("the width of a goal must be at least 0.000001 and below 1"))
        } else if self.initial_trial_ns == 0
            || self.final_trial_ns < self.initial_trial_ns
            || self.duration_sum_ns < self.final_trial_ns
        {
            Err(GoalError(
                "a goal's durations (first trial, last trial, sum per load) must be above 0 and must not decrease",
            ))
        } else {
            Ok(())
        }
    }

    /// The goals of a search in their order: coarser and quicker ones, then this.
    pub(super) fn stages(&self) -> Vec<GoalStage> {
        let shrink = self.initial_trial_ns as f64 / self.duration_sum_ns as f64;
        (0..=COARSER).rev().map(|coarser| self.stage(coarser, shrink)).collect()
    }

    fn stage(&self, coarser: u32, shrink: f64) -> GoalStage {
        let sum_ns = match coarser {
            0 => self.duration_sum_ns,
            COARSER => self.initial_trial_ns,
            // Whole nanoseconds, so that trials of this length add up to it.
            some => {
                let factor = shrink.powf(f64::from(some) / f64::from(COARSER));
                (self.duration_sum_ns as f64 * factor) as u64
            }
        };
        GoalStage {
            loss_ratio: self.loss_ratio,
            exceed_ratio: self.exceed_ratio,
            trial_ns: sum_ns.min(self.final_trial_ns),
            sum_ns,
            coarser,
        }
    }
}

/// One of the goals that a search takes one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoalStage {
    pub loss_ratio: f64,
    pub exceed_ratio: f64,
    /// Length of its trials; shorter ones say less.
    pub trial_ns: u64,
    /// Length of all trials of a load that settle it.
    pub sum_ns: u64,
    /// Its width is the goal's, doubled so often.
    pub coarser: u32,
}
