//! `network.tcp`: a stream to another process through the loopback device.

use std::fs;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use plumb_model::{AuditClass, CurveKind, Description, Ready, Role};
use plumb_protocol::{Failure, Held, SplitMix64, Start, StartError, Started, Workload};

use plumb_workload_kit::declare::{bytes, curve, integer, rate, workload};
use rustix::net::sockopt::tcp_congestion;

use plumb_workload_kit::framed_stream::{FramedStream, FramedStreams, receive};

/// Samples are at least this long, so that their borders (an empty pipe, an answer) are a small part.
const SHORTEST_SAMPLE_NS: u64 = 60_000_000;

/// More connections than this tell nothing about one machine.
const MOST_STREAMS: u64 = 64;

/// Sends a stream to a process that counts what arrives.
pub struct Tcp;

impl Workload for Tcp {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server, Role::Load],
            parameters: vec![
                curve(
                    CurveKind::Knee,
                    integer(
                        "streams",
                        "streams",
                        1,
                        "connections, each with a thread at both ends",
                    ),
                ),
                curve(
                    CurveKind::Line,
                    bytes("block", 128 << 10, "bytes of one send, and of the receiver's buffer"),
                ),
            ],
            metrics: vec![rate(
                "throughput",
                "B/s",
                "payload that the receivers counted, over all streams; no headers",
            )],
            audit_class: Some(AuditClass::Scheduler),
            ..workload("network.tcp", "sends a TCP stream to another process over loopback")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("tcp.md")
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let settings = StreamSettings::read(start)?;
        let server = Server::start(settings.block)
            .map_err(|error| Failure::io("listening on 127.0.0.1", &error))?;
        let endpoints = [
            ("tcp".to_owned(), server.address.to_string()),
            ("pid".to_owned(), std::process::id().to_string()),
        ];
        let ready = Ready { endpoints: endpoints.into(), ..Ready::default() };
        Ok((ready, Box::new(server)))
    }

    fn start(&self, start: &Start) -> Result<Started, StartError> {
        let settings = StreamSettings::read(start)?;
        let address: SocketAddr = start
            .endpoints
            .get("tcp")
            .and_then(|address| address.parse().ok())
            .ok_or_else(|| StartError::Failed("the server named no address".to_owned()))?;
        let mut block = vec![0; settings.block];
        SplitMix64::new(start.seed).fill(&mut block);
        let block: Arc<[u8]> = block.into();
        let first = connect(address)?;
        let mut notes = notes_on(&first);
        let first = framed(first, &block)?;
        let others: Vec<FramedStream> = (1..settings.streams)
            .map(|_| framed(connect(address)?, &block))
            .collect::<Result<_, Failure>>()?;
        let server = start.endpoints.get("pid").and_then(|pid| pid.parse().ok());
        let helpers: Vec<u32> =
            server.into_iter().filter(|pid| *pid != std::process::id()).collect();
        if !helpers.is_empty() {
            notes.push("CPU time covers both ends".to_owned());
        }
        #[expect(clippy::cast_precision_loss, reason = "blocks stay far below 2^53 bytes")]
        let work = (settings.block as u64 * settings.streams) as f64;
        let ready =
            Ready { work: [("throughput".to_owned(), work)].into(), notes, ..Ready::default() };
        let instance = FramedStreams::new(first, others, helpers, SHORTEST_SAMPLE_NS, ());
        Ok(Started { instance: Box::new(instance), ready })
    }
}

struct StreamSettings {
    streams: u64,
    block: usize,
}

impl StreamSettings {
    fn read(start: &Start) -> Result<Self, StartError> {
        let (streams, block) = (start.integer("streams"), start.size("block"));
        if !(1..=MOST_STREAMS).contains(&streams) {
            return Err(StartError::Failed(format!(
                "`streams` must be 1 to {MOST_STREAMS}, not {streams}"
            )));
        }
        if !(1..=1 << 30).contains(&block) {
            return Err(StartError::Failed(format!("`block` must be 1B to 1GiB, not {block}")));
        }
        Ok(Self { streams, block })
    }
}

/// Headers and answers must not wait for more data.
fn connect(address: SocketAddr) -> Result<TcpStream, Failure> {
    TcpStream::connect(address)
        .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
        .map_err(|error| Failure::io(format!("connecting to {address}"), &error))
}

fn framed(stream: TcpStream, block: &Arc<[u8]>) -> Result<FramedStream, Failure> {
    let answers =
        stream.try_clone().map_err(|error| Failure::io("a second handle of a socket", &error))?;
    Ok(FramedStream::new(stream, answers, Arc::clone(block)))
}

fn notes_on(stream: &TcpStream) -> Vec<String> {
    let most = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?;
        text.split_whitespace().nth(2)?.parse::<u64>().ok()
    };
    let mtu = fs::read_to_string("/sys/class/net/lo/mtu").unwrap_or_default();
    let kib = |bytes: Option<u64>| bytes.map_or("?".to_owned(), |bytes| (bytes >> 10).to_string());
    vec![
        format!(
            "congestion control: {}",
            tcp_congestion(stream).unwrap_or_else(|_| "unknown".to_owned())
        ),
        format!(
            "socket buffers: sized by the kernel, up to {} KiB sending and {} KiB receiving",
            kib(most("tcp_wmem")),
            kib(most("tcp_rmem"))
        ),
        format!("loopback with an MTU of {} bytes: no network card, no wire", mtu.trim()),
    ]
}

/// Listens, and counts on every connection in a thread of its own. Dropping it ends them.
struct Server {
    address: SocketAddr,
    state: Arc<ServerState>,
    listening: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ServerState {
    ended: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
}

impl Server {
    fn start(block: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(ServerState::default());
        let shared = Arc::clone(&state);
        let listening = thread::spawn(move || listen(&listener, &shared, block));
        Ok(Self { address, state, listening: Some(listening) })
    }
}

fn listen(listener: &TcpListener, state: &ServerState, block: usize) {
    for connection in listener.incoming() {
        if state.ended.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = connection else { continue };
        let Ok((answers, known)) = handles(&stream) else { continue };
        state.connections.lock().unwrap_or_else(PoisonError::into_inner).push(known);
        // A broken stream shows at the sender, whose answer does not come.
        thread::spawn(move || receive(stream, answers, &mut vec![0; block]));
    }
}

fn handles(stream: &TcpStream) -> io::Result<(TcpStream, TcpStream)> {
    stream.set_nodelay(true)?;
    Ok((stream.try_clone()?, stream.try_clone()?))
}

impl Held for Server {}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Release);
        // Wakes the listener; if it has ended already, there is nothing to wake.
        TcpStream::connect(self.address).ok();
        if let Some(listening) = self.listening.take() {
            listening.join().ok();
        }
        let mut open = self.state.connections.lock().unwrap_or_else(PoisonError::into_inner);
        for connection in open.drain(..) {
            connection.shutdown(Shutdown::Both).ok();
        }
    }
}
