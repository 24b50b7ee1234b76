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
mod method;
mod odd_addresses;
mod one_run;
mod over_runs;
mod pauses;
mod point_data;
mod random_reads;
mod rates;
mod samples;
mod shares;
mod summarise;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod time_series;
mod times;
mod work_differs;

pub use also_changed::add_covariates_to_check;
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
    Arm, ComparisonFinding, SeriesComparison, compare, compare_sides,
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
    Asked, BaselineSource, Disturbances, Failure, Finding, RunFinding, ShareOfBaseline, SinceLast,
    Unsupported,
};
pub use histogram::{PointTail, tails};
pub use history::{
    Cycle, CycleFinding, HistoryFinding, HistoryStep, OtherHosts, Split, first_since_step, history,
};
pub use levels::{Level, TwoLevels};
pub use link_fit::{EffectiveDepth, LinkFit, LinkFound, LinkShares, PointBehindLink};
pub use method::{CONFIDENCE, METHOD_VERSION};
pub use one_run::series_in_run::series_in_run;
pub use over_runs::since::{is_comparable_run, series_since};
pub use pauses::Pauses;
pub use plumb_stats::curves::link::Binds;
pub use plumb_stats::describe::BoxPlot;
pub use plumb_stats::levels::LevelsOf;
pub use plumb_stats::standing_out::{CannotTell, FEWEST_SERIES, Stood};
pub use rates::{CounterRate, PointRates, rates_by_point};
pub use samples::{InvocationSamples, PointSamples, QuantileRatio, quantile_ratios, samples};
pub use summarise::{EarlierOf, EarlierRuns, RunQuestions, summarise, summarise_with};
pub use time_series::{Disturbed, PointTimeSeries, TimeOf, TimeSeries, Traces, time_series};
pub use times::{ProcessTimes, process_times};
