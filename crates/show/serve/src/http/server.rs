//! The server: a thread that serves all connections, and threads that read the store for them.
//!
//! What is served is one person's reports. hyper speaks HTTP on one thread, and no more connections than
//! [`HttpLimits`] says are open at once; what blocks, which is the store, is left to other threads. Every wait
//! has an end: for the head of a request, for the reader to take an answer. Nothing is read from a folder,
//! so that no path leads anywhere: names are looked up, and what is not known is not there.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_model::Id;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use super::connection;
use super::guard::ReaderToken;
use super::limits::HttpLimits;
use super::shared::Shared;
use crate::follow::{FollowedRuns, MOST_RUNS};
use crate::page_cache::PageCache;

/// After the system had no descriptor or memory for a connection: nobody is served sooner by trying at once.
const AFTER_TROUBLE: Duration = Duration::from_millis(100);

/// From the start until runs are read that nobody asked for: the page that a browser asks for at once comes first,
/// because two busy threads slow each other down, whatever their priority.
const BEFORE_WARMING: Duration = Duration::from_secs(1);

/// What is served, to whom.
#[derive(Debug)]
pub struct ServeSettings {
    /// Path of the store.
    pub store: PathBuf,
    /// What readers must know; None if only this machine can connect.
    pub token: Option<ReaderToken>,
    /// How much is taken on.
    pub limits: HttpLimits,
    /// Whether it stays when a run is over. Then the series of all runs are derived soon after the start, at the lowest
    /// priority, so that no page has to read samples for them.
    pub stays: bool,
}

/// A server that answers until it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    pub(super) address: SocketAddr,
    pub(super) shared: Arc<Shared>,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Answers on this listener.
    ///
    /// # Errors
    /// When the system gives no thread or no socket.
    pub fn start(listener: TcpListener, settings: ServeSettings) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let limits = settings.limits;
        let shared = Arc::new(Shared {
            address,
            token: settings.token,
            followed: Arc::new(FollowedRuns::of(settings.store.clone())),
            page_cache: PageCache::of(settings.store),
            stays: settings.stays,
            stops: AtomicBool::new(false),
            connections: Arc::new(Semaphore::new(limits.connections)),
            followers: Arc::new(Semaphore::new(limits.followers)),
            limits,
        });
        let runtime = runtime(&shared.limits)?;
        let handle = runtime.handle().clone();
        // tokio takes over a listener as it is: a blocking one would stop the only thread that serves.
        listener.set_nonblocking(true)?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        runtime.spawn(accept(listener, Arc::clone(&shared)));
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("serve".into()).spawn(move || {
            // Dropping the sender stops it, too.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        })?;
        if shared.stays {
            let shared = Arc::clone(&shared);
            // Without it pages are the same, and slower the first time.
            let _ = thread::Builder::new().name("warm".into()).spawn(move || warm(&shared));
        }
        Ok(Self { address, shared, runtime: handle, stop: Some(stop), thread: Some(thread) })
    }

    /// The address of a page, with the token if one is needed.
    #[must_use]
    pub fn url(&self, page: &str) -> String {
        let token = match &self.shared.token {
            Some(token) => format!("?token={}", token.text()),
            None => String::new(),
        };
        format!("http://{}/{page}{token}", self.address)
    }

    /// The program of a point of a run says that it is doing something; None: no more. Who follows the run hears of it
    /// with the next message.
    pub fn doing(&self, run: Id, activity: Option<(usize, String)>) {
        self.shared.followed.doing(run, activity);
    }

    /// Tells who follows a run at once that it is over, and waits so long until they have heard.
    pub fn finish(&self, patience: Duration) {
        self.shared.followed.hurry();
        let all = u32::try_from(self.shared.limits.followers).unwrap_or(u32::MAX);
        let heard = async { timeout(patience, self.shared.followers.acquire_many(all)).await };
        // Who has not heard by then does not keep plumb waiting.
        let _ = self.runtime.block_on(heard);
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // The warming thread is not waited for: it ends after the run that it reads.
        self.shared.stops.store(true, Ordering::Relaxed);
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One thread that serves, and as many that read the store as there may be requests at once: fewer of them
/// would have scripts wait behind pages. They are started when they are needed; no more than two read.
fn runtime(limits: &HttpLimits) -> io::Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_io().enable_time();
    builder.thread_name("reader").max_blocking_threads(limits.connections + MOST_RUNS).build()
}

/// Reads all runs. What goes wrong is told to who asks for a page.
fn warm(shared: &Shared) {
    // Of this thread alone: Linux has a nice value a thread.
    let _ = rustix::process::nice(19);
    thread::sleep(BEFORE_WARMING);
    let _ = shared.page_cache.warm(&|| shared.stops.load(Ordering::Relaxed));
}

/// Takes connections until the runtime ends.
async fn accept(listener: tokio::net::TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(AFTER_TROUBLE).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&shared.connections).try_acquire_owned() else {
            connection::turn_away(stream);
            continue;
        };
        // An answer is written whole; there is nothing to wait for.
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        let served = connection::serve(stream, Arc::clone(&shared));
        tokio::spawn(async move {
            served.await;
            drop(permit);
        });
    }
}
