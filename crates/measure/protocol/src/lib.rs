//! A workload: its traits, the line protocol, and the loop that serves one as a process.
//!
//! A workload talks JSON Lines on stdin and stdout ([`Request`], [`Reply`]); stderr is kept as log.
//! Built-in workloads implement [`Workload`] and [`Instance`] and are served by [`serve`]; a third
//! party's program may speak the lines itself in any language (see `docs/plugins.md`).

mod batch;
mod clock;
mod conventions;
mod distribution;
mod failure;
mod line;
mod message;
mod random;
mod schedule;
mod serve;
mod usage;
mod workload;

pub use batch::Batch;
pub use clock::{current_cpu, now_ns, source as clock_source};
pub use conventions::{
    EXIT_TIMEOUT, FAR_LINE, LONGEST_TIMEOUT_S, MOST_HEARTBEATS, MOST_PADDING, PADDING,
    PADDING_LENGTH,
};
pub use distribution::Distribution;
pub use failure::Failure;
pub use line::{LineError, LineReader, LineWriter};
pub use message::{
    FAR_ADDRESS, MAX_LINE, PROTOCOL, Reply, ReplyLine, Request, RequestLine, SampleReply, Start,
};
pub use random::SplitMix64;
pub use schedule::{ArrivalSchedule, Arrivals, BOUND_SHARE, is_in_time};
pub use serve::{ServeError, serve, take};
pub use usage::UsageMeter;
pub use workload::{Held, Instance, StartError, StartedWorkload, TrialCounts, Workload};
