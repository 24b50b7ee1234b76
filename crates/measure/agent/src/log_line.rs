//! The event log of an agent: one line of JSON per entry.

use plumb_model::Stamped;
use serde::{Deserialize, Serialize};

/// The schema of event logs.
pub const EVENTS_SCHEMA: &str = "plumb.events/1";

/// The longest line of a log, in bytes. All readings of the monitors during one invocation are one line.
pub const MOST_LINE: usize = 32 << 20;

/// A line of an event log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
pub enum LogLine {
    /// The first line: the agent has read its ticket.
    Begin {
        /// The schema, which is always [`EVENTS_SCHEMA`].
        schema: String,
        /// The nonce of the ticket.
        nonce: String,
        /// Version of plumb.
        plumb: String,
    },
    /// An event of the run.
    Event {
        /// Number of the segment: 0 until a run is resumed.
        segment: u32,
        /// Number of the event in its segment, from 0, without gaps.
        ordinal: u64,
        /// The event with its time.
        #[serde(with = "crate::as_value")]
        stamped: Stamped,
    },
    /// The process of an invocation is ready, and waits for the start that the near end announces.
    AtStart(StartPosition),
    /// The answer to a request for the time.
    Clock {
        /// The number of the request.
        number: u32,
        /// CLOCK_MONOTONIC of this machine, in nanoseconds.
        monotonic_ns: u64,
    },
    /// The last line: the run is over.
    Ended(AgentEnd),
    /// The last line instead: the agent could not begin, or not go on.
    Refused {
        /// The exit code that plumb would end with.
        exit: u8,
        /// The problem with its object.
        message: String,
        /// What to try.
        hints: Vec<String>,
    },
}

/// The place of an invocation in its run; earlier ones are less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StartPosition {
    /// The round, from 0.
    pub round: u32,
    /// The turn of its point in the round, from 0.
    pub turn: u32,
}

/// How a run ended at the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentEnd {
    /// Whether somebody stopped it before it was done.
    pub interrupted: bool,
    /// Points with at least one good invocation.
    pub measured: usize,
    /// Points that were given up because the workload failed.
    pub failed: usize,
    /// Points that cannot be measured there.
    pub unsupported: usize,
    /// A fixture or preparation that could not be cleaned up.
    pub unclean: Option<String>,
    /// Whether the user named the points, so that one that is unsupported is an error.
    pub explicit: bool,
    /// Whether it was interrupted because the near end was gone.
    pub near_end_gone: bool,
}
