//! The answers of a store: plain data, the same from every database.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use plumb_model::{DIGEST_DIGITS, Host, Id, RunStatus, SeriesInRun};

/// A run without its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Identity of the run.
    pub run: Id,
    /// Wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// When it came, by which people mean the last one: when it was measured; of another tool's result, whatever its
    /// date, not before anything that was in the store when it was imported.
    pub came_unix_ns: i64,
    /// The number under which this store keeps it: what comes later has a higher one.
    pub row: i64,
    /// Wall-clock end, when it has one.
    pub ended_unix_ns: Option<i64>,
    /// Whether it is complete, running or interrupted.
    pub status: RunStatus,
    /// The suite's name, when it came from one.
    pub suite: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// Labels that the user gave the run, value by name.
    pub labels: BTreeMap<String, String>,
    /// Which one of the machines of its kind measured it.
    pub host: Host,
    /// Number of planned points.
    pub points: usize,
    /// Number of stored samples, warm-up included.
    pub samples: u64,
}

/// A run, and what is known of its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// Identity of the run.
    pub run: Id,
    /// Wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Of a run that nobody carries out now, a text that differs as soon as anything more is stored of it;
    /// None while the run goes on.
    pub state: Option<String>,
}

/// What was derived of a run, to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct FreshlyDerived {
    /// The run, in the state from which it was derived.
    pub end: RunEnd,
    /// All of its series, in the plan's order.
    pub series: Vec<SeriesInRun>,
    /// The log costs of its first metrics, as in [`plumb_model::RunCosts::first_metrics`].
    pub costs: BTreeMap<String, f64>,
}

/// A run whose series were derived before and are still true.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedRun {
    /// The run's id.
    pub run: Id,
    /// Those of its series that were selected, in the plan's order.
    pub series: Vec<SeriesInRun>,
}

/// A named set of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// The name that the user gave it.
    pub name: String,
    /// Its runs, oldest first.
    pub runs: Vec<Id>,
    /// When it was changed last, in nanoseconds since 1970.
    pub changed_unix_ns: i64,
}

impl Baseline {
    /// One that never had a run.
    pub(crate) fn empty(name: &str) -> Self {
        Self { name: name.to_owned(), runs: Vec::new(), changed_unix_ns: 0 }
    }
}

/// A file that the runs of a baseline executed or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    /// The word of the command line that names it.
    pub word: String,
    /// The file's bytes.
    pub content: Vec<u8>,
    /// Whether it may be executed.
    pub is_executable: bool,
    /// If it is plumb itself: the version of the protocol that its workers speak.
    pub protocol: Option<u32>,
}

/// What makes digests of secrets differ from store to store, so that nobody finds a secret by trying likely ones.
#[derive(Clone, Copy)]
pub struct SecretSalt(uuid::Uuid);

impl fmt::Debug for SecretSalt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretSalt")
    }
}

impl SecretSalt {
    /// These random bytes.
    pub(crate) fn new(bytes: [u8; 16]) -> Self {
        Self(uuid::Uuid::from_bytes(bytes))
    }

    /// The digest of a secret: the first hexadecimal digits of SHA-1 over salt and secret (UUID version 5, RFC 9562).
    #[must_use]
    pub fn digest(&self, secret: &str) -> String {
        let whole = uuid::Uuid::new_v5(&self.0, secret.as_bytes()).simple().to_string();
        whole[..DIGEST_DIGITS].to_owned()
    }

    /// The salt as hexadecimal digits, for an agent on another machine whose run is kept in this store.
    #[must_use]
    pub fn digits(&self) -> String {
        self.0.simple().to_string()
    }

    /// The salt of these digits; None if they are none.
    #[must_use]
    pub fn of_digits(digits: &str) -> Option<Self> {
        uuid::Uuid::try_parse(digits).ok().map(Self)
    }
}

/// A noise audit of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFact {
    /// When it was made, in nanoseconds since 1970.
    pub at_unix_ns: i64,
    /// The audit's findings, as its author wrote them.
    pub json: String,
}

/// The counts of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergeReport {
    /// Runs that were not here before.
    pub runs: usize,
    /// Invocations that were not here before.
    pub invocations: usize,
    /// Samples that were not here before.
    pub samples: usize,
}

/// How a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreInfo {
    /// Where it is, absolute.
    pub path: PathBuf,
    /// Size of the file and of its log, in bytes.
    pub bytes: u64,
    /// Version of its schema.
    pub schema: i64,
    /// How commits are made safe: `wal`, or `delete` on network filesystems.
    pub journal: String,
    /// Runs that have an end.
    pub complete: usize,
    /// Runs whose owner lives.
    pub running: usize,
    /// Runs that were cut off or stopped.
    pub interrupted: usize,
    /// Stored samples of all runs, warm-up included.
    pub samples: u64,
    /// The hosts that were measured, each with its runs, the most first; None for a host that is unknown.
    pub hosts: Vec<(Option<String>, u64)>,
    /// The oldest run with its start, in nanoseconds since 1970.
    pub oldest: Option<(Id, i64)>,
    /// The newest run with its start, in nanoseconds since 1970.
    pub newest: Option<(Id, i64)>,
    /// The findings of the database's own check; empty if it is sound.
    pub problems: Vec<String>,
    /// Space left for it on its filesystem, in bytes.
    pub free_bytes: u64,
}
