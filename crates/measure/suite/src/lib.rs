//! What people type for a run, on the command line or in a suite: points and ranges of values, stopping
//! rules, and quantities with their units. Nothing here knows a workload.

mod error;
mod expectations;
mod nearest;
mod quantity;
mod range;
mod rules;
mod sampling;
mod suite;
mod write;

pub use error::UsageError;
pub use expectations::{FiguresOfMachine, expectations, expectations_of_machine};
pub use nearest::nearest;
pub use quantity::{check_label, figure, label, margin, pair, pause_ns, share, time_ns};
pub use range::{expanded, values_of};
pub use rules::{TypedRules, checked};
pub use sampling::state_sampling;
pub use suite::{BUILTIN, MAX_BYTES, MAX_POINTS, Suite, SuiteEntry, SuiteError, builtin, parse};
