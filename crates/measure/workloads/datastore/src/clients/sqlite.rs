//! SQLite with a connection for each thread, to one file with a write-ahead log: readers do not wait for the writer.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plumb_protocol::StartError;
use rusqlite::Connection;

use crate::client::{EachEntity, FIRST_GENERATION, MixClient, OpenedClients, while_opening};
use crate::contents::Contents;
use crate::engine::{Durability, PhaseError};
use crate::file::FreshFile;

/// A writer waits so long for another one.
const LOCKED: Duration = Duration::from_secs(30);

/// Fields are dropped in this order: the connection is closed before the file goes.
struct SqliteClient {
    connection: Connection,
    _file: Arc<FreshFile>,
}

/// So many connections to a fresh file.
///
/// # Errors
/// If nothing can be written there.
pub(super) fn open(
    dir: &Path,
    durability: Durability,
    count: usize,
) -> Result<OpenedClients, StartError> {
    let file = Arc::new(FreshFile::create(dir)?);
    let mut clients: Vec<Box<dyn MixClient>> = Vec::new();
    for number in 0..count {
        let connection = connect(&file, durability, number == 0).map_err(while_opening)?;
        clients.push(Box::new(SqliteClient { connection, _file: Arc::clone(&file) }));
    }
    Ok(OpenedClients { clients, component: "sqlite", version: rusqlite::version().to_owned() })
}

fn connect(
    file: &FreshFile,
    durability: Durability,
    is_first: bool,
) -> Result<Connection, PhaseError> {
    let connection = Connection::open(file.path())?;
    connection.busy_timeout(LOCKED)?;
    if is_first {
        // The mode that SQLite has now; it stays with the file.
        let mode: String =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            let why = format!(
                "SQLite reports journal_mode={mode}, not wal: the filesystem lacks shared memory"
            );
            return Err(PhaseError::Engine(why));
        }
        connection.execute_batch(
            "CREATE TABLE entity (key INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;",
        )?;
    }
    // With a write-ahead log, FULL syncs it at each commit.
    let synchronous = if durability == Durability::None { "OFF" } else { "FULL" };
    connection.pragma_update(None, "synchronous", synchronous)?;
    Ok(connection)
}

impl MixClient for SqliteClient {
    fn read(&mut self, key: u64, found: &mut Vec<u8>) -> Result<bool, PhaseError> {
        let mut select =
            self.connection.prepare_cached("SELECT body FROM entity WHERE key = ?1")?;
        let mut rows = select.query([key.cast_signed()])?;
        found.clear();
        let Some(row) = rows.next()? else { return Ok(false) };
        found.extend_from_slice(row.get_ref(0)?.as_blob().unwrap_or_default());
        Ok(true)
    }

    fn write(&mut self, key: u64, body: &[u8]) -> Result<(), PhaseError> {
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO entity VALUES (?1, ?2)")?
            .execute((key.cast_signed(), body))?;
        Ok(())
    }

    fn scan(&mut self, from: u64, count: u64, each: &mut EachEntity<'_>) -> Result<(), PhaseError> {
        let mut select = self
            .connection
            .prepare_cached("SELECT key, body FROM entity WHERE key >= ?1 ORDER BY key LIMIT ?2")?;
        let mut rows = select.query([from.cast_signed(), count.cast_signed()])?;
        while let Some(row) = rows.next()? {
            let key: i64 = row.get(0)?;
            each(key.cast_unsigned(), row.get_ref(1)?.as_blob().unwrap_or_default())?;
        }
        Ok(())
    }

    /// In one transaction.
    fn load(&mut self, entities: u64, contents: &mut Contents) -> Result<(), PhaseError> {
        self.connection.execute_batch("BEGIN")?;
        for key in 1..=entities {
            self.write(key, contents.body(key.cast_signed(), FIRST_GENERATION))?;
        }
        Ok(self.connection.execute_batch("COMMIT")?)
    }
}
