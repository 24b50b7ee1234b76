//! The far end of connections: listens, and serves each in its own thread.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_protocol::Held;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

/// The most connections at a time; who comes then is sent away.
const MOST: usize = 1024;
/// Whoever connects says who it is in this time.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);

/// What is done with a connection, until it ends. Reading ends after a while until the token was read: then that is for `serve` to
/// change.
type Serve = dyn Fn(&TcpStream) -> io::Result<()> + Send + Sync;

/// A server of connections, on its own port. Dropping it ends it and its connections.
pub struct TcpServer {
    address: SocketAddr,
    listener: Arc<TcpListener>,
    state: Arc<TcpServerState>,
    listening: Option<JoinHandle<()>>,
}

struct TcpServerState {
    serve: Box<Serve>,
    ended: AtomicBool,
    connections: Mutex<Vec<Arc<TcpStream>>>,
}

impl TcpServer {
    /// On a free port of this address.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn start(
        address: IpAddr,
        serve: impl Fn(&TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = Arc::new(TcpListener::bind((address, 0))?);
        let address = listener.local_addr()?;
        let state = Arc::new(TcpServerState {
            serve: Box::new(serve),
            ended: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let shared = (Arc::clone(&listener), Arc::clone(&state));
        let listening = thread::Builder::new().spawn(move || listen(&shared.0, &shared.1))?;
        Ok(Self { address, listener, state, listening: Some(listening) })
    }

    /// Has the sockets of connections that come from now on hold so many bytes each way.
    ///
    /// # Errors
    /// When the kernel can't do that.
    pub fn set_buffers(&self, bytes: usize) -> io::Result<()> {
        set_buffers(&*self.listener, bytes)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Has both buffers of a socket hold so many bytes; before it connects, as the receiver's window follows from them.
///
/// # Errors
/// When the kernel can't do that.
pub fn set_buffers(socket: impl AsFd, bytes: usize) -> io::Result<()> {
    set_socket_send_buffer_size(&socket, bytes)?;
    Ok(set_socket_recv_buffer_size(&socket, bytes)?)
}

fn listen(listener: &TcpListener, state: &Arc<TcpServerState>) {
    for connection in listener.incoming() {
        if state.ended.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = connection else {
            // Without room for another socket, those that are here have to end first.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        let set =
            stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(HELLO_TIMEOUT)));
        if set.is_err() || state.connections().len() >= MOST {
            continue;
        }
        let stream = Arc::new(stream);
        state.connections().push(Arc::clone(&stream));
        let serving = Arc::clone(state);
        let of_it = Arc::clone(&stream);
        let begun = thread::Builder::new().spawn(move || {
            let state = serving;
            let stream = of_it;
            // A connection that broke shows at the client, who gets no answer.
            let _ = (state.serve)(&stream);
            // With nobody left who has it open, a client that still sends is told so.
            state.connections().retain(|open| !Arc::ptr_eq(open, &stream));
        });
        if begun.is_err() {
            state.connections().retain(|open| !Arc::ptr_eq(open, &stream));
        }
    }
}

impl TcpServerState {
    fn connections(&self) -> MutexGuard<'_, Vec<Arc<TcpStream>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held for TcpServer {}

impl Drop for TcpServer {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Release);
        // Wakes who waits for a connection.
        rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both).ok();
        if let Some(listening) = self.listening.take() {
            listening.join().ok();
        }
        for connection in self.state.connections().drain(..) {
            connection.shutdown(Shutdown::Both).ok();
        }
    }
}
