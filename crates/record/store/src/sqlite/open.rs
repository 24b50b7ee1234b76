//! Opening the file: is it ours, is it of this version, may it be written, on what filesystem?

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::db_error::DbError;
use super::schema::{APPLICATION_ID, KNOWN, SCHEMA};
use super::version::version;
use super::{derived, kept, salt};
use crate::error::StoreError;

/// How long to wait for another process: an import of some million samples.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Prepared statements that a connection keeps: all that writing a run takes.
const STATEMENTS: usize = 56;

/// Filesystems whose files other hosts see too: shared memory of the write-ahead log cannot work.
/// AFS, CEPH, CIFS, CODA, FUSE (sshfs, and virtiofs), GFS2, Lustre, NCP, NFS, OCFS2, SMB, SMB2,
/// VirtualBox, 9p.
const NETWORK: [u32; 14] = [
    0x5346_414f,
    0x00c3_6400,
    0xff53_4d42,
    0x7375_7245,
    0x6573_5546,
    0x0116_1970,
    0x0bd0_0bd0,
    0x564c,
    0x6969,
    0x7461_636f,
    0x517b,
    0xfe53_4d42,
    0x786f_4256,
    0x0102_1997,
];

/// The path from the root, so that SQLite cannot take it for a URI or its own name.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    if path.to_str().is_some_and(|text| text.contains("://")) {
        let why = "it is a URL; only files are supported".to_owned();
        return Err(StoreError::NotAStore { path: path.to_owned(), why });
    }
    Ok(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

/// A connection that may write, to a store of the newest schema.
pub(super) fn writable(path: &Path) -> Result<Connection, DbError> {
    refuse_folder(path)?;
    if let Some(folder) = path.parent() {
        let mut made = fs::DirBuilder::new();
        // What runs executed and printed is nobody else's business.
        made.recursive(true).mode(0o700).create(folder).map_err(|error| {
            DbError::Unwritable(format!("plumb can't create its folder ({error})"))
        })?;
    }
    let connection = made(path)?;
    journal(&connection, on_network(path)?)?;
    Ok(connection)
}

/// Makes the file of a store that is not there, for its owner alone: SQLite would let everybody read it. Its log gets the
/// same mode. If that fails, SQLite says why.
fn make_private(path: &Path) {
    _ = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
}

/// A connection that may write, to a store of the newest schema, its journal left as it is.
pub(super) fn made(path: &Path) -> Result<Connection, DbError> {
    make_private(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, flags)?;
    // SQLite opens a file that it may not write for reading, without an error.
    if connection.is_readonly("main")? {
        return Err(DbError::Unwritable("it is read-only".into()));
    }
    make(&mut connection)?;
    Ok(connection)
}

/// A connection that cannot write, to a store of the newest schema.
pub(super) fn readable(path: &Path) -> Result<Connection, DbError> {
    refuse_folder(path)?;
    // SQLite has one error for a missing file and a forbidden one; the system's errors differ.
    fs::File::open(path)?;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut found = version(&connection);
    if let Err(DbError::Sqlite(error)) = &found
        && matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
        && !beside(path, "-wal").exists()
    {
        // The folder cannot be written, so the log's index cannot be made; without a log none is
        // needed.
        connection = connect_immutable(path)?;
        found = version(&connection);
    }
    match found? {
        Some(_) => Ok(connection),
        None => Err(DbError::Foreign("it is empty")),
    }
}

fn connect_immutable(path: &Path) -> Result<Connection, DbError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connect(Path::new(&immutable_uri(path)), flags)
}

/// The path as a URI that tells SQLite that nobody will write the file.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri + "?immutable=1"
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, DbError> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement is planned once, not again for every value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(
        // A store may come from somebody else: its schema can call no functions, and damaged pages are found when read.
        "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
    )?;
    Ok(connection)
}

fn refuse_folder(path: &Path) -> Result<(), DbError> {
    if path.is_dir() {
        return Err(DbError::Foreign("it is a folder"));
    }
    Ok(())
}

/// Makes the tables that the file lacks: all of them in an empty one.
fn make(connection: &mut Connection) -> Result<(), DbError> {
    let is_complete = derived::has_tables(connection)?
        && kept::has_tables(connection)?
        && salt::has_table(connection)?;
    if version(connection)?.is_some() && is_complete {
        return Ok(());
    }
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again: another process may have done it meanwhile.
    if version(&step)?.is_none() {
        step.execute_batch(SCHEMA)?;
        step.pragma_update(None, "application_id", APPLICATION_ID)?;
        step.pragma_update(None, "user_version", KNOWN)?;
    }
    derived::create(&step)?;
    kept::create(&step)?;
    salt::create(&step)?;
    Ok(step.commit()?)
}

/// Chooses how commits are made safe: a write-ahead log, or a rollback journal if the log's
/// shared memory cannot work.
fn journal(connection: &Connection, network: bool) -> Result<(), DbError> {
    // With a log, a power failure can lose the last commits but damages nothing, so NORMAL is enough.
    let (mode, synchronous) = if network { ("delete", "FULL") } else { ("wal", "NORMAL") };
    let now: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if now != mode {
        // The answer is the mode that came of it; WAL is a wish, not a condition.
        let set = || connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()));
        patiently(set)?;
    }
    Ok(connection.pragma_update(None, "synchronous", synchronous)?)
}

/// Tries again while another process holds the file: for steps in which SQLite itself does not wait.
fn patiently<T>(mut step: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let begun = Instant::now();
    loop {
        match step() {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < LOCK_TIMEOUT =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

fn on_network(path: &Path) -> Result<bool, DbError> {
    let found = rustix::fs::statfs(path).map_err(io::Error::from)?.f_type;
    // The kernel's type of this field differs by architecture; the magic has 32 bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
    Ok(NETWORK.contains(&(found as u32)))
}

/// The path of a file that SQLite keeps next to the store.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::{APPLICATION_ID, KNOWN, SCHEMA, journal, on_network, writable};
    use crate::sqlite::schema::{DERIVED, FLEET, KEPT, SALT, SLURM};
    use rusqlite::Connection;
    use std::path::Path;

    #[test]
    fn every_table_is_strict() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(SCHEMA).unwrap();
        db.execute_batch(DERIVED).unwrap();
        db.execute_batch(KEPT).unwrap();
        db.execute_batch(FLEET).unwrap();
        db.execute_batch(SLURM).unwrap();
        db.execute_batch(SALT).unwrap();
        let loose: i64 = db
            .query_row(
                "SELECT count(*) FROM pragma_table_list \
                 WHERE type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(loose, 0);
    }

    #[test]
    fn a_store_of_an_earlier_plumb_gets_further_tables_and_keeps_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plumb.db");
        let before = Connection::open(&path).unwrap();
        before.execute_batch(SCHEMA).unwrap();
        before.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        before.pragma_update(None, "user_version", KNOWN).unwrap();
        drop(before);
        let db = writable(&path).unwrap();
        let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, KNOWN);
        let rows: i64 =
            db.query_row("SELECT count(*) FROM derived_series", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0);
        let rows: i64 = db.query_row("SELECT count(*) FROM kept", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0);
        let salt = super::salt::read(&db).unwrap().digest("hunter2");
        drop(db);
        let again = writable(&path).unwrap();
        assert_eq!(super::salt::read(&again).unwrap().digest("hunter2"), salt);
    }

    #[test]
    fn network_filesystems_get_a_rollback_journal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plumb.db");
        assert!(!on_network(folder.path()).unwrap() && !on_network(Path::new("/proc")).unwrap());
        let db = writable(&path).unwrap();
        // As if it had been copied there.
        for (network, mode, synchronous) in [(true, "delete", 2), (false, "wal", 1)] {
            journal(&db, network).unwrap();
            let found: String =
                db.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!(found, mode);
            let found: i64 = db.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
            assert_eq!(found, synchronous);
        }
    }
}
