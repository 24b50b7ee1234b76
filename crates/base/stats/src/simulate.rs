//! Simulations with known truth: the noise of benchmarks, and the bars that the method has to clear in it.
//!
//! Compiled for tests and behind the feature `simulate`; `cargo xtask validate` runs every bar at full length.

pub mod bars;
mod baselines;
mod checks;
mod curves;
pub mod environment;
mod fixed;
mod histories;
mod levels;
pub mod limits;
pub mod looks;
pub mod noise;
pub mod recording;
mod runs;
mod sequences;
pub mod series;
mod standing_out;
mod steady;
mod stopping;
mod suites;
pub mod tables;
mod times;
pub mod traces;
mod verdicts;
