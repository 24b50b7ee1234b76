//! Carries a plan out: strategies ask, a launcher runs, events come out.
//!
//! The engine knows workloads only through the protocol. Store, progress and live page are listeners
//! ([`plumb_model::EventSink`]); nothing else comes out. Nothing here prints, and nothing but the
//! worker runs inside a timed batch.

mod clock;
mod history;
mod invocation;
mod launch;
mod pairing;
mod preparing;
mod run;
mod sampling;
pub mod strategy;
mod watch;

pub use clock::{Clock, SystemClock};
pub use history::{History, PointHistory};
pub use launch::{
    Conversation, DEFAULT_TIMEOUT, Done, KeeperLauncher, Launcher, LauncherSettings, Order,
    Refusal, Session, Shape, Stopped, describe,
};
pub use run::{Ended, EngineError, Identity, Means, run};
pub use watch::Watch;
