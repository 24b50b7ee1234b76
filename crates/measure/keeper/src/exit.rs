//! How a process ended.

use serde::{Deserialize, Serialize};

/// How a process ended, and what it used: from `wait4` on that one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessExit {
    /// Id of the process that ended.
    pub pid: u32,
    /// Exit status, if it exited.
    pub status: Option<i32>,
    /// Signal, if one ended it.
    pub signal: Option<i32>,
    /// Peak resident memory, in bytes.
    pub peak_memory_bytes: u64,
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in kernel mode, in nanoseconds.
    pub system_ns: u64,
    /// Descendants that it left behind and that the keeper killed.
    pub orphans: u32,
}

impl ProcessExit {
    /// How it ended, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match (self.status, self.signal) {
            (Some(status), _) => format!("exit status {status}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "unknown".into(),
        }
    }
}
