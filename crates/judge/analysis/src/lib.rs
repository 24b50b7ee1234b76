//! From a record to what it says: pure functions, repeatable from the store, versioned.
//!
//! [`summarise`] reads a [`plumb_model::RunRecord`] and finds an estimate with its interval for every
//! metric of every point, how threads scale, how later points compare with the first, what could not
//! be measured, and the reasons to distrust all of it. Intervals come from `plumb-stats`, the same
//! functions that the engine's strategies stop by, so that the two cannot disagree.

mod against;
mod audit;
mod baselines;
mod check;
mod comparison;
mod courses;
mod differences;
mod digest;
mod estimate;
mod evidence;
mod faults;
mod finding;
mod histogram;
mod history;
mod moved;
mod rates;
mod rules;
mod samples;
mod scaling;
mod series;
mod summarise;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod times;

pub use audit::{ClassAudit, Injected, Levels, audit_class, audit_injected};
pub use baselines::ceiling_parameter;
pub use check::{
    CheckFinding, CheckState, CheckedSeries, Checker, Doubts, NotMeasured, canary_shift,
};
pub use comparison::{
    Against, Arm, CompareSettings, ComparisonFinding, SeriesComparison, compare, compare_beside,
    compare_sides, without,
};
pub use courses::{Course, Disturbed, PointCourses, Traces, courses};
pub use differences::{Difference, target_differences};
pub use digest::{RunDigest, SeriesDigest, history_of_digests};
pub use finding::{
    BaselineSource, Comparison, CpuShares, Disturbances, Ends, Estimate, Failure, Finding,
    LookFinding, OfBaseline, PointFacts, RunFacts, RunFinding, Scaling, Setting, SpreadRatio,
    Unsupported, Verdict,
};
pub use histogram::{PointTail, tails};
pub use history::{
    Cycle, CycleFinding, HistoryFinding, HistoryRun, HistoryStep, Split, history, since,
};
pub use moved::{Counters, Moved, Movement, explain, explain_check, explain_points};
pub use plumb_stats::describe::BoxPlot;
pub use rates::{CounterRate, PointRates, rates_by_point};
pub use samples::{InvocationSamples, PointSamples, QuantileRatio, quantile_ratios, samples};
pub(crate) use summarise::run_facts;
pub use summarise::{point_facts, summarise};
pub use times::{ProcessTimes, process_times};

/// Rises whenever the same record gives another finding.
pub const METHOD_VERSION: u32 = 1;

/// Level of every interval that is printed. The looks at which a strategy stops have the level
/// [`plumb_stats::precision::PER_LOOK_LEVEL`], which leaves this for the interval that was kept.
pub const CONFIDENCE: f64 = 0.95;
