//! Streams whose receiver counts: the sender's figures are never taken for what arrived.
//!
//! A stream carries frames: a length (8 bytes, little-endian) and that many bytes. The receiver
//! answers each frame with the number of bytes that it took in (8 bytes, little-endian).
//!
//! The other way, the receiver asks for bytes by a header with [`WANTED`], and counts those that come.
//!
//! A sample is one frame on every stream, from the first byte sent to the last answer received, with
//! nothing under way before or after. Samples that overlapped would hide their borders, but would
//! lend each other the bytes that lie in buffers: on a busy machine most of them then look faster
//! than the stream ever is. So samples are long instead, and the borders a small part of them.

use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use plumb_protocol::{Failure, Instance};

/// The bit of a header that asks the other end to send so many bytes.
pub const WANTED: u64 = 1 << 63;

/// A sample has at least this many blocks per stream.
const LEAST_BLOCKS: u64 = 16;

/// A sample takes so many round trips at least: its first byte needs half a trip, and its answer the other half.
const LEAST_ROUND_TRIPS: u64 = 20;

/// The shortest sample worth taking of a stream whose round trip is known, in nanoseconds: at least `least_ns`, and so long
/// that the round trip at its end is 5 % of it.
#[must_use]
pub fn shortest_sample_ns(least_ns: u64, round_trip_ns: u64) -> u64 {
    least_ns.max(round_trip_ns.saturating_mul(LEAST_ROUND_TRIPS))
}

/// Takes frames in and answers each with its count, until the stream ends. If a header asks for bytes instead, it sends them,
/// from the buffer.
///
/// # Errors
/// When reading or answering fails, or the stream ends within a frame.
pub fn receive(mut from: impl Read, mut to: impl Write, buffer: &mut [u8]) -> io::Result<()> {
    while let Some(header) = next_header(&mut from)? {
        match header & WANTED {
            0 => {
                let counted = take_in(&mut from, header, buffer)?;
                to.write_all(&counted.to_le_bytes())?;
                to.flush()?;
                if counted < header {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            _ => send_wanted(&mut to, header & !WANTED, buffer)?,
        }
    }
    Ok(())
}

/// Sends so many bytes of a buffer over and over.
fn send_wanted(to: &mut impl Write, length: u64, buffer: &[u8]) -> io::Result<()> {
    let mut left = length;
    while left > 0 {
        let some = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        to.write_all(&buffer[..some])?;
        left -= some as u64;
    }
    to.flush()
}

/// The length of the next frame; none when the stream has ended.
///
/// # Errors
/// When reading fails, or the stream ends within it.
pub fn next_header(from: &mut impl Read) -> io::Result<Option<u64>> {
    let mut header = [0; 8];
    let mut filled = 0;
    while filled < header.len() {
        match from.read(&mut header[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(u64::from_le_bytes(header)))
}

/// Bytes taken in: all of `length` unless the stream ended.
///
/// # Errors
/// When reading fails.
pub fn take_in(from: &mut impl Read, length: u64, buffer: &mut [u8]) -> io::Result<u64> {
    let mut counted = 0;
    while counted < length {
        let left = usize::try_from(length - counted).unwrap_or(usize::MAX).min(buffer.len());
        match from.read(&mut buffer[..left]) {
            Ok(0) => break,
            Ok(n) => counted += n as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(counted)
}

/// A stream that carries frames and knows what arrived.
pub trait Carry: Send {
    /// Called once, on the thread that carries its frames, before the first.
    ///
    /// # Errors
    /// When it can't carry any there.
    fn begin(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Carries a frame of `blocks` blocks; returns when the receiver has counted it.
    ///
    /// # Errors
    /// When less arrived than was sent, or an end does not answer.
    fn carry(&mut self, blocks: u64) -> Result<(), Failure>;
}

/// The sending end of one stream.
pub struct FramedStream {
    to: Box<dyn Write + Send>,
    answers: Box<dyn Read + Send>,
    block: Arc<[u8]>,
}

impl FramedStream {
    /// A stream into `to`, sending `block` over and over, whose answers come from `answers`.
    pub fn new(
        to: impl Write + Send + 'static,
        answers: impl Read + Send + 'static,
        block: Arc<[u8]>,
    ) -> Self {
        Self { to: Box::new(to), answers: Box::new(answers), block }
    }

    fn send(&mut self, length: u64, blocks: u64) -> io::Result<()> {
        self.to.write_all(&length.to_le_bytes())?;
        for _ in 0..blocks {
            self.to.write_all(&self.block)?;
        }
        self.to.flush()
    }
}

impl Carry for FramedStream {
    fn carry(&mut self, blocks: u64) -> Result<(), Failure> {
        let length = blocks * self.block.len() as u64;
        let sent = self.send(length, blocks);
        let mut answer = [0; 8];
        if let Err(error) = sent.and_then(|()| self.answers.read_exact(&mut answer)) {
            return Err(Failure::io("the receiver does not answer", &error));
        }
        let counted = u64::from_le_bytes(answer);
        if counted == length {
            return Ok(());
        }
        Err(Failure(format!("{length} bytes were sent, but the receiver counted {counted}")))
    }
}

/// The receiving end of one stream, whose far end sends what it is asked for.
pub struct WantedStream {
    to: Box<dyn Write + Send>,
    data: Box<dyn Read + Send>,
    block: u64,
    buffer: Vec<u8>,
}

impl WantedStream {
    /// A stream that asks in `to` for blocks of so many bytes, which come from `data`; `buffer` takes them in.
    pub fn new(
        to: impl Write + Send + 'static,
        data: impl Read + Send + 'static,
        block: u64,
        buffer: Vec<u8>,
    ) -> Self {
        Self { to: Box::new(to), data: Box::new(data), block, buffer }
    }
}

impl Carry for WantedStream {
    fn carry(&mut self, blocks: u64) -> Result<(), Failure> {
        let length = blocks * self.block;
        let asked = self.to.write_all(&(WANTED | length).to_le_bytes());
        let counted = asked
            .and_then(|()| self.to.flush())
            .and_then(|()| take_in(&mut self.data, length, &mut self.buffer))
            .map_err(|error| Failure::io("the sender does not answer", &error))?;
        if counted == length {
            return Ok(());
        }
        Err(Failure(format!("asked for {length} bytes, but the sender ended after {counted}")))
    }
}

/// What the threads of all streams but the first wait for and report.
#[derive(Default)]
struct StreamThreads {
    state: Mutex<FrameState>,
    /// The state has changed.
    changed: Condvar,
}

#[derive(Default)]
struct FrameState {
    /// Which frame is to be sent: they are numbered.
    frame: u64,
    /// Number of blocks in the frame.
    blocks: u64,
    /// Threads that have not finished it.
    working: usize,
    /// The first failure.
    failure: Option<Failure>,
    /// The threads are to end.
    ended: bool,
}

impl StreamThreads {
    fn state(&self) -> MutexGuard<'_, FrameState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, condition: impl Fn(&FrameState) -> bool) -> MutexGuard<'_, FrameState> {
        self.changed
            .wait_while(self.state(), |state| condition(state))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of a thread with its stream.
    fn serve(&self, mut stream: impl Carry) {
        if let Err(failure) = stream.begin() {
            // Kept for the first frame, and the thread goes on: that frame counts on its answer.
            self.state().failure.get_or_insert(failure);
        }
        let mut done = 0;
        loop {
            let state = self.wait_while(|state| state.frame == done && !state.ended);
            if state.ended {
                return;
            }
            done = state.frame;
            let blocks = state.blocks;
            drop(state);
            let result = stream.carry(blocks);
            let mut state = self.state();
            state.working -= 1;
            if let Err(failure) = result {
                state.failure.get_or_insert(failure);
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    fn begin(&self, blocks: u64, threads: usize) {
        let mut state = self.state();
        state.frame += 1;
        state.blocks = blocks;
        state.working = threads;
        drop(state);
        self.changed.notify_all();
    }

    fn finish(&self) -> Result<(), Failure> {
        self.wait_while(|state| state.working > 0).failure.take().map_or(Ok(()), Err)
    }
}

/// Work on streams: an iteration is one block on each. `G` keeps the far end alive; it is dropped
/// after the first stream.
pub struct FramedStreams<G> {
    first: Box<dyn Carry>,
    others: Arc<StreamThreads>,
    threads: usize,
    helpers: Vec<u32>,
    shortest_sample_ns: u64,
    _far_end: G,
}

impl<G> FramedStreams<G> {
    /// Work on `first`, and on `others` with a thread each; `helpers` are processes that work for it.
    ///
    /// # Errors
    /// When the first stream can't begin; of another the first frame says so.
    pub fn new<C: Carry + 'static>(
        mut first: C,
        others: Vec<C>,
        helpers: Vec<u32>,
        shortest_sample_ns: u64,
        far_end: G,
    ) -> Result<Self, Failure> {
        first.begin()?;
        let shared = Arc::new(StreamThreads::default());
        let threads = others.len();
        for stream in others {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .spawn(move || shared.serve(stream))
                .map_err(|error| Failure::io("starting a thread", &error))?;
        }
        Ok(Self {
            first: Box::new(first),
            others: shared,
            threads,
            helpers,
            shortest_sample_ns,
            _far_end: far_end,
        })
    }
}

impl<G> Instance for FramedStreams<G> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        if self.threads == 0 {
            return self.first.carry(iterations);
        }
        self.others.begin(iterations, self.threads);
        let first = self.first.carry(iterations);
        first.and(self.others.finish())
    }

    fn least_iterations(&self) -> u64 {
        LEAST_BLOCKS
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.shortest_sample_ns
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}

impl<G> Drop for FramedStreams<G> {
    fn drop(&mut self) {
        self.others.state().ended = true;
        self.others.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::{FramedStream, FramedStreams, WantedStream, receive, shortest_sample_ns};
    use plumb_protocol::Instance;
    use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
    use std::thread;

    fn stream(far_end: impl FnOnce(PipeReader, PipeWriter) + Send + 'static) -> FramedStream {
        let (there, to) = pipe().unwrap();
        let (answers, back) = pipe().unwrap();
        thread::spawn(move || far_end(there, back));
        FramedStream::new(to, answers, vec![7; 1000].into())
    }

    #[test]
    fn a_round_trip_is_a_small_part_of_a_sample() {
        assert_eq!(shortest_sample_ns(60_000_000, 50_000), 60_000_000);
        assert_eq!(shortest_sample_ns(60_000_000, 100_000_000), 2_000_000_000);
    }

    /// Counts one byte less than the three blocks of a first frame, and is gone.
    fn miscount(mut from: PipeReader, mut to: PipeWriter) {
        let mut bytes = vec![0; 8 + 3000];
        from.read_exact(&mut bytes).unwrap();
        to.write_all(&2999_u64.to_le_bytes()).unwrap();
    }

    fn honest() -> FramedStream {
        stream(|from, to| receive(from, to, &mut [0; 300]).unwrap())
    }

    #[test]
    fn every_frame_is_counted_at_the_far_end() {
        let mut counted = FramedStreams::new(honest(), Vec::new(), Vec::new(), 0, ()).unwrap();
        counted.run(3).unwrap();
        counted.run(500).unwrap();
        let mut counted =
            FramedStreams::new(honest(), vec![honest(), honest()], Vec::new(), 0, ()).unwrap();
        for k in [1, 500, 3] {
            counted.run(k).unwrap();
        }
    }

    #[test]
    fn bytes_that_are_asked_for_are_counted_at_this_end() {
        let far = |length: usize| {
            let (there, to) = pipe().unwrap();
            let (data, back) = pipe().unwrap();
            thread::spawn(move || receive(there, back, &mut vec![7; length]).unwrap());
            WantedStream::new(to, data, 1000, vec![0; 300])
        };
        let mut counted = FramedStreams::new(far(300), Vec::new(), Vec::new(), 0, ()).unwrap();
        for k in [3, 500, 1] {
            counted.run(k).unwrap();
        }
    }

    #[test]
    fn a_receiver_that_counts_less_fails_the_sample() {
        let mut counted =
            FramedStreams::new(stream(miscount), Vec::new(), Vec::new(), 0, ()).unwrap();
        let failure = counted.run(3).unwrap_err();
        assert_eq!(failure.0, "3000 bytes were sent, but the receiver counted 2999");
        let failure = counted.run(3).unwrap_err();
        assert!(failure.0.contains("does not answer"), "{failure}");
        let mut counted =
            FramedStreams::new(honest(), vec![stream(miscount)], Vec::new(), 0, ()).unwrap();
        let failure = counted.run(3).unwrap_err();
        assert_eq!(failure.0, "3000 bytes were sent, but the receiver counted 2999");
    }

    #[test]
    fn a_stream_that_breaks_off_is_an_error() {
        let mut bytes = 10_u64.to_le_bytes().to_vec();
        bytes.extend([0; 9]);
        let mut answers = Vec::new();
        receive(bytes.as_slice(), &mut answers, &mut [0; 4]).unwrap_err();
        assert_eq!(answers, 9_u64.to_le_bytes(), "the count is told all the same");
    }
}
