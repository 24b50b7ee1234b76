//! Passes on what two ends of a TCP connection say to each other, as a link would.
//!
//! Each direction has a thread that reads and says when what it read is due, and one that waits until then and writes.
//! What is on its way is bounded by the windows of the ends.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_protocol::now_ns;
use plumb_workload_kit::link::{LinkSettings, OneWayLink};
use rustix::thread::set_current_timer_slack;

use crate::queue::{Message, MessageQueue};
use crate::settings::{Link, packets};

/// Bytes that are read at once, at most; of a narrow link what it carries in a millisecond, and never less than a packet.
const LONGEST: usize = 16 << 10;
const SHORTEST: usize = 1448;

/// The traffic of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RelayedBytes {
    /// Bytes that were passed on.
    pub bytes: u64,
    /// Packets that these bytes fill.
    pub packets: u64,
    /// For how long the link was sending, in nanoseconds.
    pub busy_ns: u64,
}

#[derive(Debug, Default)]
struct RelayState {
    /// Whether the link is there; without it all is passed on at once.
    linked: AtomicBool,
    ended: AtomicBool,
    carried: Mutex<[RelayedBytes; 2]>,
    sockets: Mutex<Vec<TcpStream>>,
}

/// Waits for one connection on its own port; dropping it ends that.
#[derive(Debug)]
pub struct NbdRelay {
    port: u16,
    shared: Arc<RelayState>,
    passing: Option<JoinHandle<()>>,
}

impl NbdRelay {
    /// In front of this port of 127.0.0.1; at first there is no link.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn start(to: u16, link: Link, seed: u64) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(RelayState::default());
        let theirs = Arc::clone(&shared);
        let passing = thread::Builder::new().spawn(move || {
            // Who leaves in the middle shows at the client.
            let _ = theirs.pass(&listener, to, link, seed);
        })?;
        Ok(Self { port, shared, passing: Some(passing) })
    }

    /// Its own port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Puts the link there, or takes it away.
    pub fn link(&self, there: bool) {
        self.shared.linked.store(there, Ordering::Release);
    }

    /// What it carried so far, up and down.
    pub fn carried(&self) -> [RelayedBytes; 2] {
        *lock(&self.shared.carried)
    }
}

impl Drop for NbdRelay {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.shared.end();
        // Wakes who waits for a connection.
        TcpStream::connect(("127.0.0.1", self.port)).ok();
        if let Some(passing) = self.passing.take() {
            passing.join().ok();
        }
    }
}

impl RelayState {
    fn end(&self) {
        for socket in lock(&self.sockets).drain(..) {
            socket.shutdown(Shutdown::Both).ok();
        }
    }

    fn pass(&self, listener: &TcpListener, to: u16, link: Link, seed: u64) -> io::Result<()> {
        let (client, _) = listener.accept()?;
        let server = TcpStream::connect(("127.0.0.1", to))?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        lock(&self.sockets).extend([client.try_clone()?, server.try_clone()?]);
        // Who ends the relay has looked for sockets before or after this.
        if self.ended.load(Ordering::Acquire) {
            self.end();
        }
        let queues: [MessageQueue<()>; 2] = Default::default();
        let ways = [(&client, &server, link.up), (&server, &client, link.down)];
        thread::scope(|scope| {
            for (number, (queue, (from, to, settings))) in queues.iter().zip(ways).enumerate() {
                let direction = OneWayLink::new(settings, seed.wrapping_add(number as u64));
                let reading = thread::Builder::new().spawn_scoped(scope, move || {
                    let _ = self.read(from, queue, direction, longest(settings), number);
                    queue.end();
                });
                let writing = thread::Builder::new().spawn_scoped(scope, move || {
                    let _ = write(to, queue);
                    // The other end learns that this one is gone.
                    from.shutdown(Shutdown::Both).ok();
                    to.shutdown(Shutdown::Both).ok();
                });
                if let Err(error) = reading.and(writing) {
                    // Threads that were started end with their sockets and queues.
                    queues.iter().for_each(MessageQueue::end);
                    client.shutdown(Shutdown::Both).ok();
                    server.shutdown(Shutdown::Both).ok();
                    return Err(error);
                }
            }
            Ok(())
        })
    }

    /// Reads until there is no more, and says when each piece is due.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times are positive and stay below 2^53 ns"
    )]
    fn read(
        &self,
        mut from: &TcpStream,
        queue: &MessageQueue<()>,
        mut direction: OneWayLink,
        longest: usize,
        number: usize,
    ) -> io::Result<()> {
        loop {
            let mut data = queue.room(longest);
            let bytes = from.read(&mut data)?;
            if bytes == 0 {
                return Ok(());
            }
            data.truncate(bytes);
            let mut at_ns = now_ns();
            if self.linked.load(Ordering::Acquire) {
                at_ns = direction.arrival(at_ns, bytes as u64);
            }
            let carried = &mut lock(&self.carried)[number];
            carried.bytes += bytes as u64;
            carried.packets += packets(bytes);
            carried.busy_ns = direction.busy_ns() as u64;
            queue.add(Message { head: (), data, at_ns });
        }
    }
}

fn longest(settings: LinkSettings) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bandwidths are positive, and more than LONGEST counts as LONGEST"
    )]
    let of_a_millisecond = settings.bandwidth.map_or(LONGEST, |rate| (rate / 1e3) as usize);
    of_a_millisecond.clamp(SHORTEST, LONGEST)
}

/// Writes each piece when it is due.
fn write(mut to: &TcpStream, queue: &MessageQueue<()>) -> io::Result<()> {
    // The kernel may otherwise wake it 50 µs late, to wake others with it.
    set_current_timer_slack(NonZeroU64::new(1)).ok();
    while let Some(Message { data, at_ns, .. }) = queue.take() {
        let wait = at_ns.saturating_sub(now_ns());
        if wait > 0 {
            thread::sleep(Duration::from_nanos(wait));
        }
        to.write_all(&data)?;
        queue.give_back(data);
    }
    Ok(())
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
