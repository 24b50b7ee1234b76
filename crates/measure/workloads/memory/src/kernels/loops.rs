//! What the loops of all architectures have in common.

/// Words in a cache line, which is what a kernel works on at least.
pub(super) const LINE_WORDS: usize = 8;

/// The factor of scale and triad, as in STREAM.
pub(super) const FACTOR: f64 = 3.0;

/// Writes `lines` cache lines from `to` on, from as many at each source.
pub(super) type StreamLoop = unsafe fn(to: *mut f64, b: *const f64, c: *const f64, lines: usize);

/// Adds up `words` words, a multiple of [`LINE_WORDS`].
pub(super) type SumLoop = unsafe fn(from: *const u64, words: usize) -> u64;

/// Writes one word repeatedly into `lines` cache lines.
pub(super) type FillLoop = unsafe fn(to: *mut u64, word: u64, lines: usize);

/// The loops for registers of one width.
pub(super) struct Loops {
    /// One with ordinary stores, one with stores that bypass the caches.
    pub(super) triad: [StreamLoop; 2],
    pub(super) copy: [StreamLoop; 2],
    pub(super) scale: [StreamLoop; 2],
    pub(super) add: [StreamLoop; 2],
    pub(super) fill: [FillLoop; 2],
    pub(super) sum: SumLoop,
}
