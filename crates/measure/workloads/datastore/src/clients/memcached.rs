//! memcached with a connection for each thread.

use plumb_protocol::StartError;

use crate::client::{EachEntity, MixClient, OpenedClients, no_scans, while_clearing};
use crate::engine::PhaseError;
use crate::engines::connection::{Connection, number, unexpected};
use crate::engines::memcached::{put_line, put_stored, version};
use crate::server::ServerAddress;

struct MemcachedClient(Connection);

/// So many connections to a server.
///
/// # Errors
/// Unsupported if nobody answers there as memcached does.
pub(super) fn open(
    server: &ServerAddress,
    count: usize,
    body_bytes: usize,
) -> Result<OpenedClients, StartError> {
    let mut connections = Vec::new();
    for _ in 0..count.max(1) {
        connections.push(Connection::open(server, body_bytes)?);
    }
    let version = version(server, &mut connections[0])?;
    let clients = connections
        .into_iter()
        .map(|connection| Box::new(MemcachedClient(connection)) as Box<dyn MixClient>);
    Ok(OpenedClients { clients: clients.collect(), component: "memcached", version })
}

/// Removes entities up to this key.
///
/// # Errors
/// If the server can't be reached, or refuses.
pub(super) fn clear(server: &ServerAddress, entities: u64) -> Result<(), StartError> {
    let mut client = MemcachedClient(Connection::open(server, 0)?);
    for key in 1..=entities {
        client.delete(key).map_err(while_clearing)?;
    }
    Ok(())
}

impl MemcachedClient {
    fn delete(&mut self, key: u64) -> Result<(), PhaseError> {
        self.0.requests.clear();
        put_line(&mut self.0.requests, "delete", &self.0.keys.key(key));
        self.0.send()?;
        match self.0.line()? {
            b"DELETED" | b"NOT_FOUND" => Ok(()),
            line => Err(unexpected(line)),
        }
    }
}

impl MixClient for MemcachedClient {
    fn read(&mut self, key: u64, found: &mut Vec<u8>) -> Result<bool, PhaseError> {
        self.0.requests.clear();
        put_line(&mut self.0.requests, "get", &self.0.keys.key(key));
        self.0.send()?;
        found.clear();
        let line = self.0.line()?;
        if line == b"END" {
            return Ok(false);
        }
        let bytes = line
            .strip_prefix(b"VALUE ")
            .and_then(|rest| rest.rsplit(|byte| *byte == b' ').next())
            .and_then(number)
            .ok_or_else(|| unexpected(line))?;
        found.extend_from_slice(self.0.data(bytes)?);
        match self.0.line()? {
            b"END" => Ok(true),
            line => Err(unexpected(line)),
        }
    }

    fn write(&mut self, key: u64, body: &[u8]) -> Result<(), PhaseError> {
        self.0.requests.clear();
        put_stored(&mut self.0.requests, "set", &self.0.keys.key(key), body);
        self.0.send()?;
        match self.0.line()? {
            b"STORED" => Ok(()),
            line => Err(unexpected(line)),
        }
    }

    fn scan(&mut self, _: u64, _: u64, _: &mut EachEntity<'_>) -> Result<(), PhaseError> {
        Err(no_scans("memcached"))
    }
}
