//! The head of a request: what is asked for, and the few fields that matter here.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::Limits;
use super::response::Status;

/// Fields of a head.
const MOST_FIELDS: usize = 64;

/// A request without a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Whether only the head of the answer is wanted.
    pub(super) head_only: bool,
    /// The path, as it came.
    pub(super) path: String,
    /// Names and values behind the question mark, decoded.
    pub(super) query: Vec<(String, String)>,
    /// Whether the connection stays open after the answer.
    pub(super) keep_alive: bool,
    fields: Vec<(String, String)>,
}

impl Request {
    /// The value of a field; its name is in lower case.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of a name in the query.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(asked, _)| asked == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Why there is no request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoRequest {
    /// The reader has gone, or says nothing more.
    Gone,
    /// It can't be answered otherwise than with this.
    Refused(Status, &'static str),
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// Reads the requests of a connection.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// What came and belongs to no request yet.
    buffer: Vec<u8>,
    answered: bool,
}

impl Requests {
    /// The next request.
    pub(super) fn next(
        &mut self,
        stream: &mut TcpStream,
        limits: &Limits,
    ) -> Result<Request, NoRequest> {
        // A reader that says nothing between two requests has done nothing wrong.
        if self.answered && self.buffer.is_empty() {
            self.fill(stream, Instant::now() + limits.idle_time, limits)?;
        }
        self.answered = true;
        let until = Instant::now() + limits.head_time;
        loop {
            if let Some((request, length)) = parse(&self.buffer, limits)? {
                self.buffer.drain(..length);
                return Ok(request);
            }
            if self.buffer.len() >= limits.head_bytes {
                let why = "the head of the request is too long";
                return Err(NoRequest::Refused(Status::HeadTooLong, why));
            }
            if let Err(error) = self.fill(stream, until, limits) {
                let late = Instant::now() >= until && !self.buffer.is_empty();
                let why = "the request did not come in time";
                return Err(if late { NoRequest::Refused(Status::Late, why) } else { error });
            }
        }
    }

    /// Reads more, at least a byte.
    fn fill(
        &mut self,
        stream: &mut TcpStream,
        until: Instant,
        limits: &Limits,
    ) -> Result<(), NoRequest> {
        let mut piece = [0; 4096];
        let room = limits.head_bytes.saturating_sub(self.buffer.len()).min(piece.len());
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NoRequest::Gone);
            }
            stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match stream.read(&mut piece[..room]) {
                Ok(0) => return Err(NoRequest::Gone),
                Ok(length) => {
                    self.buffer.extend_from_slice(&piece[..length]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The first request of what came, and its length; None when its head is not complete.
fn parse(bytes: &[u8], limits: &Limits) -> Result<Option<(Request, usize)>, NoRequest> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(NoRequest::Refused(Status::HeadTooLong, "it has too many fields"));
        }
        Err(_) => return Err(NoRequest::Refused(Status::Bad, "it is no HTTP request")),
    };
    let request = request(&head, limits)?;
    Ok(Some((request, length)))
}

fn request(head: &httparse::Request<'_, '_>, limits: &Limits) -> Result<Request, NoRequest> {
    let head_only = match head.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(NoRequest::Refused(Status::Method, "everything here is read-only")),
    };
    let target = head.path.unwrap_or_default();
    if target.len() > limits.target_bytes {
        return Err(NoRequest::Refused(Status::TargetTooLong, "the address is too long"));
    }
    let bad = |why| NoRequest::Refused(Status::Bad, why);
    if !target.starts_with('/') {
        return Err(bad("the address is none of this server's"));
    }
    let target = target.split('#').next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let fields = fields(head).ok_or(bad("a field is no text"))?;
    let several = |name: &str| fields.iter().filter(|(field, _)| field == name).count() > 1;
    if several("host") || several("cookie") {
        return Err(bad("a field stands there twice"));
    }
    let of = |name: &str| fields.iter().find(|(field, _)| field == name).map(|it| it.1.as_str());
    if of("content-length").is_some_and(|it| it != "0") || of("transfer-encoding").is_some() {
        return Err(NoRequest::Refused(Status::Body, "a request here has no body"));
    }
    let closes = of("connection").is_some_and(|it| it.to_ascii_lowercase().contains("close"));
    let keep_alive = head.version == Some(1) && !closes;
    let query = decoded(query).ok_or(bad("the address is not encoded as it should be"))?;
    Ok(Request { head_only, path: path.to_owned(), query, keep_alive, fields })
}

/// The fields, their names in lower case.
fn fields(head: &httparse::Request<'_, '_>) -> Option<Vec<(String, String)>> {
    let field = |it: &httparse::Header<'_>| {
        let value = std::str::from_utf8(it.value).ok()?;
        Some((it.name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    head.headers.iter().map(field).collect()
}

/// Names and values of a query; None where it is malformed.
fn decoded(query: &str) -> Option<Vec<(String, String)>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((percent_decoded(name)?, percent_decoded(value)?))
    };
    pairs.map(pair).collect()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => digit(rest.next()?)? << 4 | digit(rest.next()?)?,
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::{Limits, NoRequest, Request, parse, percent_decoded};
    use crate::http::response::Status;

    fn parsed(text: &str) -> Result<Request, Status> {
        match parse(text.as_bytes(), &Limits::default()) {
            Ok(Some((request, length))) => {
                assert_eq!(length, text.len());
                Ok(request)
            }
            Ok(None) => panic!("not complete: {text}"),
            Err(NoRequest::Refused(status, _)) => Err(status),
            Err(NoRequest::Gone) => panic!("gone"),
        }
    }

    #[test]
    fn a_request_is_a_path_a_query_and_fields() {
        let got = parsed("GET /api/history?series=a.b%3Ac%2Fd+e&x HTTP/1.1\r\nHost: a\r\n\r\n");
        let got = got.unwrap();
        assert_eq!((got.path.as_str(), got.asked("series")), ("/api/history", Some("a.b:c/d e")));
        assert_eq!((got.asked("x"), got.asked("y")), (Some(""), None));
        assert_eq!((got.field("host"), got.head_only, got.keep_alive), (Some("a"), false, true));
        let old = parsed("HEAD / HTTP/1.0\r\n\r\n").unwrap();
        assert!(old.head_only && !old.keep_alive);
        assert!(
            !parsed("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n").unwrap().keep_alive
        );
    }

    #[test]
    fn what_is_no_such_request_is_refused() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(5000));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
        for (text, status) in [
            ("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n", Status::Method),
            ("OPTIONS * HTTP/1.1\r\n\r\n", Status::Method),
            ("GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\n", Status::Body),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Status::Body),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Status::Bad),
            ("GET http://elsewhere/ HTTP/1.1\r\n\r\n", Status::Bad),
            ("GET /?a=%zz HTTP/1.1\r\n\r\n", Status::Bad),
            ("GET /?a=%ff HTTP/1.1\r\n\r\n", Status::Bad),
            ("GET /\0 HTTP/1.1\r\n\r\n", Status::Bad),
            ("GET / HTTP/1.1\r\na: b\rc\r\n\r\n", Status::Bad),
            ("\x16\x03\x01\x02\r\n\r\n", Status::Bad),
            (&long, Status::TargetTooLong),
            (&many, Status::HeadTooLong),
        ] {
            assert_eq!(parsed(text), Err(status), "{text:.60}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, &Limits::default());
            let _ = percent_decoded(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn any_target_is_taken_or_refused(target in "[ -~]{0,80}") {
            let text = format!("GET /{target} HTTP/1.1\r\nHost: a\r\n\r\n");
            let _ = parse(text.as_bytes(), &Limits::default());
        }
    }
}
