//! From a plan to a stored run: what all commands share that measure.

pub mod fail_on;
pub mod measure;
mod progress;
pub mod side_by_side;
