//! Redis and Valkey, by RESP2 (<https://redis.io/docs/latest/develop/reference/protocol-spec/>).

use std::io::Write;

use plumb_protocol::{Failure, StartError};

use super::connection::{Connection, number, unexpected};
use crate::engine::{
    CyclePhase, Durability, Entities, EntityEngine, PhaseError, StartedEngine, THERE, changed,
    compared,
};
use crate::key_space::KeySpace;
use crate::server::ServerAddress;

struct RedisEngine {
    connection: Connection,
    /// Whether nobody else uses the server, so that no key may remain.
    is_ours: bool,
}

/// A connection to a server.
///
/// # Errors
/// Unsupported if nobody answers there, or the server refuses the password.
pub(super) fn start(
    server: &ServerAddress,
    body_bytes: usize,
) -> Result<StartedEngine, StartError> {
    let mut connection = connect(server, body_bytes)?;
    let version = version(server, &mut connection)?;
    Ok(StartedEngine {
        engine: Box::new(RedisEngine { connection, is_ours: server.is_ours() }),
        component: "redis",
        version,
    })
}

/// A connection that may be used.
///
/// # Errors
/// As for [`start`].
pub(crate) fn connect(server: &ServerAddress, body_bytes: usize) -> Result<Connection, StartError> {
    let mut connection = Connection::open(server, body_bytes)?;
    if let Some(password) = &server.password {
        let words: Vec<&str> = match &server.user {
            Some(user) => vec!["AUTH", user, password],
            None => vec!["AUTH", password],
        };
        let reply = simple(&mut connection, &words).map_err(|error| lost(server, &error))?;
        if reply != "+OK" {
            return Err(StartError::unsupported(
                format!("{server} refuses the password"),
                "check the user and the password in `url`",
            ));
        }
    }
    if let Some(database) = &server.database {
        let reply =
            simple(&mut connection, &["SELECT", database]).map_err(|error| lost(server, &error))?;
        if reply != "+OK" {
            return Err(StartError::unsupported(
                format!("{server} has no database {database}"),
                "check the number behind the last slash of `url`",
            ));
        }
    }
    Ok(connection)
}

/// The version of a server, as it reports it.
///
/// # Errors
/// Unsupported if it does not answer as Redis does, or wants a password.
pub(crate) fn version(
    server: &ServerAddress,
    connection: &mut Connection,
) -> Result<String, StartError> {
    let about = bulk(connection, &["INFO", "server"]).map_err(|error| lost(server, &error))?;
    let version = about.lines().find_map(|line| line.strip_prefix("redis_version:"));
    Ok(version.unwrap_or("unknown").trim().to_owned())
}

/// The error of a server that does not answer as Redis does.
fn lost(server: &ServerAddress, error: &PhaseError) -> StartError {
    let why = match error {
        PhaseError::Engine(why) => why.as_str(),
        PhaseError::Entity(_, what) => what,
    };
    StartError::unsupported(
        format!("{server}: {why}"),
        "check that `url` names a Redis server, and the user and password",
    )
}

/// A command with a reply of one line.
fn simple(connection: &mut Connection, words: &[&str]) -> Result<String, PhaseError> {
    connection.requests.clear();
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    command(&mut connection.requests, &words);
    connection.send()?;
    Ok(String::from_utf8_lossy(connection.line()?).into_owned())
}

/// A command with a text as its reply.
fn bulk(connection: &mut Connection, words: &[&str]) -> Result<String, PhaseError> {
    let head = simple(connection, words)?;
    let bytes = head
        .strip_prefix('$')
        .and_then(|bytes| number(bytes.as_bytes()))
        .ok_or_else(|| unexpected(head.as_bytes()))?;
    Ok(String::from_utf8_lossy(connection.data(bytes)?).into_owned())
}

fn count_keys(connection: &mut Connection) -> Result<usize, PhaseError> {
    let reply = simple(connection, &["DBSIZE"])?;
    let count = reply.strip_prefix(':').and_then(|count| number(count.as_bytes()));
    count.ok_or_else(|| unexpected(reply.as_bytes()))
}

/// Appends a command as an array of texts.
pub(crate) fn command(requests: &mut Vec<u8>, words: &[&[u8]]) {
    // Writing to memory can't fail.
    let _ = write!(requests, "*{}\r\n", words.len());
    for word in words {
        let _ = write!(requests, "${}\r\n", word.len());
        requests.extend_from_slice(word);
        requests.extend_from_slice(b"\r\n");
    }
}

fn request(requests: &mut Vec<u8>, keys: &KeySpace, phase: CyclePhase, key: i64, body: &[u8]) {
    let key = keys.key(key.cast_unsigned());
    match phase {
        CyclePhase::Add => command(requests, &[b"SET", key.as_bytes(), body, b"NX"]),
        CyclePhase::Get => command(requests, &[b"GET", key.as_bytes()]),
        CyclePhase::Update => command(requests, &[b"SET", key.as_bytes(), body, b"XX"]),
        CyclePhase::Delete => command(requests, &[b"DEL", key.as_bytes()]),
    }
}

fn reply(
    connection: &mut Connection,
    phase: CyclePhase,
    key: i64,
    wanted: &[u8],
) -> Result<(), PhaseError> {
    let line = connection.line()?;
    match (phase, line) {
        (CyclePhase::Add | CyclePhase::Update, b"+OK") | (CyclePhase::Delete, b":1") => Ok(()),
        // `NX` and `XX` write nothing if the key is there, or is not.
        (CyclePhase::Add, b"$-1") => Err(PhaseError::Entity(key, THERE)),
        (CyclePhase::Update, b"$-1") | (CyclePhase::Delete, b":0") => changed(key, false),
        (CyclePhase::Get, b"$-1") => compared(key, None, wanted),
        (CyclePhase::Get, [b'$', bytes @ ..]) => {
            let bytes = number(bytes).ok_or_else(|| unexpected(b"$?"))?;
            compared(key, Some(connection.data(bytes)?), wanted)
        }
        (_, line) => Err(unexpected(line)),
    }
}

impl EntityEngine for RedisEngine {
    fn set(&mut self, durability: Durability) -> Result<(), StartError> {
        check_durability(&mut self.connection, durability)?;
        // With several requests under way, one sync would serve them all.
        if durability == Durability::Entity {
            self.connection.one_at_a_time();
        }
        Ok(())
    }

    fn phase(&mut self, phase: CyclePhase, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
        self.connection.phase(phase, entities, request, reply)
    }

    fn check(&mut self) -> Result<(), Failure> {
        if !self.is_ours {
            return Ok(());
        }
        match count_keys(&mut self.connection)
            .map_err(|error| error.of_phase("datastore.batch", "check"))?
        {
            0 => Ok(()),
            left => Err(Failure(format!("datastore.batch: {left} keys remain in Redis"))),
        }
    }
}

/// Checks that a server, which was started with its durability, has this one.
///
/// # Errors
/// If it has another.
pub(crate) fn check_durability(
    connection: &mut Connection,
    durability: Durability,
) -> Result<(), StartError> {
    let failed = |error: PhaseError| error.of_phase("redis", "CONFIG GET");
    let log = setting(connection, "appendonly").map_err(failed)?;
    let sync = setting(connection, "appendfsync").map_err(failed)?;
    let holds = match durability {
        Durability::None => log == "no",
        Durability::Batch => false,
        Durability::Entity => log == "yes" && sync == "always",
    };
    if holds {
        return Ok(());
    }
    Err(StartError::unsupported(
        format!("this Redis has appendonly={log} and appendfsync={sync}"),
        "set appendonly=no there and `durability=none`, or appendonly=yes, appendfsync=always and \
         `durability=entity`",
    ))
}

/// The value of a setting of the server.
fn setting(connection: &mut Connection, name: &str) -> Result<String, PhaseError> {
    let head = simple(connection, &["CONFIG", "GET", name])?;
    if head != "*2" {
        return Err(unexpected(head.as_bytes()));
    }
    let mut texts = [String::new(), String::new()];
    for text in &mut texts {
        let head = connection.line()?;
        let bytes =
            head.strip_prefix(b"$").and_then(number).ok_or_else(|| unexpected(b"no text"))?;
        *text = String::from_utf8_lossy(connection.data(bytes)?).into_owned();
    }
    let [_, value] = texts;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::request;
    use crate::engine::CyclePhase;
    use crate::key_space::KeySpace;

    #[test]
    fn requests_are_arrays_of_texts() {
        let mut requests = Vec::new();
        let keys = KeySpace::fresh().unwrap();
        request(&mut requests, &keys, CyclePhase::Add, 7, b"ab");
        request(&mut requests, &keys, CyclePhase::Delete, 7, b"");
        let key = String::from_utf8(keys.key(7).as_bytes().to_vec()).unwrap();
        let wanted = format!(
            "*4\r\n$3\r\nSET\r\n$27\r\n{key}\r\n$2\r\nab\r\n$2\r\nNX\r\n*2\r\n$3\r\nDEL\r\n$27\r\n{key}\r\n"
        );
        assert_eq!(String::from_utf8(requests).unwrap(), wanted);
    }
}
