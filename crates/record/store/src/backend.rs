//! What a database must do to be a store.

use std::collections::BTreeMap;

use plumb_model::{EventSink, Id, RecordSource, RunStatus, SeriesName, SeriesRecord};

use crate::Error;

/// A database that takes events and gives records.
pub trait Backend: RecordSource<Error = Error> {
    /// What fills it while a run goes on.
    type Writer: EventSink + Send;

    /// A new writer; a batch that it took is committed before it returns.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn writer(&self) -> Result<Self::Writer, Error>;

    /// All runs without their samples, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    fn summaries(&self) -> Result<Vec<RunSummary>, Error>;

    /// All series by their names, in the order of these.
    ///
    /// # Errors
    /// When they cannot be read.
    fn series_names(&self) -> Result<Vec<SeriesName>, Error>;

    /// What every run measured of the series of this name, on whatever machine, oldest first. It reads
    /// the samples of that series alone.
    ///
    /// # Errors
    /// When they cannot be read.
    fn series(&self, name: &str) -> Result<Vec<SeriesRecord>, Error>;

    /// The run that a person means: an id's beginning, `last`, `last~2`, a label `k=v` or a
    /// baseline's name (the newest run that has it).
    ///
    /// # Errors
    /// When no run or several runs could be meant.
    fn resolve(&self, name: &str) -> Result<Id, Error>;
}

/// A run without its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Its identity.
    pub run: Id,
    /// Wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Wall-clock end, when it has one.
    pub ended_unix_ns: Option<i64>,
    /// Whether it is complete, running or interrupted.
    pub status: RunStatus,
    /// The suite's name, when it came from one.
    pub suite: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Number of planned points.
    pub points: usize,
    /// Number of stored samples, warm-up included.
    pub samples: u64,
}
