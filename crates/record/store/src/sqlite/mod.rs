//! The store in one SQLite file.

mod baseline;
mod chunk;
mod content;
mod counters;
mod info;
mod merge;
mod news;
mod open;
mod read;
mod series;
mod snapshot;
mod write;

use std::path::{Path, PathBuf};

use plumb_model::{
    CounterAmount, Id, RecordSource, RunRecord, RunUpdate, SeriesName, SeriesRecord, Stamped,
    Target, Trace,
};
use rusqlite::Connection;

use crate::error::Fault;
use crate::{Backend, Error, RunSummary, names};

pub(crate) use open::KNOWN;

pub use baseline::{AuditFact, Baseline};
pub use info::{StoreInfo, info};
pub use merge::MergeReport;
pub use news::Follow;
pub use write::Writer;

/// A store, opened.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens a store for reading and writing; makes it, and its folder, when there is none.
    ///
    /// # Errors
    /// When the file is something else, damaged, newer, locked or cannot be written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = open::absolute(path.as_ref())?;
        let connection = at(&path, open::writable(&path))?;
        Ok(Self { connection, path })
    }

    /// Opens a store for reading only; also on a medium that cannot be written.
    ///
    /// # Errors
    /// When there is none, or the file is something else, damaged, newer or locked.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = open::absolute(path.as_ref())?;
        let connection = at(&path, open::readable(&path))?;
        Ok(Self { connection, path })
    }

    /// Where it is, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes over everything that another store holds and this one does not. The order in which
    /// stores are merged does not matter, and a second time changes nothing. The other file is
    /// only read; an older one is migrated as a copy. All or nothing.
    ///
    /// # Errors
    /// When the other file cannot be read, went on changing, or contradicts this one.
    pub fn merge(&self, other: impl AsRef<Path>) -> Result<MergeReport, Error> {
        let other = open::absolute(other.as_ref())?;
        let mut connection = self.second()?;
        let source = other.to_string_lossy();
        let merged = merge::merge(&mut connection, &self.path, &other, &source);
        at(&self.path, merged)
    }

    /// Takes over a run that another tool measured, told as events; `source` is where it came from.
    /// One that is here already changes nothing. All or nothing: the events make a store of their
    /// own first, which is merged.
    ///
    /// # Errors
    /// When the store cannot be written, or the events are not those of a run.
    pub fn import(&self, source: &str, events: &[Stamped]) -> Result<MergeReport, Error> {
        let mut connection = self.second()?;
        let folder = at(&self.path, snapshot::folder_beside(&self.path))?;
        let other = folder.path().join("import.db");
        let mut writer = Self::open(&other)?.writer()?;
        events.iter().try_for_each(|event| writer.write(event))?;
        drop(writer);
        let merged = merge::merge(&mut connection, &self.path, &other, source);
        at(&self.path, merged)
    }

    /// Another connection, which may write.
    fn second(&self) -> Result<Connection, Error> {
        if at(&self.path, self.connection.is_readonly("main").map_err(Fault::from))? {
            let why = "it was opened for reading only".to_owned();
            return Err(Error::Unwritable { path: self.path.clone(), why });
        }
        at(&self.path, open::writable(&self.path))
    }

    /// Reads in one transaction: a run may go on meanwhile.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Error> {
        let reading = || read(&*self.connection.unchecked_transaction()?);
        at(&self.path, reading())
    }

    /// What the counters of a run's measured invocations came to, a list an invocation in the order in
    /// which they began. Apart from [`RunRecord`], because there are many and few ask.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn counters(&self, run: Id) -> Result<Vec<(Id, Vec<CounterAmount>)>, Error> {
        self.read(|db| counters::amounts(db, run))
    }

    /// The readings beside an invocation of those counters that were read more than twice.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn traces(&self, invocation: Id) -> Result<Vec<Trace>, Error> {
        self.read(|db| counters::traces(db, invocation))
    }

    /// Begins to follow a run: the first [`Store::news`] are all that is stored of it.
    ///
    /// # Errors
    /// When the run is unknown or cannot be read.
    pub fn follow(&self, run: Id) -> Result<Follow, Error> {
        self.read(|db| news::follow(db, run))
    }

    /// What was stored of a run since the last time. It costs what is new, however long the run is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn news(&self, follow: &mut Follow) -> Result<RunUpdate, Error> {
        self.read(|db| news::news(db, follow))
    }

    /// A number that is another one once somebody has changed the store; of this connection only.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn version(&self) -> Result<i64, Error> {
        let read = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        at(&self.path, read.map_err(Fault::from))
    }

    /// Where a run was measured, without its samples.
    ///
    /// # Errors
    /// When the run is unknown or cannot be read.
    pub fn targets(&self, run: Id) -> Result<Vec<Target>, Error> {
        self.read(|db| read::targets_of(db, run))
    }

    /// How it is: sizes, counts, integrity.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn info(&self) -> Result<StoreInfo, Error> {
        self.read(|db| info::gather(db, &self.path))
    }
}

impl Backend for Store {
    type Writer = Writer;

    fn writer(&self) -> Result<Writer, Error> {
        Ok(Writer::new(self.second()?, self.path.clone()))
    }

    fn summaries(&self) -> Result<Vec<RunSummary>, Error> {
        self.read(read::summaries)
    }

    fn series_names(&self) -> Result<Vec<SeriesName>, Error> {
        self.read(series::names)
    }

    fn series(&self, name: &str) -> Result<Vec<SeriesRecord>, Error> {
        self.read(|db| series::series(db, name))
    }

    fn resolve(&self, name: &str) -> Result<Id, Error> {
        let runs = self.summaries()?;
        let of_baseline = baseline::newest(&self.baselines()?, &runs, name);
        of_baseline.map_or_else(|| names::resolve(&runs, name), Ok)
    }
}

impl RecordSource for Store {
    type Error = Error;

    fn record(&self, run: Id) -> Result<RunRecord, Error> {
        self.read(|db| read::record(db, run))
    }

    fn runs(&self) -> Result<Vec<Id>, Error> {
        self.read(read::runs)
    }
}

/// Tells trouble inside the database which file it is about.
fn at<T>(path: &Path, result: Result<T, Fault>) -> Result<T, Error> {
    result.map_err(|fault| Error::from_fault(path, fault))
}
