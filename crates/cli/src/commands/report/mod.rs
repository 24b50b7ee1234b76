//! `plumb report`: pages, or one chart, as files.

mod charts;
mod command;
mod pages;

pub use command::ReportArgs;
