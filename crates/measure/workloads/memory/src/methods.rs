//! The four ways to copy.
#![expect(unsafe_code, reason = "memcpy, loops kept plain and streaming stores have no safe form")]

use std::arch::asm;
use std::hint::black_box;

/// Bytes of one piece of the method `block`, as in mbw.
pub(super) const BLOCK_BYTES: usize = 256 << 10;

/// A way to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyMethod {
    /// One call of the C library's memcpy.
    Libc,
    /// A loop that loads and stores a word of 8 bytes.
    Loop,
    /// One call of memcpy a block.
    Block,
    /// Stores that bypass the caches, and lines asked for so many bytes ahead; 0 asks for none.
    NonTemporal { prefetch: usize },
}

impl CopyMethod {
    /// The method of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "libc" => Self::Libc,
            "loop" => Self::Loop,
            "block" => Self::Block,
            "nt" => Self::NonTemporal { prefetch: 0 },
            _ => return None,
        })
    }

    /// Copies `from` to `to`, which is as long. No compiler can know that the same was copied before.
    pub(super) fn copy(self, from: &[u64], to: &mut [u64]) {
        let from = black_box(from);
        let to = black_box(to);
        match self {
            Self::Libc => call_memcpy(from, to),
            Self::Loop => copy_words(from, to),
            Self::Block => copy_blocks(from, to),
            Self::NonTemporal { prefetch: 0 } => stream::copy(from, to),
            Self::NonTemporal { prefetch } => stream::copy_ahead(from, to, prefetch),
        }
        black_box(to);
    }
}

fn call_memcpy(from: &[u64], to: &mut [u64]) {
    let words = from.len().min(to.len());
    // SAFETY: both slices have at least `words` words and, by the borrow, do not overlap.
    unsafe { libc::memcpy(to.as_mut_ptr().cast(), from.as_ptr().cast(), words * 8) };
}

fn copy_blocks(from: &[u64], to: &mut [u64]) {
    const WORDS: usize = BLOCK_BYTES / 8;
    for (from, to) in from.chunks(WORDS).zip(to.chunks_mut(WORDS)) {
        call_memcpy(from, to);
    }
}

/// Load a word, store it, next: five instructions a word on x86-64, the same that compilers make of
/// mbw's loop. Left to itself a compiler would call memcpy (hence volatile), or unroll the loop as its
/// version likes (hence a length that it can't know not to change).
#[inline(never)]
fn copy_words(from: &[u64], to: &mut [u64]) {
    let mut words = from.len().min(to.len());
    let from = from.as_ptr();
    let to = to.as_mut_ptr();
    let mut at = 0;
    while at < words {
        // SAFETY: `at` is below `words`, which is not above the length of either slice: the
        // assembly is a comment that leaves it as it is.
        unsafe {
            to.add(at).write_volatile(from.add(at).read_volatile());
            asm!("/* {0} */", inout(reg) words, options(nomem, nostack, preserves_flags));
        }
        at += 1;
    }
}

/// Whether this build has the method `nt`.
pub(super) const HAS_NON_TEMPORAL: bool = cfg!(target_arch = "x86_64");

#[cfg(target_arch = "x86_64")]
mod stream {
    use std::arch::x86_64::{
        __m128i, _MM_HINT_NTA, _mm_loadu_si128, _mm_prefetch, _mm_sfence, _mm_stream_si128,
    };

    /// Copies a cache line at a time with four stores of 16 bytes (SSE2, in every x86-64), so that
    /// each line is written whole and never read first.
    #[inline(never)]
    pub(super) fn copy(from: &[u64], to: &mut [u64]) {
        lines(from, to, |_| {});
    }

    /// As [`copy`], and asks for the line that lies so many bytes ahead: what keeps more lines under way than the CPU
    /// asks for by itself.
    #[inline(never)]
    pub(super) fn copy_ahead(from: &[u64], to: &mut [u64], prefetch: usize) {
        lines(from, to, |line| {
            // SAFETY: a hint that reads nothing; behind the end of the array it does nothing.
            unsafe { _mm_prefetch::<_MM_HINT_NTA>(line.wrapping_byte_add(prefetch).cast()) };
        });
    }

    #[inline(always)]
    fn lines(from: &[u64], to: &mut [u64], ask: impl Fn(*const __m128i)) {
        assert!(to.as_ptr().addr().is_multiple_of(16), "stores of 16 bytes must be aligned");
        for (from, to) in from.chunks_exact(8).zip(to.chunks_exact_mut(8)) {
            let from = from.as_ptr().cast::<__m128i>();
            let to = to.as_mut_ptr().cast::<__m128i>();
            ask(from);
            for i in 0..4 {
                // SAFETY: both chunks hold 64 bytes, and `to` was checked to be aligned.
                unsafe { _mm_stream_si128(to.add(i), _mm_loadu_si128(from.add(i))) };
            }
        }
        // SAFETY: takes nothing; orders the stores above before everything after.
        unsafe { _mm_sfence() };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod stream {
    /// Never called: the workload refuses the method if it is not built in.
    pub(super) fn copy(_: &[u64], _: &mut [u64]) {}

    /// Never called either: without streaming stores the method `nt` is refused at start.
    pub(super) fn copy_ahead(_: &[u64], _: &mut [u64], _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::{CopyMethod, HAS_NON_TEMPORAL};

    #[test]
    fn every_method_copies_every_word() {
        let names = ["libc", "loop", "block", "nt"];
        let ahead = CopyMethod::NonTemporal { prefetch: 1024 };
        for method in names.iter().filter_map(|name| CopyMethod::named(name)).chain([ahead]) {
            let from: Vec<u64> = (0..100_000).map(|i| i * 7 + 1).collect();
            let mut to = vec![0; from.len()];
            if matches!(method, CopyMethod::NonTemporal { .. }) && !HAS_NON_TEMPORAL {
                continue;
            }
            method.copy(&from, &mut to);
            assert!(from == to, "{method:?}");
        }
        assert_eq!(CopyMethod::named("dumb"), None);
    }
}
