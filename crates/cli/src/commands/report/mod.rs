//! `plumb report`: pages, or one chart, as files.

mod charts;
mod command;
mod pages;

pub use charts::all_of_run;
pub use command::ReportArgs;
