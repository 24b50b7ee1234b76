//! The loops for x86-64. Ordinary stores are volatile: left to itself, a compiler makes a call of memcpy or memset of some of
//! these loops, which may then choose non-temporal stores.
#![expect(unsafe_code, reason = "vector instructions on raw pointers")]

use plumb_workload_kit::vector::Width;

use super::loops::Loops;

/// The loops for this width.
pub(super) fn of(width: Width) -> &'static Loops {
    match width {
        Width::Bits128 => &bits128::LOOPS,
        Width::Bits256 => &bits256::LOOPS,
        Width::Bits512 => &bits512::LOOPS,
    }
}

/// Orders non-temporal stores before everything after.
pub(super) fn fence() {
    // SAFETY: takes nothing; SSE is in every x86-64.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// One loop of STREAM: a cache line a turn.
macro_rules! stream_loop {
    ($name:ident, $features:literal, $doubles:ident, $store:path, |$b:ident, $c:ident| $element:expr) => {
        #[inline(never)]
        #[target_feature(enable = $features)]
        unsafe fn $name(to: *mut f64, b: *const f64, c: *const f64, lines: usize) {
            const A_LINE: usize = 64 / size_of::<$doubles>();
            let to = to.cast::<$doubles>();
            let b = b.cast::<$doubles>();
            let c = c.cast::<$doubles>();
            for line in 0..lines {
                for part in 0..A_LINE {
                    let at = line * A_LINE + part;
                    // SAFETY: the caller has checked that all three hold so many lines and begin on one.
                    unsafe {
                        let ($b, $c) = (b.add(at), c.add(at));
                        $store(to.add(at), $element);
                    }
                }
            }
        }
    };
}

macro_rules! fill_loop {
    ($name:ident, $features:literal, $words:ident, $set:ident, $store:path) => {
        #[inline(never)]
        #[target_feature(enable = $features)]
        unsafe fn $name(to: *mut u64, word: u64, lines: usize) {
            const A_LINE: usize = 64 / size_of::<$words>();
            let to = to.cast::<$words>();
            let word = $set(word.cast_signed());
            for line in 0..lines {
                for part in 0..A_LINE {
                    // SAFETY: the caller has checked that there are so many lines, the first at `to`.
                    unsafe { $store(to.add(line * A_LINE + part), word) };
                }
            }
        }
    };
}

/// All loops for one width: its instructions by name.
macro_rules! loops {
    (
        $module:ident, $features:literal, $accumulators:literal, $doubles:ident, $words:ident,
        set: $set:ident, $set_words:ident, add: $add:ident, $add_words:ident, mul: $mul:ident,
        stream: $stream:ident, $stream_words:ident, triad: |$b:ident, $c:ident, $by:ident| $triad:expr
    ) => {
        mod $module {
            use std::arch::x86_64::*;
            use std::ptr::write_volatile;

            use super::super::loops::{FACTOR, Loops};

            pub(super) static LOOPS: Loops = Loops {
                triad: [triad_regular, triad_nt],
                copy: [copy_regular, copy_nt],
                scale: [scale_regular, scale_nt],
                add: [add_regular, add_nt],
                fill: [fill_regular, fill_nt],
                sum,
            };

            stream_loop!(copy_regular, $features, $doubles, write_volatile, |b, _c| *b);
            stream_loop!(copy_nt, $features, $doubles, stream, |b, _c| *b);
            stream_loop!(scale_regular, $features, $doubles, write_volatile, |b, _c| {
                $mul($set(FACTOR), *b)
            });
            stream_loop!(scale_nt, $features, $doubles, stream, |b, _c| $mul($set(FACTOR), *b));
            stream_loop!(add_regular, $features, $doubles, write_volatile, |b, c| $add(*b, *c));
            stream_loop!(add_nt, $features, $doubles, stream, |b, c| $add(*b, *c));
            stream_loop!(triad_regular, $features, $doubles, write_volatile, |b, c| triad(*b, *c));
            stream_loop!(triad_nt, $features, $doubles, stream, |b, c| triad(*b, *c));
            fill_loop!(fill_regular, $features, $words, $set_words, write_volatile);
            fill_loop!(fill_nt, $features, $words, $set_words, stream_words);

            #[inline]
            #[target_feature(enable = $features)]
            fn triad($b: $doubles, $c: $doubles) -> $doubles {
                let $by = $set(FACTOR);
                $triad
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn stream(to: *mut $doubles, value: $doubles) {
                // SAFETY: the caller's pointer is valid and aligned.
                unsafe { $stream(to.cast(), value) };
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn stream_words(to: *mut $words, value: $words) {
                // SAFETY: as above.
                unsafe { $stream_words(to.cast(), value) };
            }

            /// Several sums at a time, so that none waits for the one before.
            #[inline(never)]
            #[target_feature(enable = $features)]
            unsafe fn sum(from: *const u64, words: usize) -> u64 {
                const LANES: usize = size_of::<$words>() / 8;
                const A_TURN: usize = LANES * $accumulators;
                let mut sums = [$set_words(0); $accumulators];
                let whole = words - words % A_TURN;
                for at in (0..whole).step_by(A_TURN) {
                    for (part, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: the caller has checked that there are `words` words, the first on a cache line.
                        *sum = unsafe { $add_words(*sum, *from.add(at + part * LANES).cast()) };
                    }
                }
                let mut lanes = [0_u64; A_TURN];
                for (part, sum) in sums.iter().enumerate() {
                    // SAFETY: `lanes` has room for all sums; any bits are a word.
                    unsafe {
                        lanes.as_mut_ptr().add(part * LANES).cast::<$words>().write_unaligned(*sum)
                    };
                }
                let mut all = lanes.iter().fold(0_u64, |all, lane| all.wrapping_add(*lane));
                for at in whole..words {
                    // SAFETY: as above.
                    all = all.wrapping_add(unsafe { *from.add(at) });
                }
                all
            }
        }
    };
}

loops!(
    bits128, "sse2", 8, __m128d, __m128i,
    set: _mm_set1_pd, _mm_set1_epi64x, add: _mm_add_pd, _mm_add_epi64, mul: _mm_mul_pd,
    stream: _mm_stream_pd, _mm_stream_si128, triad: |b, c, by| _mm_add_pd(_mm_mul_pd(by, c), b)
);
loops!(
    bits256, "avx2,fma", 8, __m256d, __m256i,
    set: _mm256_set1_pd, _mm256_set1_epi64x, add: _mm256_add_pd, _mm256_add_epi64, mul: _mm256_mul_pd,
    stream: _mm256_stream_pd, _mm256_stream_si256, triad: |b, c, by| _mm256_fmadd_pd(by, c, b)
);
loops!(
    bits512, "avx512f,avx512bw,avx512dq,avx512vl", 8, __m512d, __m512i,
    set: _mm512_set1_pd, _mm512_set1_epi64, add: _mm512_add_pd, _mm512_add_epi64, mul: _mm512_mul_pd,
    stream: _mm512_stream_pd, _mm512_stream_si512, triad: |b, c, by| _mm512_fmadd_pd(by, c, b)
);
