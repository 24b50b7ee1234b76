//! Simulations with known truth: the noise of benchmarks, and the bars that the method has to clear in it.
//!
//! [`bars`] says what a bar is; a file per subject measures some; [`groups`] lists them. The tests run every bar
//! briefly, `cargo xtask validate` at full length. Nothing that plumb ships depends on this crate.

pub mod bars;
mod baselines;
mod best_quarter;
mod builds;
mod causes;
mod checks;
mod curves;
pub mod environment;
mod fixed;
mod gates;
pub mod groups;
mod health;
mod histories;
mod levels;
pub mod limits;
pub mod looks;
pub mod noise;
mod outlying_hosts;
mod ranks;
mod ratchet;
pub mod recording;
mod runs;
mod searches;
mod sequences;
pub mod series;
mod sessions;
mod side_effects;
mod standing_out;
mod steady;
mod stopping;
mod suites;
pub mod tables;
mod times;
pub mod traces;
mod verdicts;
