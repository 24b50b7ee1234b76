//! When to stop measuring, and the interval to print: docs/method.md, *Precision* and *Dependence*.
//!
//! Mode P, the default ([`clustered`]): samples come in clusters, one per fresh process, and only processes, or
//! stretches of them if neighbours in time are alike, are independent. Mode S ([`serial_quantile`]): one long series from a single process, whose dependence is measured.
//! In both the interval is made of order statistics, which hold for any shape of noise: bimodal, skewed, heavy-tailed.
//!
//! Looking at the data repeatedly costs coverage; each look therefore has the level [`PER_LOOK_LEVEL`], so that
//! the interval at which sampling stops still covers at least 95 %.

mod best_quarter;
mod clustered;
mod longer;
mod looks;
mod serial;
mod stretches;

pub use best_quarter::{best_quarter, fewest_for_best_quarter};
pub use clustered::{
    Clustered, clustered, clustered_estimate, clustered_quantile, fewest_processes,
};
pub use longer::{TIMES_LONGER, half_after};
pub use looks::{
    CONFIDENCE, DEFAULT_PRECISION, FIRST_LOOK, FIRST_LOOK_SERIAL, FIRST_LOOK_SINGLE,
    PER_LOOK_LEVEL, PILOT, looks,
};
pub(crate) use looks::{FEWEST_BEYOND, interior};
pub use serial::{Serial, serial_quantile};
pub(crate) use stretches::Stretches;
