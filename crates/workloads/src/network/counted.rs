//! Streams whose receiver counts: the sender's figures are never taken for what arrived.
//!
//! A stream carries frames: a length (8 bytes, little-endian) and that many bytes. The receiver
//! answers each frame with the number of bytes that it took in (8 bytes, little-endian). A sample is
//! one frame on every stream, and its time is that between two answers: the sender's threads go on
//! with the next frame meanwhile, so that no sample contains an empty pipe at its beginning or a
//! round trip at its end.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use plumb_protocol::{Batch, Failure, Instance, current_cpu, now_ns};

/// Before the first sample of a batch a stream carries at least this much: it fills the pipe.
const LEAD_IN: u64 = 1 << 20;

/// Takes frames in and answers each with its count, until the stream ends.
///
/// # Errors
/// When reading or answering fails, or the stream ends within a frame.
pub fn receive(mut from: impl Read, mut to: impl Write, buffer: &mut [u8]) -> io::Result<()> {
    while let Some(length) = next_header(&mut from)? {
        let counted = take_in(&mut from, length, buffer)?;
        to.write_all(&counted.to_le_bytes())?;
        to.flush()?;
        if counted < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

fn next_header(from: &mut impl Read) -> io::Result<Option<u64>> {
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
fn take_in(from: &mut impl Read, length: u64, buffer: &mut [u8]) -> io::Result<u64> {
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

/// The sending end of one stream: a thread that sends, and the answers.
pub struct Flow {
    orders: Sender<Arc<[u64]>>,
    answers: Box<dyn Read>,
    trouble: Arc<Mutex<Option<String>>>,
}

impl Flow {
    /// A stream into `to`, sending `block` over and over, whose answers come from `answers`. The
    /// thread ends, and drops `to`, when the flow is dropped.
    pub fn new(
        to: impl Write + Send + 'static,
        answers: impl Read + 'static,
        block: Arc<[u8]>,
    ) -> Self {
        let (orders, queue) = channel();
        let trouble = Arc::new(Mutex::new(None));
        let report = Arc::clone(&trouble);
        thread::spawn(move || {
            if let Err(error) = send_all(to, &queue, &block) {
                *report.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
        });
        Self { orders, answers: Box::new(answers), trouble }
    }

    /// Orders frames of these lengths; returns at once.
    fn order(&self, lengths: &Arc<[u64]>) -> Result<(), Failure> {
        self.orders.send(Arc::clone(lengths)).map_err(|_| self.failure("the sender has ended"))
    }

    /// Waits for the receiver to have counted a frame.
    fn answer(&mut self, length: u64) -> Result<(), Failure> {
        let mut answer = [0; 8];
        self.answers.read_exact(&mut answer).map_err(|error| self.failure(error))?;
        let counted = u64::from_le_bytes(answer);
        if counted == length {
            return Ok(());
        }
        Err(Failure(format!("{length} bytes were sent, the receiver counted {counted}")))
    }

    fn failure(&self, error: impl std::fmt::Display) -> Failure {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = trouble.as_ref().map(|why| format!("; sender: {why}")).unwrap_or_default();
        Failure(format!("the receiver does not answer: {error}{sender}"))
    }
}

fn send_all(mut to: impl Write, orders: &Receiver<Arc<[u64]>>, block: &[u8]) -> io::Result<()> {
    while let Ok(lengths) = orders.recv() {
        for &length in lengths.iter() {
            send_frame(&mut to, length, block)?;
        }
        to.flush()?;
    }
    Ok(())
}

fn send_frame(to: &mut impl Write, length: u64, block: &[u8]) -> io::Result<()> {
    to.write_all(&length.to_le_bytes())?;
    let mut left = length;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        to.write_all(&block[..now])?;
        left -= now as u64;
    }
    Ok(())
}

/// Work on streams: an iteration is one block on each. `G` keeps the far end alive; it is dropped
/// after the streams.
pub struct Counted<G> {
    flows: Vec<Flow>,
    block: u64,
    helpers: Vec<u32>,
    shortest_sample_ns: u64,
    _far_end: G,
}

impl<G> Counted<G> {
    /// Work on these streams in blocks of `block` bytes; `helpers` are processes that work for it.
    pub fn new(
        flows: Vec<Flow>,
        block: u64,
        helpers: Vec<u32>,
        shortest_sample_ns: u64,
        far_end: G,
    ) -> Self {
        Self { flows, block, helpers, shortest_sample_ns, _far_end: far_end }
    }

    fn order(&self, lengths: Vec<u64>) -> Result<(), Failure> {
        let lengths: Arc<[u64]> = lengths.into();
        self.flows.iter().try_for_each(|flow| flow.order(&lengths))
    }

    fn answer(&mut self, length: u64) -> Result<(), Failure> {
        self.flows.iter_mut().try_for_each(|flow| flow.answer(length))
    }
}

impl<G> Instance for Counted<G> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let length = iterations * self.block;
        self.order(vec![length])?;
        self.answer(length)
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let lead_in = LEAD_IN.div_ceil(self.block) * self.block;
        let samples = iterations.iter().map(|k| k * self.block);
        self.order(std::iter::once(lead_in).chain(samples).collect())?;
        self.answer(lead_in)?;
        let mut border = now_ns();
        for &k in iterations {
            self.answer(k * self.block)?;
            let now = now_ns();
            batch.record(border, now - border, k, current_cpu());
            border = now;
        }
        Ok(())
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.shortest_sample_ns
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}

#[cfg(test)]
mod tests {
    use super::{Counted, Flow, receive};
    use plumb_protocol::{Batch, Instance};
    use std::io::{Read, Write, pipe};
    use std::sync::Arc;
    use std::thread;

    fn over_pipes(
        far_end: impl FnOnce(std::io::PipeReader, std::io::PipeWriter) + Send + 'static,
    ) -> Counted<()> {
        let (there, to) = pipe().unwrap();
        let (answers, back) = pipe().unwrap();
        thread::spawn(move || far_end(there, back));
        let block: Arc<[u8]> = vec![7; 1000].into();
        Counted::new(vec![Flow::new(to, answers, block)], 1000, Vec::new(), 0, ())
    }

    #[test]
    fn every_frame_is_counted_at_the_far_end() {
        let mut counted = over_pipes(|from, to| receive(from, to, &mut [0; 300]).unwrap());
        counted.run(3).unwrap();
        let mut batch = Batch::with_room(3, &[]);
        counted.batch(&[1, 50, 1], &mut batch).unwrap();
        let (samples, _) = batch.finish();
        samples.check().unwrap();
        assert_eq!(samples.iterations, [1, 50, 1]);
        for i in 0..2 {
            let end = samples.start_ns[i] + samples.elapsed_ns[i];
            assert_eq!(end, samples.start_ns[i + 1], "windows follow each other");
        }
    }

    #[test]
    fn a_receiver_that_counts_less_fails_the_batch() {
        let mut counted = over_pipes(|mut from, mut to| {
            let mut bytes = vec![0; 8 + 3000];
            from.read_exact(&mut bytes).unwrap();
            to.write_all(&2999_u64.to_le_bytes()).unwrap();
        });
        let failure = counted.run(3).unwrap_err();
        assert_eq!(failure.0, "3000 bytes were sent, the receiver counted 2999");
        let failure = counted.run(3).unwrap_err();
        assert!(failure.0.contains("does not answer"), "{failure}");
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
