//! Connections that carry frames up or down, and what the far end tells after each.
//!
//! Client and server are their own processes. A connection begins with a hello; then
//!
//! ```text
//! up      client: length, data            server: report
//! down    client: length                  server: data, report
//! ```
//!
//! The hello is the token, which end sends (1 byte), and the CPU of the server's thread (2 bytes; 65535 for any).
//! Other numbers have 8 bytes, all little-endian. A report says what the server counted (up) or sent (down), the CPU time of its
//! process so far, and what its kernel knows of the connection. The next frame begins when all of the last was counted.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plumb_protocol::{Failure, now_ns};
use plumb_workload_ends::cpu_time::cpu_time_ns;
use plumb_workload_ends::server::set_buffers;
use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::framed_stream::{Carry, next_header, take_in};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, connect, socket_with};

use crate::tcp_info::{self, Info};
use plumb_workload_ends::token::{ClientToken, TOKEN};

/// How long a client may take to say hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// The token, which end sends, and the CPU of the server's thread.
const HELLO: usize = TOKEN + 3;
/// Where a thread runs on any CPU.
const ANY_CPU: u16 = u16::MAX;

const WORDS: usize = 2 + tcp_info::WORDS;
const REPORT: usize = 8 * WORDS;

/// Which end sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The client sends to the server.
    Up,
    /// The server sends to the client.
    Down,
}

/// The far end's report after a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FrameReport {
    /// Bytes of the frame that it counted or sent.
    pub bytes: u64,
    /// CPU time of its process so far, in nanoseconds.
    pub cpu_ns: u64,
    /// The kernel's state of the connection.
    pub info: Info,
    /// What the frame took, as the client saw it.
    pub took_ns: u64,
}

impl FrameReport {
    fn of(stream: &TcpStream, bytes: u64) -> Self {
        Self { bytes, cpu_ns: cpu_time_ns(), info: Info::of(stream), took_ns: 0 }
    }

    fn write(&self, mut to: &TcpStream) -> io::Result<()> {
        let mut message = [0; REPORT];
        let words = [self.bytes, self.cpu_ns].into_iter().chain(self.info.words());
        for (to, word) in message.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        to.write_all(&message)
    }

    fn read(mut from: &TcpStream) -> io::Result<Self> {
        let mut message = [0; REPORT];
        from.read_exact(&mut message)?;
        let mut words = message
            .chunks_exact(8)
            .map(|word| word.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
        let mut next = || words.next().unwrap_or(0);
        let bytes = next();
        let cpu_ns = next();
        let info = Info::of_words(std::array::from_fn(|_| next()));
        Ok(Self { bytes, cpu_ns, info, took_ns: 0 })
    }
}

/// Serves one connection until it ends.
///
/// # Errors
/// When the client does not know the token, or is gone.
pub(crate) fn serve(
    mut stream: &TcpStream,
    token: &ClientToken,
    block: &[u8],
    cork: bool,
) -> io::Result<()> {
    let mut buffer = vec![0; block.len()];
    stream.set_read_timeout(Some(HELLO_TIMEOUT))?;
    let mut hello = [0; HELLO];
    stream.read_exact(&mut hello)?;
    // Only the greeting has a time limit: between batches a client may be silent for minutes.
    stream.set_read_timeout(None)?;
    // A port on loopback is open to every process of the machine.
    if hello[..TOKEN] != token[..] {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let cpu = u16::from_le_bytes([hello[TOKEN + 1], hello[TOKEN + 2]]);
    if cpu != ANY_CPU {
        run_on(cpu.into()).map_err(|failure| io::Error::other(failure.0))?;
    }
    let is_down = hello[TOKEN] == Way::Down as u8;
    while let Some(length) = next_header(&mut stream)? {
        let bytes = if is_down {
            send(stream, length, block, cork)?
        } else {
            take_in(&mut stream, length, &mut buffer)?
        };
        FrameReport::of(stream, bytes).write(stream)?;
        if bytes < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// Keeps the calling thread to a CPU, if it may run there.
fn run_on(cpu: usize) -> Result<(), Failure> {
    if CpuSet::current()?.cpus().contains(&cpu) {
        CpuSet::only(cpu).apply()
    } else {
        Err(Failure(format!("this thread is not allowed to run on CPU {cpu}")))
    }
}

/// Sends so many bytes, a block at a time; with `cork` what of a block fills no segment goes with the next.
fn send(to: &TcpStream, length: u64, block: &[u8], cork: bool) -> io::Result<u64> {
    let mut left = length;
    while left > 0 {
        let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        left -= bytes as u64;
        let more = cork && left > 0;
        send_block(to, &block[..bytes], if more { SendFlags::MORE } else { SendFlags::empty() })?;
    }
    Ok(length)
}

fn send_block(to: &TcpStream, mut block: &[u8], flags: SendFlags) -> io::Result<()> {
    while !block.is_empty() {
        match rustix::net::send(to, block, flags | SendFlags::NOSIGNAL) {
            Ok(sent) => block = &block[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// How the blocks of a sample are shared between up and down, if both are sent at the same time: so that both end together.
#[derive(Debug)]
pub(crate) struct Balance {
    /// Millionths of the blocks that go up.
    up: AtomicU64,
}

/// The least and the largest share of a direction, in millionths.
const SHARES: (u64, u64) = (1_000, 999_000);
const WHOLE: u64 = 1_000_000;

impl Balance {
    /// Half of them each way.
    pub(crate) fn new() -> Self {
        Self { up: AtomicU64::new(WHOLE / 2) }
    }

    /// Blocks of this direction, of twice as many; one at least.
    fn blocks(&self, way: Way, half: u64) -> u64 {
        let all = 2 * half;
        let up = (all * self.up.load(Ordering::Relaxed) / WHOLE).clamp(1, all - 1);
        match way {
            Way::Up => up,
            Way::Down => all - up,
        }
    }

    /// Takes over how quick both directions were, in bytes per second.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a million"
    )]
    pub(crate) fn learn(&self, up: f64, down: f64) {
        if up > 0.0 && down > 0.0 {
            // Kept off both ends below: a direction without blocks has no speed to learn from.
            let share = (up / (up + down) * WHOLE as f64) as u64;
            self.up.store(share.clamp(SHARES.0, SHARES.1), Ordering::Relaxed);
        }
    }
}

/// A connection whose buffers hold so many bytes each way; as large as the kernel finds right with 0.
fn connected(address: SocketAddr, buffer: usize) -> io::Result<TcpStream> {
    if buffer == 0 {
        return TcpStream::connect(address);
    }
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // Before connect: the handshake fixes the window scale by the receive buffer (RFC 7323, tcp(7)).
    set_buffers(&socket, buffer)?;
    connect(&socket, &address)?;
    Ok(TcpStream::from(socket))
}

/// The payload of a connection.
pub(crate) struct Payload {
    /// Which end sends.
    pub way: Way,
    /// The block that it sends repeatedly.
    pub block: Arc<[u8]>,
    /// Whether what of a block fills no segment goes with the next.
    pub cork: bool,
    /// Bytes of the socket buffers; 0 leaves them to the kernel.
    pub buffer: usize,
}

/// The client's end of a connection.
pub(crate) struct StreamClient {
    stream: TcpStream,
    way: Way,
    block: Arc<[u8]>,
    buffer: Vec<u8>,
    told: Arc<Mutex<FrameReport>>,
    balance: Option<Arc<Balance>>,
    /// The CPU of the thread that carries; None for any.
    cpu: Option<usize>,
    cork: bool,
    /// Frames until the next one begins before the last has arrived; None if none ever does.
    apart: Option<u32>,
    /// Bytes of the frame that is under way from the last time.
    under_way: Option<u64>,
}

/// A load sends so many frames one after the other, by which it learns how long they take; then without a pause.
const APART: u32 = 3;

/// So many round trips are measured before the first sample: each of them may be one in which a packet is lost.
const EMPTY_FRAMES: usize = 5;

/// What is known of a connection next to its frames.
pub(crate) struct Witness {
    stream: TcpStream,
    way: Way,
    told: Arc<Mutex<FrameReport>>,
}

/// Connects and says hello.
fn open(address: SocketAddr, buffer: usize, hello: &[u8; HELLO]) -> io::Result<TcpStream> {
    let mut stream = connected(address, buffer)?;
    // Headers and reports must not wait for more data.
    stream.set_nodelay(true)?;
    stream.write_all(hello)?;
    Ok(stream)
}

impl StreamClient {
    /// Connects, and says hello. The server sends blocks alike; `cpus` are those of the threads of both ends.
    ///
    /// # Errors
    /// When nobody listens there.
    pub(crate) fn open(
        address: SocketAddr,
        token: &ClientToken,
        payload: Payload,
        balance: Option<&Arc<Balance>>,
        cpus: [Option<usize>; 2],
    ) -> Result<Self, Failure> {
        let Payload { way, block, cork, buffer } = payload;
        let [cpu, far_cpu] = cpus;
        let far_cpu = far_cpu.and_then(|cpu| u16::try_from(cpu).ok()).unwrap_or(ANY_CPU);
        let mut hello = [way as u8; HELLO];
        hello[..TOKEN].copy_from_slice(token);
        hello[TOKEN + 1..].copy_from_slice(&far_cpu.to_le_bytes());
        let stream = open(address, buffer, &hello)
            .map_err(|error| Failure::io(format!("connecting to {address}"), &error))?;
        let buffer = vec![0; if way == Way::Down { block.len() } else { 0 }];
        let balance = balance.cloned();
        let told = Arc::default();
        Ok(Self {
            stream,
            way,
            block,
            buffer,
            told,
            balance,
            cpu,
            cork,
            apart: None,
            under_way: None,
        })
    }

    /// As a load: a frame begins before the one before has arrived, so that the path is never idle.
    pub(crate) fn without_pause(self) -> Self {
        Self { apart: Some(APART), ..self }
    }

    /// Somebody who looks at it between frames.
    ///
    /// # Errors
    /// When there is no room for another file descriptor.
    pub(crate) fn witness(&self) -> Result<Witness, Failure> {
        let stream =
            self.stream.try_clone().map_err(|error| Failure::io("duplicating a socket", &error))?;
        Ok(Witness { stream, way: self.way, told: Arc::clone(&self.told) })
    }

    /// Which end sends.
    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// The socket that is watched.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The shortest round trip of a few empty frames, in nanoseconds. The kernel's own shortest round trip is a second if a packet
    /// of the handshake was lost.
    ///
    /// # Errors
    /// When the far end does not answer.
    pub(crate) fn round_trip_ns(&self) -> io::Result<u64> {
        let mut shortest = u64::MAX;
        for _ in 0..EMPTY_FRAMES {
            let begun_ns = now_ns();
            self.ask(0, 0)?;
            FrameReport::read(&self.stream)?;
            shortest = shortest.min(now_ns() - begun_ns);
        }
        Ok(shortest)
    }

    /// Carries a frame, and begins the next if there is to be no pause; how many of so many bytes came.
    fn exchange(&mut self, blocks: u64, length: u64) -> io::Result<(u64, u64, FrameReport)> {
        let mut of = length;
        match (self.under_way.take(), self.apart) {
            (None, None) => self.ask(blocks, length)?,
            (None, Some(0)) => {
                self.ask(blocks, length)?;
                self.ask(blocks, length)?;
                self.under_way = Some(length);
            }
            (None, Some(left)) => {
                self.ask(blocks, length)?;
                self.apart = Some(left - 1);
            }
            (Some(before), _) => {
                self.ask(blocks, length)?;
                self.under_way = Some(length);
                of = before;
            }
        }
        let mut stream = &self.stream;
        let counted = match self.way {
            Way::Up => of,
            Way::Down => take_in(&mut stream, of, &mut self.buffer)?,
        };
        Ok((of, counted, FrameReport::read(stream)?))
    }

    /// Sends a frame, or asks for one.
    fn ask(&self, blocks: u64, length: u64) -> io::Result<()> {
        send_block(&self.stream, &length.to_le_bytes(), SendFlags::empty())?;
        let sent = if self.way == Way::Up { blocks } else { 0 };
        let length = sent * self.block.len() as u64;
        send(&self.stream, length, &self.block, self.cork).map(drop)
    }
}

impl Carry for StreamClient {
    fn begin(&mut self) -> Result<(), Failure> {
        self.cpu.map_or(Ok(()), run_on)
    }

    fn carry(&mut self, blocks: u64) -> Result<(), Failure> {
        let blocks =
            self.balance.as_ref().map_or(blocks, |balance| balance.blocks(self.way, blocks));
        let length = blocks * self.block.len() as u64;
        let begun_ns = now_ns();
        let (length, counted, mut report) = self
            .exchange(blocks, length)
            .map_err(|error| Failure::io("the far end does not answer", &error))?;
        report.took_ns = now_ns() - begun_ns;
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = report;
        match counted.min(report.bytes) {
            least if least == length => Ok(()),
            least => Err(Failure(format!("{least} bytes arrived instead of {length}"))),
        }
    }
}

impl Witness {
    /// The far end's last report.
    pub(crate) fn told(&self) -> FrameReport {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the sender knows of the connection, whichever end that is.
    pub(crate) fn sender(&self) -> Info {
        match self.way {
            Way::Up => Info::of(&self.stream),
            Way::Down => self.told().info,
        }
    }

    /// Which end sends.
    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// The socket of the connection.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

#[cfg(test)]
mod tests {
    use super::{Balance, Way};

    #[test]
    fn the_quicker_direction_gets_more_blocks_and_neither_none() {
        let balance = Balance::new();
        let both = |half| [Way::Up, Way::Down].map(|way| balance.blocks(way, half));
        assert_eq!(both(16), [16, 16]);
        balance.learn(30e6, 10e6);
        assert_eq!((both(16), both(1)), ([24, 8], [1, 1]));
        balance.learn(1e12, 1.0);
        assert_eq!(both(16), [31, 1]);
        balance.learn(0.0, 1.0);
        assert_eq!(both(16), [31, 1], "nothing is learnt from nothing");
    }
}
