//! The far end of datagrams: counts what arrives, and tells it over a connection next to it.
//!
//! The client says over the connection how many datagrams each sample of a batch will have, before the first, and asks after
//! the last; then the receiver waits until nothing comes any more and shows what came and what it knows was dropped.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_protocol::{Failure, Held, now_ns};
use rustix::net::sockopt;
use serde::{Deserialize, Serialize};

use crate::batches::Receiving;
use crate::ledger::{received_drops, socket_drops};
use crate::tally::{Arrived, DatagramTally};
use plumb_workload_ends::cpu_time::cpu_time_ns;
use plumb_workload_ends::server::TcpServer;
use plumb_workload_ends::token::{ClientToken, TOKEN};

/// The beginning of a datagram: a part of the token, its number, and its send time if there is room.
pub(crate) const HEAD: usize = 16;
pub(crate) const HEAD_WITH_TIME: usize = 24;

/// The most senders.
pub(crate) const MOST_SENDERS: usize = 64;

/// The receiver looks whether it is to end, or whether nothing comes any more, this often.
const LOOKS: Duration = Duration::from_millis(5);

/// The messages of the client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ControlMessage {
    /// So many datagrams of each sample follow, from this number on, by so many senders.
    Begin { first: u64, counts: Vec<u64>, senders: usize },
    /// So many were sent; it may take so long until the next that is under way comes.
    End { sent: u64, quiet_ns: u64 },
}

/// What came of a batch.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReceiverCounts {
    /// Of each sample.
    pub samples: Vec<Arrived>,
    /// Packets dropped in the queue between device and socket since the batch began.
    pub backlog_drops: u64,
    /// Datagrams for which the socket had no room.
    pub socket_drops: u64,
    /// CPU time of the receiver's process since the batch began, in nanoseconds.
    pub cpu_ns: u64,
}

struct ReceiverState {
    socket: UdpSocket,
    /// The device on which datagrams come.
    device: String,
    tally: Mutex<DatagramTally>,
    /// When the last one came.
    last_ns: AtomicU64,
    ended: AtomicBool,
}

/// Dropping it ends it.
pub(crate) struct Receiver {
    shared: Arc<ReceiverState>,
    receiving: Option<JoinHandle<()>>,
    /// Where the client asks.
    control: TcpServer,
    datagrams: SocketAddr,
}

impl Receiver {
    /// On free ports of this address; datagrams come on the device of this name. `buffer` are the bytes of the socket's buffer, 0
    /// for what the system gives.
    ///
    /// # Errors
    /// When there is no free port, or no such buffer.
    pub(crate) fn start(
        address: IpAddr,
        device: &str,
        token: ClientToken,
        buffer: usize,
    ) -> io::Result<Self> {
        let socket = UdpSocket::bind((address, 0))?;
        if buffer > 0 {
            // The kernel doubles what is asked for, for its own needs.
            sockopt::set_socket_recv_buffer_size(&socket, buffer)?;
        }
        // Closing a socket does not wake a thread that is blocked in a receive, so it has to look itself.
        socket.set_read_timeout(Some(LOOKS))?;
        let datagrams = socket.local_addr()?;
        let shared = Arc::new(ReceiverState {
            socket,
            device: device.to_owned(),
            tally: Mutex::default(),
            last_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let receiving = thread::Builder::new().spawn(move || theirs.receive(&token))?;
        let theirs = Arc::clone(&shared);
        let control = TcpServer::start(address, move |stream| theirs.serve(stream, &token))?;
        Ok(Self { shared, receiving: Some(receiving), control, datagrams })
    }

    /// Where the client asks, and where it sends datagrams.
    pub(crate) fn addresses(&self) -> [SocketAddr; 2] {
        [self.control.address(), self.datagrams]
    }
}

impl Held for Receiver {}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        if let Some(receiving) = self.receiving.take() {
            receiving.join().ok();
        }
    }
}

impl ReceiverState {
    fn tally(&self) -> MutexGuard<'_, DatagramTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(&self, token: &ClientToken) {
        let mut receiving = Receiving::new();
        while !self.ended.load(Ordering::Acquire) {
            let Ok(came) = receiving.wait(&self.socket) else { continue };
            let now = now_ns();
            self.last_ns.store(now, Ordering::Release);
            let mut tally = self.tally();
            for datagram in receiving.datagrams(came) {
                if let Some((number, sent_ns)) = read(datagram, token) {
                    tally.came(number, now, sent_ns);
                }
            }
        }
    }

    /// Answers a client until it leaves.
    fn serve(&self, mut stream: &TcpStream, token: &ClientToken) -> io::Result<()> {
        let mut hello = [0; TOKEN];
        stream.read_exact(&mut hello)?;
        if hello != *token {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        stream.set_read_timeout(None)?;
        let mut before = ((0, 0), 0);
        for line in BufReader::new(stream).lines() {
            let answer = match serde_json::from_str(&line?)? {
                ControlMessage::Begin { first, counts, senders } => {
                    *self.tally() = DatagramTally::new(first, &counts, senders.min(MOST_SENDERS));
                    before = (self.drops(), cpu_time_ns());
                    ReceiverCounts::default()
                }
                ControlMessage::End { sent, quiet_ns } => {
                    self.wait_until_quiet(sent, quiet_ns);
                    let cpu_ns = cpu_time_ns().saturating_sub(before.1);
                    let (backlog, socket) = self.drops();
                    ReceiverCounts {
                        samples: self.tally().samples().to_vec(),
                        backlog_drops: backlog.saturating_sub(before.0.0),
                        socket_drops: socket.saturating_sub(before.0.1),
                        cpu_ns,
                    }
                }
            };
            say(stream, &answer)?;
        }
        Ok(())
    }

    fn drops(&self) -> (u64, u64) {
        (received_drops(&self.device), socket_drops(&self.socket))
    }

    /// Until so many have come, or nothing has for so long.
    fn wait_until_quiet(&self, sent: u64, quiet_ns: u64) {
        let asked_ns = now_ns();
        while self.tally().count() < sent {
            // From the question at the earliest: an old datagram says nothing about those under way.
            let last_ns = self.last_ns.load(Ordering::Acquire).max(asked_ns);
            let now = now_ns();
            if now >= last_ns + quiet_ns {
                return;
            }
            thread::sleep(LOOKS.min(Duration::from_nanos(last_ns + quiet_ns - now)));
        }
    }
}

/// The number of a datagram, and when it was sent; None of somebody else's.
fn read(datagram: &[u8], token: &ClientToken) -> Option<(u64, Option<u64>)> {
    let word = |at: usize| {
        let bytes: [u8; 8] = datagram.get(at..at + 8)?.try_into().ok()?;
        Some(u64::from_le_bytes(bytes))
    };
    (datagram.get(..8)? == &token[..8]).then_some(())?;
    Some((word(8)?, word(HEAD)))
}

fn say(mut to: &TcpStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// The client's end of the connection to a receiver.
pub(crate) struct Control {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
}

impl Control {
    /// Connects, and shows the token.
    ///
    /// # Errors
    /// When nobody listens there.
    pub(crate) fn open(address: SocketAddr, token: &ClientToken) -> Result<Self, Failure> {
        Self::connect(address, token)
            .map_err(|error| Failure::io(format!("connecting to {address}"), &error))
    }

    fn connect(address: SocketAddr, token: &ClientToken) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        // A request must not wait for more data.
        stream.set_nodelay(true)?;
        stream.write_all(token)?;
        Ok(Self { answers: BufReader::new(stream.try_clone()?), stream })
    }

    /// Says something and waits for the answer.
    ///
    /// # Errors
    /// When the receiver is gone.
    pub(crate) fn ask(&mut self, what: &ControlMessage) -> Result<ReceiverCounts, Failure> {
        self.exchange(what).map_err(|error| Failure::io("the receiver does not answer", &error))
    }

    fn exchange(&mut self, what: &ControlMessage) -> io::Result<ReceiverCounts> {
        say(&self.stream, what)?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_datagram_without_the_token_is_not_read() {
        let token = [7; 16];
        let mut datagram = [7; 24];
        datagram[8..16].copy_from_slice(&5_u64.to_le_bytes());
        datagram[16..].copy_from_slice(&9_u64.to_le_bytes());
        assert_eq!(read(&datagram, &token), Some((5, Some(9))));
        assert_eq!(read(&datagram[..18], &token), Some((5, None)));
        assert_eq!(read(&datagram[..15], &token), None);
        assert_eq!(read(&datagram, &[8; 16]), None);
    }
}
