//! From a record to what it says: pure functions, repeatable from the store, versioned.
//!
//! [`summarise`] reads a [`plumb_model::RunRecord`] and finds an estimate with its interval for every
//! metric of every point, how threads scale, how later points compare with the first, what could not
//! be measured, and the reasons to distrust all of it. Intervals come from `plumb-stats`, the same
//! functions that the engine's strategies stop by, so that the two cannot disagree.

mod audit;
mod baselines;
mod check;
mod comparison;
mod covariates;
mod environment_diff;
mod estimate;
mod failures;
mod finding;
mod hdr;
mod histogram;
mod history;
mod point_data;
mod rates;
mod rules;
mod run_results;
mod samples;
mod scaling;
mod series;
mod summarise;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod time_series;
mod times;

pub use audit::{ClassAudit, Injected, Levels, audit_class, audit_injected};
pub use check::{
    Caveats, CheckFinding, CheckState, CheckedSeries, Checker, NotMeasured, canary_shift,
};
pub use comparison::runs::{
    Against, Arm, CompareSettings, ComparisonFinding, SeriesComparison, compare, compare_beside,
    compare_sides, without,
};
pub use covariates::{
    Counters, Covariate, CovariateChange, add_covariates, add_covariates_to_check,
    add_covariates_to_points,
};
pub use environment_diff::{Difference, target_diff};
pub use finding::{
    BaselineSource, Comparison, CpuShares, Disturbances, Ends, Estimate, Failure, Finding,
    LookFinding, OfBaseline, PointFacts, RunFacts, RunFinding, Scaling, Setting, SpreadRatio,
    Unsupported,
};
pub use histogram::{PointTail, tails};
pub use history::{
    Cycle, CycleFinding, HistoryFinding, HistoryRun, HistoryStep, Split, history, since,
};
pub use plumb_stats::describe::BoxPlot;
pub use rates::{CounterRate, PointRates, rates_by_point};
pub use run_results::{RunResults, SeriesResults, history_of_results};
pub use samples::{InvocationSamples, PointSamples, QuantileRatio, quantile_ratios, samples};
pub(crate) use summarise::run_facts;
pub use summarise::{point_facts, summarise};
pub use time_series::{Disturbed, PointTimeSeries, TimeSeries, Traces, time_series};
pub use times::{ProcessTimes, process_times};

/// Rises whenever the same record gives another finding.
pub const METHOD_VERSION: u32 = 1;

/// Level of every interval that is printed. The looks at which a strategy stops have the level
/// [`plumb_stats::precision::PER_LOOK_LEVEL`], which leaves this for the interval that was kept.
pub const CONFIDENCE: f64 = 0.95;
