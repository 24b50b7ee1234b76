//! Connections to the store as requests get them: read-only, two at a time; and whether it has changed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use plumb_store::Store;

use crate::refusal::ServeRefusal;

/// Connections that read at once: more would take the machine from what is measured on it.
const MOST_READING: usize = 2;
/// How long a request waits for one of them.
const READER_TIMEOUT: Duration = Duration::from_secs(20);

/// What the store holds: another value as soon as somebody has changed it, or put another file in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    /// Rises when another file is opened: a file may get the number of one that is gone.
    pub(crate) opened: u64,
    content: i64,
}

/// Connections to the store in a file.
#[derive(Debug)]
pub(crate) struct StoreConnections {
    path: PathBuf,
    pool: Mutex<ConnectionPool>,
    free: Condvar,
    watcher: Mutex<Watcher>,
}

/// Connections that nobody uses now, and how many are in use.
#[derive(Debug, Default)]
struct ConnectionPool {
    idle: Vec<StoreConnection>,
    busy: usize,
}

/// A connection, and which file it has open.
#[derive(Debug)]
struct StoreConnection {
    store: Store,
    file: FileId,
}

/// A file, whatever its name: device and inode.
type FileId = (u64, u64);

/// The connection that shows whether the store has changed.
#[derive(Debug, Default)]
struct Watcher {
    connection: Option<StoreConnection>,
    opened: u64,
}

impl StoreConnections {
    /// Connections to the store in this file.
    pub(crate) fn to(path: PathBuf) -> Self {
        let pool = Mutex::default();
        let watcher = Mutex::default();
        Self { path, pool, free: Condvar::new(), watcher }
    }

    /// Reads the store, as soon as a connection is free.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, ServeRefusal>,
    ) -> Result<T, ServeRefusal> {
        let mut lease = self.lease()?;
        let connection = match lease.connection.take() {
            Some(watcher) if Some(watcher.file) == file_id(&self.path) => watcher,
            // Somebody has put another file there.
            _ => StoreConnection::open(&self.path)?,
        };
        read(&lease.connection.insert(connection).store)
    }

    /// A connection next to the others.
    pub(crate) fn one_more(&self) -> Result<Store, ServeRefusal> {
        Ok(Store::open_read_only(&self.path)?)
    }

    /// What the store holds now.
    pub(crate) fn version(&self) -> Result<Version, ServeRefusal> {
        // SQLite's data_version can only be compared within one connection, so this one is kept for nothing else.
        let mut watcher = locked(&self.watcher);
        let connection = match watcher.connection.take() {
            Some(watcher) if Some(watcher.file) == file_id(&self.path) => watcher,
            _ => {
                watcher.opened += 1;
                StoreConnection::open(&self.path)?
            }
        };
        let content = connection.store.version();
        watcher.connection = Some(connection);
        Ok(Version { opened: watcher.opened, content: content? })
    }

    fn lease(&self) -> Result<Lease<'_>, ServeRefusal> {
        let until = Instant::now() + READER_TIMEOUT;
        let mut pool = locked(&self.pool);
        while pool.busy >= MOST_READING {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ServeRefusal::Busy);
            }
            let waited = self.free.wait_timeout(pool, left);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        pool.busy += 1;
        Ok(Lease { connections: self, connection: pool.idle.pop() })
    }
}

/// A connection in use; given back when dropped.
struct Lease<'c> {
    connections: &'c StoreConnections,
    connection: Option<StoreConnection>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut pool = locked(&self.connections.pool);
        pool.busy -= 1;
        // After a panic nobody knows what state it is in.
        pool.idle.extend(self.connection.take().filter(|_| !thread::panicking()));
        self.connections.free.notify_one();
    }
}

impl StoreConnection {
    fn open(path: &Path) -> Result<Self, ServeRefusal> {
        // Asked before opening: if the file is replaced in between, the next reader sees another number and opens it
        // again.
        let before = file_id(path);
        let store = Store::open_read_only(path)?;
        Ok(Self { store, file: before.unwrap_or_default() })
    }
}

fn file_id(path: &Path) -> Option<FileId> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
