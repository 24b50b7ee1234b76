//! From a record to what it says: pure functions, repeatable from the store, versioned.
//!
//! [`summarise`] reads a [`plumb_model::RunRecord`] and finds an estimate with its interval for every
//! metric of every point, what curves over a parameter and points behind a link say, how later points compare with the first, what could not
//! be measured, and the reasons to distrust all of it. [`compare`] and [`Checker`] set runs against each
//! other, [`history()`] one series against its past. Intervals come from `plumb-stats`, the same functions
//! that the engine's strategies stop by, so that the two cannot disagree.

mod asked;
mod audit;
mod comparison;
mod estimate;
mod facts;
mod method;
mod one_run;
mod over_runs;
mod run_reader;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod together;
mod why;

pub use asked::Asked;
pub use audit::{
    ClassAudit, FEWEST_LINKS, Injected, LayoutAudit, LayoutFinding, NoLayoutEffect,
    VarianceComponents, audit_class, audit_injected, audit_layout,
};
pub use comparison::covariates::{CounterMeans, Covariate, CovariateChange};
pub use comparison::finding::{
    Arm, ArmSamples, ComparisonFinding, ForPrice, NormalisedBy, SeriesComparison,
};
pub use comparison::levels::{LevelShift, LevelsCompared};
pub use comparison::pairs::PointComparison;
pub use comparison::verdict::{
    Basis, ByPairs, ByRuns, Comparison, FrequentEnd, LookFound, NoVerdict, OtherBuild, SpreadRatio,
    VerdictRemark,
};
pub use estimate::{Ends, Estimate};
pub use facts::{CpuShares, PointFacts, RunFacts, ShownParameter, point_facts};
pub use method::{CONFIDENCE, METHOD_VERSION, TIMES_LONGER};
pub use one_run::both_programs::BothPrograms;
pub use one_run::bottleneck::{BottleneckFinding, PartOfWork};
pub use one_run::burst::Burst;
pub use one_run::curve::{
    CacheLevel, Curve, CurveFound, Efficiency, Plateau, PointOfCurve, ScalabilityLaw,
};
pub use one_run::finding::{
    AcceptedFailures, BaselineSource, Disturbances, ExpectationVerdict, FailedInvocations, Finding,
    NoBaseline, ResultEnergy, RunFinding, ShareOfBaseline, SinceLast, Unsupported,
};
pub use one_run::fresh_run::{FreshRun, NotMeasured};
pub use one_run::gate::{CONFIRMS_LABEL, GateDoubt, GateFinding, GateOutcome, PointControls};
pub use one_run::histogram::{PointTail, tails};
pub use one_run::ladder::{Ladder, LadderRung};
pub use one_run::levels::{Level, TwoLevels};
pub use one_run::link_fit::{EffectiveDepth, LinkFit, LinkFound, LinkShares, PointBehindLink};
pub use one_run::pauses::Pauses;
pub use one_run::quick_check::{CostRatio, QuickCheckFinding, QuickResult, QuickState};
pub use one_run::ranking::{
    Implementations, RankedVariant, UnmeasuredVariant, VariantCosts, VariantRanking,
};
pub use one_run::rates::{CounterRate, PointRates, rates_by_point};
pub use one_run::right_answers::RightAnswers;
pub use one_run::samples::{
    InvocationSamples, PointSamples, QuantileRatio, quantile_ratios, samples,
};
pub use one_run::series_in_run::{run_of_series, series_in_run};
pub use one_run::sides::compare_sides;
pub use one_run::start_ups::PointStartUp;
pub use one_run::summarise::{EarlierOf, RunQuestions, summarise, summarise_with};
pub use one_run::time_series::{
    Disturbed, PointTimeSeries, TimeOf, TimeSeries, Traces, time_series,
};
pub use one_run::times::{ProcessTimes, process_times};
pub use over_runs::arms::{CompareSettings, without};
pub use over_runs::baseline_gate::{BaselineRuns, BaselineTimes, ConfirmingSessions, OtherRuns};
pub use over_runs::check::{
    Caveats, ChangedSince, CheckFinding, CheckState, CheckedAgainst, CheckedSeries, Checker,
    FirstBaseline, SinceOf, WhichBaseline, canary_shift,
};
pub use over_runs::check_proof::{CheckDoubt, CheckProof};
pub use over_runs::common_movement::CommonMovements;
pub use over_runs::compare::compare;
pub use over_runs::costs::costs_of_runs;
pub use over_runs::environment_diff::{Difference, target_diff};
pub use over_runs::healthy_runs::{HealthyResults, healthy_results};
pub use over_runs::history::{
    Cycle, CycleFinding, HistoryFinding, HistoryStep, OtherHosts, RecordedChange, first_since_step,
    history,
};
pub use over_runs::kinds::{
    KindFinding, MachineOfFleet, RatioOfMachine, SeriesOfKind, SlowResults, UsualOfKind, by_kind,
    slow_results,
};
pub use over_runs::rank_arms::{ArmRanking, NoArmRanking, ParetoFront, RankedArm, RankedByPrice};
pub use over_runs::regression_cause::CauseFinding;
pub use over_runs::sessions::{
    BUILDS_LABEL, OuterUnit, RepeatedComparison, SESSIONS_LABEL, SessionResult, SessionsFinding,
    over_builds, over_sessions, session_log_ratios,
};
pub use over_runs::since::{EarlierRuns, is_comparable_run, series_since};
pub use over_runs::standing_out::StandingOut;
pub use plumb_stats::code_or_environment::RegressionCause;
pub use plumb_stats::curves::link::Binds;
pub use plumb_stats::describe::BoxPlot;
pub use plumb_stats::flicker::default_length_s;
pub use plumb_stats::gate_power::GatePower;
pub use plumb_stats::levels::LevelsOf;
pub use plumb_stats::ranks::RankSet;
pub use plumb_stats::sessions::SessionNoise;
pub use plumb_stats::side_effects::RuleOfOneSide;
pub use plumb_stats::standing_out::{CannotTell, FEWEST_SERIES, Stood};
pub use run_reader::{CountersOf, RecordOf, RunReader};
pub use together::{
    LEAST_OVERLAP, MachineShare, PointWithoutSum, TogetherFinding, TogetherFindings, together,
};
pub use why::{
    AfterCauses, CandidateExperiment, CandidateFinding, CandidateOutcome, LEAST_EFFECT, WhyFinding,
};
