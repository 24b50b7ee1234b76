//! What a chart is, and how it is drawn: as SVG, as PNG, in characters, as a table. What the marks stand for
//! is told by whoever makes them; nothing here knows of benchmarks.
//!
//! A [`Draft`] collects marks and gives them their axes; [`Chart`] is what comes of it.

mod appearance;
mod chart;
mod clean;
mod coarse;
mod csv;
mod draft;
mod draw;
mod font;
mod mark;
mod picture;
mod place;
mod png;
mod spec;
mod svg;
mod terminal;
mod thin;
mod ticks;

pub use chart::{Along, Axis, CHART_SCHEMA, Chart, Mark, MarkGroup, MarkLayer, Scale, Tone};
pub use draft::Draft;
pub use place::place;
pub use spec::{AxisFit, AxisSpec};
pub use terminal::drawing;
pub use thin::{MOST_DOTS, MOST_KNOTS, grouped, ranks, ranks_and_extremes, spikes};
