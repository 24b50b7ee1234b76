//! Points behind a link, and what of their time is bandwidth, round trips and neither: plain data.

use plumb_stats::curves::link::Binds;

use crate::estimate::Estimate;

/// Time = bytes / bandwidth + operations × round trip / depth + rest, over the points of a workload that differ in nothing
/// but the bandwidth and the round trip of its link, on one target.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkFit {
    /// The workload, with the settings of other parameters that are not at their defaults: `block.mkfs:mode=full`.
    pub of: String,
    /// The workload's id.
    pub workload: String,
    /// Index of the target.
    pub target: usize,
    /// The parameters in which the points differ.
    pub by: Vec<String>,
    /// The points, in the plan's order.
    pub points: Vec<PointBehindLink>,
    /// What was found, or why nothing was.
    pub found: Result<LinkFound, String>,
}

/// A point behind a link; times are of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct PointBehindLink {
    /// Index into the results.
    pub result: usize,
    /// Bytes over bandwidth, of the direction that takes longer, in seconds.
    pub sending_s: f64,
    /// Operations of one iteration.
    pub operations: f64,
    /// A round trip, in seconds.
    pub round_trip_s: f64,
}

/// The figures of points behind a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkFound {
    /// The share of a round trip for which an operation waits: 1 / depth.
    pub wait: Estimate,
    /// The time of an iteration that depends on neither, in seconds.
    pub rest: Estimate,
    /// What the time of each point is made of, in their order.
    pub shares: Vec<LinkShares>,
}

/// What the time of a point is made of: shares of the fitted time, 1 together.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkShares {
    /// Bytes over bandwidth.
    pub bandwidth: Estimate,
    /// Waiting for round trips.
    pub round_trips: Estimate,
    /// The part that depends on neither bandwidth nor round trips.
    pub rest: Estimate,
    /// Which of them binds.
    pub binds: Binds,
    /// How far the time that the other points predict lies off the measured one, relative to it; None where they predict
    /// none.
    pub left_out: Option<f64>,
}

/// How many operations share a round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveDepth {
    /// The estimate; None where no waiting was seen.
    pub value: Option<f64>,
    /// The least; None without an interval, or where nothing bounds it.
    pub low: Option<f64>,
    /// The most; None without an interval, or where nothing bounds it.
    pub high: Option<f64>,
}

impl LinkFound {
    /// How many operations share a round trip: 1 / wait.
    #[must_use]
    pub fn depth(&self) -> EffectiveDepth {
        let of = |wait: f64| (wait > 0.0).then(|| wait.recip());
        let low = self.wait.high().and_then(of);
        let high = self.wait.low().and_then(of);
        EffectiveDepth { value: of(self.wait.value), low, high }
    }
}
