//! A disk in memory behind a link: one client at a time, on a Unix socket, or through an ssh tunnel to it.
//!
//! A thread reads requests as they come; another answers them in their order. Both ends of the link are computed when a
//! request is answered: when it would have been sent with so many under way at most, when it would have arrived here, and
//! when its reply arrives there; the thread sleeps until then. Nothing is late because something before it was: only the
//! last wake-up shows. Through a tunnel, the link is between the two ends of ssh, and nothing is computed here.

use std::io::{self, BufReader, Read, Write};
use std::num::NonZeroU64;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_protocol::{Failure, Start, StartError, now_ns};
use plumb_workload_kit::link::OneWayLink;
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

use crate::nbd::{
    INVALID, LONGEST, NbdRequest, READ_BUFFER, REPLY_BYTES, REQUEST_BYTES, RequestKind, reply,
    welcome,
};
use crate::queue::{Message, MessageQueue};
use crate::settings::{Access, TunnelKind, fresh_path, packets};
use crate::tunnel::Tunnel;

/// What the server counted since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestCounts {
    /// Requests by their kind, as [`RequestKind::ALL`] has them.
    pub requests: [u64; 6],
    /// Bytes that came, heads included.
    pub up: u64,
    /// Bytes that went.
    pub down: u64,
    /// Packets that came.
    pub up_packets: u64,
    /// Those that went.
    pub down_packets: u64,
    /// For how long each direction of the link was sending, in nanoseconds.
    pub up_busy_ns: u64,
    /// The other direction.
    pub down_busy_ns: u64,
    /// The sum of the times from a request's leaving the client to its reply's arrival there, in nanoseconds.
    pub under_way_ns: u64,
    /// CPU time of the server, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of both ends of ssh, in nanoseconds.
    pub ssh_cpu_ns: u64,
}

impl RequestCounts {
    /// The counts since then.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            requests: std::array::from_fn(|at| self.requests[at] - before.requests[at]),
            up: self.up - before.up,
            down: self.down - before.down,
            up_packets: self.up_packets - before.up_packets,
            down_packets: self.down_packets - before.down_packets,
            up_busy_ns: self.up_busy_ns - before.up_busy_ns,
            down_busy_ns: self.down_busy_ns - before.down_busy_ns,
            under_way_ns: self.under_way_ns - before.under_way_ns,
            cpu_ns: self.cpu_ns - before.cpu_ns,
            ssh_cpu_ns: self.ssh_cpu_ns - before.ssh_cpu_ns,
        }
    }

    /// Requests of this kind.
    pub fn of(&self, kind: RequestKind) -> u64 {
        self.requests[kind.index()]
    }
}

struct ServerState {
    access: Access,
    ended: AtomicBool,
    /// Whether the link is there; without it requests are answered at once.
    linked: AtomicBool,
    counts: Mutex<RequestCounts>,
    /// CPU time of the thread that reads.
    reader_cpu_ns: AtomicU64,
    client: Mutex<Option<UnixStream>>,
    disk: Mutex<Box<[u8]>>,
}

/// A disk in memory that is served; dropping it ends that.
pub struct NbdServer {
    path: PathBuf,
    tunnel: Option<Tunnel>,
    shared: Arc<ServerState>,
    serving: Option<JoinHandle<()>>,
}

impl NbdServer {
    /// Serves a disk of so many zeroes.
    ///
    /// # Errors
    /// When the socket can't be made; unsupported if it is to be reached through ssh, and there is none.
    pub fn start(start: &Start, size: usize, access: Access) -> Result<Self, StartError> {
        let path = fresh_path(start, "nbd");
        let mut server = Self::listen(&path, size, access)
            .map_err(|error| Failure::io(format!("creating socket {}", path.display()), &error))?;
        if let TunnelKind::Ssh { is_compressed } = access.tunnel {
            server.link(false);
            server.tunnel = Some(Tunnel::start(start, &path, access, is_compressed)?);
            server.link(true);
        }
        Ok(server)
    }

    fn listen(path: &Path, size: usize, access: Access) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let shared = Arc::new(ServerState {
            access,
            ended: AtomicBool::new(false),
            linked: AtomicBool::new(true),
            counts: Mutex::default(),
            reader_cpu_ns: AtomicU64::new(0),
            client: Mutex::new(None),
            // Zeroes that nobody has touched take no memory.
            disk: Mutex::new(vec![0; size].into_boxed_slice()),
        });
        let theirs = Arc::clone(&shared);
        let serving = thread::Builder::new().spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if theirs.ended.load(Ordering::Acquire) {
                    return;
                }
                // Who leaves in the middle shows at the client.
                let _ = theirs.serve(client);
                theirs.end_client();
            }
        })?;
        Ok(Self { path: path.to_owned(), tunnel: None, shared, serving: Some(serving) })
    }

    /// Where clients connect.
    pub fn socket(&self) -> &Path {
        self.tunnel.as_ref().map_or(&self.path, Tunnel::socket)
    }

    /// Processes that work for it.
    pub fn helpers(&self) -> &[u32] {
        self.tunnel.as_ref().map_or(&[], Tunnel::ends)
    }

    /// Puts the link there, or takes it away: for what is not measured.
    pub fn link(&self, there: bool) {
        match &self.tunnel {
            Some(tunnel) => tunnel.link(there),
            None => self.shared.linked.store(there, Ordering::Release),
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> RequestCounts {
        let counts = *lock(&self.shared.counts);
        let cpu_ns = counts.cpu_ns + self.shared.reader_cpu_ns.load(Ordering::Acquire);
        let counts = RequestCounts { cpu_ns, ..counts };
        let Some(tunnel) = &self.tunnel else { return counts };
        let [up, down] = tunnel.carried();
        RequestCounts {
            up: up.bytes,
            down: down.bytes,
            up_packets: up.packets,
            down_packets: down.packets,
            up_busy_ns: up.busy_ns,
            down_busy_ns: down.busy_ns,
            ssh_cpu_ns: tunnel.cpu_ns(),
            ..counts
        }
    }

    /// Looks at what is on the disk, or changes it; waits while a client is there.
    pub fn fill<T>(&self, change: impl FnOnce(&mut [u8]) -> T) -> T {
        change(&mut lock(&self.shared.disk))
    }
}

impl Drop for NbdServer {
    fn drop(&mut self) {
        self.tunnel = None;
        self.shared.ended.store(true, Ordering::Release);
        self.shared.end_client();
        // Wakes who waits for a client.
        UnixStream::connect(&self.path).ok();
        if let Some(serving) = self.serving.take() {
            serving.join().ok();
        }
        std::fs::remove_file(&self.path).ok();
    }
}

impl ServerState {
    fn end_client(&self) {
        if let Some(client) = lock(&self.client).take() {
            client.shutdown(std::net::Shutdown::Both).ok();
        }
    }

    fn serve(&self, mut client: UnixStream) -> io::Result<()> {
        *lock(&self.client) = Some(client.try_clone()?);
        // Who ends the server has looked for a client before or after this.
        if self.ended.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut disk = lock(&self.disk);
        if !welcome(&mut client, disk.len() as u64, self.access.takes_discards)? {
            return Ok(());
        }
        let queue = MessageQueue::default();
        let from = client.try_clone()?;
        // Two threads: while one holds a reply back for its time on the link, requests go on arriving.
        thread::scope(|scope| {
            thread::Builder::new().spawn_scoped(scope, || {
                let before = self.reader_cpu_ns.load(Ordering::Acquire);
                let _ = self.read(from, &queue, before);
                queue.end();
            })?;
            let answered = Answers::new(self).all(&queue, &mut disk, &mut client);
            // The other thread waits for requests of a client that is gone.
            client.shutdown(std::net::Shutdown::Both).ok();
            answered
        })
    }

    /// Reads requests until the client leaves.
    fn read(
        &self,
        from: UnixStream,
        queue: &MessageQueue<NbdRequest>,
        cpu_before: u64,
    ) -> io::Result<()> {
        let mut from = BufReader::with_capacity(READ_BUFFER, from);
        loop {
            let request = NbdRequest::read(&mut from)?;
            let data = request.payload().max(request.answer());
            if request.kind == RequestKind::Disconnect || data > LONGEST as usize {
                return Ok(());
            }
            let mut data = queue.room(request.payload());
            from.read_exact(&mut data)?;
            queue.add(Message { head: request, data, at_ns: now_ns() });
            self.reader_cpu_ns.store(cpu_before + thread_cpu_ns(), Ordering::Release);
        }
    }
}

/// Answers the requests of a client.
struct Answers<'s> {
    shared: &'s ServerState,
    up: OneWayLink,
    down: OneWayLink,
    /// When the replies to the last requests arrived, as many as may be under way, and the oldest.
    arrivals: Vec<u64>,
    oldest: usize,
    /// The counts before this client.
    before: RequestCounts,
}

impl<'s> Answers<'s> {
    fn new(shared: &'s ServerState) -> Self {
        let Access { link, depth, seed, .. } = shared.access;
        Self {
            shared,
            up: OneWayLink::new(link.up, seed),
            down: OneWayLink::new(link.down, seed.wrapping_add(1)),
            arrivals: vec![0; depth],
            oldest: 0,
            before: *lock(&shared.counts),
        }
    }

    fn all(
        &mut self,
        queue: &MessageQueue<NbdRequest>,
        disk: &mut [u8],
        client: &mut UnixStream,
    ) -> io::Result<()> {
        // The kernel may otherwise wake it 50 µs late, to wake others with it.
        set_current_timer_slack(NonZeroU64::new(1)).ok();
        let mut out = Vec::with_capacity(READ_BUFFER);
        while let Some(job) = queue.take() {
            let (sent, arrives) = self.times(&job);
            let wait = arrives.saturating_sub(now_ns());
            if wait > 0 {
                thread::sleep(Duration::from_nanos(wait));
            }
            out.clear();
            out.extend_from_slice(&reply(0, job.head.cookie));
            let error = perform(&job.head, &job.data, disk, &mut out);
            out[..REPLY_BYTES].copy_from_slice(&reply(error, job.head.cookie));
            // Counted before the client can know.
            self.count(&job.head, arrives.saturating_sub(sent), error);
            client.write_all(&out)?;
            queue.give_back(job.data);
        }
        Ok(())
    }

    /// When the request left the client, and when its reply arrives there.
    fn times(&mut self, job: &Message<NbdRequest>) -> (u64, u64) {
        if !self.shared.linked.load(Ordering::Acquire) {
            return (job.at_ns, job.at_ns);
        }
        let sent = match self.arrivals.get(self.oldest) {
            Some(oldest) => job.at_ns.max(*oldest),
            None => job.at_ns,
        };
        let there = self.up.arrival(sent, (REQUEST_BYTES + job.head.payload()) as u64);
        let back = self.down.arrival(there, (REPLY_BYTES + job.head.answer()) as u64);
        if let Some(oldest) = self.arrivals.get_mut(self.oldest) {
            *oldest = back;
            self.oldest = (self.oldest + 1) % self.arrivals.len();
        }
        (sent, back)
    }

    fn count(&mut self, request: &NbdRequest, under_way_ns: u64, error: u32) {
        let mut counts = lock(&self.shared.counts);
        counts.requests[request.kind.index()] += 1;
        let answer = if error == 0 { request.answer() } else { 0 };
        let up = REQUEST_BYTES + request.payload();
        let down = REPLY_BYTES + answer;
        counts.up += up as u64;
        counts.down += down as u64;
        counts.up_packets += packets(up);
        counts.down_packets += packets(down);
        counts.under_way_ns += under_way_ns;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times are positive and stay below 2^53 ns"
        )]
        {
            counts.up_busy_ns = self.before.up_busy_ns + self.up.busy_ns() as u64;
            counts.down_busy_ns = self.before.down_busy_ns + self.down.busy_ns() as u64;
        }
        // One thread answers all clients.
        counts.cpu_ns = thread_cpu_ns();
    }
}

/// Does what is asked; the data of the answer go to `out`. The error, 0 for none.
fn perform(request: &NbdRequest, data: &[u8], disk: &mut [u8], out: &mut Vec<u8>) -> u32 {
    let begin = usize::try_from(request.offset).unwrap_or(usize::MAX);
    let end = begin.saturating_add(request.length as usize);
    let Some(range) = disk.get_mut(begin..end) else { return INVALID };
    match request.kind {
        RequestKind::Read => out.extend_from_slice(range),
        RequestKind::Write => range.copy_from_slice(data),
        // The loop driver trims if the kernel wants zeroes.
        RequestKind::WriteZeroes | RequestKind::Trim => range.fill(0),
        RequestKind::Flush | RequestKind::Disconnect => {}
    }
    0
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
