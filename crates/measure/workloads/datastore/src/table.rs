//! A table of entities in SQLite, and the five phases that work on it.

use plumb_protocol::{Failure, SplitMix64, StartError, now_ns};
use rusqlite::{CachedStatement, Connection};

use crate::contents::Contents;
use crate::file::FreshFile;

/// When a commit is on the disk, and how much one commit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Never waited for; one commit a phase.
    None,
    /// Each phase is one commit, and the phase ends when it is on the disk.
    Batch,
    /// Each entity is one commit, and the next one waits until it is on the disk.
    Entity,
}

impl Durability {
    /// The durability of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "batch" => Self::Batch,
            "entity" => Self::Entity,
            _ => return None,
        })
    }

    /// SQLite's `synchronous`: 0 is OFF, 2 is FULL.
    fn synchronous(self) -> i64 {
        match self {
            Self::None => 0,
            Self::Batch | Self::Entity => 2,
        }
    }
}

/// Nanoseconds of each phase: add, get, update, get again, delete.
pub(super) type PhaseTimes = [u64; 5];

/// The table. Fields are dropped in this order: the connection is closed before the file goes.
pub(super) struct EntityTable {
    connection: Connection,
    _file: FreshFile,
    contents: Contents,
    durability: Durability,
    /// Keys in random order, in which entities are read, updated and deleted.
    keys: Vec<i64>,
    generation: u64,
    changes: u64,
}

impl EntityTable {
    /// An empty table in `file`. Its file has grown to full size already, in one cycle that nobody
    /// waits for, so that the first sample finds what later ones find.
    pub(super) fn create(
        file: FreshFile,
        entities: u32,
        contents: Contents,
        durability: Durability,
        seed: u64,
    ) -> Result<Self, StartError> {
        let connection = Connection::open(file.path()).map_err(|e| failed("open", &e))?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;
                 CREATE TABLE entity (key INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;",
            )
            .map_err(|e| failed("create the table", &e))?;
        let mut keys: Vec<i64> = (1..=i64::from(entities)).collect();
        SplitMix64::new(seed).shuffle(&mut keys);
        let mut table = Self {
            connection,
            _file: file,
            contents,
            durability: Durability::None,
            keys,
            generation: 0,
            changes: 0,
        };
        table.cycle(&mut PhaseTimes::default())?;
        table.set(durability)?;
        Ok(table)
    }

    fn set(&mut self, durability: Durability) -> Result<(), Failure> {
        let wanted = durability.synchronous();
        let (told, mode) = set_synchronous(&self.connection, wanted)
            .map_err(|e| failed("set `synchronous`", &e))?;
        // SQLite ignores a pragma that it does not know or can't obey, so it is asked what holds.
        if told != wanted || mode != "delete" {
            return Err(Failure(format!(
                "datastore.batch: SQLite reports synchronous={told} journal_mode={mode}, \
                 not synchronous={wanted} journal_mode=delete"
            )));
        }
        self.durability = durability;
        Ok(())
    }

    /// Adds all entities, reads and compares them, updates them, reads and compares them again,
    /// deletes them; adds the time of each phase to `times`.
    pub(super) fn cycle(&mut self, times: &mut PhaseTimes) -> Result<(), Failure> {
        let mut mark = now_ns();
        let mut lap = |phase: usize| {
            let now = now_ns();
            times[phase] += now - mark;
            mark = now;
        };
        self.generation += 1;
        self.phase("add", Self::add)?;
        lap(0);
        self.phase("get", Self::get)?;
        lap(1);
        self.generation += 1;
        self.phase("update", Self::update)?;
        lap(2);
        self.phase("get again", Self::get)?;
        lap(3);
        self.phase("delete", Self::delete)?;
        lap(4);
        self.changes += 3 * self.keys.len() as u64;
        Ok(())
    }

    /// Works on all entities, in one transaction unless each entity has its own.
    fn phase(
        &mut self,
        name: &str,
        work: impl FnOnce(&Connection, &mut Contents, &[i64], u64) -> Result<(), PhaseError>,
    ) -> Result<(), Failure> {
        let one = self.durability != Durability::Entity;
        let connection = &self.connection;
        // Statements are prepared in the first cycle, which is not a sample, and kept.
        let command = |sql| connection.prepare_cached(sql)?.execute([]);
        let whole = || -> Result<(), PhaseError> {
            if one {
                command("BEGIN")?;
            }
            work(connection, &mut self.contents, &self.keys, self.generation)?;
            if one {
                command("COMMIT")?;
            }
            Ok(())
        };
        whole().map_err(|error| match error {
            PhaseError::Sqlite(error) => failed(name, &error),
            PhaseError::Entity(key, what) => {
                Failure(format!("datastore.batch: {name}: entity {key} {what}"))
            }
        })
    }

    /// In the order of the keys, as a program would that numbers what it adds.
    fn add(
        connection: &Connection,
        contents: &mut Contents,
        keys: &[i64],
        generation: u64,
    ) -> Result<(), PhaseError> {
        let mut insert = connection.prepare_cached("INSERT INTO entity VALUES (?1, ?2)")?;
        for key in (1..).take(keys.len()) {
            insert.execute((key, contents.body(key, generation)))?;
        }
        Ok(())
    }

    fn get(
        connection: &Connection,
        contents: &mut Contents,
        keys: &[i64],
        generation: u64,
    ) -> Result<(), PhaseError> {
        let mut select = connection.prepare_cached("SELECT body FROM entity WHERE key = ?1")?;
        keys.iter().try_for_each(|&key| compare(&mut select, key, contents.body(key, generation)))
    }

    fn update(
        connection: &Connection,
        contents: &mut Contents,
        keys: &[i64],
        generation: u64,
    ) -> Result<(), PhaseError> {
        let mut update = connection.prepare_cached("UPDATE entity SET body = ?2 WHERE key = ?1")?;
        for &key in keys {
            changed(key, update.execute((key, contents.body(key, generation)))?)?;
        }
        Ok(())
    }

    fn delete(
        connection: &Connection,
        _: &mut Contents,
        keys: &[i64],
        _: u64,
    ) -> Result<(), PhaseError> {
        let mut delete = connection.prepare_cached("DELETE FROM entity WHERE key = ?1")?;
        for &key in keys {
            changed(key, delete.execute([key])?)?;
        }
        Ok(())
    }

    /// Checks that as many rows were changed as cycles demand, that none is left, and that SQLite
    /// finds its file in order.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let (changes, left, sound) =
            ask_for_state(&self.connection).map_err(|e| failed("check", &e))?;
        let expected = self.changes;
        if u64::try_from(changes) != Ok(expected) || left != 0 || sound != "ok" {
            return Err(Failure(format!(
                "datastore.batch: {changes} rows changed instead of {expected}, {left} rows remain, file check: {sound}"
            )));
        }
        Ok(())
    }
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

fn compare(select: &mut CachedStatement<'_>, key: i64, wanted: &[u8]) -> Result<(), PhaseError> {
    let mut rows = select.query([key])?;
    let Some(row) = rows.next()? else {
        return Err(PhaseError::Entity(key, "is missing"));
    };
    match row.get_ref(0)?.as_blob() {
        Ok(found) if found == wanted => Ok(()),
        _ => Err(PhaseError::Entity(key, "differs from the one written")),
    }
}

fn changed(key: i64, rows: usize) -> Result<(), PhaseError> {
    if rows == 1 { Ok(()) } else { Err(PhaseError::Entity(key, "is missing")) }
}

/// Errors of a phase.
enum PhaseError {
    Sqlite(rusqlite::Error),
    Entity(i64, &'static str),
}

impl From<rusqlite::Error> for PhaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn failed(what: &str, error: &rusqlite::Error) -> Failure {
    Failure(format!("datastore.batch: {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{Contents, Durability, EntityTable, FreshFile, PhaseTimes};
    use plumb_protocol::Failure;

    fn with_table(durability: Durability, test: impl FnOnce(&mut EntityTable)) {
        let dir = tempfile::tempdir().unwrap();
        let file = FreshFile::create(dir.path()).unwrap();
        let mut table =
            EntityTable::create(file, 20, Contents::new(100, 1), durability, 1).unwrap();
        test(&mut table);
        drop(table);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn cycles_work_in_every_durability_and_time_every_phase() {
        for durability in [Durability::None, Durability::Batch, Durability::Entity] {
            with_table(durability, |table| {
                let mut times = PhaseTimes::default();
                table.cycle(&mut times).unwrap();
                table.cycle(&mut times).unwrap();
                table.check().unwrap();
                assert!(times.iter().all(|&ns| ns > 0), "{times:?}");
            });
        }
    }

    #[test]
    fn a_wrong_missing_or_leftover_entity_is_found() {
        with_table(Durability::None, |table| {
            let get = |table: &mut EntityTable| table.phase("get", EntityTable::get);
            table.generation += 1;
            table.phase("add", EntityTable::add).unwrap();
            get(table).unwrap();
            let damage = "UPDATE entity SET body = zeroblob(100) WHERE key = 7";
            table.connection.execute(damage, []).unwrap();
            let failure = get(table).unwrap_err();
            let wanted = "datastore.batch: get: entity 7 differs from the one written";
            assert_eq!(failure, Failure(wanted.into()));
            table.connection.execute_batch("COMMIT; DELETE FROM entity WHERE key = 7").unwrap();
            assert!(get(table).unwrap_err().0.contains("entity 7 is missing"));
            assert!(table.check().unwrap_err().0.contains("19 rows remain"));
        });
    }
}
