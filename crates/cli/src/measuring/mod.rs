//! From a plan to a stored run: what all commands share that measure.

pub mod execute;
pub mod fail_on;
mod failures;
pub mod folders;
mod host;
pub mod interrupted;
pub mod job;
mod listeners;
pub mod live;
mod lock;
pub mod measure;
mod progress;
mod run_monitors;
pub mod setup;
pub mod side_by_side;
pub mod target;
