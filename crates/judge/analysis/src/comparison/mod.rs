//! What arms say against each other, by their pairs or by their runs.

pub(crate) mod pairs;
pub(crate) mod runs;
