//! SQLite: a table of bodies by key, with its default journal.

use std::path::Path;

use plumb_protocol::{Failure, StartError};
use rusqlite::{CachedStatement, Connection};

use crate::engine::{
    CyclePhase, Durability, Entities, EntityEngine, PhaseError, StartedEngine, THERE, changed,
    compared,
};
use crate::file::FreshFile;

/// Fields are dropped in this order: the connection is closed before the file goes.
struct SqliteEngine {
    connection: Connection,
    _file: FreshFile,
    durability: Durability,
    /// Rows that were to be changed so far.
    changes: u64,
}

/// An empty table in a fresh file.
///
/// # Errors
/// If nothing can be written there.
pub(super) fn start(dir: &Path) -> Result<StartedEngine, StartError> {
    let file = FreshFile::create(dir)?;
    let connection = Connection::open(file.path()).map_err(|error| failed("open", &error))?;
    connection
        .execute_batch(
            "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;
             CREATE TABLE entity (key INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;",
        )
        .map_err(|error| failed("create the table", &error))?;
    let engine = SqliteEngine { connection, _file: file, durability: Durability::None, changes: 0 };
    Ok(StartedEngine {
        engine: Box::new(engine),
        component: "sqlite",
        version: rusqlite::version().to_owned(),
    })
}

impl EntityEngine for SqliteEngine {
    fn set(&mut self, durability: Durability) -> Result<(), StartError> {
        // 0 is OFF, 2 is FULL.
        let wanted = match durability {
            Durability::None => 0,
            Durability::Batch | Durability::Entity => 2,
        };
        let (set, mode) = set_synchronous(&self.connection, wanted)
            .map_err(|error| failed("set `synchronous`", &error))?;
        // SQLite ignores a pragma that it does not know or can't obey, so it is asked what holds.
        if set != wanted || mode != "delete" {
            return Err(StartError::Failed(format!(
                "datastore.batch: SQLite reports synchronous={set} journal_mode={mode}, \
                 not synchronous={wanted} journal_mode=delete"
            )));
        }
        self.durability = durability;
        Ok(())
    }

    fn phase(&mut self, phase: CyclePhase, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
        // Statements are prepared in the first cycle, which is not a sample, and kept.
        let command = |sql| self.connection.prepare_cached(sql)?.execute([]);
        let is_one = self.durability != Durability::Entity;
        if is_one {
            command("BEGIN")?;
        }
        match phase {
            CyclePhase::Add => add(&self.connection, entities)?,
            CyclePhase::Get => get(&self.connection, entities)?,
            CyclePhase::Update => update(&self.connection, entities)?,
            CyclePhase::Delete => delete(&self.connection, entities)?,
        }
        if is_one {
            command("COMMIT")?;
        }
        if phase != CyclePhase::Get {
            self.changes += entities.in_order.len() as u64;
        }
        Ok(())
    }

    /// Checks that as many rows were changed as phases demanded, that none is left, and that SQLite finds its file in
    /// order.
    fn check(&mut self) -> Result<(), Failure> {
        let (changes, left, sound) =
            ask_for_state(&self.connection).map_err(|error| failed("check", &error))?;
        let expected = self.changes;
        if u64::try_from(changes) != Ok(expected) || left != 0 || sound != "ok" {
            return Err(Failure(format!(
                "datastore.batch: {changes} rows changed instead of {expected}, {left} rows remain, file check: {sound}"
            )));
        }
        Ok(())
    }
}

fn add(connection: &Connection, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
    let mut insert = connection.prepare_cached("INSERT INTO entity VALUES (?1, ?2)")?;
    for &key in entities.in_order {
        insert.execute((key, entities.body(key))).map_err(|error| {
            match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::ConstraintViolation) => PhaseError::Entity(key, THERE),
                _ => PhaseError::from(error),
            }
        })?;
    }
    Ok(())
}

fn get(connection: &Connection, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
    let mut select = connection.prepare_cached("SELECT body FROM entity WHERE key = ?1")?;
    for &key in entities.shuffled {
        compare(&mut select, key, entities.body(key))?;
    }
    Ok(())
}

fn update(connection: &Connection, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
    let mut update = connection.prepare_cached("UPDATE entity SET body = ?2 WHERE key = ?1")?;
    for &key in entities.shuffled {
        changed(key, update.execute((key, entities.body(key)))? == 1)?;
    }
    Ok(())
}

fn delete(connection: &Connection, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
    let mut delete = connection.prepare_cached("DELETE FROM entity WHERE key = ?1")?;
    for &key in entities.shuffled {
        changed(key, delete.execute([key])? == 1)?;
    }
    Ok(())
}

fn compare(select: &mut CachedStatement<'_>, key: i64, wanted: &[u8]) -> Result<(), PhaseError> {
    let mut rows = select.query([key])?;
    let found = match rows.next()? {
        Some(row) => row.get_ref(0)?.as_blob().ok(),
        None => None,
    };
    compared(key, found, wanted)
}

/// Sets `synchronous`, and reports what holds then: the level, and the mode of the journal.
fn set_synchronous(connection: &Connection, level: i64) -> rusqlite::Result<(i64, String)> {
    connection.pragma_update(None, "synchronous", level)?;
    let set = connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    let mode = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    Ok((set, mode))
}

/// Rows changed since the connection was opened, rows that are left, and the verdict of `quick_check`.
fn ask_for_state(connection: &Connection) -> rusqlite::Result<(i64, i64, String)> {
    let (changes, left) = connection.query_row(
        "SELECT total_changes(), (SELECT count(*) FROM entity)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let sound = connection.query_row("PRAGMA quick_check", [], |row| row.get(0))?;
    Ok((changes, left, sound))
}

impl From<rusqlite::Error> for PhaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error.to_string())
    }
}

fn failed(what: &str, error: &rusqlite::Error) -> Failure {
    Failure(format!("datastore.batch: {what}: {error}"))
}
