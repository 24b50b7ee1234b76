//! `network.http`: files fetched over HTTP, from a server of our own or by a URL that the user names; what they hold is
//! dropped.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use plumb_model::{AuditClass, Better, CurveKind, Description, Parameter, Ready, Role};
use plumb_protocol::{
    Failure, Held, SplitMix64, Start, StartError, StartedWorkload, Workload, now_ns,
};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_ends::timed_threads::{SampleSums, ThreadJob, TimedResult, TimedThreads};
use plumb_workload_kit::declare::{
    between, bytes, curve, distribution, headline, integer, rate, reported, reported_time, text,
    work, workload,
};
use plumb_workload_path::{self as path, End};

use crate::web_stream::{Tls, WebStream};
use plumb_workload_ends::host::{self, address_of, restricted};
use plumb_workload_ends::server::TcpServer;
use plumb_workload_ends::token::{self, ClientToken};

/// The parameter that names a file.
const URL: &str = "url";
/// The most files that are fetched at a time.
const MOST: usize = 256;
/// So many at a time anybody may fetch from anywhere.
const MOST_TO_OTHERS: u64 = 8;
/// A server that says nothing for so long is gone.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest head of a request or an answer, in bytes.
const LONGEST_HEAD: usize = 64 << 10;
/// Bytes of one read or write.
const BLOCK: usize = 128 << 10;

/// What is reported next to it, in this order: the first of plumb's own server, the last of a file over HTTPS.
const VALUES: [&str; 8] = [
    cpu_time::NAMES[0],
    cpu_time::NAMES[1],
    "throughput",
    "name_time",
    "connect_time",
    "first_byte",
    "body_time",
    "tls_time",
];

/// The workload `network.http`, which fetches files.
pub struct Http;

impl Workload for Http {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server, Role::Load],
            parameters: parameters(),
            metrics: vec![
                rate("rate", "files/s", "files fetched per second, all threads together"),
                headline(reported(
                    VALUES[2],
                    "B/s",
                    Better::Higher,
                    "file bytes per second, without headers, all threads together",
                )),
                distribution("latency", "time per file, from name resolution to the last byte"),
                reported_time(VALUES[3], "mean time to resolve the name, over a sample's files"),
                reported_time(VALUES[4], "mean time to open the connection (TCP)"),
                reported_time(
                    VALUES[5],
                    "mean time from sending the request to the first byte of the answer",
                ),
                reported_time(VALUES[7], "mean time of the TLS handshake (https only)"),
                reported_time(VALUES[6], "mean time from the first to the last byte of the answer"),
            ]
            .into_iter()
            .chain(cpu_time::metrics("file"))
            .collect(),
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            fixture_kind: Some(path::KIND.to_owned()),
            restricted: Some(restricted(URL, "at_once", MOST_TO_OTHERS, "simultaneous fetches")),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("network.http", "fetches files over HTTP")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("http.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        path::prepare(start)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        if !start.text(URL).is_empty() {
            return Ok((Ready::default(), Box::new(())));
        }
        let address = path::enter(start, End::Far)?;
        let token = token::fresh()?;
        let size = start.integer("size");
        let seed = start.seed;
        let mut block = vec![0; BLOCK];
        SplitMix64::new(seed).fill(&mut block);
        let server = TcpServer::start(address, move |stream| serve(stream, &token, size, &block))
            .map_err(|error| Failure::io(format!("listening on {address}"), &error))?;
        let (words, teller) = cpu_time::told(start)?;
        let endpoints = token::words(server.address(), token).into_iter().chain(words).collect();
        Ok((Ready { endpoints, ..Ready::default() }, Box::new((server, teller))))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let at_once = start.size("at_once");
        path::enter(start, End::Near)?;
        let mut notes = path::notes(start)?;
        let url = start.text(URL);
        let source = if url.is_empty() {
            let (address, token) = token::told(start)?;
            let size = Some(start.integer("size"));
            HttpSource {
                request: request(&path_of(&token), &address.to_string()),
                name: None,
                is_chosen: true,
                tls: None,
                address,
                size,
            }
        } else {
            let source = HttpSource::of(url, start)?;
            notes.push(format!("from {}", source.address));
            source
        };
        let mut first = Fetcher::new(Arc::new(source));
        let fetched = first.fetch().map_err(|error| {
            let what = if url.is_empty() { "the file from plumb's server" } else { url };
            StartError::unsupported(
                format!("can't fetch {what}: {error}"),
                "try the same URL with `curl -v`",
            )
        })?;
        if !url.is_empty() {
            notes.push(format!("a file of {} bytes", fetched.numbers[6]));
            notes.extend(first.spoken.take());
        }
        let source = first.source;
        let mut cpus = CpuTimes::of(start);
        notes.extend(cpus.note());
        let ends = VALUES.len() - usize::from(source.tls.is_none());
        let names = &VALUES[cpus.lacking()..ends];
        let lacking = VALUES[..cpus.lacking()].iter().chain(&VALUES[ends..]);
        let without = lacking.map(|name| (*name).to_owned()).collect();
        let fetcher = move || Fetcher::new(Arc::clone(&source));
        let instance = TimedThreads::start(at_once, start, fetcher, cpus, (names, report))?;
        let ready = Ready { work: work(&[("rate", 1)]), notes, without, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

fn parameters() -> Vec<Parameter> {
    let at_once =
        between(1, MOST, integer("at_once", "files", 1, "simultaneous fetches, one thread each"));
    let mut all = vec![
        text(
            URL,
            "",
            "URL to fetch, http[s]://HOST[:PORT]/FILE; by default, a file from plumb's server",
        ),
        host::address(),
        curve(CurveKind::Line, bytes("size", 1 << 20, "size of the file from plumb's server")),
        curve(CurveKind::Knee, at_once),
    ];
    all.extend(path::parameters());
    all
}

/// [`VALUES`] of a sample, behind those of the CPUs.
fn report(done: &SampleSums<7>, into: &mut [f64]) {
    let [_, name, connect, first, body, tls, bytes] = done.sums;
    let means = [name, connect, first, body, tls].map(|sum| sum / done.count.max(1.0) / 1e9);
    let values = [bytes / (done.elapsed_ns / 1e9)].into_iter().chain(means);
    into.iter_mut().zip(values).for_each(|(into, value)| *into = value);
}

/// Where a file is, and how it is asked for.
struct HttpSource {
    request: Vec<u8>,
    /// The name that is asked for each time; None if the address is known.
    name: Option<String>,
    /// Whether its address is chosen, and what the name is answered does not matter.
    is_chosen: bool,
    /// How it proves its name; None over HTTP.
    tls: Option<Tls>,
    address: SocketAddr,
    /// The size, if it is known.
    size: Option<u64>,
}

impl HttpSource {
    /// Of a URL.
    fn of(url: &str, start: &Start) -> Result<Self, StartError> {
        let failed = |why: &str| {
            StartError::Failed(format!("`{url}`: {why}; a URL is http[s]://HOST[:PORT]/FILE"))
        };
        let secure = url.strip_prefix("https://");
        let rest = secure
            .or_else(|| url.strip_prefix("http://"))
            .ok_or_else(|| failed("not an HTTP URL"))?;
        if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(failed("it contains a space"));
        }
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        // The fragment is for the browser alone and is not sent.
        let sent = path.split('#').next().unwrap_or_default();
        let path = if sent.starts_with('/') { sent.to_owned() } else { format!("/{sent}") };
        if authority.contains('@') {
            return Err(failed("it contains a password, which would be stored"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or_else(|| failed("a bracket is not closed"))?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port =
            port.strip_prefix(':').map_or(Ok(if secure.is_some() { 443 } else { 80 }), str::parse);
        let port = port.map_err(|_| failed("its port is not a number"))?;
        let address = SocketAddr::new(address_of(host, start)?, port);
        let name = host.parse::<IpAddr>().is_err().then(|| host.to_owned());
        let is_chosen = !start.text(host::ADDRESS).is_empty();
        let tls = secure.map(|_| Tls::to(host)).transpose()?;
        Ok(Self { request: request(&path, authority), name, is_chosen, tls, address, size: None })
    }
}

/// A request for a file, after which the server closes.
fn request(path: &str, host: &str) -> Vec<u8> {
    let agent = concat!("plumb/", env!("CARGO_PKG_VERSION"));
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
    .into_bytes()
}

/// The path of plumb's own file: whoever does not know the token gets nothing.
fn path_of(token: &ClientToken) -> String {
    format!("/{:032x}", u128::from_le_bytes(*token))
}

/// Fetches a file repeatedly.
struct Fetcher {
    source: Arc<HttpSource>,
    block: Vec<u8>,
    /// What was spoken with the server, of the first file over HTTPS.
    spoken: Option<String>,
}

impl Fetcher {
    fn new(source: Arc<HttpSource>) -> Self {
        Self { source, block: vec![0; BLOCK], spoken: None }
    }

    /// Times of the whole, name, connection, first byte, rest and handshake of TLS in nanoseconds, and the bytes of the file.
    fn fetch(&mut self) -> io::Result<TimedResult<7>> {
        let begun = now_ns();
        let found = self.source.name.as_ref();
        let found = found.map(|name| looked_up(name, self.source.address.port()));
        // Where the address is chosen the answer does not matter, only how long it takes.
        let found = if self.source.is_chosen { None } else { found.transpose()? };
        let address = found.unwrap_or(self.source.address);
        let named = now_ns();
        let socket = TcpStream::connect(address)?;
        let connected = now_ns();
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(SILENCE_TIMEOUT))?;
        let mut stream = WebStream::open(socket, self.source.tls.as_ref())?;
        let secured = now_ns();
        stream.write_all(&self.source.request)?;
        let mut filled = stream.read(&mut self.block)?;
        let first = now_ns();
        let head = loop {
            if let Some(length) = head_length(&self.block[..filled]) {
                break length;
            }
            if filled >= LONGEST_HEAD {
                return Err(odd("its header is too long"));
            }
            match stream.read(&mut self.block[filled..])? {
                0 => return Err(odd("the answer ended within its header")),
                more => filled += more,
            }
        };
        let promised = promised(&self.block[..head])?;
        let mut bytes = (filled - head) as u64;
        loop {
            match stream.read(&mut self.block) {
                Ok(0) => break,
                Ok(more) => bytes += more as u64,
                // Some servers close without a word of TLS; the length says that nothing is missing.
                Err(error) if is_broken_off(&error) && promised == Some(bytes) => break,
                Err(error) => return Err(error),
            }
        }
        let ended = now_ns();
        if promised.or(self.source.size).is_some_and(|promised| promised != bytes) {
            return Err(odd(&format!(
                "{bytes} bytes arrived instead of {}",
                promised.unwrap_or(0)
            )));
        }
        if self.spoken.is_none() {
            self.spoken = stream.spoken();
        }
        let answered = first - secured;
        let tls = secured - connected;
        let parts = [named - begun, connected - named, answered, ended - first, tls];
        let [name, connect, answered, body, tls] = parts;
        let numbers = [ended - begun, name, connect, answered, body, tls, bytes];
        Ok(TimedResult { ended_ns: ended, numbers })
    }
}

impl ThreadJob<7> for Fetcher {
    fn once(&mut self) -> Result<TimedResult<7>, Failure> {
        self.fetch().map_err(|error| {
            Failure::io(format!("fetching a file from {}", self.source.address), &error)
        })
    }
}

fn is_broken_off(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
}

fn odd(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

fn looked_up(name: &str, port: u16) -> io::Result<SocketAddr> {
    use std::net::ToSocketAddrs;
    (name, port).to_socket_addrs()?.next().ok_or_else(|| odd("its name has no address"))
}

/// The length of a head with the empty line behind it, once that is there.
fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// The value of a field; names have no case.
fn field(lines: std::str::Lines<'_>, wanted: &str) -> Option<String> {
    let mut fields = lines.filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
    Some(value.trim().to_owned())
}

/// The length that an answer promises, if it says one; chunks are counted as they come.
///
/// # Errors
/// When it is not a file: a redirection, an error.
fn promised(head: &[u8]) -> io::Result<Option<u64>> {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    let code = status.split_whitespace().nth(1).unwrap_or_default();
    if !status.starts_with("HTTP/1.") {
        return Err(odd("the answer is not HTTP/1"));
    }
    if code != "200" {
        let to =
            field(lines, "location").map_or(String::new(), |to| format!(", a redirect to {to}"));
        return Err(odd(&format!("the server answered `{status}`{to}")));
    }
    // A length next to chunks has no meaning (RFC 9112, 6.3).
    if field(lines.clone(), "transfer-encoding").is_some() {
        return Ok(None);
    }
    Ok(field(lines, "content-length").and_then(|length| length.parse().ok()))
}

/// Answers the request of one connection.
///
/// # Errors
/// When the client is gone, or asks for something else.
fn serve(mut stream: &TcpStream, token: &ClientToken, size: u64, block: &[u8]) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE_TIMEOUT))?;
    let mut asked = Vec::with_capacity(1024);
    let mut some = [0; 1024];
    while head_length(&asked).is_none() {
        match stream.read(&mut some)? {
            0 => return Ok(()),
            _ if asked.len() > LONGEST_HEAD => return Err(odd("its header is too long")),
            more => asked.extend_from_slice(&some[..more]),
        }
    }
    if !asked.starts_with(format!("GET {} ", path_of(token)).as_bytes()) {
        let nothing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return stream.write_all(nothing);
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut left = size;
    while left > 0 {
        let some = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        stream.write_all(&block[..some])?;
        left -= some as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{SampleSums, head_length, promised, report};

    #[test]
    fn a_head_ends_with_an_empty_line_and_promises_a_length() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-length: 12\r\n\r\nhello world!";
        let head = head_length(answer).unwrap();
        assert_eq!(&answer[head..], b"hello world!");
        assert_eq!(head_length(&answer[..head - 1]), None);
        assert_eq!(promised(&answer[..head]).unwrap(), Some(12));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n";
        assert_eq!(promised(chunked).unwrap(), None);
    }

    #[test]
    fn what_is_no_file_says_what_it_is() {
        let moved = b"HTTP/1.1 301 Moved Permanently\r\nLocation: https://example.org/\r\n\r\n";
        let why = promised(moved).unwrap_err().to_string();
        assert!(
            why.contains("301 Moved Permanently") && why.contains("a redirect to https://"),
            "{why}"
        );
        assert!(promised(b"SSH-2.0-OpenSSH_9.2\r\n\r\n").is_err());
    }

    #[test]
    fn times_are_means_and_bytes_are_a_rate() {
        let mut values = [0.0; 6];
        let sums = [12e9, 1e9, 2e9, 3e9, 4e9, 2e9, 1000.0];
        let done = SampleSums { sums, count: 2.0, elapsed_ns: 5e9, in_time: 1.0 };
        report(&done, &mut values);
        assert_eq!(values, [200.0, 0.5, 1.0, 1.5, 2.0, 1.0]);
        report(&done, &mut values[..5]);
    }
}
