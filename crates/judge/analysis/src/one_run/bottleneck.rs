//! The times of the parts of a point's work: plain data.

use crate::estimate::Estimate;

/// A point with the times of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct BottleneckFinding {
    /// Index of the point's first result.
    pub result: usize,
    /// The parts that were measured, the longest first.
    pub parts: Vec<PartOfWork>,
    /// The names of parts that were not measured.
    pub missing: Vec<String>,
    /// The part that takes longest beyond doubt: an index into `parts`. None if the intervals of two overlap.
    pub bottleneck: Option<usize>,
    /// The time of an iteration that the parts predict, in seconds: those that come first, and the longest of the others.
    /// Its interval holds if those of all parts do.
    pub predicted_s: Estimate,
    /// The predicted time over the measured one: 1 if the point is as fast as its parts allow.
    pub of_predicted: Estimate,
}

/// One part on its own.
#[derive(Debug, Clone, PartialEq)]
pub struct PartOfWork {
    /// What it is called: `path`.
    pub name: String,
    /// Index of its result.
    pub result: usize,
    /// Its time for the work of one iteration of the point, in seconds.
    pub time_s: Estimate,
    /// Whether its time is spent before the others begin.
    pub is_first: bool,
}
