//! Monitors: what reads counters next to a workload.
//!
//! A monitor is a file in `monitors/` and a page beside it, listed in [`ALL`]. Its `parse` is a pure function from
//! the kernel's text to named values; its [`CounterSource`] keeps files open and reads them again. A
//! [`MonitorThreads`] reads all wanted ones from its own thread, and keeps raw values: rates are made
//! from two of them when somebody asks.
//!
//! What a machine does not have is *unsupported*, with the reason; what fails while it is read is a gap
//! in the readings. Neither ever ends a run.

mod counter_buffer;
mod files;
pub mod interference;
mod monitor;
mod monitors;
mod recorder;
mod wanted;

pub use counter_buffer::{CounterBuffer, CounterField, PutValue};
pub use monitor::{CounterSource, Monitor};
pub use monitors::{ALL, find, parse_all};
pub use recorder::{MonitorCost, MonitorThreads};
pub use wanted::{PacedMonitor, RATES_HZ, wanted};
