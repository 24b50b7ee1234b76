//! The highest load that a system bears: multiple loss ratio search, docs/method.md, *Limits*.
//!
//! MLRsearch (RFC 9971) for one goal. A [`LoadTrial`] offers a load for a while and counts what became of the operations.
//! Trials classify a load as a lower bound (the goal holds), an upper bound (it does not) or neither yet; the
//! [`LoadSearch`] asks for the next trial until the highest lower bound and the lowest upper bound are as close as the goal
//! wants. What it found follows from the trials alone ([`limit`]), whoever asked for them.
//!
//! Who talks to whom: a driver calls [`LoadSearch::next_trial`], carries the trial out, and gives its result to [`LoadSearch::take`].

mod bounds;
mod goal;
mod grid;
mod steps;

pub use bounds::{LoadTrial, SearchLimit, limit};
pub use goal::{GoalError, LoadGoal};
pub use steps::{LoadSearch, Loads, NextTrial};
