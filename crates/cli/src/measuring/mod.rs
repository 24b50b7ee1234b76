//! From a plan to a stored run: what all commands share that measure.

pub mod execute;
pub mod job;
mod listeners;
pub mod live;
pub mod measure;
mod run_monitors;
pub mod search;
pub mod setup;
pub mod side_by_side;
pub mod target;
pub mod waiting;
