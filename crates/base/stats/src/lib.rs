//! The mathematics of honest benchmarks, and nothing else: no I/O, no printing, no dependencies.
//!
//! # What is here
//! - [`precision`]: when to stop measuring, and the interval to print (processes as the unit, or one long series).
//! - [`pairs`]: is B slower than A? Hodges-Lehmann and the exact signed-rank interval on pairs.
//! - [`verdict`]: faster, slower, equivalent or inconclusive, and at how many pairs to look.
//! - [`turn_order`]: in which order versions take their turns; [`outlook`]: what pairs can distinguish, and how many it takes.
//! - [`stored_runs`]: two stored runs, with the noise between runs allowed for.
//! - [`outlying_hosts`]: which hosts of a fleet are slow for their kind.
//! - [`standing_out`]: which series of two runs moved unlike the others; [`ranks`]: which ranks several items can have;
//! - [`regression_gate`]: a new run against a baseline of earlier ones; [`code_or_environment`]: where a regression comes from; [`multiple`]: many comparisons at once.
//! - [`histogram`]: quantiles of counts; [`history`]: steps from run to run; [`sequence`]: sampling without a planned end; [`audit`]: what a machine can tell; [`exclusion`]: when too much was disturbed; [`side_effects`]: which side other activity belongs to.
//! - [`curves`]: what a curve over a parameter says: efficiency, plateaus, a knee, a line; what binds points behind a link.
//! - [`spread`]: whether a change makes results more repeatable.
//! - [`warmup`]: where steady state begins, if it does; [`changes`]: the change-point statistic under it.
//! - [`batch`]: how many calls make a sample; [`components`]: how many samples a process should give.
//! - [`search`]: the highest load that a system bears.
//! - [`long_run`]: the cost of dependence between samples; [`levels`]: medians that say nothing, between two levels.
//! - [`distribution`], [`describe`], [`rng`]: the tools under all of these.
//!
//! # Rules of the crate
//! - A function that infers returns an [`Interval`] or the reason why there is none, [`NoInterval`];
//!   a function that only describes returns `None` if there is nothing to describe.
//! - NaN and infinities are refused at every entrance.
//! - Everything random takes an [`rng::Rng`], so that any run can be repeated from its seed.
//! - The unit of inference is the process; samples inside one process are never taken for independent.

pub mod audit;
pub mod batch;
pub mod changes;
pub mod code_or_environment;
pub mod components;
pub mod curves;
pub mod describe;
pub mod distribution;
pub mod effect;
pub mod exclusion;
pub mod flicker;
pub mod gate_power;
pub mod health;
pub mod histogram;
pub mod history;
mod interval;
pub mod levels;
pub mod long_run;
pub mod multiple;
pub mod outlook;
pub mod outlying_hosts;
pub mod pairs;
pub mod precision;
pub mod ranks;
pub mod regression_gate;
pub mod rng;
pub mod search;
pub mod sequence;
pub mod sessions;
pub mod side_effects;
pub mod spread;
pub mod standing_out;
pub mod stored_runs;
pub mod turn_order;
pub mod verdict;
mod walsh;
pub mod warmup;

pub use interval::{Interval, NoInterval};
