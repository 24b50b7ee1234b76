//! Digests of messages, with or without a key: what `crypto.hash` and `crypto.mac` share.

use std::hint::black_box;

use plumb_model::Parameter;
use plumb_protocol::{Failure, SplitMix64, Start, StartError};
use plumb_workload_kit::declare;
use plumb_workload_kit::threads::Member;

/// Bytes of the longest digest.
pub(super) const LONGEST: usize = 64;

/// Smallest and largest message, in bytes.
const SIZES: (usize, usize) = (16, 1 << 20);

/// Computes digests of messages.
pub(super) trait Digester: Send + 'static {
    /// Writes the digest of a message to the first bytes of `out`.
    ///
    /// # Errors
    /// If the provider refuses.
    fn digest(&mut self, message: &[u8], out: &mut [u8; LONGEST]) -> Result<(), Failure>;
}

/// Makes the digester of a key.
pub(super) type MakeDigester<'m> = dyn Fn(&[u8]) -> Result<Box<dyn Digester>, StartError> + 'm;

/// A published message with its digest.
pub(super) struct KnownDigest {
    /// The name that the parameter has for the algorithm.
    pub(super) algorithm: &'static str,
    /// The key; empty for hash functions.
    pub(super) key: &'static [u8],
    pub(super) message: &'static [u8],
    pub(super) digest: &'static [u8],
}

/// The parameter for the size of a message.
pub(super) fn size(default: u64) -> Parameter {
    let (least, most) = SIZES;
    let summary = "size of a message, from 16 B to 1 MiB";
    let parameter = declare::between(least, most, declare::bytes("bytes", default, summary));
    declare::curve(plumb_model::CurveKind::Line, parameter)
}

/// A message whose digest is computed repeatedly.
pub(super) struct Digesting {
    digester: Box<dyn Digester>,
    message: Vec<u8>,
    digest: [u8; LONGEST],
    expected: [u8; LONGEST],
}

impl Digesting {
    /// A random message for one thread, after a published one was checked with `known`.
    ///
    /// # Errors
    /// If the digest of the published message is another.
    pub(super) fn new(
        start: &Start,
        thread: usize,
        known: &KnownDigest,
        make: &MakeDigester<'_>,
    ) -> Result<Self, StartError> {
        check(known, make(known.key)?.as_mut())?;
        let mut random = SplitMix64::new(start.seed.wrapping_add(thread as u64));
        let mut key = vec![0; known.key.len()];
        random.fill(&mut key);
        let mut message = vec![0; start.size("bytes")];
        random.fill(&mut message);
        let mut digester = make(&key)?;
        let mut expected = [0; LONGEST];
        digester.digest(&message, &mut expected)?;
        Ok(Self { digester, message, digest: [0; LONGEST], expected })
    }
}

/// Compares the digest of the published message with the published one.
///
/// # Errors
/// If it is another.
pub(super) fn check(known: &KnownDigest, digester: &mut dyn Digester) -> Result<(), Failure> {
    let mut digest = [0; LONGEST];
    digester.digest(known.message, &mut digest)?;
    if digest.starts_with(known.digest) {
        return Ok(());
    }
    Err(Failure(format!("{} does not give the published test vector", known.algorithm)))
}

impl Member for Digesting {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.digester.digest(black_box(&self.message), &mut self.digest)?;
            black_box(&mut self.digest);
        }
        Ok(())
    }

    /// Compares the last digest with the first, and removes it, so that the next batch must compute it again.
    fn verify(&mut self) -> Result<(), Failure> {
        if self.digest != self.expected {
            return Err(Failure("a digest differs from the first one of this message".into()));
        }
        self.digest.fill(0);
        Ok(())
    }

    fn checks_computation(&self) -> bool {
        true
    }
}
