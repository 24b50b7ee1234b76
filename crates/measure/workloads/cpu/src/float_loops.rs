//! Loops of floating-point instructions, 120 a pass, as written: a compiler would reorder, widen or fuse them.
#![expect(unsafe_code, reason = "a chain of instructions that stays as it is needs assembly")]

use std::arch::asm;

use super::known_loop::CONSTANTS;

/// register = register with constant, in the form of SSE.
macro_rules! two {
    ($op:literal, $r:literal, $n:literal) => {
        concat!($op, " %", $r, "12, %", $r, $n)
    };
}

/// The same in the form of AVX.
macro_rules! three {
    ($op:literal, $r:literal, $n:literal) => {
        concat!($op, " %", $r, "12, %", $r, $n, ", %", $r, $n)
    };
}

/// register = register × first constant + second constant.
macro_rules! fused {
    ($op:literal, $r:literal, $n:literal) => {
        concat!($op, " %", $r, "13, %", $r, "12, %", $r, $n)
    };
}

/// A loop over one register, or twelve: loads the state, makes passes, stores the state.
macro_rules! float_loop {
    ($name:ident, $words:literal, $form:ident, $op:literal, $r:literal, $move:literal, $end:literal, $times:literal,
     $(($n:literal, $at:literal)),+) => {
        #[inline(never)]
        pub(super) fn $name(state: &mut [u64], with: &[u64; CONSTANTS], passes: u64) {
            // A state that is too short stays as it is, and is found.
            let Some(state) = state.first_chunk_mut::<$words>() else { return };
            // SAFETY: the state has as many words as the registers of the loop take, `with` two vectors of the widest;
            // only CPUs that have the instructions come here.
            unsafe {
                asm!(
                    concat!($move, " ({with}), %", $r, "12"),
                    concat!($move, " 64({with}), %", $r, "13"),
                    $(concat!($move, " ", $at, "({state}), %", $r, $n),)+
                    "2:",
                    concat!(".rept ", $times),
                    $($form!($op, $r, $n),)+
                    ".endr",
                    "decq {passes}",
                    "jnz 2b",
                    $(concat!($move, " %", $r, $n, ", ", $at, "({state})"),)+
                    $end,
                    state = in(reg) state.as_mut_ptr(),
                    with = in(reg) with.as_ptr(),
                    passes = inout(reg) passes => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                    out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _,
                    out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _,
                    options(att_syntax, nostack)
                );
            }
        }
    };
}

/// The dependent and the independent loop of an instruction.
macro_rules! float_loops {
    ($one:ident, $words:literal, $all:ident, $all_words:literal, $form:ident, $op:literal, $r:literal,
     $move:literal, $end:literal, [$($at:literal),+]) => {
        float_loop!($one, $words, $form, $op, $r, $move, $end, "120", ("0", "0"));
        float_loops!(@all $all, $all_words, $form, $op, $r, $move, $end, $($at),+);
    };
    (@all $all:ident, $words:literal, $form:ident, $op:literal, $r:literal, $move:literal, $end:literal,
     $a:literal, $b:literal, $c:literal, $d:literal, $e:literal, $f:literal, $g:literal, $h:literal,
     $i:literal, $j:literal, $k:literal, $l:literal) => {
        float_loop!(
            $all, $words, $form, $op, $r, $move, $end, "10", ("0", $a), ("1", $b), ("2", $c), ("3", $d),
            ("4", $e), ("5", $f), ("6", $g), ("7", $h), ("8", $i), ("9", $j), ("10", $k), ("11", $l)
        );
    };
}

macro_rules! scalar {
    ($one:ident, $all:ident, $form:ident, $op:literal, $end:literal) => {
        float_loops!(
            $one,
            1,
            $all,
            12,
            $form,
            $op,
            "xmm",
            "movsd",
            $end,
            ["0", "8", "16", "24", "32", "40", "48", "56", "64", "72", "80", "88"]
        );
    };
}

macro_rules! bits_128 {
    ($one:ident, $all:ident, $form:ident, $op:literal, $end:literal) => {
        float_loops!(
            $one,
            2,
            $all,
            24,
            $form,
            $op,
            "xmm",
            "movupd",
            $end,
            ["0", "16", "32", "48", "64", "80", "96", "112", "128", "144", "160", "176"]
        );
    };
}

macro_rules! bits_256 {
    ($one:ident, $all:ident, $form:ident, $op:literal) => {
        float_loops!(
            $one,
            4,
            $all,
            48,
            $form,
            $op,
            "ymm",
            "vmovupd",
            "vzeroupper",
            ["0", "32", "64", "96", "128", "160", "192", "224", "256", "288", "320", "352"]
        );
    };
}

macro_rules! bits_512 {
    ($one:ident, $all:ident, $form:ident, $op:literal) => {
        float_loops!(
            $one,
            8,
            $all,
            96,
            $form,
            $op,
            "zmm",
            "vmovupd",
            "vzeroupper",
            ["0", "64", "128", "192", "256", "320", "384", "448", "512", "576", "640", "704"]
        );
    };
}

scalar!(add_scalar_dependent, add_scalar_independent, two, "addsd", "");
scalar!(mul_scalar_dependent, mul_scalar_independent, two, "mulsd", "");
scalar!(fma_scalar_dependent, fma_scalar_independent, fused, "vfmadd213sd", "vzeroupper");
bits_128!(add_128_dependent, add_128_independent, two, "addpd", "");
bits_128!(mul_128_dependent, mul_128_independent, two, "mulpd", "");
bits_128!(fma_128_dependent, fma_128_independent, fused, "vfmadd213pd", "vzeroupper");
bits_256!(add_256_dependent, add_256_independent, three, "vaddpd");
bits_256!(mul_256_dependent, mul_256_independent, three, "vmulpd");
bits_256!(fma_256_dependent, fma_256_independent, fused, "vfmadd213pd");
bits_512!(add_512_dependent, add_512_independent, three, "vaddpd");
bits_512!(mul_512_dependent, mul_512_independent, three, "vmulpd");
bits_512!(fma_512_dependent, fma_512_independent, fused, "vfmadd213pd");
