//! The findings of a curve over a parameter: docs/method.md, *Curves*.
//!
//! - [`scaling`]: efficiency of every point against the smallest.
//! - [`usl`]: contention and coherency, which explain a loss of efficiency.
//! - [`plateaus`]: heights and edges of a staircase, such as latency over the size of memory.
//! - [`knee`]: where growth stops, and the level there.
//! - [`mod@line`]: the cost of a call and of each unit.
//! - [`mod@link`]: what of the time of points behind a link is bandwidth, and what round trips.
//!
//! All take the points with their own intervals, whatever these come from, and work with relative errors.

pub mod knee;
mod least_squares;
pub mod line;
pub mod link;
pub mod plateaus;
mod point;
pub mod scaling;
pub mod usl;

pub use point::{CurveFigure, CurvePoint, MOST_POINTS, NoFit};
