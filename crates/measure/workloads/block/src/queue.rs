//! Requests on their way from the thread that reads a socket to the one that answers, in memory that is used again.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::nbd::Request;

/// A request with its data, and when it was read.
pub struct Job {
    /// The request.
    pub request: Request,
    /// Its data.
    pub data: Vec<u8>,
    /// When its last byte was read, in nanoseconds.
    pub read_ns: u64,
}

/// In order; ends when there will be no more.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Memory of jobs that are done.
    free: Vec<Vec<u8>>,
    ended: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory for the data of a request, as long as it is.
    pub fn room(&self, bytes: usize) -> Vec<u8> {
        let mut room = self.lock().free.pop().unwrap_or_default();
        room.resize(bytes, 0);
        room
    }

    /// Adds one at the end.
    pub fn add(&self, job: Job) {
        self.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    /// Says that there will be no more.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// The next one; none at the end.
    pub fn take(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.ended {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives memory back.
    pub fn give_back(&self, room: Vec<u8>) {
        self.lock().free.push(room);
    }
}
