//! The messages of the line protocol.
//!
//! Both sides first send `hello`. Then the engine sends requests, each with an `id`, and the workload
//! answers each with one reply that echoes the `id` (a `stream` with one a interval, then `done`).
//! `progress` may come at any time and says that the workload is alive. Unknown fields are ignored.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plumb_model::{Description, ExtraWork, Facts, Flag, Ready, Role, Samples, Settings, Usage};
use serde::{Deserialize, Serialize};

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;

/// Longest line that plumb accepts, in bytes; a longer one ends the invocation as failed.
pub const MAX_LINE: usize = 8 << 20;

/// The endpoint of a server that is started on another machine: the address there on which it listens. The client is
/// told it, too.
pub const FAR_ADDRESS: &str = "far.address";

/// A request with its id: one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestLine {
    /// Echoed by every reply.
    pub id: u64,
    /// What is wanted.
    #[serde(flatten)]
    pub request: Request,
}

/// The engine's requests to a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Request {
    /// The first line: what plumb speaks.
    Hello {
        /// Version of the protocol.
        protocol: u32,
        /// Longest line that plumb accepts, in bytes.
        max_line: usize,
    },
    /// Say what you are.
    Describe,
    /// Lay out what invocations share (a fixture), or apply a preparation; untimed.
    Prepare(Start),
    /// Undo what `prepare` did. To a fresh process, whose predecessor was killed, it has all that
    /// `prepare` had.
    Clean {
        /// The request with which `prepare` was called.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        prepared: Option<Start>,
    },
    /// Set up one invocation; untimed.
    Start(Start),
    /// Find the number of iterations that take about this long.
    Calibrate {
        /// Wanted length of one sample, in nanoseconds.
        target_ns: u64,
    },
    /// Take these samples back to back, one a number of iterations.
    Sample {
        /// Iterations of each sample.
        iterations: Vec<u64>,
    },
    /// Offer a load for a while and count what becomes of the operations: one sample.
    Trial {
        /// Operations a second.
        load: f64,
        /// For how long, in nanoseconds.
        duration_ns: u64,
    },
    /// Work without pause and report one sample per interval.
    Stream {
        /// Length of one sample, in nanoseconds.
        interval_ns: u64,
        /// Length of the whole stream, in nanoseconds.
        duration_ns: u64,
    },
    /// End; the process then exits with status 0.
    Stop,
}

/// The data with which a workload starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// As what it is started.
    pub role: Role,
    /// Every parameter with its value, defaults included.
    pub params: Settings,
    /// The target directory: the only place where it may write files of the workload.
    pub dir: String,
    /// A folder for everything else (keys, sockets, compiled helpers); removed by plumb.
    #[serde(default)]
    pub scratch: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Names and addresses that the fixture and the server gave.
    #[serde(default)]
    pub endpoints: BTreeMap<String, String>,
    /// Facts of the host.
    #[serde(default)]
    pub facts: Facts,
    /// Work to add inside the time that is measured; only built-in workloads are asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_work: Option<ExtraWork>,
}

impl Start {
    /// A parameter's number; 0 when it has none (the engine always sends every parameter).
    #[must_use]
    pub fn integer(&self, name: &str) -> u64 {
        self.params.get(name).and_then(plumb_model::Value::integer).unwrap_or(0)
    }

    /// A parameter's number as a length or count in memory.
    #[must_use]
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.integer(name)).unwrap_or(usize::MAX)
    }

    /// A parameter's text; empty when it has none.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.params.get(name).and_then(plumb_model::Value::text).unwrap_or("")
    }

    /// Where a server on another machine listens; None if it runs on this one.
    #[must_use]
    pub fn far_address(&self) -> Option<IpAddr> {
        self.endpoints.get(FAR_ADDRESS)?.parse().ok()
    }

    /// Whether a parameter is switched on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.params.get(name) == Some(&plumb_model::Value::Switch(true))
    }
}

/// A reply with the id of its request: one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyLine {
    /// The id of the request that it answers.
    pub id: u64,
    /// The answer, whose fields stand next to `id` in the line.
    #[serde(flatten)]
    pub reply: Reply,
}

/// The replies of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Reply {
    /// To `hello`: what the workload speaks.
    Hello {
        /// Version of the protocol.
        protocol: u32,
        /// Longest line that the workload accepts, in bytes.
        max_line: usize,
    },
    /// To `describe`: what the workload measures and takes.
    Description {
        /// What it is.
        description: Description,
    },
    /// To `start` and `prepare`.
    Ready(Ready),
    /// To `start` and `prepare`: it can't run here.
    Unsupported {
        /// The machine's missing feature.
        why: String,
        /// The user's fix; may be empty.
        #[serde(default)]
        fix: String,
    },
    /// To `calibrate`: how many iterations a sample takes.
    Calibrated {
        /// Iterations that take about the wanted time.
        iterations: u64,
        /// How long that many take, in nanoseconds; longer than wanted if the workload takes no
        /// shorter samples.
        elapsed_ns: u64,
    },
    /// To `sample`, to `trial`, and one per interval to `stream`.
    Samples(SampleReply),
    /// Any time before the reply: it is alive.
    Progress {
        /// What it is doing, in a few words for people who wait.
        #[serde(default)]
        text: String,
    },
    /// To `clean`, `stop`, and at the end of `stream`.
    Done {
        /// A last remark.
        #[serde(default)]
        summary: String,
    },
    /// To anything: it went wrong, the invocation ends.
    Failed {
        /// What, and why.
        why: String,
        /// Whether a result was wrong: plumb then exits with 4, however many other invocations are right.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wrong_result: bool,
    },
}

/// The columns of a batch, with its resource use and the reasons to distrust it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SampleReply {
    /// The samples, one column per field.
    #[serde(flatten)]
    pub samples: Samples,
    /// Resource use over the batch.
    #[serde(default)]
    pub usage: Usage,
    /// Reasons to distrust it.
    #[serde(default)]
    pub flags: Vec<Flag>,
}

#[cfg(test)]
mod tests {
    use super::{Reply, ReplyLine, Request, RequestLine};

    #[test]
    fn lines_look_as_documented() {
        let line = RequestLine { id: 7, request: Request::Sample { iterations: vec![10, 11] } };
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(text, r#"{"id":7,"type":"sample","iterations":[10,11]}"#);
        assert_eq!(serde_json::from_str::<RequestLine>(&text).unwrap(), line);
    }

    #[test]
    fn a_reply_may_leave_out_what_it_does_not_know_and_add_what_we_do_not() {
        let text = r#"{"type":"samples","id":3,"start_ns":[1],"elapsed_ns":[5],"iterations":[1],"cpu":[-1],"mood":"fine"}"#;
        let line: ReplyLine = serde_json::from_str(text).unwrap();
        let Reply::Samples(samples) = line.reply else { panic!("{line:?}") };
        assert_eq!(samples.samples.len(), 1);
        let text = r#"{"type":"ready","id":3}"#;
        assert!(serde_json::from_str::<ReplyLine>(text).is_ok());
    }
}
