//! Opening the file: is it ours, is it of this version, may it be written, on what filesystem?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::db_error::DbError;
use super::schema::{APPLICATION_ID, KNOWN, MIGRATIONS, SCHEMA};
use crate::error::Error;

/// How long to wait for another process: an import of some million samples.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

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

/// The path from the root, so that SQLite cannot take it for a URI or a name of its own.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    if path.to_str().is_some_and(|text| text.contains("://")) {
        let why = "it is an address, and only files are supported so far".to_owned();
        return Err(Error::NotAStore { path: path.to_owned(), why });
    }
    Ok(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

/// A connection that may write, to a store of the newest schema.
pub(super) fn writable(path: &Path) -> Result<Connection, DbError> {
    refuse_folder(path)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            DbError::Unwritable(format!("plumb can't create its folder ({error})"))
        })?;
    }
    let connection = migrated(path)?;
    journal(&connection, on_network(path)?)?;
    Ok(connection)
}

/// A connection that may write, to a store of the newest schema, its journal left as it is.
pub(super) fn migrated(path: &Path) -> Result<Connection, DbError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, flags)?;
    if connection.is_readonly("main")? {
        return Err(DbError::Unwritable("it is read-only".into()));
    }
    migrate(&mut connection)?;
    Ok(connection)
}

/// A connection that cannot write, to a store of the newest schema.
pub(super) fn readable(path: &Path) -> Result<Connection, DbError> {
    refuse_folder(path)?;
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
        Some(KNOWN) => Ok(connection),
        Some(other) => Err(DbError::Version(other)),
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
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement is planned once, not anew for every value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(
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

/// The schema's version; None when the file is empty.
fn version(connection: &Connection) -> Result<Option<i64>, DbError> {
    // One statement, so that a store that is being made is seen before or after, not half.
    let (application, found, objects): (i64, i64, i64) = connection.query_row(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
         FROM pragma_application_id, pragma_user_version",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    match (application, found) {
        (APPLICATION_ID, 1..=KNOWN) => Ok(Some(found)),
        (APPLICATION_ID, _) => Err(DbError::Version(found)),
        (0, 0) if objects == 0 => Ok(None),
        _ => Err(DbError::Foreign("it is the database of another program")),
    }
}

/// Brings the file to the newest schema.
fn migrate(connection: &mut Connection) -> Result<(), DbError> {
    if version(connection)? == Some(KNOWN) {
        return Ok(());
    }
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again: another process may have done it meanwhile.
    match version(&step)? {
        None => step.execute_batch(SCHEMA)?,
        Some(found) => {
            for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
                step.execute_batch(migration)?;
            }
        }
    }
    step.pragma_update(None, "application_id", APPLICATION_ID)?;
    step.pragma_update(None, "user_version", KNOWN)?;
    Ok(step.commit()?)
}

/// Chooses how commits are made safe: a write-ahead log, or a rollback journal where the log's
/// shared memory cannot work.
fn journal(connection: &Connection, network: bool) -> Result<(), DbError> {
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
                    && begun.elapsed() < PATIENCE =>
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

/// The path of a file that SQLite keeps beside the store.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::{APPLICATION_ID, KNOWN, MIGRATIONS, SCHEMA, journal, on_network, writable};
    use rusqlite::Connection;
    use std::path::Path;

    /// Everything that makes the schema, without the white space that people read it by.
    fn schema(scripts: &[&str]) -> Vec<String> {
        let db = Connection::open_in_memory().unwrap();
        for script in scripts {
            db.execute_batch(script).unwrap();
        }
        let mut select = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema").unwrap();
        let rows = select.query_map([], |row| {
            let sql: Option<String> = row.get(3)?;
            let sql = sql.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            let [kind, name, of]: [String; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
            Ok(format!("{kind} {name} {of} {sql}"))
        });
        let mut lines: Vec<_> = rows.unwrap().collect::<Result<_, _>>().unwrap();
        lines.sort();
        lines
    }

    #[test]
    fn migrations_lead_to_the_schema_of_a_new_store() {
        let new = schema(&[SCHEMA]);
        assert!(new.len() > 30);
        assert_eq!(new, schema(MIGRATIONS));
    }

    #[test]
    fn every_table_is_strict() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(SCHEMA).unwrap();
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
    fn an_older_store_is_migrated_when_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plumb.db");
        let old = Connection::open(&path).unwrap();
        old.execute_batch(MIGRATIONS[0]).unwrap();
        old.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        drop(old);
        let db = writable(&path).unwrap();
        let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, KNOWN);
    }

    #[test]
    fn samples_of_an_older_store_keep_their_values() {
        let db = Connection::open_in_memory().unwrap();
        db.pragma_update(None, "foreign_keys", false).unwrap();
        db.execute_batch(MIGRATIONS[0]).unwrap();
        db.execute_batch(
            "INSERT INTO batch VALUES
               (7, 0, 0, 0, 2, 1000, 'self', 1, 1, 1, 0, 0, 0, 0, 0, NULL, NULL),
               (7, 1, 0, 2, 1, 5000, 'self', 1, 1, 1, 0, 0, 0, 0, 0, NULL, NULL);
             INSERT INTO sample VALUES (7, 0, 0, 11, 4, 0), (7, 1, 500, 12, 4, 1), (7, 2, 4000, 13, 5, 0);",
        )
        .unwrap();
        db.execute_batch(MIGRATIONS[1]).unwrap();
        let sql = "SELECT sample.n, batch.start_ns + sample.start_ns, elapsed_ns, sample.iterations, sample.cpu
                   FROM sample JOIN batch ON batch.invocation = sample.invocation
                     AND sample.n >= batch.first AND sample.n < batch.first + batch.samples";
        let mut select = db.prepare(sql).unwrap();
        let rows = select.query_map([], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
        });
        let rows: Vec<[i64; 5]> = rows.unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(rows, [[0, 1000, 11, 4, 0], [1, 1500, 12, 4, 1], [2, 5000, 13, 5, 0]]);
    }

    #[test]
    fn runs_of_an_older_store_are_on_a_host_that_nobody_knows() {
        let db = Connection::open_in_memory().unwrap();
        db.pragma_update(None, "foreign_keys", false).unwrap();
        MIGRATIONS[..3].iter().for_each(|step| db.execute_batch(step).unwrap());
        db.execute_batch(
            "INSERT INTO target VALUES (1, 0, 0, 5, 0, 'local', x'01', x'02');
             INSERT INTO audit VALUES (x'01', x'02', 7, '{}');",
        )
        .unwrap();
        db.execute_batch(MIGRATIONS[3]).unwrap();
        let sql = "SELECT at_ns, name, target.host IS NULL, audit.json, audit.host IS NULL \
                   FROM target JOIN audit USING (machine)";
        let found: (i64, String, bool, String, bool) = db
            .query_row(sql, [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .unwrap();
        assert_eq!(found, (5, "local".to_owned(), true, "{}".to_owned(), true));
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
