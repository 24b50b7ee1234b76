//! The engines, one file each.

#[cfg(test)]
mod conformance;
pub(crate) mod connection;
pub(crate) mod etcd;
mod files;
mod log;
pub(crate) mod memcached;
pub(crate) mod postgresql;
pub(crate) mod redb;
pub(crate) mod redis;
mod sqlite;

use std::path::Path;

use plumb_protocol::{Start, StartError};

use crate::engine::{EngineKind, StartedEngine};
use crate::server::ServerAddress;

/// Starts an engine, or connects to its server, which engines that are built in do not have. `body_bytes` is the size of
/// an entity.
///
/// # Errors
/// Unsupported if it can't run here.
pub(super) fn start(
    kind: EngineKind,
    start: &Start,
    server: Option<&ServerAddress>,
    body_bytes: usize,
) -> Result<StartedEngine, StartError> {
    let dir = Path::new(&start.dir);
    match (kind, server) {
        (EngineKind::Sqlite, _) => sqlite::start(dir),
        (EngineKind::Redb, _) => redb::start(dir),
        (EngineKind::Files, _) => files::start(dir),
        (EngineKind::Log, _) => log::start(dir),
        (EngineKind::Postgresql, Some(server)) => postgresql::start(server, body_bytes),
        (EngineKind::Etcd, Some(server)) => etcd::start(server, body_bytes),
        (EngineKind::Redis, Some(server)) => redis::start(server, body_bytes),
        (EngineKind::Memcached, Some(server)) => memcached::start(server, body_bytes),
        (_, None) => Err(StartError::Failed(format!("{} has no server", kind.name()))),
    }
}
