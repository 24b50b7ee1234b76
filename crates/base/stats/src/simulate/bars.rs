//! The bars: what the method promises, measured, with a verdict.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::{
    baselines, checks, curves, fixed, histories, levels, limits, looks, runs, sequences,
    standing_out, steady, stopping, suites, times, traces, verdicts,
};
use crate::describe::{mean_of, variance_of};
use crate::distribution::binomial_cdf;

/// A bar fails when a method that just clears it would do so badly once in 10,000 times.
const CHANCE: f64 = 1e-4;
/// The same for a mean: this many standard errors.
const CHANCE_Z: f64 = 3.72;

/// What was promised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// No less than this.
    AtLeast(f64),
    /// No more than this.
    AtMost(f64),
    /// Measured, but not promised; the reason.
    Exempt(&'static str),
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measured {
    /// How often something happened.
    Share {
        /// Times it did.
        hits: u64,
        /// Times it could.
        trials: u64,
    },
    /// An average with its standard error.
    Mean {
        /// The average.
        mean: f64,
        /// Its standard error.
        error: f64,
    },
}

impl Measured {
    /// The mean of values that were drawn independently, of two or more.
    pub fn mean(values: &[f64]) -> Self {
        let error = (variance_of(values) / values.len() as f64).sqrt();
        Self::Mean { mean: mean_of(values), error }
    }

    /// The number to show.
    pub fn value(&self) -> f64 {
        match *self {
            Self::Share { hits, trials } => hits as f64 / trials.max(1) as f64,
            Self::Mean { mean, .. } => mean,
        }
    }

    fn at_least(&self, bar: f64) -> bool {
        match *self {
            Self::Share { hits, trials } => binomial_cdf(hits, trials, bar) > CHANCE,
            Self::Mean { mean, error } => mean + CHANCE_Z * error >= bar,
        }
    }

    fn at_most(&self, bar: f64) -> bool {
        match *self {
            Self::Share { hits, trials } => binomial_cdf(trials - hits, trials, 1.0 - bar) > CHANCE,
            Self::Mean { mean, error } => mean - CHANCE_Z * error <= bar,
        }
    }
}

/// One line of the validation.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What is promised, the same for a group of rows.
    pub promise: &'static str,
    /// Under which noise or setting.
    pub setting: String,
    /// The bar.
    pub bar: Bar,
    /// The result.
    pub measured: Measured,
    /// What else is worth knowing.
    pub note: String,
}

impl Row {
    /// Whether the bar is cleared; exempt rows always are.
    pub fn passes(&self) -> bool {
        match self.bar {
            Bar::AtLeast(bar) => self.measured.at_least(bar),
            Bar::AtMost(bar) => self.measured.at_most(bar),
            Bar::Exempt(_) => true,
        }
    }
}

/// Measures some bars with so many replications a cell, and hands over each row as it is done.
pub type Measure = fn(u64, &mut dyn FnMut(Row));

/// Every bar, in groups by name that can be measured by themselves, in the order of the report.
pub const GROUPS: [(&str, Measure); 22] = [
    ("stopping", stopping::standard),
    ("stopping-long-samples", stopping::long_samples),
    ("stopping-after-pilot", stopping::after_pilot),
    ("stopping-commands", stopping::commands),
    ("stopping-one-process", stopping::one_process),
    ("cost", stopping::cost),
    ("fixed", fixed::run),
    ("looks", looks::run),
    ("verdicts", verdicts::run),
    ("times", times::run),
    ("runs", runs::run),
    ("standing-out", standing_out::run),
    ("suites", suites::run),
    ("checks", checks::run),
    ("baselines", baselines::run),
    ("histories", histories::run),
    ("sequences", sequences::run),
    ("steady", steady::run),
    ("levels", levels::run),
    ("limits", limits::run),
    ("curves", curves::run),
    ("traces", traces::run),
];

/// Measures all groups, on as many threads as there are CPUs; rows are handed over in order, a group at a time.
pub fn run(replications: u64, report: &mut dyn FnMut(Row)) {
    let next = AtomicUsize::new(0);
    let (send, received) = mpsc::channel();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (next, send) = (&next, send.clone());
            scope.spawn(move || {
                loop {
                    let group = next.fetch_add(1, Ordering::Relaxed);
                    let Some((_, measure)) = GROUPS.get(group) else { break };
                    let mut rows = Vec::new();
                    measure(replications, &mut |row| rows.push(row));
                    // Only a receiver that panicked does not listen.
                    _ = send.send((group, rows));
                }
            });
        }
        drop(send);
        let (mut waiting, mut due) = (BTreeMap::new(), 0);
        for (group, rows) in received {
            waiting.insert(group, rows);
            while let Some(rows) = waiting.remove(&due) {
                rows.into_iter().for_each(&mut *report);
                due += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{Bar, Measured, Row, run};

    fn row(bar: Bar, hits: u64) -> Row {
        let measured = Measured::Share { hits, trials: 1000 };
        Row { promise: "", setting: String::new(), bar, measured, note: String::new() }
    }

    #[test]
    fn chance_is_allowed_for_and_no_more() {
        assert!(row(Bar::AtLeast(0.94), 915).passes());
        assert!(!row(Bar::AtLeast(0.94), 905).passes());
        assert!(row(Bar::AtMost(0.05), 75).passes());
        assert!(!row(Bar::AtMost(0.05), 85).passes());
        assert!(row(Bar::Exempt("why"), 0).passes());
    }

    #[test]
    fn every_bar_is_cleared_in_a_quick_run() {
        let mut failed = Vec::new();
        run(100, &mut |row| {
            if !row.passes() {
                failed.push(row);
            }
        });
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
