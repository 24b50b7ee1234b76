//! memcached, by its text protocol (doc/protocol.txt of its sources).

use std::io::Write;

use plumb_protocol::{Failure, StartError};

use super::connection::{Connection, number, unexpected};
use crate::engine::{
    CyclePhase, Durability, Entities, EntityEngine, PhaseError, StartedEngine, THERE, changed,
    compared,
};
use crate::key_space::{KeySpace, KeyText};
use crate::server::ServerAddress;

struct MemcachedEngine {
    connection: Connection,
    /// Whether nobody else uses the server, so that no item may remain.
    is_ours: bool,
}

/// A connection to a server.
///
/// # Errors
/// Unsupported if nobody answers there as memcached does.
pub(super) fn start(
    server: &ServerAddress,
    body_bytes: usize,
) -> Result<StartedEngine, StartError> {
    let mut connection = Connection::open(server, body_bytes)?;
    let version = version(server, &mut connection)?;
    Ok(StartedEngine {
        engine: Box::new(MemcachedEngine { connection, is_ours: server.is_ours() }),
        component: "memcached",
        version,
    })
}

fn ask(connection: &mut Connection, command: &str) -> Result<(), PhaseError> {
    connection.requests.clear();
    connection.requests.extend_from_slice(command.as_bytes());
    connection.requests.extend_from_slice(b"\r\n");
    Ok(connection.send()?)
}

/// The version of a server, as it reports it.
///
/// # Errors
/// Unsupported if it does not answer as memcached does.
pub(crate) fn version(
    server: &ServerAddress,
    connection: &mut Connection,
) -> Result<String, StartError> {
    let mut answer = || -> Result<String, PhaseError> {
        ask(connection, "version")?;
        let line = connection.line()?;
        let version = line.strip_prefix(b"VERSION ").ok_or_else(|| unexpected(line))?;
        Ok(String::from_utf8_lossy(version).into_owned())
    };
    answer().map_err(|error| {
        let Failure(why) = error.of_phase(&server.to_string(), "version");
        StartError::unsupported(why, "set `url` to a memcached server")
    })
}

fn count_items(connection: &mut Connection) -> Result<usize, PhaseError> {
    ask(connection, "stats")?;
    let mut items = None;
    loop {
        let line = connection.line()?;
        if line == b"END" {
            return items.ok_or_else(|| unexpected(b"no curr_items"));
        }
        let Some(stat) = line.strip_prefix(b"STAT ") else { return Err(unexpected(line)) };
        if let Some(count) = stat.strip_prefix(b"curr_items ") {
            items = number(count);
        }
    }
}

fn request(requests: &mut Vec<u8>, keys: &KeySpace, phase: CyclePhase, key: i64, body: &[u8]) {
    let key = keys.key(key.cast_unsigned());
    match phase {
        CyclePhase::Add => put_stored(requests, "add", &key, body),
        CyclePhase::Update => put_stored(requests, "replace", &key, body),
        CyclePhase::Get => put_line(requests, "get", &key),
        CyclePhase::Delete => put_line(requests, "delete", &key),
    }
}

/// Appends a command that has a key and no data.
pub(crate) fn put_line(requests: &mut Vec<u8>, verb: &str, key: &KeyText) {
    for part in [verb.as_bytes(), b" ", key.as_bytes(), b"\r\n"] {
        requests.extend_from_slice(part);
    }
}

/// Appends a command that stores data.
pub(crate) fn put_stored(requests: &mut Vec<u8>, verb: &str, key: &KeyText, body: &[u8]) {
    for part in [verb.as_bytes(), b" ", key.as_bytes()] {
        requests.extend_from_slice(part);
    }
    // Writing to memory can't fail.
    let _ = write!(requests, " 0 0 {}\r\n", body.len());
    requests.extend_from_slice(body);
    requests.extend_from_slice(b"\r\n");
}

fn reply(
    connection: &mut Connection,
    phase: CyclePhase,
    key: i64,
    wanted: &[u8],
) -> Result<(), PhaseError> {
    let line = connection.line()?;
    match (phase, line) {
        (CyclePhase::Add | CyclePhase::Update, b"STORED") | (CyclePhase::Delete, b"DELETED") => {
            Ok(())
        }
        (CyclePhase::Add, b"NOT_STORED") => Err(PhaseError::Entity(key, THERE)),
        (CyclePhase::Update, b"NOT_STORED") | (CyclePhase::Delete, b"NOT_FOUND") => {
            changed(key, false)
        }
        (CyclePhase::Get, b"END") => compared(key, None, wanted),
        (CyclePhase::Get, line) if line.starts_with(b"VALUE ") => {
            let bytes = line
                .rsplit(|byte| *byte == b' ')
                .next()
                .and_then(number)
                .ok_or_else(|| unexpected(line))?;
            compared(key, Some(connection.data(bytes)?), wanted)?;
            match connection.line()? {
                b"END" => Ok(()),
                other => Err(unexpected(other)),
            }
        }
        (_, line) => Err(unexpected(line)),
    }
}

impl EntityEngine for MemcachedEngine {
    fn set(&mut self, _: Durability) -> Result<(), StartError> {
        Ok(())
    }

    fn phase(&mut self, phase: CyclePhase, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
        self.connection.phase(phase, entities, request, reply)
    }

    fn check(&mut self) -> Result<(), Failure> {
        if !self.is_ours {
            return Ok(());
        }
        match count_items(&mut self.connection)
            .map_err(|error| error.of_phase("datastore.batch", "check"))?
        {
            0 => Ok(()),
            left => Err(Failure(format!("datastore.batch: {left} items remain in memcached"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::request;
    use crate::engine::CyclePhase;
    use crate::key_space::KeySpace;

    #[test]
    fn requests_are_lines_and_data() {
        let mut requests = Vec::new();
        let keys = KeySpace::fresh().unwrap();
        for phase in [CyclePhase::Add, CyclePhase::Get, CyclePhase::Update, CyclePhase::Delete] {
            request(&mut requests, &keys, phase, 7, b"ab");
        }
        let key = String::from_utf8(keys.key(7).as_bytes().to_vec()).unwrap();
        let wanted = format!(
            "add {key} 0 0 2\r\nab\r\nget {key}\r\nreplace {key} 0 0 2\r\nab\r\ndelete {key}\r\n"
        );
        assert_eq!(String::from_utf8(requests).unwrap(), wanted);
    }
}
