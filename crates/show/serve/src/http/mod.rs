//! The pages of a store over HTTP/1.1, read-only and for few readers.
//!
//! A thread a connection, and no more connections than [`Limits`] says: what is served is one person's
//! reports, and a thread that waits for a slow reader costs nothing to anybody else. Every wait has an end:
//! for the head of a request, between requests, for the reader to take an answer. Nothing is read from a
//! folder, so that no path leads anywhere: names are looked up, and what is not known is not there.

mod api;
mod connection;
mod guard;
mod request;
mod response;
mod route;

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use crate::follow::Watches;
use crate::page_cache::PageCache;

pub use guard::Token;

/// How much is taken on.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once on which a run is followed.
    pub followers: usize,
    /// Bytes of the head of a request.
    pub head_bytes: usize,
    /// Bytes of its address.
    pub target_bytes: usize,
    /// Time for the head of a request to come in.
    pub head_time: Duration,
    /// Time between two requests of a connection.
    pub idle_time: Duration,
    /// Time for a reader to take an answer.
    pub answer_time: Duration,
    /// Time for who follows a run to take a message.
    pub message_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            followers: 16,
            head_bytes: 16 << 10,
            target_bytes: 4 << 10,
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(20),
            answer_time: Duration::from_secs(30),
            message_time: Duration::from_secs(5),
        }
    }
}

/// What is served, to whom.
#[derive(Debug)]
pub struct Settings {
    /// The store.
    pub store: PathBuf,
    /// What readers must know; None where only this machine can connect.
    pub token: Option<Token>,
    /// How much is taken on.
    pub limits: Limits,
    /// Whether it stays when a run is over. Then all runs are read at the start, at the lowest priority, so
    /// that pages about many of them need not.
    pub stays: bool,
}

/// A server that answers until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    wake: UnixStream,
    acceptor: Option<JoinHandle<()>>,
}

/// What all connections know.
#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    token: Option<Token>,
    limits: Limits,
    page_cache: PageCache,
    watches: Arc<Watches>,
    followers: AtomicUsize,
    stays: bool,
    stops: AtomicBool,
    open: Mutex<Open>,
    closed: Condvar,
}

/// The connections that are open, so that they can be closed.
#[derive(Debug, Default)]
struct Open {
    next: u64,
    streams: HashMap<u64, TcpStream>,
}

impl Server {
    /// Answers on this listener.
    ///
    /// # Errors
    /// When the system gives no thread or no socket.
    pub fn start(listener: TcpListener, settings: Settings) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (wake, woken) = UnixStream::pair()?;
        let shared = Arc::new(Shared {
            address,
            token: settings.token,
            limits: settings.limits,
            watches: Arc::new(Watches::of(settings.store.clone())),
            page_cache: PageCache::of(settings.store),
            followers: AtomicUsize::new(0),
            stays: settings.stays,
            stops: AtomicBool::new(false),
            open: Mutex::default(),
            closed: Condvar::new(),
        });
        let with = Arc::clone(&shared);
        let named = thread::Builder::new().name("serve".into());
        let acceptor = Some(named.spawn(move || accept(&listener, &woken, &with))?);
        if settings.stays {
            let shared = Arc::clone(&shared);
            // Without it pages are the same, and slower the first time.
            let _ = thread::Builder::new().name("warm".into()).spawn(move || warm(&shared));
        }
        Ok(Self { address, shared, wake, acceptor })
    }

    /// The address of a page, with the token where one is needed.
    #[must_use]
    pub fn url(&self, page: &str) -> String {
        let token = self.shared.token.as_ref();
        let token = token.map_or_else(String::new, |token| format!("?token={}", token.text()));
        format!("http://{}/{page}{token}", self.address)
    }

    /// Tells who follows a run at once that it is over, and waits so long until they have heard.
    pub fn finish(&self, patience: Duration) {
        self.shared.watches.hurry();
        let until = Instant::now() + patience;
        let mut open = self.shared.open();
        while self.shared.followers.load(Ordering::Relaxed) > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.closed.wait_timeout(open, left);
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        // At its end the acceptor wakes.
        let _ = self.wake.shutdown(Shutdown::Both);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        self.shared.watches.stop();
        for stream in self.shared.open().streams.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// A place for a connection; None when all are taken.
    fn enter(self: &Arc<Self>, stream: &TcpStream) -> Option<Place> {
        let mut open = self.open();
        if open.streams.len() >= self.limits.connections || self.stops() {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.streams.insert(number, stream.try_clone().ok()?);
        Some(Place { shared: Arc::clone(self), number })
    }

    /// A place among those who follow a run; None when all are taken.
    fn follow(self: &Arc<Self>) -> Option<Follower> {
        let most = self.limits.followers;
        let more = |count| (count < most).then_some(count + 1);
        let entered = self.followers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        entered.ok().map(|_| Follower { shared: Arc::clone(self) })
    }
}

/// A place among the connections; free again when dropped.
struct Place {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.open().streams.remove(&self.number);
    }
}

/// A place among those who follow a run; free again when dropped.
struct Follower {
    shared: Arc<Shared>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _open = self.shared.open();
        self.shared.followers.fetch_sub(1, Ordering::Relaxed);
        self.shared.closed.notify_all();
    }
}

/// Reads all runs. What goes wrong is told to who asks for a page.
fn warm(shared: &Shared) {
    // Of this thread alone: Linux has a nice value a thread.
    let _ = rustix::process::nice(19);
    let _ = shared.page_cache.warm(&|| shared.stops());
}

/// Takes connections until the server stops.
fn accept(listener: &TcpListener, woken: &UnixStream, shared: &Arc<Shared>) {
    loop {
        let mut waits = [PollFd::new(listener, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
        // An error is a signal: look again.
        let _ = poll(&mut waits, None);
        if shared.stops() {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => begin(stream, shared),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Out of descriptors or memory: nobody is served sooner by trying at once again.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Gives a connection its thread, or turns it away.
fn begin(stream: TcpStream, shared: &Arc<Shared>) {
    let Some(place) = shared.enter(&stream) else {
        connection::turn_away(&stream);
        return;
    };
    let shared = Arc::clone(shared);
    let serve = move || {
        connection::serve(stream, &shared);
        drop(place);
    };
    // Without a thread the connection closes.
    let _ = thread::Builder::new().name("reader".into()).spawn(serve);
}

#[cfg(test)]
mod tests;
