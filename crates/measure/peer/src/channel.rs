//! Frames inside TLS: bytes of one of a few kinds, at most [`LONGEST`] of them.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
};
use rustls::{Connection, ServerConnection};

use crate::identity;
use crate::key::PeerKey;

/// The most bytes of a frame.
pub(crate) const LONGEST: usize = 16 << 10;
/// Kind and length.
const HEAD: usize = 3;
/// The most bytes that rustls holds for either direction.
const HELD: usize = 64 << 10;
/// The most bytes that are read of somebody who has not proved the key.
const MOST_UNPROVEN: usize = 16 << 10;
/// Whoever does not take what is sent for so long is gone.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);
/// The other end takes what was sent last in this time.
const FAREWELL: Duration = Duration::from_secs(1);
/// A connection without a word is asked whether it stands, so often; after three questions it does not.
const QUESTION: Duration = Duration::from_secs(5);

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// What is wanted of the peer: the first frame.
    Request,
    /// For a program's stdin; without bytes: its end.
    Input,
    /// Of its stdout.
    Output,
    /// Of its stderr, or why the peer refuses.
    Log,
    /// It has ended, with this status: one byte.
    End,
}

const KINDS: [FrameKind; 5] =
    [FrameKind::Request, FrameKind::Input, FrameKind::Output, FrameKind::Log, FrameKind::End];

/// A connection whose other end has proved the key.
#[derive(Debug)]
pub(crate) struct Channel {
    tls: Connection,
    socket: TcpStream,
    /// Of frames that are not whole yet.
    incoming: Vec<u8>,
}

impl Channel {
    /// Has both ends prove the key within this time.
    ///
    /// # Errors
    /// When the other end does not, or is gone.
    pub(crate) fn open(tls: Connection, socket: TcpStream, within: Duration) -> io::Result<Self> {
        let mut tls = tls;
        let until = Instant::now() + within;
        prove(&mut tls, &mut Bounded { socket: &socket, until, left: MOST_UNPROVEN })?;
        socket.set_read_timeout(Some(SEND_TIMEOUT))?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        // Requests and replies alternate: Nagle's algorithm would wait for delayed acknowledgements (40 ms).
        socket.set_nodelay(true)?;
        set_socket_keepalive(&socket, true)?;
        set_tcp_keepidle(&socket, QUESTION)?;
        set_tcp_keepintvl(&socket, QUESTION)?;
        set_tcp_keepcnt(&socket, 3)?;
        Ok(Self { tls, socket, incoming: Vec::new() })
    }

    /// Sends bytes of a kind; none at all are a frame, too.
    ///
    /// # Errors
    /// When the other end is gone.
    pub(crate) fn send(&mut self, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
        let mut left = bytes;
        loop {
            let (piece, rest) = left.split_at(left.len().min(LONGEST));
            let length = u16::try_from(piece.len()).unwrap_or(u16::MAX).to_be_bytes();
            let mut writer = self.tls.writer();
            writer.write_all(&[kind as u8, length[0], length[1]])?;
            writer.write_all(piece)?;
            // Written out frame by frame: rustls accepts no more than its buffer holds.
            while self.tls.wants_write() {
                self.tls.write_tls(&mut self.socket)?;
            }
            left = rest;
            if left.is_empty() {
                return Ok(());
            }
        }
    }

    /// A frame that has come whole, if one has.
    ///
    /// # Errors
    /// When it is none, or the other end broke off.
    pub(crate) fn received(&mut self) -> io::Result<Option<(FrameKind, Vec<u8>)>> {
        if let Some(frame) = first_frame(&mut self.incoming)? {
            return Ok(Some(frame));
        }
        let mut some = [0; LONGEST];
        loop {
            match self.tls.reader().read(&mut some) {
                Ok(0) => break,
                Ok(more) => self.incoming.extend_from_slice(&some[..more]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        first_frame(&mut self.incoming)
    }

    /// Takes in what has come to the socket, once it can be read; false: the other end sends no more.
    ///
    /// # Errors
    /// When it sends no TLS, or is gone.
    pub(crate) fn take_in(&mut self) -> io::Result<bool> {
        let read = self.tls.read_tls(&mut self.socket)?;
        let state = self.tls.process_new_packets().map_err(io::Error::other)?;
        Ok(read > 0 && !state.peer_has_closed())
    }

    /// The next frame, within this time.
    ///
    /// # Errors
    /// When it does not come.
    pub(crate) fn next(&mut self, within: Duration) -> io::Result<(FrameKind, Vec<u8>)> {
        let until = Instant::now() + within;
        loop {
            if let Some(frame) = self.received()? {
                return Ok(frame);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.socket.set_read_timeout(Some(left))?;
            let is_open = self.take_in();
            self.socket.set_read_timeout(Some(SEND_TIMEOUT))?;
            if !is_open? {
                return self.received()?.ok_or_else(|| ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Says that nothing more is sent, and waits a while until the other end has taken it: closing while something of it is
    /// unread would be a reset, which overtakes what was sent (RFC 9293, section 3.6).
    pub(crate) fn close(mut self) {
        self.tls.send_close_notify();
        while self.tls.wants_write() && self.tls.write_tls(&mut self.socket).is_ok() {}
        let until = Instant::now() + FAREWELL;
        self.socket.shutdown(Shutdown::Write).ok();
        self.socket.set_read_timeout(Some(FAREWELL)).ok();
        while Instant::now() < until
            && self.socket.read(&mut [0; LONGEST]).is_ok_and(|read| read > 0)
        {}
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A frame of those bytes, which are then without it.
fn first_frame(bytes: &mut Vec<u8>) -> io::Result<Option<(FrameKind, Vec<u8>)>> {
    let [kind, high, low, ..] = bytes[..] else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let Some(kind) = KINDS.get(usize::from(kind)).filter(|_| length <= LONGEST) else {
        return Err(io::Error::other("the received data are not a valid frame"));
    };
    if bytes.len() < HEAD + length {
        return Ok(None);
    }
    let frame = bytes[HEAD..HEAD + length].to_vec();
    bytes.drain(..HEAD + length);
    Ok(Some((*kind, frame)))
}

/// Carries the handshake out, in which both sides prove the key.
fn prove(tls: &mut Connection, stream: &mut (impl Read + Write)) -> io::Result<()> {
    tls.set_buffer_limit(Some(HELD));
    while tls.is_handshaking() {
        tls.complete_io(stream)?;
    }
    Ok(())
}

/// Whether these bytes, said to a peer by somebody who does not hear it, prove the key: never, as they would have to answer fresh random
/// numbers. For fuzzing.
#[must_use]
pub fn proves(key: &PeerKey, bytes: &[u8]) -> bool {
    let Ok(settings) = identity::server(key) else { return false };
    let Ok(tls) = ServerConnection::new(settings) else { return false };
    prove(&mut tls.into(), &mut ScriptedEnd(bytes)).is_ok()
}

/// Somebody who says this and hears nothing.
struct ScriptedEnd<'b>(&'b [u8]);

impl Read for ScriptedEnd<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for ScriptedEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket for a while, and for so many bytes.
struct Bounded<'s> {
    socket: &'s TcpStream,
    until: Instant,
    left: usize,
}

impl Bounded<'_> {
    fn time_left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Bounded<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // The time left, not a time for each read: single bytes in time would hold the connection for ever.
        self.socket.set_read_timeout(self.time_left()?)?;
        let most = into.len().min(self.left);
        if most == 0 {
            return Err(io::Error::other("it sent more than a handshake needs"));
        }
        // A time limit that has passed is told as one that would block.
        let read = self.socket.read(&mut into[..most]).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
            _ => error,
        })?;
        self.left -= read;
        Ok(read)
    }
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.time_left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameKind, first_frame};

    #[test]
    fn frames_come_whole_and_what_is_none_is_refused() {
        let mut bytes = vec![2, 0, 3, b'a', b'b'];
        assert_eq!(first_frame(&mut bytes).unwrap(), None);
        bytes.extend(b"c\x01\0\0\x04");
        assert_eq!(first_frame(&mut bytes).unwrap(), Some((FrameKind::Output, b"abc".to_vec())));
        assert_eq!(first_frame(&mut bytes).unwrap(), Some((FrameKind::Input, Vec::new())));
        assert_eq!(first_frame(&mut bytes).unwrap(), None);
        assert_eq!(bytes, [4]);
        assert!(first_frame(&mut vec![9, 0, 0]).is_err());
        assert!(first_frame(&mut vec![1, 0x40, 1]).is_err());
    }
}
