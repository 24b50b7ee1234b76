//! Who comes in: connections whose key is not proven yet, and sessions of runs.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much a peer does for others.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections whose key is not proven yet; the one that waits longest makes room for another.
    pub unproven: usize,
    /// Connections that have proved the key.
    pub proven: usize,
    /// The key is proven in this time, and what is wanted is said in as much.
    pub prove_within: Duration,
    /// A connection ends after this time.
    pub longest: Duration,
}

impl Default for Limits {
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
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
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
    pub(crate) fn new(limits: Limits) -> Self {
        let state = State {
            last_id: 0,
            unproven: VecDeque::new(),
            proven: HashMap::new(),
            changed: Instant::now(),
        };
        Self { limits, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets one in that has proved nothing yet; its number.
    ///
    /// # Errors
    /// When this process can have no more sockets.
    pub(crate) fn let_in(&self, socket: &TcpStream) -> io::Result<u64> {
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
        let session = String::new();
        let stands = false;
        let since = Instant::now();
        state.proven.insert(id, Proven { socket, session, stands, since });
        state.changed = since;
        true
    }

    /// It stands for a run from now on.
    pub(crate) fn stands(&self, id: u64, session: &str) {
        if let Some(one) = self.state().proven.get_mut(&id) {
            (one.session, one.stands) = (session.to_owned(), true);
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
            let of_it = state
                .proven
                .values()
                .filter(|connection| gone.stands && connection.session == gone.session);
            of_it.for_each(|connection| drop(connection.socket.shutdown(Shutdown::Both)));
        }
    }

    /// Ends connections that have lasted too long.
    pub(crate) fn end_longest(&self) {
        let state = self.state();
        let old = state
            .proven
            .values()
            .filter(|connection| connection.since.elapsed() > self.limits.longest);
        old.for_each(|connection| drop(connection.socket.shutdown(Shutdown::Both)));
    }

    /// For how long nobody who has proved the key has been here.
    pub(crate) fn idle(&self) -> Duration {
        let state = self.state();
        if state.proven.is_empty() { state.changed.elapsed() } else { Duration::ZERO }
    }
}
