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

/// Starts an engine, or connects to its server. `body_bytes` is the size of an entity.
///
/// # Errors
/// Unsupported if it can't run here.
pub(super) fn start(
    kind: EngineKind,
    start: &Start,
    body_bytes: usize,
) -> Result<StartedEngine, StartError> {
    let dir = Path::new(&start.dir);
    match kind {
        EngineKind::Sqlite => sqlite::start(dir),
        EngineKind::Redb => redb::start(dir),
        EngineKind::Files => files::start(dir),
        EngineKind::Log => log::start(dir),
        EngineKind::Postgresql => postgresql::start(&ServerAddress::of(start, kind)?, body_bytes),
        EngineKind::Etcd => etcd::start(&ServerAddress::of(start, kind)?, body_bytes),
        EngineKind::Redis => redis::start(&ServerAddress::of(start, kind)?, body_bytes),
        EngineKind::Memcached => memcached::start(&ServerAddress::of(start, kind)?, body_bytes),
    }
}
