//! Charts of findings: what the marks are, and what is said of them. plumb-chart draws them.

mod comparison;
mod history;
mod intervals;
mod monitors;
mod of_records;
mod parameters;
mod scorecard;
mod spread;
mod subject;
mod warmup;
mod workload;

pub use comparison::of_comparison;
pub(crate) use comparison::ratios_of;
pub use history::of_history;
pub use monitors::{Monitored, of_monitors};
pub use of_records::{charts_of_monitors, charts_of_run};
pub use scorecard::of_run;
pub use workload::of_workload;
