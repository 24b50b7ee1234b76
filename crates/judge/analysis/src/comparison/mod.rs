//! What arms say against each other: one [`verdict::Comparison`], by their pairs or by their runs.

pub(crate) mod arms;
pub(crate) mod covariates;
pub(crate) mod levels;
pub(crate) mod noise;
pub(crate) mod pairs;
pub(crate) mod runs;
pub(crate) mod side_by_side;
pub(crate) mod standing_out;
pub(crate) mod verdict;
