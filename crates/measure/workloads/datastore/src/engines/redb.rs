//! redb: a B-tree in one file, written by copying pages, without a log.

use std::path::Path;

use plumb_protocol::{Failure, StartError};
use redb::{Database, ReadableDatabase, ReadableTableMetadata, Table, TableDefinition};

use crate::engine::{
    CyclePhase, Durability, Entities, EntityEngine, PhaseError, StartedEngine, THERE, changed,
    compared,
};
use crate::file::FreshFile;

/// The version in Cargo.lock; a test compares them, because the crate does not report its own.
pub(crate) const VERSION: &str = "3.1.3";

const ENTITIES: TableDefinition<'_, i64, &[u8]> = TableDefinition::new("entity");

/// What a transaction does with the table.
type TableWork<'w> = dyn FnMut(&mut Table<'_, i64, &'static [u8]>) -> Result<(), PhaseError> + 'w;

/// Fields are dropped in this order: the database is closed before the file goes.
struct RedbEngine {
    database: Database,
    _file: FreshFile,
    durability: Durability,
}

/// An empty database in a fresh file.
///
/// # Errors
/// If nothing can be written there.
pub(super) fn start(dir: &Path) -> Result<StartedEngine, StartError> {
    let file = FreshFile::create(dir)?;
    let database = Database::create(file.path())
        .map_err(|error| Failure(format!("datastore.batch: redb: {error}")))?;
    let engine = RedbEngine { database, _file: file, durability: Durability::None };
    Ok(StartedEngine { engine: Box::new(engine), component: "redb", version: VERSION.to_owned() })
}

impl RedbEngine {
    /// One transaction of writes.
    fn write(&self, durability: Durability, work: &mut TableWork<'_>) -> Result<(), PhaseError> {
        let mut transaction = self.database.begin_write().map_err(refused)?;
        let level = match durability {
            Durability::None => redb::Durability::None,
            Durability::Batch | Durability::Entity => redb::Durability::Immediate,
        };
        transaction.set_durability(level).map_err(refused)?;
        {
            let mut table = transaction.open_table(ENTITIES).map_err(refused)?;
            work(&mut table)?;
        }
        transaction.commit().map_err(refused)
    }

    fn get(&self, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
        let transaction = self.database.begin_read().map_err(refused)?;
        let table = transaction.open_table(ENTITIES).map_err(refused)?;
        for &key in entities.shuffled {
            let found = table.get(key).map_err(refused)?;
            compared(key, found.as_ref().map(redb::AccessGuard::value), entities.body(key))?;
        }
        Ok(())
    }
}

/// What a phase of writes does to one entity.
fn change(
    table: &mut Table<'_, i64, &'static [u8]>,
    phase: CyclePhase,
    key: i64,
    body: &[u8],
) -> Result<(), PhaseError> {
    let before = match phase {
        CyclePhase::Delete => table.remove(key),
        CyclePhase::Add | CyclePhase::Update | CyclePhase::Get => table.insert(key, body),
    };
    let was_there = before.map_err(refused)?.is_some();
    match phase {
        CyclePhase::Add if was_there => Err(PhaseError::Entity(key, THERE)),
        CyclePhase::Add => Ok(()),
        CyclePhase::Update | CyclePhase::Delete | CyclePhase::Get => changed(key, was_there),
    }
}

impl EntityEngine for RedbEngine {
    fn set(&mut self, durability: Durability) -> Result<(), StartError> {
        self.durability = durability;
        Ok(())
    }

    fn phase(&mut self, phase: CyclePhase, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
        if phase == CyclePhase::Get {
            return self.get(entities);
        }
        let keys = entities.keys(phase);
        if self.durability == Durability::Entity {
            for &key in keys {
                self.write(self.durability, &mut |table| {
                    change(table, phase, key, entities.sent(phase, key))
                })?;
            }
            return Ok(());
        }
        self.write(self.durability, &mut |table| {
            keys.iter().try_for_each(|&key| change(table, phase, key, entities.sent(phase, key)))
        })
    }

    fn check(&mut self) -> Result<(), Failure> {
        let failed = |error: PhaseError| error.of_phase("datastore.batch", "check");
        // Only a commit that is on the disk lets redb use the pages of earlier ones again.
        self.write(Durability::Batch, &mut |_| Ok(())).map_err(failed)?;
        let left = self
            .database
            .begin_read()
            .map_err(redb::Error::from)
            .and_then(|transaction| transaction.open_table(ENTITIES).map_err(redb::Error::from))
            .and_then(|table| table.len().map_err(redb::Error::from))
            .map_err(|error| failed(refused(error)))?;
        match left {
            0 => Ok(()),
            left => Err(Failure(format!("datastore.batch: {left} entities remain in redb"))),
        }
    }
}

/// The error of a call that redb refuses.
pub(crate) fn refused(error: impl Into<redb::Error>) -> PhaseError {
    PhaseError::Engine(error.into().to_string())
}

#[cfg(test)]
mod tests {
    use super::VERSION;

    #[test]
    fn the_version_is_the_one_that_is_built_in() {
        let lock = include_str!("../../../../../../Cargo.lock");
        assert!(
            lock.contains(&format!("name = \"redb\"\nversion = \"{VERSION}\"")),
            "change VERSION"
        );
    }
}
