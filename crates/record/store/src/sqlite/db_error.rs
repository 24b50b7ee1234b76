//! Trouble inside the database, before it is known which file it is about.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use super::schema::KNOWN;
use crate::error::StoreError;

/// Trouble inside, before it is known which file it is about.
#[derive(Debug)]
pub(super) enum DbError {
    /// The database said no.
    Sqlite(rusqlite::Error),
    /// The filesystem said no.
    Io(std::io::Error),
    /// Something stored makes no sense.
    Stored(String),
    /// The file is something else.
    Foreign(&'static str),
    /// The file cannot be made or written.
    Unwritable(String),
    /// The file has this schema, which will not do.
    Version(i64),
    /// Events that contradict each other.
    Invalid(String),
    /// It is already known which file it is about.
    Known(Box<StoreError>),
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<serde_json::Error> for DbError {
    fn from(error: serde_json::Error) -> Self {
        Self::Stored(format!("a stored value is invalid ({error})"))
    }
}

impl From<std::io::Error> for DbError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> Self {
        Self::Known(Box::new(error))
    }
}

impl DbError {
    /// With the path and the advice that a person needs.
    pub(super) fn about(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::Sqlite(error) => from_sqlite(path, &error),
            Self::Io(error) => from_io(path, &error),
            Self::Stored(what) => StoreError::Corrupt { path, what },
            Self::Foreign(why) => StoreError::NotAStore { path, why: why.to_owned() },
            Self::Unwritable(why) => StoreError::Unwritable { path, why },
            Self::Version(found) if found > KNOWN => {
                StoreError::Newer { path, found, known: KNOWN }
            }
            Self::Version(found) => StoreError::Older { path, found, known: KNOWN },
            Self::Invalid(what) => StoreError::Invalid(what),
            Self::Known(error) => *error,
        }
    }
}

/// Tells trouble inside the database which file it is about.
pub(super) fn at<T>(path: &Path, result: Result<T, DbError>) -> Result<T, StoreError> {
    result.map_err(|error| error.about(path))
}

fn from_sqlite(path: PathBuf, error: &rusqlite::Error) -> StoreError {
    let why = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, what: why },
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore {
            path,
            why: "it is not an SQLite file, or its header is damaged".into(),
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path },
        Some(ErrorCode::DiskFull) => StoreError::Full { path, why },
        Some(ErrorCode::SystemIoFailure) if no_space(&path) => StoreError::Full { path, why },
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            StoreError::Unwritable { path, why }
        }
        Some(_) => StoreError::Failed { path, why },
        // A conversion failed: a column holds what no plumb wrote there.
        None => StoreError::Corrupt { path, what: why },
    }
}

fn from_io(path: PathBuf, error: &std::io::Error) -> StoreError {
    use std::io::ErrorKind::{
        FileTooLarge, NotADirectory, NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem,
        StorageFull,
    };
    let why = error.to_string();
    match error.kind() {
        NotFound => StoreError::Missing { path },
        StorageFull | QuotaExceeded | FileTooLarge => StoreError::Full { path, why },
        PermissionDenied | ReadOnlyFilesystem | NotADirectory => {
            StoreError::Unwritable { path, why }
        }
        _ => StoreError::Failed { path, why },
    }
}

/// Whether the filesystem has less room than SQLite needs for a step.
fn no_space(path: &Path) -> bool {
    path.parent()
        .and_then(|folder| rustix::fs::statvfs(folder).ok())
        .is_some_and(|fs| fs.f_bavail * fs.f_frsize < 1 << 20)
}
