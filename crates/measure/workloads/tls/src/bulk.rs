//! `tls.bulk`: bytes per second through a connection of TLS, with a server of our own.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use plumb_model::{AuditClass, Description, Ready, Role};
use plumb_protocol::{
    Batch, Failure, Held, Instance, SplitMix64, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_ends::host;
use plumb_workload_ends::token::{self, at_far_end};
use plumb_workload_kit::declare::{bytes, choice, rate, work, workload};
use plumb_workload_kit::framed_stream::shortest_sample_ns;
use plumb_workload_path::{self as path, End};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConnection, StreamOwned};

use crate::certificate::from_hex;
use crate::server::{TlsStream, rustls_server, start_server};
use crate::settings::{TlsSettings, Trust, parameters};

/// A far end that moves nothing for so long is gone.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of one read or write: 16 records of the longest size.
const BLOCK: usize = 256 << 10;
/// Bytes of an order: how many bytes follow, in which direction.
const ORDER: usize = 9;
/// The shortest sample, in nanoseconds: its last round trip is then a small part of it.
const SHORTEST_SAMPLE_NS: u64 = 5_000_000;
/// Transfers of one byte that show how long a round trip takes.
const TRIALS: usize = 3;

/// The workload `tls.bulk`: its parameters and metrics, and how it starts.
pub(super) struct Bulk;

impl Workload for Bulk {
    fn describe(&self) -> Description {
        let mut all = vec![
            host::address(),
            choice("direction", &["up", "down"], "up: plumb sends; down: plumb receives"),
            bytes("bytes", 1 << 20, "bytes of one iteration"),
        ];
        all.extend(parameters());
        all.extend(path::parameters());
        Description {
            roles: vec![Role::Workload, Role::Server, Role::Load],
            parameters: all,
            metrics: [rate("throughput", "B/s", "payload bytes per second, without TLS framing")]
                .into_iter()
                .chain(cpu_time::metrics("iteration"))
                .collect(),
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            fixture_kind: Some(path::KIND.to_owned()),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("tls.bulk", "sends or receives data through TLS")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("bulk.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        path::prepare(start)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let mut block = vec![0; BLOCK];
        SplitMix64::new(start.seed).fill(&mut block);
        start_server(start, 1, |name, identity| {
            rustls_server(start, name, identity, false, move |stream| serve(stream, &block))
        })
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        path::enter(start, End::Near)?;
        let mut notes = path::notes(start)?;
        let stream = connect(start)?;
        if let Some(suite) = stream.conn.negotiated_cipher_suite() {
            notes.extend(suite.suite().as_str().map(str::to_owned));
        }
        notes.push("both ends: rustls with ring".to_owned());
        let mut cpus = CpuTimes::of(start);
        notes.extend(cpus.note());
        let lacking = &cpu_time::NAMES[..cpus.lacking()];
        let without = lacking.iter().map(|name| (*name).to_owned()).collect();
        let size = start.integer("bytes");
        let mut block = vec![0; BLOCK];
        SplitMix64::new(start.seed).fill(&mut block);
        let mut instance = Transfers {
            stream,
            block,
            size,
            shortest_ns: SHORTEST_SAMPLE_NS,
            sends: start.text("direction") != "down",
            cpus,
            start: start.clone(),
            helpers: token::helpers(start),
        };
        instance.shortest_ns = shortest_sample_ns(SHORTEST_SAMPLE_NS, instance.round_trip_ns()?);
        let ready =
            Ready { work: work(&[("throughput", size)]), notes, without, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// A connection to plumb's server, after its handshake.
fn connect(start: &Start) -> Result<StreamOwned<ClientConnection, TcpStream>, StartError> {
    let (address, _) = token::told(start)?;
    let address = at_far_end(start, address);
    let certificate = start
        .endpoints
        .get("certificate")
        .and_then(|text| from_hex(text))
        .ok_or_else(|| StartError::Failed("the server reported no certificate".to_owned()))?;
    let certificate = CertificateDer::from(certificate);
    let name = start
        .endpoints
        .get("name")
        .and_then(|name| ServerName::try_from(name.clone()).ok())
        .ok_or_else(|| StartError::Failed("the server reported no name".to_owned()))?;
    let settings = TlsSettings::of(start)?.client(Trust::Certificate(certificate))?;
    let failed = |error: io::Error| Failure::io(format!("a connection to {address}"), &error);
    let socket = TcpStream::connect_timeout(&address, SILENCE_TIMEOUT).map_err(failed)?;
    socket.set_nodelay(true).map_err(failed)?;
    socket.set_read_timeout(Some(SILENCE_TIMEOUT)).map_err(failed)?;
    socket.set_write_timeout(Some(SILENCE_TIMEOUT)).map_err(failed)?;
    let connection = ClientConnection::new(Arc::new(settings), name)
        .map_err(|error| Failure(format!("TLS: {error}")))?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(failed)?;
    }
    Ok(stream)
}

/// Follows the orders of a client: takes in bytes and confirms them, or sends bytes.
///
/// # Errors
/// If the client is gone.
fn serve(stream: &mut TlsStream, block: &[u8]) -> io::Result<()> {
    stream.sock.set_read_timeout(None)?;
    let mut room = vec![0; block.len()];
    let mut order = [0; ORDER];
    loop {
        stream.read_exact(&mut order)?;
        let [direction, count @ ..] = order;
        let count = u64::from_le_bytes(count);
        if direction == b'u' {
            receive(stream, count, &mut room)?;
            stream.write_all(&[1])?;
        } else {
            send(stream, count, block)?;
        }
        stream.flush()?;
    }
}

fn send(stream: &mut impl Write, count: u64, block: &[u8]) -> io::Result<()> {
    let mut left = count;
    while left > 0 {
        let some = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        stream.write_all(&block[..some])?;
        left -= some as u64;
    }
    Ok(())
}

fn receive(stream: &mut impl Read, count: u64, room: &mut [u8]) -> io::Result<()> {
    let mut left = count;
    while left > 0 {
        let some = usize::try_from(left).map_or(room.len(), |left| left.min(room.len()));
        let came = stream.read(&mut room[..some])?;
        if came == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= came as u64;
    }
    Ok(())
}

/// Transfers over one connection.
struct Transfers {
    stream: StreamOwned<ClientConnection, TcpStream>,
    /// The shortest sample, in nanoseconds.
    shortest_ns: u64,
    block: Vec<u8>,
    size: u64,
    sends: bool,
    cpus: CpuTimes,
    start: Start,
    helpers: Vec<u32>,
}

impl Transfers {
    /// The shortest time of a transfer of one byte, before anything is timed.
    fn round_trip_ns(&mut self) -> Result<u64, Failure> {
        let mut shortest_ns = u64::MAX;
        for _ in 0..TRIALS {
            let begun = now_ns();
            self.transfer(1).map_err(|error| Failure::io("a transfer through TLS", &error))?;
            shortest_ns = shortest_ns.min(now_ns() - begun);
        }
        Ok(shortest_ns)
    }

    fn transfer(&mut self, count: u64) -> io::Result<()> {
        let mut order = [0; ORDER];
        order[0] = if self.sends { b'u' } else { b'd' };
        order[1..].copy_from_slice(&count.to_le_bytes());
        self.stream.write_all(&order)?;
        if self.sends {
            send(&mut self.stream, count, &self.block)?;
            self.stream.flush()?;
            // The server confirms the last byte, so a sample ends when all have arrived.
            receive(&mut self.stream, 1, &mut [0])
        } else {
            self.stream.flush()?;
            receive(&mut self.stream, count, &mut self.block)
        }
    }
}

impl Instance for Transfers {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.transfer(iterations * self.size)
            .map_err(|error| Failure::io("a transfer through TLS", &error))
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let carried = path::carried(&self.start)?;
        self.cpus.begin()?;
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            batch.record(start, now_ns() - start, k, current_cpu());
        }
        let cpus = self.cpus.of_each(iterations.iter().sum())?;
        for _ in iterations {
            batch.record_values(&cpus[self.cpus.lacking()..]);
        }
        path::flag_limit(&self.start, carried, batch)
    }

    fn has_untimed_parts(&self) -> bool {
        self.cpus.asks()
    }

    fn value_names(&self) -> &'static [&'static str] {
        &cpu_time::NAMES[self.cpus.lacking()..]
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.shortest_ns
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}
