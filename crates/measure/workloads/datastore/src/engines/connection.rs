//! A connection to a server: requests that are sent together, and replies in lines or in counted bytes.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use plumb_protocol::StartError;

use crate::engine::{CyclePhase, Entities, PhaseError};
use crate::key_space::KeySpace;
use crate::server::ServerAddress;

/// A server that is silent for so long is taken for dead. A sync of a busy disk takes seconds.
const SILENCE: Duration = Duration::from_secs(30);
/// A connection is made within this time, or not at all.
const CONNECT: Duration = Duration::from_secs(10);
/// Requests are sent before the replies to earlier ones are read: so many, or so many bytes, at most.
const MOST_UNDER_WAY: usize = 128;
const MOST_BYTES_UNDER_WAY: usize = 64 << 10;
/// Room for replies; larger ones make it grow, in the first cycle.
const BUFFER_BYTES: usize = 64 << 10;
/// More than the longest scan gives.
const LONGEST_REPLY: usize = 256 << 20;

/// A connection with requests to be sent and replies that have come.
pub(crate) struct Connection {
    stream: TcpStream,
    pub(crate) keys: KeySpace,
    /// Requests to be sent together.
    pub(crate) requests: Vec<u8>,
    replies: Vec<u8>,
    /// A reply that comes in several parts.
    pub(crate) body: Vec<u8>,
    /// What of `replies` has come and was not read yet.
    unread: std::ops::Range<usize>,
    /// How many requests are sent before the first reply is read.
    window: usize,
}

impl Connection {
    /// Connects to a server; `body_bytes` is the size of an entity.
    ///
    /// # Errors
    /// Unsupported if nobody answers there.
    pub(crate) fn open(server: &ServerAddress, body_bytes: usize) -> Result<Self, StartError> {
        let stream = server.connect(CONNECT)?;
        let set = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(SILENCE)))
            .and_then(|()| stream.set_write_timeout(Some(SILENCE)));
        set.map_err(|error| StartError::Failed(format!("{server}: {error}")))?;
        let window = (MOST_BYTES_UNDER_WAY / body_bytes.max(1)).clamp(1, MOST_UNDER_WAY);
        Ok(Self {
            stream,
            keys: server.keys.clone(),
            requests: Vec::with_capacity(window * (body_bytes + 256)),
            replies: vec![0; BUFFER_BYTES],
            body: Vec::with_capacity(BUFFER_BYTES),
            unread: 0..0,
            window,
        })
    }

    /// From now on each request waits for the reply to the one before.
    pub(crate) fn one_at_a_time(&mut self) {
        self.window = 1;
    }

    /// Does a phase: sends a request per entity, many before the first reply is read, and reads a reply per entity in the
    /// same order.
    pub(crate) fn phase(
        &mut self,
        phase: CyclePhase,
        entities: &mut Entities<'_>,
        request: fn(&mut Vec<u8>, &KeySpace, CyclePhase, i64, &[u8]),
        reply: fn(&mut Self, CyclePhase, i64, &[u8]) -> Result<(), PhaseError>,
    ) -> Result<(), PhaseError> {
        for keys in entities.keys(phase).chunks(self.window) {
            self.requests.clear();
            for &key in keys {
                request(&mut self.requests, &self.keys, phase, key, entities.sent(phase, key));
            }
            self.send()?;
            for &key in keys {
                reply(self, phase, key, entities.expected(phase, key))?;
            }
        }
        Ok(())
    }

    /// Sends what is in `requests`.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.requests)
    }

    /// The next line of the replies, without its end.
    pub(crate) fn line(&mut self) -> io::Result<&[u8]> {
        let mut searched = 0;
        let length = loop {
            let unread = &self.replies[self.unread.clone()];
            if let Some(at) = unread[searched..].windows(2).position(|two| two == b"\r\n") {
                break searched + at;
            }
            // The end of a line may come in two parts.
            searched = unread.len().saturating_sub(1);
            self.receive()?;
        };
        let line = self.unread.start..self.unread.start + length;
        self.unread.start = line.end + 2;
        Ok(&self.replies[line])
    }

    /// The next bytes of the replies, without the end of a line behind them.
    pub(crate) fn data(&mut self, bytes: usize) -> io::Result<&[u8]> {
        Ok(&self.bytes(bytes.saturating_add(2))?[..bytes])
    }

    /// The next bytes of the replies.
    pub(crate) fn bytes(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.unread.len() < bytes {
            self.receive()?;
        }
        let found = self.unread.start..self.unread.start + bytes;
        self.unread.start = found.end;
        Ok(&self.replies[found])
    }

    /// Appends the next bytes of the replies to the body.
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> io::Result<()> {
        self.take_data_with(bytes, 0)
    }

    /// The same, without the end of a line behind them.
    pub(crate) fn take_data(&mut self, bytes: usize) -> io::Result<()> {
        self.take_data_with(bytes, 2)
    }

    fn take_data_with(&mut self, bytes: usize, more: usize) -> io::Result<()> {
        let mut body = std::mem::take(&mut self.body);
        let taken = self
            .bytes(bytes.saturating_add(more))
            .map(|found| body.extend_from_slice(&found[..bytes]));
        self.body = body;
        taken
    }

    fn receive(&mut self) -> io::Result<()> {
        if self.unread.end == self.replies.len() {
            self.replies.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        if self.unread.end == self.replies.len() {
            if self.replies.len() >= LONGEST_REPLY {
                let why =
                    format!("a reply of the server is longer than {} MiB", LONGEST_REPLY >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            self.replies.resize(2 * self.replies.len(), 0);
        }
        match self.stream.read(&mut self.replies[self.unread.end..]) {
            Ok(0) => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            )),
            Ok(read) => {
                self.unread.end += read;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the server sent nothing for {} s", SILENCE.as_secs()),
            )),
            Err(error) => Err(error),
        }
    }
}

/// A number as text in a reply.
pub(crate) fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A reply that no server should give here.
pub(crate) fn unexpected(reply: &[u8]) -> PhaseError {
    PhaseError::Engine(format!("the server answers `{}`", String::from_utf8_lossy(reply)))
}
