//! A run under way: what is known of it, its page's document, and the lines that a terminal shows.
//!
//! [`Live`] takes what was stored of the run since the last time; all the others read it.

mod charts;
mod document;
mod outlook;
mod progress;
#[cfg(test)]
mod schema;
mod seconds;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

pub use document::{LIVE_SCHEMA, LiveCompared, LiveDocument, LiveFlag, LiveLine, LivePoint};
pub use outlook::outlook_line;
pub use progress::{ProgressPoint, ProgressRatio, ProgressState, ProgressView};
pub use seconds::SecondLines;
pub use terminal::{progress_line, progress_lines};
pub use view::Live;
