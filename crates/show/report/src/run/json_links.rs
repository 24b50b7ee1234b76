//! Points behind a link in the document of a run.

use plumb_analysis::{Finding, LinkFit, LinkFound, LinkShares};
use serde::Serialize;

use crate::json_parts::estimate::{EstimatePart, estimate};

/// Time = bytes / bandwidth + operations × round trip × wait + rest, over points that differ in nothing but the bandwidth
/// and the round trip of their link.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkPart {
    /// The workload, with the settings of other parameters that are not at their defaults.
    pub of: String,
    /// The workload's id.
    pub workload: String,
    /// Index into `targets`.
    pub target: usize,
    /// The parameters in which the points differ.
    pub by: Vec<String>,
    /// Its points, in the plan's order.
    pub points: Vec<LinkPointPart>,
    /// Why nothing was found; null if something was.
    pub no_figures: Option<String>,
    /// The share of a round trip for which an operation waits: 1 / depth.
    pub wait: Option<EstimatePart>,
    /// How many operations share a round trip; null if no waiting was seen.
    pub depth: Option<f64>,
    /// The least depth; null without an interval.
    pub depth_low: Option<f64>,
    /// The greatest depth; null without an interval, or if nothing bounds it.
    pub depth_high: Option<f64>,
    /// The time of an iteration that depends on neither bandwidth nor round trip, in seconds.
    pub rest: Option<EstimatePart>,
}

/// A point behind a link; times are of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkPointPart {
    /// The series of the result there.
    pub series: String,
    /// Bytes over bandwidth, of the direction that takes longer, in seconds.
    pub sending_s: f64,
    /// Operations of one iteration that wait for a round trip.
    pub operations: f64,
    /// A round trip, in seconds.
    pub round_trip_s: f64,
    /// The parts of its time; null if none were found.
    pub shares: Option<LinkSharesPart>,
}

/// The parts of a point's time: shares of the fitted time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkSharesPart {
    /// Bytes over bandwidth.
    pub bandwidth: EstimatePart,
    /// Waiting for round trips.
    pub round_trips: EstimatePart,
    /// The part that depends on neither bandwidth nor round trip.
    pub rest: EstimatePart,
    /// Which of them has more than half beyond doubt; `none` if each has less, `open` if the intervals don't tell.
    #[cfg_attr(test, schemars(extend("enum" = ["bandwidth", "round-trips", "rest", "none", "open"])))]
    pub binds: &'static str,
    /// How far the time that the other points predict lies off the measured one, relative to it; null if they predict
    /// none.
    pub left_out: Option<f64>,
}

/// Points behind a link as a part of the document.
pub(crate) fn link(fit: &LinkFit, results: &[Finding]) -> LinkPart {
    let found = fit.found.as_ref().ok();
    let depth = found.map(LinkFound::depth);
    let points = fit.points.iter().enumerate().filter_map(|(index, point)| {
        Some(LinkPointPart {
            series: results.get(point.result)?.series.clone(),
            sending_s: point.sending_s,
            operations: point.operations,
            round_trip_s: point.round_trip_s,
            shares: found.and_then(|found| found.shares.get(index)).map(shares),
        })
    });
    LinkPart {
        of: fit.of.clone(),
        workload: fit.workload.clone(),
        target: fit.target,
        by: fit.by.clone(),
        points: points.collect(),
        no_figures: fit.found.clone().err(),
        wait: found.map(|found| estimate(&found.wait)),
        depth: depth.and_then(|bounds| bounds.value),
        depth_low: depth.and_then(|bounds| bounds.low),
        depth_high: depth.and_then(|bounds| bounds.high),
        rest: found.map(|found| estimate(&found.rest)),
    }
}

fn shares(of: &LinkShares) -> LinkSharesPart {
    LinkSharesPart {
        bandwidth: estimate(&of.bandwidth),
        round_trips: estimate(&of.round_trips),
        rest: estimate(&of.rest),
        binds: of.binds.word(),
        left_out: of.left_out,
    }
}
