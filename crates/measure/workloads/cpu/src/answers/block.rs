//! What an input and an answer are, for both kinds of code.

/// Bytes of an input: a multiple of the blocks of AES and SHA-256.
pub(super) const BLOCK: usize = 512;
/// Products and sums of an input: two AVX registers, or one of AVX-512.
pub(super) const LANES: usize = 8;
/// An answer; one that is shorter ends with zeros.
pub(super) type AnswerBytes = [u8; 64];

/// An answer with zeros behind it.
pub(super) fn padded(bytes: &[u8]) -> AnswerBytes {
    let mut answer = [0; 64];
    answer[..bytes.len()].copy_from_slice(bytes);
    answer
}

/// A term of a product and sum: a whole number times a power of two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    /// At most 53 bits, so that it is exact as a floating-point number.
    pub(super) value: i64,
    pub(super) shift: u32,
}

impl Term {
    /// The term as a floating-point number, exactly.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub(super) fn number(self) -> f64 {
        self.value as f64 * f64::from_bits((1023 + u64::from(self.shift)) << 52)
    }
}

/// Two factors and an addend from three words of an input. The addend is shifted, so that it meets the product at
/// different places.
pub(super) fn terms(block: &[u8; BLOCK], lane: usize) -> [Term; 3] {
    let word = |row: usize| {
        let start = 8 * (row * LANES + lane);
        block[start..].first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
    };
    let shift = (word(2) & 63).unsigned_abs();
    [
        Term { value: word(0) >> 11, shift: 0 },
        Term { value: word(1) >> 11, shift: 0 },
        Term { value: word(2) >> 11, shift: u32::try_from(shift).unwrap_or(0) },
    ]
}
