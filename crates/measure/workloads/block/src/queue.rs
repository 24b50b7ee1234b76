//! Messages on their way from the thread that reads a socket to the one that answers or passes them on, in memory that is
//! used again.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A message: what is known of it, and its data.
pub struct Message<H> {
    /// What is known of it.
    pub head: H,
    /// The bytes of the message.
    pub data: Vec<u8>,
    /// When its last byte was read, or when it is due, in nanoseconds.
    pub at_ns: u64,
}

/// In order; ends when there will be no more.
pub struct MessageQueue<H> {
    state: Mutex<QueueState<H>>,
    changed: Condvar,
}

struct QueueState<H> {
    messages: VecDeque<Message<H>>,
    /// Memory of messages that are done.
    free: Vec<Vec<u8>>,
    ended: bool,
}

impl<H> Default for MessageQueue<H> {
    fn default() -> Self {
        let state = QueueState { messages: VecDeque::new(), free: Vec::new(), ended: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<H> MessageQueue<H> {
    fn lock(&self) -> MutexGuard<'_, QueueState<H>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory for the data of a message, as long as it is.
    pub fn room(&self, bytes: usize) -> Vec<u8> {
        let mut room = self.lock().free.pop().unwrap_or_default();
        room.resize(bytes, 0);
        room
    }

    /// Adds one at the end.
    pub fn add(&self, message: Message<H>) {
        self.lock().messages.push_back(message);
        self.changed.notify_one();
    }

    /// Says that there will be no more.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// The next one; none at the end.
    pub fn take(&self) -> Option<Message<H>> {
        let mut state = self.lock();
        loop {
            if let Some(message) = state.messages.pop_front() {
                return Some(message);
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
