//! Results of the classic tools: read, converted to SI base units, and reported as the events of a run.
//!
//! [`decode`] makes text of a file's bytes; [`read`] recognises it by its content and gives a [`ResultFile`] of [`Import`]s, which
//! also lists what it could not read; [`events`] makes of one what the
//! engine would have reported, so that a store keeps it like any other run. What the file does not say
//! stays unknown: the machine above all, which is hardly ever the one that imports.
//!
//! A tool's result is a series of its own (`fio.randread`), because tools count differently.
//! [`arguments`] reads a tool's command line. [`COUNTING`] is the whole list of what is, and is not, the same as one of plumb's workloads.

mod arguments;
pub mod bonnie;
mod cloudwatch;
mod counting;
mod cyclictest;
mod dd;
mod error;
mod fio;
mod format;
mod fsmark;
mod hackbench;
mod hyperfine;
mod import;
mod ioping;
mod iperf3;
mod json;
mod mbw;
mod numbers;
mod openssl;
mod perf;
mod ping;
mod read;
mod result_file;
mod run;
mod sockperf;
mod stream;
mod stress_ng;
mod suites;
mod sysbench;
mod text;

pub use arguments::Arguments;
pub use counting::{COUNTING, Counting, CountingMatch};
pub use error::ImportError;
pub use format::Format;
pub use import::{Import, ImportedInvocation, ImportedSeries, Ours};
pub use read::read;
pub use result_file::{NotRead, ResultFile};
pub use run::{Describe, ImportDetails, events};
pub use suites::{SUITES, arguments};
pub use text::decode;
