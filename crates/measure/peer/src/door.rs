//! Who comes in: connections whose key is not proven yet, and sessions of runs.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much a peer does for others.
#[derive(Debug, Clone)]
pub struct PeerLimits {
    /// Connections whose key is not proven yet; the one that waits longest makes room for another.
    pub unproven: usize,
    /// Connections that have proved the key.
    pub proven: usize,
    /// The key is proven in this time, and what is wanted is said in as much.
    pub prove_within: Duration,
    /// A connection ends after this time.
    pub longest: Duration,
}

impl Default for PeerLimits {
    fn default() -> Self {
        Self {
            unproven: 32,
            proven: 128,
            prove_within: Duration::from_secs(5),
            longest: Duration::from_secs(24 * 3600),
        }
    }
}

/// All connections that there are.
#[derive(Debug)]
pub(crate) struct Door {
    limits: PeerLimits,
    state: Mutex<PeerConnections>,
}

#[derive(Debug)]
struct PeerConnections {
    last_id: u64,
    unproven: VecDeque<(u64, TcpStream)>,
    proven: HashMap<u64, Proven>,
    /// When a connection came or ended.
    changed: Instant,
}

#[derive(Debug)]
struct Proven {
    socket: TcpStream,
    /// Of which run it is, once that is said.
    session: String,
    stands: bool,
    since: Instant,
}

impl Door {
    pub(crate) fn new(limits: PeerLimits) -> Self {
        let state = PeerConnections {
            last_id: 0,
            unproven: VecDeque::new(),
            proven: HashMap::new(),
            changed: Instant::now(),
        };
        Self { limits, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, PeerConnections> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets one in that has proved nothing yet; its number.
    ///
    /// # Errors
    /// When this process can have no more sockets.
    pub(crate) fn let_in(&self, socket: &TcpStream) -> io::Result<u64> {
        // A second handle: shutting it down wakes the thread that is blocked in a read of the first.
        let socket = socket.try_clone()?;
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        state.unproven.push_back((id, socket));
        while state.unproven.len() > self.limits.unproven
            && let Some((_, longest)) = state.unproven.pop_front()
        {
            longest.shutdown(Shutdown::Both).ok();
        }
        Ok(id)
    }

    /// It has proved the key; false: there are too many of those.
    pub(crate) fn has_proved(&self, id: u64, socket: TcpStream) -> bool {
        let mut state = self.state();
        state.unproven.retain(|(known, _)| *known != id);
        if state.proven.len() >= self.limits.proven {
            return false;
        }
        let now = Instant::now();
        let connection = Proven { socket, session: String::new(), stands: false, since: now };
        state.proven.insert(id, connection);
        state.changed = now;
        true
    }

    /// It stands for a run from now on.
    pub(crate) fn stands(&self, id: u64, session: &str) {
        if let Some(one) = self.state().proven.get_mut(&id) {
            one.session = session.to_owned();
            one.stands = true;
        }
    }

    /// It is a program's of this run; false: nothing stands for that.
    pub(crate) fn joins(&self, id: u64, session: &str) -> bool {
        let mut state = self.state();
        let stands = state
            .proven
            .values()
            .any(|connection| connection.stands && connection.session == session);
        if let Some(one) = state.proven.get_mut(&id).filter(|_| stands) {
            one.session = session.to_owned();
        }
        stands
    }

    /// It has ended, and with one that stands, all of its run.
    pub(crate) fn leaves(&self, id: u64) {
        let mut state = self.state();
        state.unproven.retain(|(known, _)| *known != id);
        if let Some(gone) = state.proven.remove(&id) {
            state.changed = Instant::now();
            // Nothing of a run may outlive it: each reads the end of its connection, and ends.
            for connection in state.proven.values() {
                if gone.stands && connection.session == gone.session {
                    connection.socket.shutdown(Shutdown::Both).ok();
                }
            }
        }
    }

    /// Ends connections that have lasted too long.
    pub(crate) fn end_longest(&self) {
        let state = self.state();
        for connection in state.proven.values() {
            if connection.since.elapsed() > self.limits.longest {
                connection.socket.shutdown(Shutdown::Both).ok();
            }
        }
    }

    /// For how long nobody who has proved the key has been here.
    pub(crate) fn idle(&self) -> Duration {
        let state = self.state();
        if state.proven.is_empty() { state.changed.elapsed() } else { Duration::ZERO }
    }
}
