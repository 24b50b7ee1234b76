//! Errors of a store, each with something to try.

use std::path::PathBuf;

use thiserror::Error;

/// Trouble with a store or with the name of a run in it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file.
    #[error("no store at `{}`; `plumb run` creates one, or name another file", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("`{}` is not a plumb store: {why}; name another file", path.display())]
    NotAStore {
        /// Path of the file.
        path: PathBuf,
        /// What it is.
        why: String,
    },
    /// The file was damaged.
    #[error(
        "the store `{path}` is damaged: {what}; restore a backup, or save the readable data \
         with `sqlite3 '{path}' .recover | sqlite3 saved.db`", path = path.display()
    )]
    Corrupt {
        /// Path of the file.
        path: PathBuf,
        /// The error in it.
        what: String,
    },
    /// A newer plumb wrote the file.
    #[error(
        "the store `{}` has schema version {found} and this plumb supports versions up to {known}; use \
         a newer plumb, or name another file", path.display()
    )]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest that this plumb knows.
        known: i64,
    },
    /// An older plumb wrote the file.
    #[error(
        "the store `{}` has schema version {found}, and this plumb reads version {known}; export its runs \
         with the version of plumb that wrote it, or name another file", path.display()
    )]
    Older {
        /// Path of the file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The one that this plumb reads.
        known: i64,
    },
    /// Another process did not let go of the file.
    #[error(
        "the store `{path}` is locked by another process; end that process (`fuser {path}` shows it) and try again", path = path.display()
    )]
    Locked {
        /// Path of the file.
        path: PathBuf,
    },
    /// There is no space left.
    #[error(
        "no space for the store `{}`: {why}; stored data are safe: free some space, then continue with \
         `plumb run --resume`", path.display()
    )]
    Full {
        /// Path of the file.
        path: PathBuf,
        /// The error of the database or the filesystem.
        why: String,
    },
    /// The file may not be made, read or written.
    #[error(
        "no access to the store `{}`: {why}; check its permissions, or name another file",
        path.display()
    )]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// The error of the database or the filesystem.
        why: String,
    },
    /// Reading or writing the file failed.
    #[error("cannot use the store `{}`: {why}; check the disk and the system log", path.display())]
    Failed {
        /// Path of the file.
        path: PathBuf,
        /// The error of the database or the filesystem.
        why: String,
    },
    /// The other store went on changing while it was read.
    #[error(
        "`{}` kept changing while plumb read it, so it was not imported; try again when its run has \
         ended", path.display()
    )]
    Changing {
        /// The other file.
        path: PathBuf,
    },
    /// Two stores disagree on the same thing.
    #[error(
        "`{}` contradicts this store, so it was not imported: {what}; one of the two is damaged or was \
         changed by hand", path.display()
    )]
    Contradiction {
        /// The other file.
        path: PathBuf,
        /// Where they disagree.
        what: String,
    },
    /// No run has this name.
    #[error("no run `{wanted}`{}", hint(nearest.as_deref()))]
    NoSuchRun {
        /// The name as it was given.
        wanted: String,
        /// The name of a run that looks most like it.
        nearest: Option<String>,
    },
    /// Several runs begin like this.
    #[error("`{prefix}` matches several runs: {}; type more digits", matches.join(", "))]
    Ambiguous {
        /// The name as it was given.
        prefix: String,
        /// The short ids of the runs.
        matches: Vec<String>,
    },
    /// The name is that of something else.
    #[error("`{wanted}` is not a run: {why}; try `last`, an id or a label `k=v`")]
    NotARun {
        /// The name as it was given.
        wanted: String,
        /// What it is.
        why: String,
    },
    /// Events that contradict each other.
    #[error(
        "the store received events that contradict each other: {0}; this is a bug in plumb, please report it"
    )]
    Invalid(String),
}

fn hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => "; the store has no runs yet: `plumb run` makes one".to_owned(),
    }
}

/// The kind of an error; the command line gives each its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The store or its file: exit code 6.
    Store,
    /// A name that the user gave: exit code 2.
    Name,
    /// Events that no engine should send: a bug, exit code 70.
    Bug,
}

impl StoreError {
    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchRun { .. } | Self::Ambiguous { .. } | Self::NotARun { .. } => {
                ErrorKind::Name
            }
            Self::Invalid(_) => ErrorKind::Bug,
            _ => ErrorKind::Store,
        }
    }
}
