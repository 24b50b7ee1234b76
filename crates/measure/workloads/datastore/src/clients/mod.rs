//! The clients of each engine, one file each.

mod etcd;
mod memcached;
mod postgresql;
mod redb;
mod redis;
mod sqlite;

use std::path::Path;

use plumb_protocol::StartError;

use crate::client::OpenedClients;
use crate::engine::{Durability, EngineKind};
use crate::server::ServerAddress;

/// Opens so many clients, of a server if the engine is not built in; `body_bytes` is the size of an entity.
///
/// # Errors
/// Unsupported if the store can't be used here.
pub(super) fn open(
    (kind, durability): (EngineKind, Durability),
    dir: &Path,
    server: Option<&ServerAddress>,
    count: usize,
    body_bytes: usize,
) -> Result<OpenedClients, StartError> {
    match (kind, server) {
        (EngineKind::Sqlite, _) => sqlite::open(dir, durability, count),
        (EngineKind::Redb, _) => redb::open(dir, durability, count),
        (EngineKind::Postgresql, Some(server)) => {
            postgresql::open(server, durability, count, body_bytes)
        }
        (EngineKind::Etcd, Some(server)) => etcd::open(server, count, body_bytes),
        (EngineKind::Redis, Some(server)) => redis::open(server, durability, count, body_bytes),
        (EngineKind::Memcached, Some(server)) => memcached::open(server, count, body_bytes),
        (EngineKind::Files | EngineKind::Log, _) => Err(StartError::unsupported(
            format!("datastore.mix has no engine {}", kind.name()),
            "set `engine=sqlite`, redb, postgresql, etcd, redis or memcached",
        )),
        (_, None) => Err(StartError::Failed(format!("{} has no server", kind.name()))),
    }
}

/// Removes entities up to this key from a server that stays, over a connection of its own: another one may be in the middle
/// of a reply. PostgreSQL's go with their table.
pub(super) fn clear(kind: EngineKind, server: &ServerAddress, entities: u64) {
    let cleared = match kind {
        EngineKind::Etcd => etcd::clear(server),
        EngineKind::Redis => redis::clear(server, entities),
        EngineKind::Memcached => memcached::clear(server, entities),
        _ => return,
    };
    // A server that has ended has no entities, and the error that led here is reported.
    let _ = cleared;
}
