//! Several runs: histories, checks and comparisons, computed from series without samples.

pub(crate) mod costs;
pub(crate) mod since;
