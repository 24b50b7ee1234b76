//! The loops if no vector instructions are written for this architecture: words of 8 bytes, whose stores are volatile, so
//! that no call of memcpy or memset is made of them.
#![expect(
    unsafe_code,
    reason = "loops over raw pointers, of the same form as those with vector instructions"
)]

use std::ptr::write_volatile;

use plumb_workload_kit::vector::Width;

use super::loops::{FACTOR, LINE_WORDS, Loops};

static LOOPS: Loops = Loops {
    triad: [triad_regular; 2],
    copy: [copy_regular; 2],
    scale: [scale_regular; 2],
    add: [add_regular; 2],
    fill: [fill_regular; 2],
    sum,
};

/// The loops; other widths and other stores are refused at start.
pub(super) fn of(_: Width) -> &'static Loops {
    &LOOPS
}

/// There are no other stores here.
pub(super) fn fence() {}

macro_rules! stream_loop {
    ($name:ident, |$b:ident, $c:ident| $element:expr) => {
        #[inline(never)]
        unsafe fn $name(to: *mut f64, b: *const f64, c: *const f64, lines: usize) {
            for at in 0..lines * LINE_WORDS {
                // SAFETY: the caller has checked that all three hold so many lines.
                unsafe {
                    let ($b, $c) = (b.add(at), c.add(at));
                    write_volatile(to.add(at), $element);
                }
            }
        }
    };
}

stream_loop!(copy_regular, |b, _c| *b);
stream_loop!(scale_regular, |b, _c| FACTOR * *b);
stream_loop!(add_regular, |b, c| *b + *c);
stream_loop!(triad_regular, |b, c| *b + FACTOR * *c);

#[inline(never)]
unsafe fn fill_regular(to: *mut u64, word: u64, lines: usize) {
    for at in 0..lines * LINE_WORDS {
        // SAFETY: the caller has checked that there are so many lines.
        unsafe { write_volatile(to.add(at), word) };
    }
}

#[inline(never)]
unsafe fn sum(from: *const u64, words: usize) -> u64 {
    let mut sums = [0_u64; LINE_WORDS];
    for at in 0..words {
        let sum = &mut sums[at % LINE_WORDS];
        // SAFETY: the caller has checked that there are so many words.
        *sum = sum.wrapping_add(unsafe { *from.add(at) });
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}
