//! etcd, by the JSON form of version 3 of its interface (<https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/>), over
//! HTTP/1.1 without TLS.

use std::io::Write;

use base64ct::{Base64, Encoding};
use plumb_protocol::{Failure, StartError};

use super::connection::{Connection, number};
use crate::engine::{
    CyclePhase, DIFFERENT, Durability, Entities, EntityEngine, PhaseError, StartedEngine, THERE,
    changed,
};
use crate::key_space::{KeySpace, KeyText};
use crate::server::ServerAddress;

struct EtcdEngine {
    connection: Connection,
}

/// A connection to a server.
///
/// # Errors
/// Unsupported if nobody answers there as etcd does.
pub(super) fn start(
    server: &ServerAddress,
    body_bytes: usize,
) -> Result<StartedEngine, StartError> {
    let (connection, version) = connect(server, body_bytes)?;
    let engine = EtcdEngine { connection };
    Ok(StartedEngine { engine: Box::new(engine), component: "etcd", version })
}

/// A connection, and the version of the server.
///
/// # Errors
/// As for [`start`].
pub(crate) fn connect(
    server: &ServerAddress,
    body_bytes: usize,
) -> Result<(Connection, String), StartError> {
    if server.password.is_some() {
        return Err(StartError::unsupported(
            "plumb can't log in to etcd",
            "leave out the user and the password of `url`",
        ));
    }
    // Bodies are a third longer as text.
    let mut connection = Connection::open(server, 2 * body_bytes)?;
    // Each write is a commit on the disk, and one commit may serve several requests.
    connection.one_at_a_time();
    let version = version(&mut connection).map_err(|error| {
        let Failure(why) = error.of_phase(&server.to_string(), "version");
        StartError::unsupported(why, "set `url` to an etcd server: etcd://HOST:PORT")
    })?;
    Ok((connection, version))
}

fn version(connection: &mut Connection) -> Result<String, PhaseError> {
    connection.requests.clear();
    connection.requests.extend_from_slice(b"GET /version HTTP/1.1\r\nHost: etcd\r\n\r\n");
    connection.send()?;
    receive(connection)?;
    let found = field(&connection.body, "etcdserver").ok_or_else(|| unexpected(connection))?;
    Ok(String::from_utf8_lossy(found).into_owned())
}

/// Appends a request for this path; `fill` writes its JSON.
fn post(requests: &mut Vec<u8>, path: &str, fill: impl FnOnce(&mut Vec<u8>)) {
    // Writing to memory can't fail. The length is filled in behind its own place, with room for any.
    let _ = write!(requests, "POST /v3/kv/{path} HTTP/1.1\r\nHost: etcd\r\nContent-Length: ");
    let place = requests.len();
    requests.extend_from_slice(b"0000000000\r\n\r\n");
    let begin = requests.len();
    fill(requests);
    let length = requests.len() - begin;
    let _ = write!(&mut requests[place..place + 10], "{length:010}");
}

/// Appends base64 in quotes.
fn put_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let begin = out.len();
    out.resize(begin + Base64::encoded_len(bytes), 0);
    // There is room for it.
    let _ = Base64::encode(bytes, &mut out[begin..]);
    out.push(b'"');
}

/// Appends a request to write an entity whose version compares so with 0; to write it in any case without a comparison.
pub(crate) fn put(requests: &mut Vec<u8>, key: &KeyText, body: &[u8], compare: Option<&str>) {
    let Some(compare) = compare else {
        post(requests, "put", |out| {
            out.extend_from_slice(b"{\"key\":");
            put_base64(out, key.as_bytes());
            out.extend_from_slice(b",\"value\":");
            put_base64(out, body);
            out.push(b'}');
        });
        return;
    };
    post(requests, "txn", |out| {
        out.extend_from_slice(
            b"{\"compare\":[{\"target\":\"VERSION\",\"version\":\"0\",\"result\":\"",
        );
        out.extend_from_slice(compare.as_bytes());
        out.extend_from_slice(b"\",\"key\":");
        put_base64(out, key.as_bytes());
        out.extend_from_slice(b"}],\"success\":[{\"requestPut\":{\"key\":");
        put_base64(out, key.as_bytes());
        out.extend_from_slice(b",\"value\":");
        put_base64(out, body);
        out.extend_from_slice(b"}}]}");
    });
}

/// Appends a request to read an entity, or several from its key on in the order of their keys, up to this end.
pub(crate) fn range(requests: &mut Vec<u8>, key: &KeyText, several: Option<(&KeyText, u64)>) {
    post(requests, "range", |out| {
        out.extend_from_slice(b"{\"key\":");
        put_base64(out, key.as_bytes());
        if let Some((end, limit)) = several {
            out.extend_from_slice(b",\"range_end\":");
            put_base64(out, end.as_bytes());
            let _ = write!(out, ",\"limit\":\"{limit}\"");
        }
        out.push(b'}');
    });
}

/// Appends a request to delete an entity, or all from its key on, up to this end.
pub(crate) fn delete(requests: &mut Vec<u8>, key: &KeyText, end: Option<&KeyText>) {
    post(requests, "deleterange", |out| {
        out.extend_from_slice(b"{\"key\":");
        put_base64(out, key.as_bytes());
        if let Some(end) = end {
            out.extend_from_slice(b",\"range_end\":");
            put_base64(out, end.as_bytes());
        }
        out.push(b'}');
    });
}

/// Reads a response; its body is in the connection then.
///
/// # Errors
/// If the server refuses, or the response is not HTTP.
pub(crate) fn receive(connection: &mut Connection) -> Result<(), PhaseError> {
    let is_fine = connection.line()?.starts_with(b"HTTP/1.1 200");
    let mut length = None;
    let mut is_chunked = false;
    loop {
        let line = connection.line()?;
        if line.is_empty() {
            break;
        }
        let Some(at) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = &line[..at];
        let value = line[at + 1..].trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            length = number(value);
        }
        is_chunked |= name.eq_ignore_ascii_case(b"transfer-encoding")
            && value.eq_ignore_ascii_case(b"chunked");
    }
    connection.body.clear();
    if is_chunked {
        loop {
            let line = connection.line()?;
            let digits = std::str::from_utf8(line).unwrap_or_default();
            let bytes = usize::from_str_radix(digits.trim(), 16)
                .map_err(|_| PhaseError::Engine("a chunk has no length".to_owned()))?;
            connection.take_data(bytes)?;
            if bytes == 0 {
                break;
            }
        }
    } else if let Some(length) = length {
        connection.take_bytes(length)?;
    }
    if is_fine { Ok(()) } else { Err(unexpected(connection)) }
}

/// The text of the first field of this name in a JSON object of etcd, whose texts have no quotes inside.
pub(crate) fn field<'b>(body: &'b [u8], name: &str) -> Option<&'b [u8]> {
    let begin = find(body, format!("\"{name}\":\"").as_bytes())?;
    let rest = &body[begin + name.len() + 4..];
    let end = rest.iter().position(|byte| *byte == b'"')?;
    Some(&rest[..end])
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// Whether the condition of a write held.
pub(crate) fn succeeded(body: &[u8]) -> bool {
    find(body, b"\"succeeded\":true").is_some()
}

pub(crate) fn unexpected(connection: &Connection) -> PhaseError {
    let text = String::from_utf8_lossy(&connection.body);
    PhaseError::Engine(format!("the server answers `{}`", text.trim()))
}

fn request(requests: &mut Vec<u8>, keys: &KeySpace, phase: CyclePhase, key: i64, body: &[u8]) {
    let key = &keys.key(key.cast_unsigned());
    match phase {
        CyclePhase::Add => put(requests, key, body, Some("EQUAL")),
        CyclePhase::Get => range(requests, key, None),
        CyclePhase::Update => put(requests, key, body, Some("GREATER")),
        CyclePhase::Delete => delete(requests, key, None),
    }
}

fn reply(
    connection: &mut Connection,
    phase: CyclePhase,
    key: i64,
    wanted: &[u8],
) -> Result<(), PhaseError> {
    receive(connection)?;
    match phase {
        CyclePhase::Add if succeeded(&connection.body) => Ok(()),
        CyclePhase::Add => Err(PhaseError::Entity(key, THERE)),
        CyclePhase::Update => changed(key, succeeded(&connection.body)),
        CyclePhase::Delete => changed(key, field(&connection.body, "deleted") == Some(b"1")),
        CyclePhase::Get => {
            // What is wanted is encoded where the request was, and compared as text.
            connection.requests.clear();
            put_base64(&mut connection.requests, wanted);
            let encoded = &connection.requests[1..connection.requests.len() - 1];
            match field(&connection.body, "value") {
                None => changed(key, false),
                Some(found) if found == encoded => Ok(()),
                Some(_) => Err(PhaseError::Entity(key, DIFFERENT)),
            }
        }
    }
}

/// Whether no entity is there.
fn is_empty(connection: &mut Connection) -> Result<bool, PhaseError> {
    connection.requests.clear();
    let first = connection.keys.key(0);
    range(&mut connection.requests, &first, Some((&connection.keys.end(), 1)));
    connection.send()?;
    receive(connection)?;
    Ok(field(&connection.body, "value").is_none())
}

impl EntityEngine for EtcdEngine {
    fn set(&mut self, _: Durability) -> Result<(), StartError> {
        Ok(())
    }

    fn phase(&mut self, phase: CyclePhase, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
        self.connection.phase(phase, entities, request, reply)
    }

    fn check(&mut self) -> Result<(), Failure> {
        match is_empty(&mut self.connection)
            .map_err(|error| error.of_phase("datastore.batch", "check"))?
        {
            true => Ok(()),
            false => Err(Failure("datastore.batch: entities remain in etcd".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{field, post, succeeded};

    #[test]
    fn requests_have_the_length_of_their_json() {
        let mut requests = Vec::new();
        post(&mut requests, "range", |out| out.extend_from_slice(b"{}"));
        let text = String::from_utf8(requests).unwrap();
        assert!(text.ends_with("Content-Length: 0000000002\r\n\r\n{}"), "{text}");
    }

    #[test]
    fn fields_are_found_in_what_etcd_answers() {
        let body =
            br#"{"header":{"revision":"7"},"kvs":[{"key":"YQ==","value":"Yg=="}],"count":"1"}"#;
        assert_eq!(field(body, "value"), Some(&b"Yg=="[..]));
        assert_eq!(field(body, "deleted"), None);
        assert!(succeeded(br#"{"header":{},"succeeded":true,"responses":[]}"#));
        assert!(!succeeded(br#"{"header":{}}"#));
    }
}
