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
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_protocol::Held;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, recvfrom, send, sendto, shutdown};
use rustix::time::Timespec;

use crate::requests::{Exchange, receive_or_wait};
use crate::tunnel::RequestTunnel;
use plumb_workload_ends::token::{ClientToken, TOKEN};

/// Bytes of a number.
const NUMBER: usize = 8;
/// The shortest request and the shortest answer.
pub(crate) const SHORTEST_REQUEST: usize = TOKEN + NUMBER;
pub(crate) const SHORTEST_ANSWER: usize = NUMBER;
/// The longest of either: what fits into a datagram.
pub(crate) const LONGEST: usize = 65_507;

/// Of a wait as long as this it does not matter that the kernel's coarse timers are up to an eighth late.
const COARSE_NS: u64 = 10_000_000_000;

/// The transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageTransport {
    /// Messages travel through a TCP connection.
    Tcp,
    /// Each message is a UDP datagram.
    Udp,
}

/// Answers the requests of a connection until it ends.
///
/// # Errors
/// When the client does not know the token, or is gone.
pub(crate) fn serve_connection(
    mut stream: &TcpStream,
    token: &ClientToken,
    [request, answer]: [usize; 2],
) -> io::Result<()> {
    let mut request = vec![0; request];
    let mut answer = vec![0; answer];
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

/// Answers datagrams in its own thread; dropping it ends that.
pub(crate) struct DatagramServer {
    socket: Arc<UdpSocket>,
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
        token: ClientToken,
        [request, answer]: [usize; 2],
    ) -> io::Result<Self> {
        let socket = Arc::new(UdpSocket::bind((address, 0))?);
        let address = socket.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&ended);
        let of_thread = Arc::clone(&socket);
        let answering = thread::Builder::new().spawn(move || {
            let mut request = vec![0; request];
            let mut answer = vec![0; answer];
            let socket = of_thread;
            // Who has shown the token first; nobody else is answered, even with it.
            let mut proven: Option<std::net::IpAddr> = None;
            while !shared.load(Ordering::Acquire) {
                let came = recvfrom(&*socket, &mut request[..], RecvFlags::empty());
                let Ok((bytes, _, Some(client))) = came else { continue };
                let address = SocketAddr::try_from(client.clone()).map(|address| address.ip()).ok();
                let is_known = proven.is_none() || proven == address;
                if bytes == request.len() && request[..TOKEN] == token[..] && is_known {
                    proven = address;
                    answer[..NUMBER].copy_from_slice(&request[TOKEN..TOKEN + NUMBER]);
                    // An answer that can't be sent is lost, as others are.
                    sendto(&*socket, &answer, SendFlags::empty(), &client).ok();
                }
            }
        })?;
        Ok(Self { socket, ended, answering: Some(answering), address })
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
        // Wakes who waits for a datagram, though the kernel says that nothing is connected. A timeout would cost a timer a request.
        shutdown(&*self.socket, Shutdown::Both).ok();
        if let Some(answering) = self.answering.take() {
            answering.join().ok();
        }
    }
}

/// The client's end.
pub(crate) struct Messages {
    socket: OwnedFd,
    request: Vec<u8>,
    answer: Vec<u8>,
    /// Bytes of the request that the socket has not taken yet.
    unsent: usize,
    /// Bytes of the next answer that have come.
    filled: usize,
    /// How long a call waits for it.
    patience: Duration,
    /// What carries the connection; ends after it.
    tunnel: Option<RequestTunnel>,
}

impl Messages {
    /// To this server, with requests and answers of so many bytes.
    ///
    /// # Errors
    /// When nobody listens there.
    pub(crate) fn open(
        transport: MessageTransport,
        address: SocketAddr,
        token: &ClientToken,
        [request, answer]: [usize; 2],
    ) -> io::Result<Self> {
        let socket = match transport {
            MessageTransport::Tcp => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.into()
            }
            MessageTransport::Udp => {
                let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any)?;
                socket.connect(address)?;
                socket.into()
            }
        };
        let mut request = vec![0; request];
        request[..TOKEN].copy_from_slice(token);
        let answer = vec![0; answer];
        Ok(Self {
            socket,
            request,
            answer,
            unsent: 0,
            filled: 0,
            patience: Duration::ZERO,
            tunnel: None,
        })
    }

    /// Keeps the tunnel of the connection as long as this is used.
    pub(crate) fn keep(&mut self, tunnel: RequestTunnel) {
        self.tunnel = Some(tunnel);
    }

    /// The number of the next answer; none if no more of it has come.
    fn receive_with(&mut self, flags: RecvFlags) -> io::Result<Option<u64>> {
        while self.filled < self.answer.len() {
            match recv(&self.socket, &mut self.answer[self.filled..], flags) {
                Ok((_, 0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((bytes, _)) => self.filled += bytes,
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.filled = 0;
        let mut number = [0; NUMBER];
        number.copy_from_slice(&self.answer[..NUMBER]);
        Ok(Some(u64::from_le_bytes(number)))
    }
}

impl Exchange for Messages {
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.request[TOKEN..TOKEN + NUMBER].copy_from_slice(&number.to_le_bytes());
        let mut rest = &self.request[..];
        while !rest.is_empty() {
            match send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Both ends of a TCP connection would wait for each other if this end only sent while the other one only answered.
    fn send_now(&mut self, number: u64) -> io::Result<bool> {
        if self.unsent == 0 {
            self.request[TOKEN..TOKEN + NUMBER].copy_from_slice(&number.to_le_bytes());
            self.unsent = self.request.len();
        }
        while self.unsent > 0 {
            let rest = &self.request[self.request.len() - self.unsent..];
            match send(&self.socket, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => self.unsent -= sent,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        self.receive_with(RecvFlags::DONTWAIT)
    }

    fn wait_for_answer(&self, longest_ns: u64) -> io::Result<bool> {
        wait_for(self.socket.as_fd(), longest_ns)
    }

    /// With one call if nothing is lost, and its timer, one of the kernel's coarse ones, may be late: to wait with poll takes another
    /// call, and a timer of the CPU.
    fn receive_within(&mut self, longest_ns: u64) -> io::Result<Option<u64>> {
        if longest_ns < COARSE_NS {
            return receive_or_wait(self, longest_ns);
        }
        let patience = Duration::from_nanos(longest_ns);
        if patience != self.patience {
            set_socket_timeout(&self.socket, Timeout::Recv, Some(patience))?;
            self.patience = patience;
        }
        self.receive_with(RecvFlags::empty())
    }
}

/// Waits until a socket has something to read, or so long; whether it may have.
///
/// # Errors
/// When the kernel can't wait.
pub(crate) fn wait_for(socket: BorrowedFd<'_>, longest_ns: u64) -> io::Result<bool> {
    let longest = Timespec {
        tv_sec: (longest_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (longest_ns % 1_000_000_000).cast_signed(),
    };
    let mut of_this = [PollFd::from_borrowed_fd(socket, PollFlags::IN)];
    match poll(&mut of_this, Some(&longest)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
