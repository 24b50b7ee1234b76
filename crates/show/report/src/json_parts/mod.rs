//! Parts of several documents for machines.

pub(crate) mod ended;
pub(crate) mod estimate;
pub(crate) mod point;
pub(crate) mod target;
pub(crate) mod text;
