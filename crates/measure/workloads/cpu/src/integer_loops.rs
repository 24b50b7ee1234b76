//! Loops of integer instructions, 128 a pass, as written: assembly, because a compiler folds what is known to it.
#![expect(unsafe_code, reason = "a chain of instructions that stays as it is needs assembly")]

use std::arch::asm;

use super::known_loop::CONSTANTS;

/// value += by, by the value before, 128 times a pass; at least one pass. Register to register: CPUs since
/// 2021 add immediates to a chain faster than one a cycle.
#[inline(never)]
pub(super) fn add_chain(mut value: u64, by: u64, passes: u64) -> u64 {
    // SAFETY: changes registers alone.
    unsafe {
        asm!(
            "2:",
            ".rept 128",
            "addq {by}, {value}",
            ".endr",
            "decq {passes}",
            "jnz 2b",
            value = inout(reg) value,
            by = in(reg) by,
            passes = inout(reg) passes => _,
            options(att_syntax, nostack)
        );
    }
    value
}

/// value *= by, the same.
#[inline(never)]
pub(super) fn mul_chain(mut value: u64, by: u64, passes: u64) -> u64 {
    // SAFETY: changes registers alone.
    unsafe {
        asm!(
            "2:",
            ".rept 128",
            "imulq {by}, {value}",
            ".endr",
            "decq {passes}",
            "jnz 2b",
            value = inout(reg) value,
            by = in(reg) by,
            passes = inout(reg) passes => _,
            options(att_syntax, nostack)
        );
    }
    value
}

/// [`add_chain`] of the first word.
pub(super) fn add_dependent(state: &mut [u64], with: &[u64; CONSTANTS], passes: u64) {
    state[0] = add_chain(state[0], with[0], passes);
}

/// [`mul_chain`] of the first word.
pub(super) fn mul_dependent(state: &mut [u64], with: &[u64; CONSTANTS], passes: u64) {
    state[0] = mul_chain(state[0], with[0], passes);
}

/// A loop over eight words, each its own chain.
macro_rules! eight_chains {
    ($(#[$doc:meta])* $name:ident, $instruction:literal) => {
        $(#[$doc])*
        #[inline(never)]
        pub(super) fn $name(state: &mut [u64], with: &[u64; CONSTANTS], passes: u64) {
            let Some(([a, b, c, d, e, f, g, h], _)) = state.split_first_chunk_mut() else { return };
            // SAFETY: changes the registers that it names alone.
            unsafe {
                asm!(
                    "2:",
                    ".rept 16",
                    concat!($instruction, " {by}, {a}"),
                    concat!($instruction, " {by}, {b}"),
                    concat!($instruction, " {by}, {c}"),
                    concat!($instruction, " {by}, {d}"),
                    concat!($instruction, " {by}, {e}"),
                    concat!($instruction, " {by}, {f}"),
                    concat!($instruction, " {by}, {g}"),
                    concat!($instruction, " {by}, {h}"),
                    ".endr",
                    "decq {passes}",
                    "jnz 2b",
                    a = inout(reg) *a,
                    b = inout(reg) *b,
                    c = inout(reg) *c,
                    d = inout(reg) *d,
                    e = inout(reg) *e,
                    f = inout(reg) *f,
                    g = inout(reg) *g,
                    h = inout(reg) *h,
                    by = in(reg) with[0],
                    passes = inout(reg) passes => _,
                    options(att_syntax, nomem, nostack)
                );
            }
        }
    };
}

eight_chains!(
    /// Eight chains of additions.
    add_independent,
    "addq"
);
eight_chains!(
    /// Eight chains of multiplications.
    mul_independent,
    "imulq"
);

/// value = with\[0\] / value: the divisor is the quotient before. The high half of the dividend is zero, as in C.
#[inline(never)]
pub(super) fn div_dependent(state: &mut [u64], with: &[u64; CONSTANTS], passes: u64) {
    let Some(value) = state.first_mut() else { return };
    // SAFETY: changes registers alone; no divisor is 0, because a dividend is larger than every divisor.
    unsafe {
        asm!(
            "2:",
            ".rept 128",
            "movq {dividend}, %rax",
            "xorl %edx, %edx",
            "divq {value}",
            "movq %rax, {value}",
            ".endr",
            "decq {passes}",
            "jnz 2b",
            value = inout(reg) *value,
            dividend = in(reg) with[0],
            passes = inout(reg) passes => _,
            out("rax") _,
            out("rdx") _,
            options(att_syntax, nomem, nostack)
        );
    }
}

/// Four chains of divisions.
#[inline(never)]
pub(super) fn div_independent(state: &mut [u64], with: &[u64; CONSTANTS], passes: u64) {
    let Some(([a, b, c, d], _)) = state.split_first_chunk_mut() else { return };
    // SAFETY: as for the dependent ones.
    unsafe {
        asm!(
            "2:",
            ".rept 32",
            "movq {dividend}, %rax",
            "xorl %edx, %edx",
            "divq {a}",
            "movq %rax, {a}",
            "movq {dividend}, %rax",
            "xorl %edx, %edx",
            "divq {b}",
            "movq %rax, {b}",
            "movq {dividend}, %rax",
            "xorl %edx, %edx",
            "divq {c}",
            "movq %rax, {c}",
            "movq {dividend}, %rax",
            "xorl %edx, %edx",
            "divq {d}",
            "movq %rax, {d}",
            ".endr",
            "decq {passes}",
            "jnz 2b",
            a = inout(reg) *a,
            b = inout(reg) *b,
            c = inout(reg) *c,
            d = inout(reg) *d,
            dividend = in(reg) with[0],
            passes = inout(reg) passes => _,
            out("rax") _,
            out("rdx") _,
            options(att_syntax, nomem, nostack)
        );
    }
}
