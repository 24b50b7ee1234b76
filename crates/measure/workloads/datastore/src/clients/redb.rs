//! redb, shared by all threads of the process: one writes at a time, readers do not wait.

use std::path::Path;
use std::sync::Arc;

use plumb_protocol::StartError;
use redb::{Database, ReadableDatabase, Table, TableDefinition};

use crate::client::{EachEntity, FIRST_GENERATION, MixClient, OpenedClients, while_opening};
use crate::contents::Contents;
use crate::engine::{Durability, PhaseError};
use crate::engines::redb::{VERSION, refused};
use crate::file::FreshFile;

const ENTITIES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("entity");

/// What a transaction does with the table.
type MixTableWork<'w> =
    dyn FnMut(&mut Table<'_, u64, &'static [u8]>) -> Result<(), PhaseError> + 'w;

/// Fields are dropped in this order: the database is closed before the file goes.
struct SharedDatabase {
    database: Database,
    _file: FreshFile,
    durability: redb::Durability,
}

struct RedbClient(Arc<SharedDatabase>);

/// So many clients of a fresh database.
///
/// # Errors
/// If nothing can be written there.
pub(super) fn open(
    dir: &Path,
    durability: Durability,
    count: usize,
) -> Result<OpenedClients, StartError> {
    let file = FreshFile::create(dir)?;
    let database = Database::create(file.path()).map_err(|error| while_opening(refused(error)))?;
    let durability = match durability {
        Durability::None => redb::Durability::None,
        Durability::Batch | Durability::Entity => redb::Durability::Immediate,
    };
    let shared = Arc::new(SharedDatabase { database, _file: file, durability });
    let clients =
        (0..count).map(|_| Box::new(RedbClient(Arc::clone(&shared))) as Box<dyn MixClient>);
    Ok(OpenedClients { clients: clients.collect(), component: "redb", version: VERSION.to_owned() })
}

impl SharedDatabase {
    /// One transaction of writes.
    fn write_all(
        &self,
        durability: redb::Durability,
        work: &mut MixTableWork<'_>,
    ) -> Result<(), PhaseError> {
        let mut transaction = self.database.begin_write().map_err(refused)?;
        transaction.set_durability(durability).map_err(refused)?;
        {
            let mut table = transaction.open_table(ENTITIES).map_err(refused)?;
            work(&mut table)?;
        }
        transaction.commit().map_err(refused)
    }
}

impl MixClient for RedbClient {
    fn read(&mut self, key: u64, found: &mut Vec<u8>) -> Result<bool, PhaseError> {
        let transaction = self.0.database.begin_read().map_err(refused)?;
        let table = transaction.open_table(ENTITIES).map_err(refused)?;
        let entity = table.get(key).map_err(refused)?;
        found.clear();
        let Some(entity) = entity else { return Ok(false) };
        found.extend_from_slice(entity.value());
        Ok(true)
    }

    fn write(&mut self, key: u64, body: &[u8]) -> Result<(), PhaseError> {
        self.0.write_all(self.0.durability, &mut |table| {
            table.insert(key, body).map_err(refused)?;
            Ok(())
        })
    }

    fn scan(&mut self, from: u64, count: u64, each: &mut EachEntity<'_>) -> Result<(), PhaseError> {
        let transaction = self.0.database.begin_read().map_err(refused)?;
        let table = transaction.open_table(ENTITIES).map_err(refused)?;
        for (entity, _) in table.range(from..).map_err(refused)?.zip(0..count) {
            let (key, body) = entity.map_err(refused)?;
            each(key.value(), body.value())?;
        }
        Ok(())
    }

    /// In one transaction, on the disk, so that redb can use the pages of earlier ones again.
    fn load(&mut self, entities: u64, contents: &mut Contents) -> Result<(), PhaseError> {
        self.0.write_all(redb::Durability::Immediate, &mut |table| {
            for key in 1..=entities {
                let body = contents.body(key.cast_signed(), FIRST_GENERATION);
                table.insert(key, body).map_err(refused)?;
            }
            Ok(())
        })
    }
}
