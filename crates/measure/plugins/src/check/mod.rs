//! Talks to a plug-in as plumb would, and says what is wrong with it.

mod checklist;
mod describe;
mod outcomes;
mod roles;
mod try_out;
mod workload;

pub use checklist::{Check, CheckOutcome, Checklist, Numbers};
pub use describe::{describe, judge};
pub use try_out::TryOut;
