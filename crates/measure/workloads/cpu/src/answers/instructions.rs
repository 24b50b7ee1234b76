//! Answers from the CPU's own instructions for AES, SHA, CRC and fused multiply-add where it has them, and from a packer.
#![expect(unsafe_code, reason = "code for CPUs with FMA may be called only on such CPUs")]

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, create_comp_flags_from_zip_params};
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use sha2::{Digest, Sha256};

use super::block::{AnswerBytes, BLOCK, LANES, padded, terms};
use crate::hash::xxh64;

/// What [`super::portable::aes`] gives; the text before the last encryption comes from its decryption.
pub(super) fn aes(block: &[u8; BLOCK]) -> AnswerBytes {
    let mut blocks = block.chunks_exact(16);
    let mut key = Array::from([0; 16]);
    if let Some(bytes) = blocks.next() {
        key.copy_from_slice(bytes);
    }
    let cipher = Aes128::new(&key);
    let mut chain = Array::from([0; 16]);
    for plain in blocks {
        for (byte, more) in chain.iter_mut().zip(plain) {
            *byte ^= more;
        }
        cipher.encrypt_block(&mut chain);
    }
    let mut last = chain;
    cipher.decrypt_block(&mut last);
    let mut answer = padded(&chain);
    answer[16..32].copy_from_slice(&last);
    answer
}

/// What [`super::portable::sha256`] gives.
pub(super) fn sha256(block: &[u8; BLOCK]) -> AnswerBytes {
    padded(&Sha256::digest(block))
}

/// What [`super::portable::crc32`] gives.
pub(super) fn crc32(block: &[u8; BLOCK]) -> AnswerBytes {
    padded(&crc32fast::hash(block).to_be_bytes())
}

/// What [`super::portable::fma`] gives.
pub(super) fn fma(block: &[u8; BLOCK]) -> AnswerBytes {
    let mut numbers = [[0.0; LANES]; 3];
    for lane in 0..LANES {
        for (numbers, term) in numbers.iter_mut().zip(terms(block, lane)) {
            numbers[lane] = term.number();
        }
    }
    let sums = fused(&numbers);
    let mut answer = padded(&[]);
    for (bytes, sum) in answer.chunks_exact_mut(8).zip(sums) {
        bytes.copy_from_slice(&sum.to_bits().to_be_bytes());
    }
    answer
}

fn fused(numbers: &[[f64; LANES]; 3]) -> [f64; LANES] {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: points of this kind start only if `has_fma` holds.
        unsafe { fused_by_instruction(numbers) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        each_fused(numbers)
    }
}

/// On x86-64 the compiler uses the instructions only in a function that is marked; elsewhere `mul_add` would call libm,
/// which may have its own integer code.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx,fma")]
fn fused_by_instruction(numbers: &[[f64; LANES]; 3]) -> [f64; LANES] {
    each_fused(numbers)
}

#[inline(always)]
fn each_fused([factors, others, addends]: &[[f64; LANES]; 3]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for (index, sum) in sums.iter_mut().enumerate() {
        *sum = factors[index].mul_add(others[index], addends[index]);
    }
    sums
}

/// Whether the CPU has instructions that multiply and add with one rounding.
pub(super) fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        cfg!(target_arch = "aarch64")
    }
}

/// A packer and an unpacker of DEFLATE (LZ77 with Huffman codes), with their buffers.
pub(super) struct DeflateRoundTrip {
    packer: CompressorOxide,
    unpacker: DecompressorOxide,
    packed: [u8; 2 * BLOCK],
    unpacked: [u8; BLOCK],
}

impl DeflateRoundTrip {
    pub(super) fn new() -> Self {
        let flags = create_comp_flags_from_zip_params(1, 0, 0);
        Self {
            packer: CompressorOxide::new(flags),
            unpacker: DecompressorOxide::new(),
            packed: [0; 2 * BLOCK],
            unpacked: [0; BLOCK],
        }
    }

    /// Hashes of the packed block, and of what comes out when it is unpacked.
    pub(super) fn lz(&mut self, block: &[u8; BLOCK]) -> AnswerBytes {
        self.packer.reset();
        let (_, _, length) = miniz_oxide::deflate::core::compress(
            &mut self.packer,
            block,
            &mut self.packed,
            TDEFLFlush::Finish,
        );
        let packed = &self.packed[..length];
        self.unpacker.init();
        // Nothing of an earlier block may pass for this one's.
        self.unpacked.fill(0);
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        decompress(&mut self.unpacker, packed, &mut self.unpacked, 0, flags);
        let mut answer = padded(&xxh64(packed, 0).to_be_bytes());
        answer[8..16].copy_from_slice(&xxh64(&self.unpacked, 0).to_be_bytes());
        answer
    }
}
