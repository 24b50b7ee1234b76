//! A client of NBD with many requests under way.

use std::io::{self, BufReader, Read, Write};

use plumb_protocol::{Failure, StartError, now_ns};

use crate::address::{Address, NbdStream};
use crate::nbd::{Greeted, NbdRequest, READ_BUFFER, REQUEST_BYTES, RequestKind, greet, read_reply};

/// A client; all its memory is there from the beginning.
pub struct NbdClient {
    to: NbdStream,
    from: BufReader<NbdStream>,
    /// Bytes of the disk.
    size: u64,
    takes_flushes: bool,
    slots: Vec<PendingRequest>,
    free: Vec<usize>,
    /// A request, with data behind it if it has any.
    out: Vec<u8>,
    /// The data of the last reply that had any.
    data: Vec<u8>,
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct PendingRequest {
    request: NbdRequest,
    sent_ns: u64,
}

/// A request that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// The request that was answered.
    pub request: NbdRequest,
    /// From just before it was sent until its answer was there, in nanoseconds.
    pub took_ns: u64,
}

impl NbdClient {
    /// Connects; so many requests under way at most, of so many bytes.
    ///
    /// # Errors
    /// Unsupported when there is no server, failed when it does not answer.
    pub fn connect(address: &Address, depth: usize, block: usize) -> Result<Self, StartError> {
        let mut to = address.connect()?;
        let refused = |error: io::Error| address.refused(&error);
        let Greeted { size, takes_flushes } =
            greet(&mut to, address.name()).map_err(|error| address.disagreed(&error))?;
        to.wait_for_ever().map_err(refused)?;
        let from = BufReader::with_capacity(READ_BUFFER, to.try_clone().map_err(refused)?);
        let request = NbdRequest { kind: RequestKind::Flush, cookie: 0, offset: 0, length: 0 };
        let slots = vec![PendingRequest { request, sent_ns: 0 }; depth];
        let free = (0..depth).collect();
        let out = vec![0; REQUEST_BYTES + block];
        let data = vec![0; block];
        Ok(Self { to, from, size, takes_flushes, slots, free, out, data })
    }

    /// Bytes of the disk.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Requests under way.
    pub fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether one more may be sent.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// What will be written with the next request that writes.
    pub fn payload(&mut self) -> &mut [u8] {
        &mut self.out[REQUEST_BYTES..]
    }

    /// What was written with the last request that wrote.
    pub fn sent(&self) -> &[u8] {
        &self.out[REQUEST_BYTES..]
    }

    /// Whether the server takes flushes.
    pub fn takes_flushes(&self) -> bool {
        self.takes_flushes
    }

    /// What was read last.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Sends a request; there must be room.
    ///
    /// # Errors
    /// When the server is gone.
    pub fn send(&mut self, kind: RequestKind, offset: u64, length: usize) -> Result<(), Failure> {
        let slot = self.free.pop().ok_or_else(|| Failure("too many requests in flight".into()))?;
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let request = NbdRequest { kind, cookie: slot as u64, offset, length };
        self.out[..REQUEST_BYTES].copy_from_slice(&request.bytes());
        self.slots[slot] = PendingRequest { request, sent_ns: now_ns() };
        let sent = self.to.write_all(&self.out[..REQUEST_BYTES + request.payload()]);
        sent.map_err(|error| Failure::io("sending to the NBD server", &error))
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// When the server is gone, or could not do it.
    pub fn receive(&mut self) -> Result<Answered, Failure> {
        let failed = |error: io::Error| Failure::io("receiving from the NBD server", &error);
        let (error, cookie) = read_reply(&mut self.from).map_err(failed)?;
        // A cookie that is not a slot under way comes from a server that answers twice, or at random.
        let slot = usize::try_from(cookie)
            .ok()
            .filter(|slot| *slot < self.slots.len() && !self.free.contains(slot))
            .ok_or_else(|| Failure("the NBD server sent an unexpected reply".into()))?;
        let PendingRequest { request, sent_ns } = self.slots[slot];
        if error != 0 {
            let NbdRequest { kind, offset, length, .. } = request;
            return Err(Failure(format!(
                "the NBD server reported error {error} for {kind:?} of {length} bytes at {offset}"
            )));
        }
        self.from.read_exact(&mut self.data[..request.answer()]).map_err(failed)?;
        self.free.push(slot);
        Ok(Answered { request, took_ns: now_ns() - sent_ns })
    }
}

impl Drop for NbdClient {
    fn drop(&mut self) {
        let bye = NbdRequest { kind: RequestKind::Disconnect, cookie: 0, offset: 0, length: 0 };
        self.to.write_all(&bye.bytes()).ok();
        self.to.shutdown();
    }
}
