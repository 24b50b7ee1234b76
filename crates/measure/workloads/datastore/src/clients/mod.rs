//! The clients of each engine, one file each.

mod etcd;
mod memcached;
mod postgresql;
mod redb;
mod redis;
mod sqlite;

use std::path::Path;

use plumb_protocol::{Start, StartError};

use crate::client::OpenedClients;
use crate::engine::{Durability, EngineKind};
use crate::server::ServerAddress;

/// Opens so many clients; `body_bytes` is the size of an entity.
///
/// # Errors
/// Unsupported if the store can't be used here.
pub(super) fn open(
    (kind, durability): (EngineKind, Durability),
    start: &Start,
    count: usize,
    body_bytes: usize,
) -> Result<OpenedClients, StartError> {
    let dir = Path::new(&start.dir);
    match kind {
        EngineKind::Sqlite => sqlite::open(dir, durability, count),
        EngineKind::Redb => redb::open(dir, durability, count),
        EngineKind::Postgresql => {
            postgresql::open(&ServerAddress::of(start, kind)?, durability, count, body_bytes)
        }
        EngineKind::Etcd => etcd::open(&ServerAddress::of(start, kind)?, count, body_bytes),
        EngineKind::Redis => {
            redis::open(&ServerAddress::of(start, kind)?, durability, count, body_bytes)
        }
        EngineKind::Memcached => {
            memcached::open(&ServerAddress::of(start, kind)?, count, body_bytes)
        }
        EngineKind::Files | EngineKind::Log => Err(StartError::unsupported(
            format!("datastore.mix has no engine {}", kind.name()),
            "set `engine=sqlite`, redb, postgresql, etcd, redis or memcached",
        )),
    }
}
