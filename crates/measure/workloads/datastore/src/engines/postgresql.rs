//! PostgreSQL, by version 3 of its protocol (<https://www.postgresql.org/docs/current/protocol.html>): prepared statements
//! with binary parameters, over TCP without TLS.

use base64ct::{Base64, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use plumb_protocol::{Failure, StartError};
use plumb_workload_ends::token;
use sha2::{Digest, Sha256};

use super::connection::Connection;
use crate::engine::{
    CyclePhase, Durability, Entities, EntityEngine, PhaseError, StartedEngine, THERE, changed,
    compared,
};
use crate::key_space::KeySpace;
use crate::server::ServerAddress;

/// The most rounds of SCRAM; PostgreSQL asks for 4096. A server that asks for more would keep plumb busy for minutes.
const MOST_ROUNDS: u32 = 10_000_000;
/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 3 << 16;
/// Statements of all phases, by the names under which they are prepared.
const STATEMENTS: [(&str, &str); 4] = [
    ("a", "INSERT INTO TABLE VALUES ($1, $2) ON CONFLICT DO NOTHING"),
    ("g", "SELECT body FROM TABLE WHERE key = $1"),
    ("u", "UPDATE TABLE SET body = $2 WHERE key = $1"),
    ("d", "DELETE FROM TABLE WHERE key = $1"),
];

/// A session with a server.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) version: String,
}

struct PostgresqlEngine {
    session: Session,
    table: String,
    durability: Durability,
}

/// An empty table on a server.
///
/// # Errors
/// Unsupported if nobody answers there, or the server refuses the password.
pub(super) fn start(
    server: &ServerAddress,
    body_bytes: usize,
) -> Result<StartedEngine, StartError> {
    let mut session = connect(server, body_bytes)?;
    let table = fresh_table(&mut session.connection)?;
    prepare(&mut session.connection, &table, &STATEMENTS)?;
    let version = session.version.clone();
    let engine = PostgresqlEngine { session, table, durability: Durability::None };
    Ok(StartedEngine { engine: Box::new(engine), component: "postgresql", version })
}

/// Makes a table of entities that nobody else has: its name.
///
/// # Errors
/// If the server refuses.
pub(crate) fn fresh_table(connection: &mut Connection) -> Result<String, Failure> {
    let name = format!("plumb_entity_{:032x}", u128::from_le_bytes(token::fresh()?));
    query(
        connection,
        &format!("CREATE TABLE {name} (key bigint PRIMARY KEY, body bytea NOT NULL)"),
    )
    .map_err(|error| error.of_phase("postgresql", "create the table"))?;
    Ok(name)
}

/// Prepares statements for a table, in which `TABLE` stands for its name.
///
/// # Errors
/// If the server refuses.
pub(crate) fn prepare(
    connection: &mut Connection,
    table: &str,
    statements: &[(&str, &str)],
) -> Result<(), Failure> {
    for (name, text) in statements {
        let text = text.replace("TABLE", table);
        connection.requests.clear();
        message(&mut connection.requests, b'P', |out| {
            put_text(out, name);
            put_text(out, &text);
            out.extend_from_slice(&0_u16.to_be_bytes());
        });
        sync(&mut connection.requests);
        let mut done = || -> Result<(), PhaseError> {
            connection.send()?;
            until_ready(connection)?;
            Ok(())
        };
        done().map_err(|error| error.of_phase("postgresql", "prepare"))?;
    }
    Ok(())
}

/// Logs in.
///
/// # Errors
/// Unsupported if nobody answers there, or the server refuses the login.
pub(crate) fn connect(server: &ServerAddress, body_bytes: usize) -> Result<Session, StartError> {
    let connection = Connection::open(server, body_bytes)?;
    let mut session = Session { connection, version: "unknown".to_owned() };
    log_in(&mut session, server).map_err(|error| {
        let Failure(why) = error.of_phase(&server.to_string(), "login");
        StartError::unsupported(why, "check `url`: postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
    })?;
    Ok(session)
}

fn log_in(session: &mut Session, server: &ServerAddress) -> Result<(), PhaseError> {
    let user = server.user.as_deref().unwrap_or("postgres");
    let database = server.database.as_deref().unwrap_or("postgres");
    let password = server.password.as_deref().unwrap_or_default();
    let mut start_up = PROTOCOL.to_be_bytes().to_vec();
    for word in ["user", user, "database", database, "application_name", "plumb", ""] {
        put_text(&mut start_up, word);
    }
    let connection = &mut session.connection;
    connection.requests.clear();
    let length = u32::try_from(start_up.len() + 4).unwrap_or(u32::MAX);
    connection.requests.extend_from_slice(&length.to_be_bytes());
    connection.requests.extend_from_slice(&start_up);
    connection.send()?;
    let mut scram = None;
    loop {
        let (kind, payload) = any_message(connection)?;
        let payload = payload.to_vec();
        match kind {
            b'R' => {
                let (code, rest) = payload.split_first_chunk().ok_or_else(|| unexpected(kind))?;
                let answer = match u32::from_be_bytes(*code) {
                    0 => continue,
                    3 => {
                        let mut answer = Vec::new();
                        put_text(&mut answer, password);
                        answer
                    }
                    10 => {
                        let exchange = ScramExchange::new(password)?;
                        let first = exchange.first();
                        let mut answer = Vec::new();
                        put_text(&mut answer, "SCRAM-SHA-256");
                        put_length(&mut answer, first.len());
                        answer.extend_from_slice(first.as_bytes());
                        scram = Some(exchange);
                        answer
                    }
                    11 => {
                        let exchange = scram.as_mut().ok_or_else(|| unexpected(kind))?;
                        exchange.answer(&String::from_utf8_lossy(rest))?.into_bytes()
                    }
                    12 => {
                        let exchange = scram.as_ref().ok_or_else(|| unexpected(kind))?;
                        exchange.check(&String::from_utf8_lossy(rest))?;
                        continue;
                    }
                    5 => {
                        return Err(PhaseError::Engine(
                            "the server requires MD5 authentication; plumb supports only scram-sha-256".into(),
                        ));
                    }
                    other => {
                        return Err(PhaseError::Engine(format!(
                            "the server requires authentication method {other}, which plumb does not support"
                        )));
                    }
                };
                connection.requests.clear();
                message(&mut connection.requests, b'p', |out| out.extend_from_slice(&answer));
                connection.send()?;
            }
            b'S' => {
                let text = String::from_utf8_lossy(&payload);
                let mut words = text.split('\0');
                if words.next() == Some("server_version") {
                    // Debian's has its own version in brackets behind it.
                    let version = words.next().unwrap_or_default();
                    version.split(' ').next().unwrap_or_default().clone_into(&mut session.version);
                }
            }
            b'E' => return Err(refusal(&payload)),
            b'Z' => return Ok(()),
            _ => {}
        }
    }
}

/// The client's part of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding.
struct ScramExchange {
    password: String,
    nonce: String,
    /// The signature that the server must show.
    expected: Vec<u8>,
}

impl ScramExchange {
    fn new(password: &str) -> Result<Self, PhaseError> {
        let token = token::fresh().map_err(|failure| PhaseError::Engine(failure.0))?;
        Ok(Self {
            password: password.to_owned(),
            nonce: format!("{:032x}", u128::from_le_bytes(token)),
            expected: Vec::new(),
        })
    }

    fn first(&self) -> String {
        format!("n,,n=,r={}", self.nonce)
    }

    /// The proof of the password, for the server's first message.
    fn answer(&mut self, server_first: &str) -> Result<String, PhaseError> {
        let wrong = || PhaseError::Engine("the server's SCRAM message can't be read".to_owned());
        let field = |name: &str| {
            server_first.split(',').find_map(|field| field.strip_prefix(name)).ok_or_else(wrong)
        };
        let nonce = field("r=")?;
        let salt = Base64::decode_vec(field("s=")?).map_err(|_| wrong())?;
        let rounds: u32 = field("i=")?.parse().map_err(|_| wrong())?;
        if !nonce.starts_with(&self.nonce) || !(1..=MOST_ROUNDS).contains(&rounds) {
            return Err(wrong());
        }
        let mut salted = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(self.password.as_bytes(), &salt, rounds, &mut salted);
        let without_proof = format!("c=biws,r={nonce}");
        let signed = format!("n=,r={},{server_first},{without_proof}", self.nonce);
        let client_key = keyed(&salted, b"Client Key");
        let stored_key = Sha256::digest(&client_key);
        let signature = keyed(&stored_key, signed.as_bytes());
        let proof: Vec<u8> =
            client_key.iter().zip(&signature).map(|(key, signature)| key ^ signature).collect();
        self.expected = keyed(&keyed(&salted, b"Server Key"), signed.as_bytes());
        Ok(format!("{without_proof},p={}", Base64::encode_string(&proof)))
    }

    /// Checks that the server knows the password, too.
    fn check(&self, server_final: &str) -> Result<(), PhaseError> {
        let shown = server_final.strip_prefix("v=").and_then(|text| Base64::decode_vec(text).ok());
        match shown.as_deref() == Some(&self.expected) {
            true => Ok(()),
            false => Err(PhaseError::Engine(
                "the server could not prove that it knows the password (wrong SCRAM signature)"
                    .to_owned(),
            )),
        }
    }
}

/// HMAC with SHA-256.
fn keyed(key: &[u8], message: &[u8]) -> Vec<u8> {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// Runs commands without results, as text.
///
/// # Errors
/// If the server refuses.
pub(crate) fn query(connection: &mut Connection, text: &str) -> Result<(), PhaseError> {
    connection.requests.clear();
    message(&mut connection.requests, b'Q', |out| put_text(out, text));
    connection.send()?;
    until_ready(connection)?;
    Ok(())
}

/// The only value of the only row of a query, as text.
fn asked(connection: &mut Connection, text: &str) -> Result<Vec<u8>, PhaseError> {
    connection.requests.clear();
    message(&mut connection.requests, b'Q', |out| put_text(out, text));
    connection.send()?;
    until_ready(connection)
}

/// The value of a setting of the server.
///
/// # Errors
/// If the server refuses.
pub(crate) fn setting(connection: &mut Connection, name: &str) -> Result<String, PhaseError> {
    Ok(String::from_utf8_lossy(&asked(connection, &format!("SHOW {name}"))?).into_owned())
}

/// Sets whether a session waits until its commits are on the disk.
///
/// # Errors
/// Unsupported if the server never writes anything to the disk.
pub(crate) fn set_durability(
    connection: &mut Connection,
    durability: Durability,
) -> Result<(), StartError> {
    let failed = |error: PhaseError| error.of_phase("postgresql", "set durability");
    let waits = durability != Durability::None;
    let fsync = setting(connection, "fsync").map_err(failed)?;
    if waits && fsync != "on" {
        return Err(StartError::unsupported(
            format!("the PostgreSQL server has fsync={fsync}, so it never syncs to disk"),
            "set fsync=on there, or `durability=none`",
        ));
    }
    let word = if waits { "on" } else { "off" };
    query(connection, &format!("SET synchronous_commit = {word}")).map_err(failed)?;
    Ok(())
}

/// Appends one execution of a prepared statement with binary parameters, and a sync point behind it.
pub(crate) fn execute(requests: &mut Vec<u8>, statement: &str, parameters: &[&[u8]]) {
    message(requests, b'B', |out| {
        put_text(out, "");
        put_text(out, statement);
        // One format holds for all parameters: binary.
        out.extend_from_slice(&1_u16.to_be_bytes());
        out.extend_from_slice(&1_u16.to_be_bytes());
        let count = u16::try_from(parameters.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        for parameter in parameters {
            put_length(out, parameter.len());
            out.extend_from_slice(parameter);
        }
        // So it is for all results.
        out.extend_from_slice(&1_u16.to_be_bytes());
        out.extend_from_slice(&1_u16.to_be_bytes());
    });
    message(requests, b'E', |out| {
        put_text(out, "");
        out.extend_from_slice(&0_u32.to_be_bytes());
    });
    sync(requests);
}

fn sync(requests: &mut Vec<u8>) {
    message(requests, b'S', |_| {});
}

/// Reads the answer to one execution: `row` gets each row, and the result is the number of rows that the server counts.
///
/// # Errors
/// If the server refuses, or `row` does.
pub(crate) fn executed(
    connection: &mut Connection,
    row: &mut dyn FnMut(&[u8]) -> Result<(), PhaseError>,
) -> Result<u64, PhaseError> {
    let mut count = 0;
    let mut wrong = None;
    loop {
        // After a fatal error the server closes the connection.
        let (kind, payload) = match any_message(connection) {
            Ok(message) => message,
            Err(error) => return Err(wrong.unwrap_or(error)),
        };
        match kind {
            b'D' => wrong = wrong.or_else(|| row(payload).err()),
            b'C' => count = rows(payload),
            b'E' => wrong = wrong.or_else(|| Some(refusal(payload))),
            b'Z' => return wrong.map_or(Ok(count), Err),
            _ => {}
        }
    }
}

/// The only column of a row, without the head.
///
/// # Errors
/// If it has none.
pub(crate) fn only_column(row: &[u8]) -> Result<&[u8], PhaseError> {
    // The number of columns in two bytes, and the length of the first one in four.
    row.get(6..).ok_or_else(|| unexpected(b'D'))
}

/// The number at the end of `INSERT 0 1`, `SELECT 3`.
fn rows(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(b"\0").unwrap_or(tag);
    let number = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(number).ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Reads until the server is ready: the first column of the last row, as text.
fn until_ready(connection: &mut Connection) -> Result<Vec<u8>, PhaseError> {
    let mut column = Vec::new();
    executed(connection, &mut |row| {
        column = only_column(row)?.to_vec();
        Ok(())
    })?;
    Ok(column)
}

/// The next message of the server: its kind and what it holds.
fn any_message(connection: &mut Connection) -> Result<(u8, &[u8]), PhaseError> {
    let head = connection.bytes(5)?;
    let kind = head[0];
    // The length counts its own four bytes.
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]])
        .checked_sub(4)
        .ok_or_else(|| unexpected(kind))?;
    Ok((kind, connection.bytes(length as usize)?))
}

/// Appends a message of this kind.
fn message(requests: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    requests.push(kind);
    let begin = requests.len();
    requests.extend_from_slice(&[0; 4]);
    fill(requests);
    let length = u32::try_from(requests.len() - begin).unwrap_or(u32::MAX);
    requests[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

/// The message of an error, field `M`.
fn refusal(payload: &[u8]) -> PhaseError {
    let mut fields = payload.split(|byte| *byte == 0);
    let text = fields.find_map(|field| field.strip_prefix(b"M"));
    PhaseError::Engine(String::from_utf8_lossy(text.unwrap_or(b"it gives no reason")).into_owned())
}

fn unexpected(kind: u8) -> PhaseError {
    PhaseError::Engine(format!("the server sent an unexpected message `{}`", char::from(kind)))
}

fn request(requests: &mut Vec<u8>, _: &KeySpace, phase: CyclePhase, key: i64, body: &[u8]) {
    let key = key.to_be_bytes();
    match phase {
        CyclePhase::Add => execute(requests, "a", &[&key, body]),
        CyclePhase::Get => execute(requests, "g", &[&key]),
        CyclePhase::Update => execute(requests, "u", &[&key, body]),
        CyclePhase::Delete => execute(requests, "d", &[&key]),
    }
}

fn reply(
    connection: &mut Connection,
    phase: CyclePhase,
    key: i64,
    wanted: &[u8],
) -> Result<(), PhaseError> {
    let count = executed(connection, &mut |row| compared(key, Some(only_column(row)?), wanted))?;
    match (phase, count) {
        (_, 1) => Ok(()),
        (CyclePhase::Add, _) => Err(PhaseError::Entity(key, THERE)),
        (CyclePhase::Get | CyclePhase::Update | CyclePhase::Delete, _) => changed(key, false),
    }
}

impl EntityEngine for PostgresqlEngine {
    fn set(&mut self, durability: Durability) -> Result<(), StartError> {
        let connection = &mut self.session.connection;
        set_durability(connection, durability)?;
        if durability == Durability::Entity {
            connection.one_at_a_time();
        }
        self.durability = durability;
        Ok(())
    }

    fn phase(&mut self, phase: CyclePhase, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
        let connection = &mut self.session.connection;
        let is_one = self.durability != Durability::Entity;
        if is_one {
            query(connection, "BEGIN")?;
        }
        connection.phase(phase, entities, request, reply)?;
        if is_one {
            query(connection, "COMMIT")?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), Failure> {
        let text = format!("SELECT count(*) FROM {}", self.table);
        let left = asked(&mut self.session.connection, &text)
            .map_err(|error| error.of_phase("datastore.batch", "check"))?;
        match left.as_slice() {
            b"0" => Ok(()),
            left => {
                let left = String::from_utf8_lossy(left);
                Err(Failure(format!("datastore.batch: {left} rows remain in PostgreSQL")))
            }
        }
    }
}

impl Drop for PostgresqlEngine {
    fn drop(&mut self) {
        // A phase that failed has left a transaction; a server that has ended has no table.
        let _ = query(&mut self.session.connection, "ROLLBACK");
        let _ = query(&mut self.session.connection, &format!("DROP TABLE {}", self.table));
    }
}

#[cfg(test)]
mod tests {
    use super::{ScramExchange, execute, refusal, rows};

    #[test]
    fn scram_gives_the_published_proof() {
        // The example of RFC 7677, §3, whose user name is not empty as PostgreSQL wants it.
        let mut exchange = ScramExchange {
            password: "pencil".into(),
            nonce: "rOprNGfwEbeRWgbNEkqO".into(),
            expected: Vec::new(),
        };
        let server_first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let answer = exchange.answer(server_first).unwrap();
        assert!(
            answer.starts_with("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=")
        );
        assert!(exchange.check("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_err());
        let other = "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert!(exchange.answer(other).is_err(), "a nonce that is not ours");
        assert!(exchange.answer("r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0").is_err());
    }

    #[test]
    fn rows_are_counted_and_reasons_read() {
        assert_eq!(rows(b"INSERT 0 1\0"), 1);
        assert_eq!(rows(b"SELECT 3\0"), 3);
        assert_eq!(rows(b"BEGIN\0"), 0);
        let error = refusal(b"SERROR\0C28P01\0Mno\0\0");
        assert_eq!(error.of_phase("w", "p").0, "w: p: no");
    }

    #[test]
    fn a_statement_is_bound_executed_and_ended() {
        let mut requests = Vec::new();
        execute(&mut requests, "g", &[&7_i64.to_be_bytes()]);
        let bound = b"B\0\0\0\x1d\0g\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x07\0\x01\0\x01";
        assert_eq!(&requests[..bound.len()], bound);
        assert_eq!(&requests[bound.len()..], b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04");
    }
}
