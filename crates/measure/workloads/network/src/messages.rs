//! Numbered requests and their answers, over a TCP connection or as datagrams.
//!
//! ```text
//! request     token (16 bytes), number (8 bytes, little-endian), filling
//! answer      number, filling
//! ```
//!
//! Who does not know the token gets no answer.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_protocol::Held;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::requests::Exchange;
use plumb_workload_kit::token::{TOKEN, Token};

/// Bytes of a number.
const NUMBER: usize = 8;
/// The shortest request and the shortest answer.
pub(crate) const SHORTEST_REQUEST: usize = TOKEN + NUMBER;
pub(crate) const SHORTEST_ANSWER: usize = NUMBER;
/// The longest of either: what fits into a datagram.
pub(crate) const LONGEST: usize = 65_507;
/// A server of datagrams looks whether it is to end this often.
const LOOKS: Duration = Duration::from_millis(50);

/// What carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// A connection.
    Tcp,
    /// Datagrams.
    Udp,
}

/// Answers the requests of a connection until it ends.
///
/// # Errors
/// When the client does not know the token, or is gone.
pub(crate) fn serve_connection(
    mut stream: &TcpStream,
    token: &Token,
    [request, answer]: [usize; 2],
) -> io::Result<()> {
    let (mut request, mut answer) = (vec![0; request], vec![0; answer]);
    let connection = stream;
    let mut exchange = || {
        stream.read_exact(&mut request)?;
        if request[..TOKEN] != token[..] {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        answer[..NUMBER].copy_from_slice(&request[TOKEN..TOKEN + NUMBER]);
        stream.write_all(&answer)
    };
    exchange()?;
    // Whoever has shown the token may take any time.
    connection.set_read_timeout(None)?;
    loop {
        exchange()?;
    }
}

/// Answers datagrams in a thread of its own; dropping it ends that.
pub(crate) struct DatagramServer {
    ended: Arc<AtomicBool>,
    answering: Option<JoinHandle<()>>,
    address: SocketAddr,
}

impl DatagramServer {
    /// On a free port of this address.
    ///
    /// # Errors
    /// When there is no free port.
    pub(crate) fn start(
        address: std::net::IpAddr,
        token: Token,
        [request, answer]: [usize; 2],
    ) -> io::Result<Self> {
        let socket = UdpSocket::bind((address, 0))?;
        socket.set_read_timeout(Some(LOOKS))?;
        let address = socket.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&ended);
        let answering = thread::spawn(move || {
            let (mut request, mut answer) = (vec![0; request], vec![0; answer]);
            while !shared.load(Ordering::Acquire) {
                let Ok((bytes, client)) = socket.recv_from(&mut request) else { continue };
                if bytes == request.len() && request[..TOKEN] == token[..] {
                    answer[..NUMBER].copy_from_slice(&request[TOKEN..TOKEN + NUMBER]);
                    // An answer that can't be sent is lost, as others are.
                    socket.send_to(&answer, client).ok();
                }
            }
        });
        Ok(Self { ended, answering: Some(answering), address })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Held for DatagramServer {}

impl Drop for DatagramServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        if let Some(answering) = self.answering.take() {
            answering.join().ok();
        }
    }
}

enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// The client's end.
pub(crate) struct Messages {
    socket: Socket,
    request: Vec<u8>,
    answer: Vec<u8>,
    /// Bytes of the next answer that have come.
    filled: usize,
}

impl Messages {
    /// To this server, with requests and answers of so many bytes.
    ///
    /// # Errors
    /// When nobody listens there.
    pub(crate) fn open(
        transport: Transport,
        address: SocketAddr,
        token: &Token,
        [request, answer]: [usize; 2],
    ) -> io::Result<Self> {
        let socket = match transport {
            Transport::Tcp => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Socket::Tcp(stream)
            }
            Transport::Udp => {
                let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any)?;
                socket.connect(address)?;
                socket.set_nonblocking(true)?;
                Socket::Udp(socket)
            }
        };
        let mut request = vec![0; request];
        request[..TOKEN].copy_from_slice(token);
        Ok(Self { socket, request, answer: vec![0; answer], filled: 0 })
    }

    fn wait(&self, what: PollFlags, longest_ns: Option<u64>) -> io::Result<bool> {
        let socket = match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Udp(socket) => socket.as_fd(),
        };
        wait_for(socket, what, longest_ns)
    }
}

impl Exchange for Messages {
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.request[TOKEN..TOKEN + NUMBER].copy_from_slice(&number.to_le_bytes());
        let mut sent = 0;
        while sent < self.request.len() {
            let rest = &self.request[sent..];
            let taken = match &mut self.socket {
                Socket::Tcp(stream) => stream.write(rest),
                Socket::Udp(socket) => socket.send(rest),
            };
            match taken {
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(PollFlags::OUT, None)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        while self.filled < self.answer.len() {
            let room = &mut self.answer[self.filled..];
            let came = match &mut self.socket {
                Socket::Tcp(stream) => stream.read(room),
                Socket::Udp(socket) => socket.recv(room),
            };
            match came {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        self.filled = 0;
        let mut number = [0; NUMBER];
        number.copy_from_slice(&self.answer[..NUMBER]);
        Ok(Some(u64::from_le_bytes(number)))
    }

    fn wait_for_answer(&self, longest_ns: u64) -> io::Result<bool> {
        self.wait(PollFlags::IN, Some(longest_ns))
    }
}

/// Waits until a socket is ready for this, or so long; whether it may be.
///
/// # Errors
/// When the kernel can't wait.
pub(crate) fn wait_for(
    socket: BorrowedFd<'_>,
    what: PollFlags,
    longest_ns: Option<u64>,
) -> io::Result<bool> {
    let longest = longest_ns.map(|nanos| Timespec {
        tv_sec: (nanos / 1_000_000_000).cast_signed(),
        tv_nsec: (nanos % 1_000_000_000).cast_signed(),
    });
    let mut of_this = [PollFd::from_borrowed_fd(socket, what)];
    match poll(&mut of_this, longest.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
