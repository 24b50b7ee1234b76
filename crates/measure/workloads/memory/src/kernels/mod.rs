//! The inner loops of `memory.stream`, `memory.read` and `memory.write`, one of each for a width of registers and a kind of
//! store: each its own function, found by its name in the assembly of a release build (kernels.toml).
#![expect(
    unsafe_code,
    reason = "the loops take raw pointers, and need instructions that were asked for at start"
)]

mod loops;
#[cfg(not(target_arch = "x86_64"))]
mod plain;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use plumb_model::Parameter;
use plumb_protocol::{Start, StartError};
use plumb_workload_kit::declare;
use plumb_workload_kit::vector::Width;

use crate::methods::HAS_NON_TEMPORAL;

use loops::{FACTOR, FillLoop, LINE_WORDS, StreamLoop, SumLoop};

#[cfg(not(target_arch = "x86_64"))]
use plain::{fence, of};
#[cfg(target_arch = "x86_64")]
use x86_64::{fence, of};

/// The four loops of STREAM, on doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamOperation {
    /// a = b + 3c
    Triad,
    /// a = b
    Copy,
    /// a = 3b
    Scale,
    /// a = b + c
    Add,
}

impl StreamOperation {
    /// As the parameter `kernel` says.
    pub(super) fn of(start: &Start) -> Self {
        match start.text("kernel") {
            "copy" => Self::Copy,
            "scale" => Self::Scale,
            "add" => Self::Add,
            _ => Self::Triad,
        }
    }

    /// How many arrays it reads.
    pub(super) fn sources(self) -> usize {
        match self {
            Self::Copy | Self::Scale => 1,
            Self::Add | Self::Triad => 2,
        }
    }

    /// What it writes for an element.
    pub(super) fn element(self, b: f64, c: f64) -> f64 {
        match self {
            Self::Triad => b + FACTOR * c,
            Self::Copy => b,
            Self::Scale => FACTOR * b,
            Self::Add => b + c,
        }
    }
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stores {
    /// Ordinary stores: a line is read into the cache before it is written there.
    Regular,
    /// Stores that bypass the caches.
    NonTemporal,
}

impl Stores {
    /// The parameter `stores`, the same for all workloads that write arrays.
    pub(super) fn parameter() -> Parameter {
        declare::choice(
            "stores",
            &["regular", "nt"],
            "regular: ordinary stores, which read a line before they write it; nt: stores that bypass \
             the caches",
        )
    }

    /// As the parameter says.
    ///
    /// # Errors
    /// Unsupported if this build has no such stores.
    pub(super) fn of(start: &Start) -> Result<Self, StartError> {
        match start.text("stores") {
            "nt" if HAS_NON_TEMPORAL => Ok(Self::NonTemporal),
            "nt" => Err(StartError::unsupported(
                format!("plumb has no non-temporal stores for {}", std::env::consts::ARCH),
                "set stores=regular",
            )),
            _ => Ok(Self::Regular),
        }
    }

    /// After the last store of an array.
    fn done(self) {
        if self == Self::NonTemporal {
            fence();
        }
    }

    /// How often the memory moves what is written once.
    pub(super) fn traffic(self) -> u64 {
        match self {
            Self::Regular => 2,
            Self::NonTemporal => 1,
        }
    }
}

/// A loop of STREAM, chosen once at start.
#[derive(Clone, Copy)]
pub(super) struct StreamKernel(StreamLoop, Stores);

impl StreamKernel {
    /// The loop for a width that is here ([`Width::of`]).
    pub(super) fn new(stream: StreamOperation, stores: Stores, width: Width) -> Self {
        let loops = of(width);
        let of_stores = match stream {
            StreamOperation::Triad => loops.triad,
            StreamOperation::Copy => loops.copy,
            StreamOperation::Scale => loops.scale,
            StreamOperation::Add => loops.add,
        };
        Self(of_stores[stores as usize], stores)
    }

    /// Writes `to` from the sources, whose words are the bits of doubles.
    pub(super) fn run(self, to: &mut [u64], b: &[u64], c: &[u64]) {
        let lines = to.len().min(b.len()).min(c.len()) / LINE_WORDS;
        assert!(is_aligned(to) && is_aligned(b) && is_aligned(c), "arrays begin on cache lines");
        // SAFETY: each slice holds `lines` cache lines and begins on one, every word is a double, `to` overlaps no
        // source (the borrow), and the CPU has the width that the loop was chosen for.
        unsafe { (self.0)(to.as_mut_ptr().cast(), b.as_ptr().cast(), c.as_ptr().cast(), lines) };
        self.1.done();
    }
}

/// A sum of words, chosen once at start.
#[derive(Clone, Copy)]
pub(super) struct SumKernel(SumLoop);

impl SumKernel {
    /// The loop for a width that is here.
    pub(super) fn new(width: Width) -> Self {
        Self(of(width).sum)
    }

    /// The sum of whole cache lines of words, modulo 2^64.
    pub(super) fn run(self, from: &[u64]) -> u64 {
        assert!(is_aligned(from) && from.len().is_multiple_of(LINE_WORDS), "whole cache lines");
        // SAFETY: the slice holds that many words and begins on a cache line; the CPU has the width.
        unsafe { (self.0)(from.as_ptr(), from.len()) }
    }
}

/// A fill, chosen once at start.
#[derive(Clone, Copy)]
pub(super) struct FillKernel(FillLoop, Stores);

impl FillKernel {
    /// The loop for a width that is here.
    pub(super) fn new(stores: Stores, width: Width) -> Self {
        Self(of(width).fill[stores as usize], stores)
    }

    /// Writes `word` into every word of whole cache lines.
    pub(super) fn run(self, to: &mut [u64], word: u64) {
        assert!(is_aligned(to), "the array begins on a cache line");
        // SAFETY: the slice holds that many cache lines and begins on one; the CPU has the width.
        unsafe { (self.0)(to.as_mut_ptr(), word, to.len() / LINE_WORDS) };
        self.1.done();
    }
}

fn is_aligned(words: &[u64]) -> bool {
    words.as_ptr().addr().is_multiple_of(LINE_WORDS * 8)
}

#[cfg(test)]
mod tests {
    use super::{FillKernel, Stores, StreamKernel, StreamOperation, SumKernel};
    use crate::methods::HAS_NON_TEMPORAL;
    use plumb_workload_kit::mapping::{Mapping, Pages};
    use plumb_workload_kit::vector::Width;

    /// No multiple of what the widest loop does at a time.
    const BYTES: usize = 64 * 1001;

    fn array(of: impl Fn(u64) -> u64) -> Mapping {
        let mut array = Mapping::new(BYTES, Pages::System).unwrap();
        for (i, word) in (0..).zip(array.words_mut()) {
            *word = of(i);
        }
        array
    }

    fn all(mut test: impl FnMut(Width, Stores)) {
        for width in Width::ALL.into_iter().filter(|width| width.is_here()) {
            test(width, Stores::Regular);
            if HAS_NON_TEMPORAL {
                test(width, Stores::NonTemporal);
            }
        }
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn every_stream_kernel_writes_every_element() {
        let b = array(|i| (i as f64 + 7.0).to_bits());
        let c = array(|i| (5.0 * i as f64).to_bits());
        all(|width, stores| {
            for stream in [
                StreamOperation::Triad,
                StreamOperation::Copy,
                StreamOperation::Scale,
                StreamOperation::Add,
            ] {
                let mut to = array(|_| 0);
                StreamKernel::new(stream, stores, width).run(to.words_mut(), b.words(), c.words());
                for (i, &word) in (0_u32..).zip(to.words()) {
                    let i = f64::from(i);
                    let expected = stream.element(i + 7.0, 5.0 * i);
                    assert_eq!(word, expected.to_bits(), "{width:?} {stores:?} {stream:?} {i}");
                }
            }
        });
    }

    #[test]
    fn every_word_is_summed_and_filled() {
        let words = array(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let expected = words.words().iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
        all(|width, stores| {
            assert_eq!(SumKernel::new(width).run(words.words()), expected, "{width:?}");
            let mut to = array(|_| 0);
            FillKernel::new(stores, width).run(to.words_mut(), 99);
            assert!(to.words().iter().all(|&word| word == 99), "{width:?} {stores:?}");
        });
    }
}
