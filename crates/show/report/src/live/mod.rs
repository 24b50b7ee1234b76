//! A run under way: what is known of it, its page's document, and the lines that a terminal shows.

mod charts;
mod document;
pub(crate) mod progress;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

pub use document::{LIVE_SCHEMA, LiveCompared, LiveDocument, LiveFlag, LiveLine, LivePoint};
pub use progress::{ProgressPoint, ProgressRatio, ProgressState, ProgressView};
pub use terminal::{progress_line, progress_lines};
pub use view::Live;
