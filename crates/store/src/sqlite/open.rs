//! Opening the file: is it ours, is it of this version, may it be written, on what filesystem?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::Error;
use crate::error::Fault;

/// `plmb`: tells plumb's files from other databases (and `file` can show it).
const APPLICATION_ID: i64 = 0x706c_6d62;

/// The schema as a new store gets it.
const SCHEMA: &str = include_str!("schema.sql");

/// The steps that bring an old store to the same schema; number n leaves `user_version` at n + 1.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql")];

/// The newest schema.
pub(super) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// How long to wait for another process: an import of some million samples.
const PATIENCE: Duration = Duration::from_secs(10);

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
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A connection that may write, to a store of the newest schema.
pub(super) fn writable(path: &Path) -> Result<Connection, Fault> {
    refuse_folder(path)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| unwritable(path, &error))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, flags)?;
    if connection.is_readonly("main")? {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        return Err(unwritable(path, &denied));
    }
    migrate(&mut connection, path)?;
    journal(&connection, path)?;
    Ok(connection)
}

/// A connection that cannot write, to a store of the newest schema.
pub(super) fn readable(path: &Path) -> Result<Connection, Fault> {
    refuse_folder(path)?;
    fs::File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Fault::Io(error),
        _ => Error::Failed { path: path.to_owned(), why: error.to_string() }.into(),
    })?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let version = match version(&connection, path) {
        // The folder cannot be written: the log's index cannot be made. Without a log none is needed.
        Err(Fault::Sqlite(error)) if error.sqlite_error_code() == Some(CANNOT_OPEN) => {
            let connection = connect_immutable(path)?;
            version(&connection, path)?.map(|found| (found, connection))
        }
        other => other?.map(|found| (found, connection)),
    };
    match version {
        Some((KNOWN, connection)) => Ok(connection),
        Some((found, _)) => Err(Error::Older { path: path.to_owned(), found, known: KNOWN }.into()),
        None => Err(not_ours(path, "it is empty")),
    }
}

const CANNOT_OPEN: rusqlite::ErrorCode = rusqlite::ErrorCode::CannotOpen;

fn connect_immutable(path: &Path) -> Result<Connection, Fault> {
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

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Fault> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
    )?;
    Ok(connection)
}

fn refuse_folder(path: &Path) -> Result<(), Fault> {
    if path.is_dir() {
        return Err(not_ours(path, "it is a folder"));
    }
    Ok(())
}

fn not_ours(path: &Path, why: &str) -> Fault {
    Error::NotAStore { path: path.to_owned(), why: why.to_owned() }.into()
}

fn unwritable(path: &Path, error: &io::Error) -> Fault {
    Error::Unwritable { path: path.to_owned(), why: error.to_string() }.into()
}

/// The schema's version; None when the file is empty.
fn version(connection: &Connection, path: &Path) -> Result<Option<i64>, Fault> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application = pragma("application_id")?;
    let found = pragma("user_version")?;
    let objects: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, found) {
        (APPLICATION_ID, found) if found > KNOWN => {
            Err(Error::Newer { path: path.to_owned(), found, known: KNOWN }.into())
        }
        (APPLICATION_ID, found) => Ok(Some(found)),
        (0, 0) if objects == 0 => Ok(None),
        _ => Err(not_ours(path, "it is the database of another program")),
    }
}

/// Brings the file to the newest schema.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Fault> {
    if version(connection, path)? == Some(KNOWN) {
        return Ok(());
    }
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again: another process may have done it meanwhile.
    match version(&step, path)? {
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
fn journal(connection: &Connection, path: &Path) -> Result<(), Fault> {
    let (mode, synchronous) =
        if on_network(path)? { ("delete", "FULL") } else { ("wal", "NORMAL") };
    let now: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if now != mode {
        // The answer is the mode that came of it; WAL is a wish, not a condition.
        connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()))?;
    }
    Ok(connection.pragma_update(None, "synchronous", synchronous)?)
}

fn on_network(path: &Path) -> Result<bool, Fault> {
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
