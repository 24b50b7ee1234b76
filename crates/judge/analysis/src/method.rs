//! Which method finds what is found, and how sure its intervals are.

use plumb_model::{PlannedPoint, RunRecord, RunStatus};
use plumb_stats::precision::PER_LOOK_LEVEL;

/// Rises whenever the same record gives another finding.
pub const METHOD_VERSION: u32 = 14;

/// Level of every interval that is printed. The looks at which a strategy stops have the level
/// [`PER_LOOK_LEVEL`], which leaves this for the interval that was kept.
pub use plumb_stats::precision::CONFIDENCE;
/// So many times as long a run may be for what it reaches to be foretold.
pub use plumb_stats::precision::TIMES_LONGER;

/// The level of a point's intervals: where the number of invocations was asked for in advance, and all were
/// made, there was one look only.
pub(crate) fn level(record: &RunRecord, planned: &PlannedPoint) -> f64 {
    let in_advance = record
        .plan
        .rules_of(planned)
        .is_some_and(|rules| rules.precision.is_none() && !rules.are_none());
    if in_advance && record.status == RunStatus::Complete { CONFIDENCE } else { PER_LOOK_LEVEL }
}
