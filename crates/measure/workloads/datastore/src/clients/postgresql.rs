//! PostgreSQL with a session for each thread.

use std::sync::Arc;

use plumb_protocol::StartError;

use crate::client::{EachEntity, FIRST_GENERATION, MixClient, OpenedClients};
use crate::contents::Contents;
use crate::engine::{Durability, PhaseError};
use crate::engines::connection::Connection;
use crate::engines::postgresql::{
    connect, execute, executed, fresh_table, only_column, prepare, query, set_durability,
};
use crate::server::ServerAddress;

/// Statements of all operations, by the names under which they are prepared.
const STATEMENTS: [(&str, &str); 3] = [
    ("r", "SELECT body FROM TABLE WHERE key = $1"),
    ("w", "INSERT INTO TABLE VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET body = excluded.body"),
    // The key is in front of the body, so that a row has one column.
    ("s", "SELECT int8send(key) || body FROM TABLE WHERE key >= $1 ORDER BY key LIMIT $2"),
];

/// The table of all sessions; the last one removes it.
struct SharedTable {
    server: ServerAddress,
    name: String,
}

impl Drop for SharedTable {
    fn drop(&mut self) {
        if let Ok(mut session) = connect(&self.server, 0) {
            // Nobody is left to be told of an error.
            let _ = query(&mut session.connection, &format!("DROP TABLE {}", self.name));
        }
    }
}

/// Fields are dropped in this order: the session ends before the table goes.
struct PostgresqlClient {
    connection: Connection,
    _table: Arc<SharedTable>,
}

/// So many sessions with one empty table.
///
/// # Errors
/// Unsupported if nobody answers there, or the server refuses the login.
pub(super) fn open(
    server: &ServerAddress,
    durability: Durability,
    count: usize,
    body_bytes: usize,
) -> Result<OpenedClients, StartError> {
    let mut first = connect(server, body_bytes)?;
    let name = fresh_table(&mut first.connection)?;
    let table = Arc::new(SharedTable { server: server.clone(), name });
    let version = first.version;
    let mut connections = vec![first.connection];
    for _ in 1..count {
        let session = connect(server, body_bytes)?;
        connections.push(session.connection);
    }
    let mut clients: Vec<Box<dyn MixClient>> = Vec::new();
    for mut connection in connections {
        prepare(&mut connection, &table.name, &STATEMENTS)?;
        set_durability(&mut connection, durability)?;
        clients.push(Box::new(PostgresqlClient { connection, _table: Arc::clone(&table) }));
    }
    Ok(OpenedClients { clients, component: "postgresql", version })
}

impl PostgresqlClient {
    fn execute(&mut self, statement: &str, parameters: &[&[u8]]) -> Result<(), PhaseError> {
        self.connection.requests.clear();
        execute(&mut self.connection.requests, statement, parameters);
        Ok(self.connection.send()?)
    }
}

impl MixClient for PostgresqlClient {
    fn read(&mut self, key: u64, found: &mut Vec<u8>) -> Result<bool, PhaseError> {
        self.execute("r", &[&key.to_be_bytes()])?;
        found.clear();
        let count = executed(&mut self.connection, &mut |row| {
            found.extend_from_slice(only_column(row)?);
            Ok(())
        })?;
        Ok(count == 1)
    }

    fn write(&mut self, key: u64, body: &[u8]) -> Result<(), PhaseError> {
        self.execute("w", &[&key.to_be_bytes(), body])?;
        executed(&mut self.connection, &mut |_| Ok(()))?;
        Ok(())
    }

    fn scan(&mut self, from: u64, count: u64, each: &mut EachEntity<'_>) -> Result<(), PhaseError> {
        self.execute("s", &[&from.to_be_bytes(), &count.to_be_bytes()])?;
        executed(&mut self.connection, &mut |row| {
            let column = only_column(row)?;
            let (key, body) = column
                .split_first_chunk()
                .ok_or_else(|| PhaseError::Engine("a row without a key".to_owned()))?;
            each(u64::from_be_bytes(*key), body)
        })?;
        Ok(())
    }

    /// In one transaction.
    fn load(&mut self, entities: u64, contents: &mut Contents) -> Result<(), PhaseError> {
        query(&mut self.connection, "BEGIN")?;
        for key in 1..=entities {
            self.write(key, contents.body(key.cast_signed(), FIRST_GENERATION))?;
        }
        query(&mut self.connection, "COMMIT")
    }
}
