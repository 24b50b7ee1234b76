//! How a store is.

use std::fs;
use std::path::{Path, PathBuf};

use plumb_model::{Id, RunStatus};
use rusqlite::Connection;

use super::{Store, open, read};
use crate::Error;
use crate::error::Fault;

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
    /// Stored samples.
    pub samples: u64,
    /// The oldest run with its start, in nanoseconds since 1970.
    pub oldest: Option<(Id, i64)>,
    /// The newest run with its start, in nanoseconds since 1970.
    pub newest: Option<(Id, i64)>,
    /// What the database's own check found; empty when it is sound.
    pub problems: Vec<String>,
    /// Space left for it on its filesystem, in bytes.
    pub free_bytes: u64,
}

/// How the store at this path is, without writing to it.
///
/// # Errors
/// When there is none or it cannot be read.
pub fn info(path: impl AsRef<Path>) -> Result<StoreInfo, Error> {
    Store::open_read_only(path)?.info()
}

pub(super) fn gather(db: &Connection, path: &Path) -> Result<StoreInfo, Fault> {
    let problems = problems(db)?;
    let runs = read::summaries(db)?;
    let with = |status| runs.iter().filter(|run| run.status == status).count();
    let folder = path.parent().unwrap_or(path);
    let filesystem = rustix::fs::statvfs(folder).map_err(std::io::Error::from)?;
    Ok(StoreInfo {
        path: path.to_owned(),
        bytes: size(path)? + size(&open::beside(path, "-wal")).unwrap_or(0),
        schema: open::KNOWN,
        journal: db.pragma_query_value(None, "journal_mode", |row| row.get(0))?,
        complete: with(RunStatus::Complete),
        running: with(RunStatus::Running),
        interrupted: with(RunStatus::Interrupted),
        samples: runs.iter().map(|run| run.samples).sum(),
        oldest: runs.first().map(|run| (run.run, run.started_unix_ns)),
        newest: runs.last().map(|run| (run.run, run.started_unix_ns)),
        problems,
        free_bytes: filesystem.f_bavail * filesystem.f_frsize,
    })
}

fn size(path: &Path) -> Result<u64, Fault> {
    Ok(fs::metadata(path)?.len())
}

fn problems(db: &Connection) -> Result<Vec<String>, Fault> {
    let mut check = db.prepare("PRAGMA quick_check(10)")?;
    let rows = check.query_map([], |row| row.get::<_, String>(0))?;
    let found: Vec<_> = rows.collect::<Result<_, _>>()?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}
