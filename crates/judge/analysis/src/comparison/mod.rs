//! One comparison of two arms: pairs of one run or stored runs, covariates, levels, and the verdict that both share.

pub(crate) mod covariates;
pub(crate) mod ends;
pub(crate) mod finding;
pub(crate) mod generator_busy;
pub(crate) mod levels;
pub(crate) mod pairs;
pub(crate) mod verdict;
