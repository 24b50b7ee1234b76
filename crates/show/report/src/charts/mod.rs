//! Charts of findings: what the marks are, and what is said of them. plumb-chart draws them. `registry.rs`
//! lists them.

mod comparison;
mod fits;
mod fleet;
mod groups;
mod history;
mod ladder;
mod monitors;
mod of_records;
mod overview;
mod parameters;
mod parts;
mod registry;
mod restated;
mod scorecard;
mod sides;
mod spread;
mod subject;
mod warmup;
mod workload;

pub(crate) use comparison::ratios_of;
pub use monitors::Monitored;
pub use of_records::{charts_of_monitors, charts_of_run, charts_of_sides};
pub use overview::OVERVIEW;
pub use registry::{
    CHARTS, ChartKind, of_comparison, of_history, of_kind, of_monitors, of_run, of_sides,
    of_workload,
};
