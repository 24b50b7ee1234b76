//! From a record to what it says: pure functions, repeatable from the store, versioned.
//!
//! [`summarise`] reads a [`plumb_model::RunRecord`] and finds an estimate with its interval for every
//! metric of every point, what curves over a parameter and points behind a link say, how later points compare with the first, what could not
//! be measured, and the reasons to distrust all of it. [`compare`] and [`Checker`] set runs against each
//! other, [`history()`] one series against its past. Intervals come from `plumb-stats`, the same functions
//! that the engine's strategies stop by, so that the two cannot disagree.

mod also_changed;
mod audit;
mod burst;
mod caches;
mod check;
mod common_movement;
mod comparison;
mod curve;
mod curves;
mod environment_diff;
mod estimate;
mod expectations;
mod facts;
mod failures;
mod finding;
mod flags;
mod histogram;
mod history;
mod levels;
mod link_fit;
mod link_fits;
mod log_cost;
mod method;
mod odd_addresses;
mod pauses;
mod point_data;
mod random_reads;
mod rates;
mod run_costs;
mod run_results;
mod samples;
mod series;
mod shares;
mod summarise;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod time_series;
mod times;
mod work_differs;

pub use also_changed::{
    add_covariates, add_covariates_to_check, add_covariates_to_levels, add_covariates_to_points,
};
pub use audit::{ClassAudit, Injected, Levels, audit_class, audit_injected};
pub use burst::Burst;
pub use check::{
    BaselineTimes, Caveats, CheckFinding, CheckState, CheckedSeries, Checker, NotMeasured,
    canary_shift,
};
pub use common_movement::CommonMovements;
pub use comparison::arms::{CompareSettings, without};
pub use comparison::covariates::{Counters, Covariate, CovariateChange};
pub use comparison::levels::{LevelsCompared, Moved};
pub use comparison::pairs::PointComparison;
pub use comparison::side_by_side::{
    Arm, ComparisonFinding, SeriesComparison, compare, compare_beside, compare_sides,
};
pub use comparison::standing_out::StandingOut;
pub use comparison::verdict::{
    Basis, ByPairs, ByRuns, Comparison, LookFound, NoVerdict, Remark, SpreadRatio,
};
pub use curve::{CacheLevel, Curve, CurveFound, Efficiency, Plateau, PointOfCurve, ScalabilityLaw};
pub use environment_diff::{Difference, target_diff};
pub use estimate::{Ends, Estimate};
pub use facts::{CpuShares, PointFacts, RunFacts, ShownParameter, point_facts};
pub use finding::{
    BaselineSource, Disturbances, Failure, Finding, RunFinding, ShareOfBaseline, SinceLast,
    Unsupported,
};
pub use histogram::{PointTail, tails};
pub use history::{
    Cycle, CycleFinding, HistoryEntry, HistoryFinding, HistoryRun, HistoryStep, OtherHosts, Split,
    history, history_entry, history_of_entries, since,
};
pub use levels::{Level, TwoLevels};
pub use link_fit::{EffectiveDepth, LinkFit, LinkFound, LinkShares, PointBehindLink};
pub use method::{CONFIDENCE, METHOD_VERSION};
pub use pauses::Pauses;
pub use plumb_stats::curves::link::Binds;
pub use plumb_stats::describe::BoxPlot;
pub use plumb_stats::levels::LevelsOf;
pub use plumb_stats::standing_out::{CannotTell, FEWEST_SERIES, Stood};
pub use rates::{CounterRate, PointRates, rates_by_point};
pub use run_results::{
    RunResults, SeriesResults, SinceRun, common_movements_of_results, history_of_results,
};
pub use samples::{InvocationSamples, PointSamples, QuantileRatio, quantile_ratios, samples};
pub use summarise::summarise;
pub use time_series::{Disturbed, PointTimeSeries, TimeOf, TimeSeries, Traces, time_series};
pub use times::{ProcessTimes, process_times};
