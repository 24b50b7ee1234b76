//! plumb's words as plain data: what travels between the crates and what the store keeps.
//!
//! Nothing here reads, writes, measures or draws. The words are those of `GLOSSARY.md`; each has
//! one type. Units are SI base units or nanoseconds, and the field's name says which.

mod bits;
mod bottleneck;
mod command_end;
mod confidence_percent;
mod counter;
mod decision;
mod diagnosis;
mod energy;
mod estimate;
mod event;
mod fact;
mod far_end;
mod flag;
mod fleet;
mod host;
mod id;
mod json;
mod link;
mod machine;
mod measurement;
mod plan;
mod point;
mod point_facts;
mod preparation;
mod record;
mod restricted;
mod rung;
mod sample;
mod search;
mod secrets;
mod series;
mod slurm;
mod start_up;
mod stop;
mod stopping_rules;
mod trial;
mod update;
mod value;
mod verdict_word;
mod workload;

pub use bottleneck::{PossibleBottleneck, has_value};
pub use command_end::{CommandEnd, CommandEnds, ENDED};
pub use counter::{
    Counter, CounterAmount, CounterKind, Gap, Interference, KernelLine, OnInterference, Reading,
    Readings, TICK_NS, TICKS_PER_S, Trace,
};
pub use decision::{Compared, Decision, Look, Outlook};
pub use diagnosis::{Diagnosis, Severity, Symptom};
pub use energy::{ENERGY_KNOB, IdlePower, NoIdlePower};
pub use estimate::{Ends, Estimate};
pub use event::{Event, EventSink, SinkError, Stamped};
pub use fact::{FACTS, FOR_ROOT, FactKind, IDENTITY, Impact, OF_FAR_END, Theme};
pub use far_end::{FarEnd, PEER_PORT};
pub use flag::{Flag, FlagKind};
pub use fleet::{FLEET_LABEL, FleetMachineRecord, FleetRecord, MachineEnd, MachineOutcome};
pub use host::{By, Host};
pub use id::{Id, SHOWN_DIGITS, short_id};
pub use json::AsJson;
pub use link::{LinkDirection, LinkTerms};
pub use machine::{CpuPlace, Environment, Facts, Machine, Owner, Target};
pub use measurement::Measurement;
pub use plan::{
    AFTER_PAUSE, CPU, Companion, ComparisonPlan, Expectation, ExtraWork, Goal, HealthGoal,
    HealthyPoint, MARGIN, PEAK_MEMORY, Plan, PlannedPoint, Program, ProofPoint, ProofRole,
    SHORTEST_PAUSE_NS, Sampling, VerdictGoal, prepared_words,
};
pub use plumb_stats::verdict::{Confidence, Verdict};
pub use point::{Point, PointError, is_same_name};
pub use point_facts::{PointFacts, ShownParameter};
pub use preparation::{
    ENCRYPTING, MEDIUM_HOLDER, Preparation, PreparationRecord, PreparationSlot, Prepared,
};
pub use record::{
    FixtureRecord, InvocationRecord, Missing, MissingKind, RecordSource, RunRecord, RunStatus,
    Segment,
};
pub use restricted::Restricted;
pub use rung::Rung;
pub use sample::{
    Histogram, InvocationEnd, Outcome, Ready, Samples, SamplesError, SharedStart, Usage,
    UsageSource,
};
pub use search::{SearchEffort, SearchGoal, Searched, trials};
pub use secrets::{DIGEST_DIGITS, KnownSecrets, STRUCK, names_a_secret, placeholders};
pub use series::{
    MeasuredOn, PointOnTarget, RunCompanion, RunCosts, RunOfSeries, SeriesInRun, SeriesName,
};
pub use slurm::{CollectedRun, JobExit, JobFact, JobState, SlurmFleet, SlurmJob};
pub use start_up::{LoaderFigures, MappedFile, RelocationCounts, StartUp};
pub use stop::StopReason;
pub use stopping_rules::StoppingRules;
pub use trial::{check_trial, note_trial, trial_samples};
pub use update::{EndedInvocation, RunUpdate};
pub use value::{Settings, Value};
pub use workload::{
    AuditClass, Better, CLASSIC_FAMILY, ClockKind, ClockSource, CurveKind, Description, FixtureOf,
    Metric, MetricSource, Parameter, ParameterType, QUANTILES, QuantityKind, Requirement, Role,
    SampleIs,
};
