//! `block.remote`: requests to a remote disk, with so many under way.

use plumb_model::{AuditClass, CurveKind, Description, Ready};
use plumb_protocol::{
    Batch, Distribution, Failure, Instance, SplitMix64, Start, StartError, StartedWorkload,
    Workload, current_cpu, now_ns,
};
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, between, bytes, choice, curve, distribution, integer, rate, text, work,
    workload,
};
use plumb_workload_kit::filesystem::less_size;

use crate::address::Address;
use crate::client::NbdClient;
use crate::nbd::RequestKind;
use crate::report::{all_of_link, lacking, link_metrics, link_terms, of_link, of_link_names};
use crate::server::{NbdServer, RequestCounts};
use crate::settings::{self, Access, DEEPEST, Link, TunnelKind, check_memory};

/// Upper limit of the size of a request, in bytes.
const LARGEST: usize = 1 << 20;
/// Blocks are whole sectors.
const SECTOR: usize = 512;
/// A sample has so many requests for each that may be under way.
const WINDOWS: u64 = 4;

/// Asks a remote disk for blocks.
pub struct Remote;

impl Workload for Remote {
    fn describe(&self) -> Description {
        let own = vec![
            choice("operation", &["read", "write", "flush", "trim"], "type of request"),
            choice("pattern", &["random", "sequential"], "order of the blocks"),
            curve(
                CurveKind::Line,
                between(SECTOR, LARGEST, bytes("block", 4096, "size of one request")),
            ),
            curve(
                CurveKind::Knee,
                between(1, DEEPEST, integer("depth", "requests", 1, "outstanding requests")),
            ),
            between(LARGEST, 1 << 40, bytes("size", 64 << 20, "size of plumb's in-memory disk")),
            text("address", "own", "another server, read-only: nbd://HOST:PORT/NAME"),
        ];
        let mut metrics = vec![
            rate("rate", "ops/s", "requests answered per second"),
            rate("throughput", "B/s", "bytes read or written per second, without headers"),
            distribution(
                "latency",
                "time of each request, from just before it is sent until its reply arrives",
            ),
        ];
        metrics.extend(link_metrics());
        Description {
            parameters: [own, settings::parameters()].concat(),
            metrics,
            audit_class: Some(AuditClass::Scheduler),
            link: Some(link_terms(&[])),
            timeout_s: Some(LONG_TIMEOUT_S),
            ..workload("block.remote", "reads or writes a remote disk behind a slow link (NBD)")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("remote.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let block = start.size("block");
        let depth = start.size("depth");
        if !block.is_multiple_of(SECTOR) {
            let why = format!("`block` is {block}; it must be a multiple of {SECTOR}");
            return Err(StartError::Failed(why));
        }
        let kind = match start.text("operation") {
            "write" => RequestKind::Write,
            "flush" => RequestKind::Flush,
            "trim" => RequestKind::Trim,
            _ => RequestKind::Read,
        };
        let mut ready = Ready::default();
        let link = Link::read(start, &mut ready)?;
        let tunnel = TunnelKind::read(start);
        let (server, address) = server_of(start, link, tunnel, kind)?;
        let client = NbdClient::connect(&address, depth, block)?;
        if kind == RequestKind::Flush && !client.takes_flushes() {
            return Err(StartError::unsupported(
                "this server does not support flush",
                "operation=read",
            ));
        }
        let blocks = client.size() / block as u64;
        if blocks == 0 {
            let why = format!("the disk ({} bytes) is smaller than one block", client.size());
            return Err(StartError::unsupported(why, "set a smaller block"));
        }
        let moves_data = matches!(kind, RequestKind::Read | RequestKind::Write);
        ready.work = work(&[("rate", 1), ("throughput", block as u64)]);
        if !moves_data {
            ready.without.push("throughput".into());
        }
        if server.is_none() {
            ready.without.extend(all_of_link().map(str::to_owned));
            ready
                .notes
                .push(format!("the server at {}, over its real link", start.text("address")));
        } else {
            ready.without.push(lacking(tunnel).into());
        }
        let is_random = start.text("pattern") == "random";
        let mut requests = RemoteRequests {
            client,
            server,
            kind,
            block,
            blocks,
            depth,
            is_random,
            random: SplitMix64::new(start.seed),
            next: 0,
            last_written: None,
            before: RequestCounts::default(),
            latency: [Distribution::of("latency")],
            values: [0.0; 8],
            tunnel,
        };
        requests.random.fill(requests.client.payload());
        Ok(StartedWorkload { instance: Box::new(requests), ready })
    }
}

/// A server of our own, filled with stamps, or the address of another.
fn server_of(
    start: &Start,
    link: Link,
    tunnel: TunnelKind,
    kind: RequestKind,
) -> Result<(Option<NbdServer>, Address), StartError> {
    let named = start.text("address");
    if named != "own" {
        if matches!(kind, RequestKind::Write | RequestKind::Trim) {
            let why = "writing would destroy data on another server's disk";
            return Err(StartError::unsupported(why, "set operation=read, or leave out `address`"));
        }
        if link != Link::NONE || tunnel != TunnelKind::None || start.integer("scale") > 1 {
            let why = "`up`, `down`, `rtt`, `jitter`, `burst`, `scale` and `tunnel` apply only to plumb's own server; leave them out with `address`";
            return Err(StartError::Failed(why.into()));
        }
        return Ok((None, Address::parse(named)?));
    }
    let size = start.size("size");
    check_memory(start, size as u64, &less_size)?;
    let access = Access { link, tunnel, depth: 0, takes_discards: true, seed: start.seed };
    let server = NbdServer::start(start, size, access)?;
    server.fill(|disk| {
        for (number, sector) in disk.chunks_exact_mut(SECTOR).enumerate() {
            let stamp = (number * SECTOR) as u64;
            sector[..8].copy_from_slice(&stamp.to_le_bytes());
        }
    });
    let address = Address::of_server(&server);
    Ok((Some(server), address))
}

struct RemoteRequests {
    client: NbdClient,
    server: Option<NbdServer>,
    kind: RequestKind,
    block: usize,
    blocks: u64,
    depth: usize,
    is_random: bool,
    random: SplitMix64,
    next: u64,
    last_written: Option<u64>,
    /// The server's counts before the sample.
    before: RequestCounts,
    latency: [Distribution; 1],
    values: [f64; 8],
    tunnel: TunnelKind,
}

impl RemoteRequests {
    fn send(&mut self) -> Result<(), Failure> {
        let place = if self.is_random { self.random.below(self.blocks) } else { self.next };
        self.next = (self.next + 1) % self.blocks;
        let offset = place * self.block as u64;
        let (offset, length) = match self.kind {
            RequestKind::Flush => (0, 0),
            _ => (offset, self.block),
        };
        if self.kind == RequestKind::Write {
            self.client.payload()[..8].copy_from_slice(&offset.to_le_bytes());
            self.last_written = Some(offset);
        }
        self.client.send(self.kind, offset, length)
    }

    /// Waits for an answer, and looks at it; what it took, in nanoseconds.
    fn receive(&mut self) -> Result<u64, Failure> {
        let answered = self.client.receive()?;
        let offset = answered.request.offset;
        if self.kind == RequestKind::Read && self.server.is_some() {
            self.check_stamp(offset)?;
        }
        Ok(answered.took_ns)
    }

    fn check_stamp(&self, offset: u64) -> Result<(), Failure> {
        let is_there = self.client.data()[..8] == offset.to_le_bytes();
        is_there.then_some(()).ok_or_else(|| other_bytes(offset))
    }

    /// As many under way as may be, and steady: the first answers do not count.
    fn fill(&mut self) -> Result<(), Failure> {
        while self.client.has_room() {
            self.send()?;
        }
        for _ in 0..self.depth {
            self.receive()?;
            self.send()?;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Failure> {
        while self.client.under_way() > 0 {
            self.receive()?;
        }
        Ok(())
    }

    fn counts(&self) -> RequestCounts {
        self.server.as_ref().map(NbdServer::counts).unwrap_or_default()
    }
}

fn other_bytes(offset: u64) -> Failure {
    Failure(format!("unexpected bytes in the block at {offset} of the remote disk"))
}

impl Instance for RemoteRequests {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            let took = self.receive()?;
            self.latency[0].record(took);
            self.send()?;
        }
        Ok(())
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.fill()?;
        self.before = self.counts();
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            let elapsed = now_ns() - start;
            let counts = self.counts();
            self.values = of_link(&counts.since(&self.before), elapsed, k);
            self.before = counts;
            batch.record(start, elapsed, k, current_cpu());
            batch.record_reported(|row| row.copy_from_slice(&self.values));
            self.latency[0].end_sample();
        }
        self.drain()
    }

    /// What was written last is what lies there.
    fn verify(&mut self) -> Result<(), Failure> {
        let Some(offset) = self.last_written else { return Ok(()) };
        self.client.send(RequestKind::Read, offset, self.block)?;
        self.client.receive()?;
        let is_there = self.client.data() == self.client.sent();
        is_there.then_some(()).ok_or_else(|| other_bytes(offset))
    }

    fn value_names(&self) -> &'static [&'static str] {
        if self.server.is_some() { of_link_names(self.tunnel) } else { &[] }
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latency
    }

    /// The queue is filled before a batch and emptied after it.
    fn has_untimed_parts(&self) -> bool {
        true
    }

    fn helpers(&self) -> &[u32] {
        self.server.as_ref().map_or(&[], NbdServer::helpers)
    }

    fn least_iterations(&self) -> u64 {
        WINDOWS * self.depth as u64
    }
}
