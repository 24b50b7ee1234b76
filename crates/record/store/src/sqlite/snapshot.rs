//! A private copy of another store, as it was at one moment.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::db_error::DbError;
use super::open::{self, beside};
use crate::error::StoreError;

/// What lies next to a database whose last commits are not in it yet.
const LOGS: [&str; 2] = ["-wal", "-journal"];

/// How often to try when the store is written meanwhile.
const TRIES: u32 = 100;

/// The kernel's clock for file times may stand still for so long; also the time between two tries.
const TICK: Duration = Duration::from_millis(20);

/// Bytes at the beginning of a write-ahead log that change when it begins again.
const LOG_HEADER: usize = 32;

/// A copy of another store: sound, of the newest schema, alone in its file. Gone when dropped.
pub(super) struct Snapshot {
    folder: TempDir,
}

impl Snapshot {
    /// Copies the store at `other` into the folder of the store at `path`, which may be written
    /// and is going to hold the rows anyway.
    pub(super) fn take(other: &Path, path: &Path) -> Result<Self, DbError> {
        let before = FileState::of(other)?;
        if before.bytes == 0 && before.log.is_empty() {
            return Err(DbError::Foreign("it is empty"));
        }
        let parent = path.parent().unwrap_or(path);
        enough_space(before.bytes, parent, path)?;
        let snapshot = Self { folder: folder_beside(path)? };
        snapshot.copy(other)?;
        snapshot.settle()?;
        Ok(snapshot)
    }

    /// Where it is.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("other.db")
    }

    fn copy(&self, other: &Path) -> Result<(), DbError> {
        for _ in 0..TRIES {
            let before = FileState::of(other)?;
            if before.is_past() {
                for suffix in ["", LOGS[0], LOGS[1]] {
                    let to = beside(&self.path(), suffix);
                    copy(&beside(other, suffix), &to, suffix.is_empty())?;
                }
                // Files of different moments do not fit together, so a write in between makes the copy useless.
                if before == FileState::of(other)? {
                    return Ok(());
                }
            }
            thread::sleep(TICK);
        }
        Err(StoreError::Changing { path: other.to_owned() }.into())
    }

    /// Takes in its log and checks it.
    fn settle(&self) -> Result<(), DbError> {
        let db = open::made(&self.path())?;
        // Nobody needs the copy after a power failure.
        db.pragma_update(None, "synchronous", "OFF")?;
        db.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
        let found: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if found == "ok" { Ok(()) } else { Err(DbError::Stored(found)) }
    }
}

/// A folder next to the store at `path`; gone when dropped.
pub(super) fn folder_beside(path: &Path) -> Result<TempDir, DbError> {
    let parent = path.parent().unwrap_or(path);
    Ok(tempfile::Builder::new().prefix(".plumb-import-").tempdir_in(parent)?)
}

/// Copies a file, but not its permissions; a log may be missing, and must be missing then in the
/// copy too.
fn copy(from: &Path, to: &Path, must: bool) -> Result<(), DbError> {
    match fs::File::open(from) {
        Ok(mut from) => {
            io::copy(&mut from, &mut fs::File::create(to)?)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must => {
            // A log left over from an earlier try would be replayed onto a file that it does not belong to.
            if to.exists() {
                fs::remove_file(to)?;
            }
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn enough_space(bytes: u64, folder: &Path, path: &Path) -> Result<(), DbError> {
    let filesystem = rustix::fs::statvfs(folder).map_err(io::Error::from)?;
    let free = filesystem.f_bavail * filesystem.f_frsize;
    // The copy, and what it brings.
    let needed = 2 * bytes;
    if free < needed {
        let why = format!("an import may need {needed} bytes, {free} are free");
        return Err(StoreError::Full { path: path.to_owned(), why }.into());
    }
    Ok(())
}

/// What changes when a store is written: the file, except when commits only extend its log; and
/// the log's beginning, when it begins again. A log that has grown since the file was copied is fine:
/// it holds whole commits on top of the same file.
#[derive(PartialEq)]
struct FileState {
    bytes: u64,
    modified: SystemTime,
    log: Vec<u8>,
    journal: bool,
}

impl FileState {
    fn of(path: &Path) -> Result<Self, DbError> {
        if path.is_dir() {
            return Err(DbError::Foreign("it is a folder"));
        }
        let file = fs::metadata(path)?;
        let [log, journal] = LOGS.map(|suffix| beside(path, suffix));
        Ok(Self {
            bytes: file.len(),
            modified: file.modified()?,
            log: beginning(&log)?,
            journal: journal.exists(),
        })
    }

    /// Whether a write from now on would show in the file's time.
    fn is_past(&self) -> bool {
        self.modified.elapsed().map_or(true, |age| age > TICK)
    }
}

fn beginning(path: &Path) -> Result<Vec<u8>, DbError> {
    use io::Read as _;
    let mut bytes = Vec::new();
    match fs::File::open(path) {
        Ok(file) => file.take(LOG_HEADER as u64).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error.into()),
    };
    Ok(bytes)
}
