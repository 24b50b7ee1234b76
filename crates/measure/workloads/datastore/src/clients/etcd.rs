//! etcd with a connection for each thread.

use base64ct::{Base64, Encoding};
use plumb_protocol::StartError;

use crate::client::{EachEntity, MixClient, OpenedClients, while_clearing};
use crate::engine::PhaseError;
use crate::engines::connection::Connection;
use crate::engines::etcd::{connect, delete, field, put, range, receive, unexpected};
use crate::server::ServerAddress;

struct EtcdClient {
    connection: Connection,
    /// Room for an entity of a scan.
    entity: Vec<u8>,
}

/// So many connections to a server.
///
/// # Errors
/// Unsupported if nobody answers there as etcd does.
pub(super) fn open(
    server: &ServerAddress,
    count: usize,
    body_bytes: usize,
) -> Result<OpenedClients, StartError> {
    let mut clients: Vec<Box<dyn MixClient>> = Vec::new();
    let mut version = String::new();
    for _ in 0..count.max(1) {
        let (connection, found) = connect(server, body_bytes)?;
        version = found;
        clients.push(Box::new(EtcdClient { connection, entity: Vec::new() }));
    }
    Ok(OpenedClients { clients, component: "etcd", version })
}

/// Removes all entities.
///
/// # Errors
/// If the server can't be reached, or refuses.
pub(super) fn clear(server: &ServerAddress) -> Result<(), StartError> {
    let (mut connection, _) = connect(server, 0)?;
    let first = connection.keys.key(0);
    let end = connection.keys.end();
    connection.requests.clear();
    delete(&mut connection.requests, &first, Some(&end));
    connection.send().map_err(PhaseError::from).map_err(while_clearing)?;
    Ok(receive(&mut connection).map_err(while_clearing)?)
}

/// Decodes a body; its room is reused.
fn decode(text: &[u8], into: &mut Vec<u8>) -> Result<(), PhaseError> {
    into.resize(text.len(), 0);
    let decoded = std::str::from_utf8(text)
        .ok()
        .and_then(|text| Base64::decode(text, into).ok())
        .map(<[u8]>::len)
        .ok_or_else(|| PhaseError::Engine("an entity is not base64".to_owned()))?;
    into.truncate(decoded);
    Ok(())
}

impl EtcdClient {
    fn ask(&mut self) -> Result<(), PhaseError> {
        self.connection.send()?;
        receive(&mut self.connection)
    }
}

impl MixClient for EtcdClient {
    fn read(&mut self, key: u64, found: &mut Vec<u8>) -> Result<bool, PhaseError> {
        self.connection.requests.clear();
        let key = self.connection.keys.key(key);
        range(&mut self.connection.requests, &key, None);
        self.ask()?;
        match field(&self.connection.body, "value") {
            None => Ok(false),
            Some(text) => decode(text, found).map(|()| true),
        }
    }

    fn write(&mut self, key: u64, body: &[u8]) -> Result<(), PhaseError> {
        self.connection.requests.clear();
        let key = self.connection.keys.key(key);
        put(&mut self.connection.requests, &key, body, None);
        self.ask()
    }

    fn scan(&mut self, from: u64, count: u64, each: &mut EachEntity<'_>) -> Result<(), PhaseError> {
        self.connection.requests.clear();
        let from = self.connection.keys.key(from);
        let end = self.connection.keys.end();
        range(&mut self.connection.requests, &from, Some((&end, count)));
        self.ask()?;
        // Each entity is an object without others in it.
        for object in self.connection.body.split(|byte| *byte == b'}') {
            let Some(key) = field(object, "key") else { continue };
            decode(key, &mut self.entity)?;
            let digits = self.entity.rsplit(|byte| *byte == b':').next().unwrap_or_default();
            let number = std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| digits.parse().ok())
                .ok_or_else(|| unexpected(&self.connection))?;
            let value = field(object, "value").ok_or_else(|| unexpected(&self.connection))?;
            decode(value, &mut self.entity)?;
            each(number, &self.entity)?;
        }
        Ok(())
    }
}
