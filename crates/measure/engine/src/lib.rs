//! Carries a plan out: strategies ask, a launcher runs, events come out.
//!
//! The engine knows workloads only through the protocol. Store, progress and live page are listeners
//! ([`plumb_model::EventSink`]); nothing else comes out. Nothing here prints, and nothing but the
//! worker runs inside a timed batch.

mod calibration;
mod clock;
mod companions;
mod context;
mod draws;
mod error;
mod exclusion;
mod history;
mod invocation;
mod monitor_reader;
mod monitoring;
mod pacing;
mod run;
mod sampling;
mod schedule;
mod slots;
pub mod strategy;
mod stream;

pub use clock::{Clock, SystemClock};
pub use context::{Ended, Identity, RunContext, SharedGate};
pub use error::EngineError;
pub use history::{History, Observation, PointHistory};
pub use monitor_reader::MonitorReader;
pub use run::run;
