//! Redis and Valkey with a connection for each thread.

use plumb_protocol::StartError;

use crate::client::{EachEntity, MixClient, OpenedClients, no_scans, while_clearing};
use crate::engine::{Durability, PhaseError};
use crate::engines::connection::{Connection, number, unexpected};
use crate::engines::redis::{check_durability, command, connect, version};
use crate::server::ServerAddress;

struct RedisClient(Connection);

/// So many connections to a server.
///
/// # Errors
/// Unsupported if nobody answers there, or the server is set to another durability.
pub(super) fn open(
    server: &ServerAddress,
    durability: Durability,
    count: usize,
    body_bytes: usize,
) -> Result<OpenedClients, StartError> {
    let mut connections = Vec::new();
    for _ in 0..count.max(1) {
        connections.push(connect(server, body_bytes)?);
    }
    let first = &mut connections[0];
    let version = version(server, first)?;
    check_durability(first, durability)?;
    let clients = connections
        .into_iter()
        .map(|connection| Box::new(RedisClient(connection)) as Box<dyn MixClient>);
    Ok(OpenedClients { clients: clients.collect(), component: "redis", version })
}

/// Removes entities up to this key.
///
/// # Errors
/// If the server can't be reached, or refuses.
pub(super) fn clear(server: &ServerAddress, entities: u64) -> Result<(), StartError> {
    let mut client = RedisClient(connect(server, 0)?);
    for key in 1..=entities {
        client.delete(key).map_err(while_clearing)?;
    }
    Ok(())
}

impl RedisClient {
    fn send(&mut self, words: &[&[u8]]) -> Result<(), PhaseError> {
        self.0.requests.clear();
        command(&mut self.0.requests, words);
        Ok(self.0.send()?)
    }

    fn delete(&mut self, key: u64) -> Result<(), PhaseError> {
        let key = self.0.keys.key(key);
        self.send(&[b"DEL", key.as_bytes()])?;
        let line = self.0.line()?;
        if line.starts_with(b":") { Ok(()) } else { Err(unexpected(line)) }
    }
}

impl MixClient for RedisClient {
    fn read(&mut self, key: u64, found: &mut Vec<u8>) -> Result<bool, PhaseError> {
        let key = self.0.keys.key(key);
        self.send(&[b"GET", key.as_bytes()])?;
        found.clear();
        match self.0.line()? {
            b"$-1" => Ok(false),
            [b'$', bytes @ ..] => {
                let bytes = number(bytes).ok_or_else(|| unexpected(b"$?"))?;
                found.extend_from_slice(self.0.data(bytes)?);
                Ok(true)
            }
            line => Err(unexpected(line)),
        }
    }

    fn write(&mut self, key: u64, body: &[u8]) -> Result<(), PhaseError> {
        let key = self.0.keys.key(key);
        self.send(&[b"SET", key.as_bytes(), body])?;
        match self.0.line()? {
            b"+OK" => Ok(()),
            line => Err(unexpected(line)),
        }
    }

    fn scan(&mut self, _: u64, _: u64, _: &mut EachEntity<'_>) -> Result<(), PhaseError> {
        Err(no_scans("redis"))
    }
}
