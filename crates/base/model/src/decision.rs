//! Looks and decisions of strategies.

use plumb_stats::verdict::Verdict;
use serde::{Deserialize, Serialize};

use crate::stop::StopReason;

/// The data and decision of a strategy at a look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Index of the point in the plan.
    pub point: usize,
    /// Invocations of the point so far.
    pub invocations: usize,
    /// Steady samples of the point so far.
    pub samples: usize,
    /// What the look saw; None when the strategy decided without looking.
    pub look: Option<Look>,
    /// Why the point is done; None to go on.
    pub stop: Option<StopReason>,
    /// Relative half-width wanted.
    pub wanted: Option<f64>,
    /// Time that the point is expected to need still, in nanoseconds, if a prediction is sound.
    pub remaining_ns: Option<u64>,
    /// What a comparison with the first point says at this look; its interval is `look`, a ratio of
    /// costs.
    #[serde(default)]
    pub compared: Option<Compared>,
    /// The outlook of a comparison; reported while it runs and not stored, because it follows from the samples.
    #[serde(skip)]
    pub outlook: Option<Outlook>,
}

/// The outlook of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// By how much pairs differ, as a log ratio: their standard deviation, if they are normal.
    pub scale: f64,
    /// Time of a pair, in nanoseconds.
    pub pair_ns: u64,
    /// The pairs that show a change of twice the margin four times in five, and those that show one of the margin;
    /// None if it is more than a comparison has.
    pub to_tell: [Option<usize>; 2],
}

/// The result of one look at a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Units of the comparison that were complete.
    pub pairs: usize,
    /// The verdict; None when there is none.
    #[serde(with = "crate::verdict_word")]
    pub verdict: Option<Verdict>,
    /// Units that would settle it in all, as far as is known.
    pub pairs_needed: Option<usize>,
}

/// An interval seen at a look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// The estimate, in the unit of the metric.
    pub estimate: f64,
    /// Lower end; None when there is no interval.
    pub low: Option<f64>,
    /// Upper end; None when there is no interval.
    pub high: Option<f64>,
    /// Level of the interval at this look.
    pub level: f64,
}

impl Look {
    /// Larger distance from the estimate to an end, relative to the estimate.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let low = self.low?;
        let high = self.high?;
        Some((high - self.estimate).max(self.estimate - low) / self.estimate.abs())
    }
}
