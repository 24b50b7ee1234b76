//! The link of a workload: which of its parameters and metrics the terms of its time are made of.

use serde::{Deserialize, Serialize};

/// By which names a workload's link goes: bandwidth and round trip are parameters, what goes through is counted by metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkTerms {
    /// The directions in which the link carries data.
    pub directions: Vec<LinkDirection>,
    /// The parameter that is the round trip, of the type `time`.
    pub round_trip: String,
    /// The parameter that multiplies the bandwidths and divides the round trip, of the type `integer`; None if
    /// nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// The metrics whose sum is the number of operations of an iteration; an iteration is one operation if it names
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkDirection {
    /// The parameter that is its bandwidth, of the type `rate` in bytes; a word stands for one without a limit.
    pub bandwidth: String,
    /// The metric that counts the bytes of an iteration.
    pub bytes: String,
}

impl LinkTerms {
    /// The parameters in which points may differ and still go through one link: its bandwidths and its round trip.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let bandwidths = self.directions.iter().map(|direction| direction.bandwidth.as_str());
        bandwidths.chain(std::iter::once(self.round_trip.as_str()))
    }
}
