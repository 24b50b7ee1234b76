//! Known answers from plain integer code, written from the standards: it shares no instruction of AES, SHA, CRC or
//! floating point with what is checked.

use super::block::{AnswerBytes, BLOCK, LANES, padded, terms};

/// AES-128 (FIPS 197) of the blocks after the key, each XORed with the text before it; then what the last one was
/// before it was encrypted.
pub(super) fn aes(block: &[u8; BLOCK]) -> AnswerBytes {
    let mut blocks = block.chunks_exact(16);
    let key: [u8; 16] = blocks.next().and_then(|key| key.try_into().ok()).unwrap_or_default();
    let keys = round_keys(key);
    let mut chain = [0; 16];
    let mut last = [0; 16];
    for plain in blocks {
        for (byte, more) in chain.iter_mut().zip(plain) {
            *byte ^= more;
        }
        last = chain;
        chain = encrypted(chain, &keys);
    }
    padded(&[chain, last].concat())
}

/// The substitution of AES: the inverse in the field of 256 elements, then an affine map.
const S_BOX: [u8; 256] = s_box();

const fn s_box() -> [u8; 256] {
    let mut table = [0; 256];
    // Two generators of the field that are each other's inverse: 3 and 0xf6.
    let mut power = 1_u8;
    let mut inverse = 1_u8;
    loop {
        power ^= doubled(power);
        inverse = times(inverse, 0xf6);
        table[power as usize] = inverse
            ^ inverse.rotate_left(1)
            ^ inverse.rotate_left(2)
            ^ inverse.rotate_left(3)
            ^ inverse.rotate_left(4)
            ^ 0x63;
        if power == 1 {
            break;
        }
    }
    table[0] = 0x63;
    table
}

/// Twice an element of the field of AES, whose polynomial is x⁸ + x⁴ + x³ + x + 1.
const fn doubled(byte: u8) -> u8 {
    (byte << 1) ^ ((byte >> 7) * 0x1b)
}

const fn times(mut byte: u8, mut factor: u8) -> u8 {
    let mut product = 0;
    while factor != 0 {
        product ^= byte * (factor & 1);
        byte = doubled(byte);
        factor >>= 1;
    }
    product
}

fn round_keys(key: [u8; 16]) -> [[u8; 16]; 11] {
    let mut keys = [key; 11];
    let mut constant = 1;
    for round in 1..keys.len() {
        let before = keys[round - 1];
        let mut word = [13, 14, 15, 12].map(|index| S_BOX[usize::from(before[index])]);
        word[0] ^= constant;
        constant = doubled(constant);
        for (index, byte) in before.iter().enumerate() {
            word[index % 4] ^= byte;
            keys[round][index] = word[index % 4];
        }
    }
    keys
}

fn encrypted(plain: [u8; 16], keys: &[[u8; 16]; 11]) -> [u8; 16] {
    let mut state = xor(plain, keys[0]);
    for (round, key) in keys.iter().enumerate().skip(1) {
        // A row of the state is every fourth byte; row n moves n columns to the left.
        let moved: [u8; 16] =
            std::array::from_fn(|index| S_BOX[usize::from(state[(index * 5) % 16])]);
        let mixed = if round == 10 { moved } else { mixed_columns(moved) };
        state = xor(mixed, *key);
    }
    state
}

fn mixed_columns(state: [u8; 16]) -> [u8; 16] {
    std::array::from_fn(|index| {
        let column = index / 4 * 4;
        let at = |row: usize| state[column + (index + row) % 4];
        doubled(at(0)) ^ doubled(at(1)) ^ at(1) ^ at(2) ^ at(3)
    })
}

fn xor(one: [u8; 16], other: [u8; 16]) -> [u8; 16] {
    std::array::from_fn(|index| one[index] ^ other[index])
}

/// SHA-256 (FIPS 180-4) of the block, whose length is a multiple of 64 bytes.
pub(super) fn sha256(block: &[u8; BLOCK]) -> AnswerBytes {
    let mut hash = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let mut end = [0; 64];
    end[0] = 0x80;
    end[56..].copy_from_slice(&(8 * BLOCK as u64).to_be_bytes());
    for piece in block.chunks_exact(64).chain([end.as_slice()]) {
        compress(&mut hash, piece);
    }
    padded(&hash.map(u32::to_be_bytes).concat())
}

fn compress(hash: &mut [u32; 8], piece: &[u8]) {
    let mut words = [0; 64];
    for (word, bytes) in words.iter_mut().zip(piece.chunks_exact(4)) {
        *word = bytes.try_into().map_or(0, u32::from_be_bytes);
    }
    for index in 16..words.len() {
        let early = words[index - 15];
        let late = words[index - 2];
        let sigma_0 = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let sigma_1 = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        words[index] = words[index - 16]
            .wrapping_add(sigma_0)
            .wrapping_add(words[index - 7])
            .wrapping_add(sigma_1);
    }
    let mut state = *hash;
    for (word, constant) in words.iter().zip(SHA_CONSTANTS) {
        let [a, b, c, d, e, f, g, h] = state;
        let sum_1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let first = h
            .wrapping_add(sum_1)
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(constant)
            .wrapping_add(*word);
        let sum_0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = sum_0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        state = [first.wrapping_add(second), a, b, c, d.wrapping_add(first), e, f, g];
    }
    for (word, more) in hash.iter_mut().zip(state) {
        *word = word.wrapping_add(more);
    }
}

/// The first 32 bits of the fractions of the cube roots of the first 64 primes.
const SHA_CONSTANTS: [u32; 64] = sha_constants();

const fn sha_constants() -> [u32; 64] {
    let mut table = [0; 64];
    let mut filled = 0;
    let mut candidate = 2;
    while filled < table.len() {
        if is_prime(candidate) {
            table[filled] = fraction_of_cube_root(candidate);
            filled += 1;
        }
        candidate += 1;
    }
    table
}

const fn is_prime(number: u128) -> bool {
    let mut divisor = 2;
    while divisor * divisor <= number {
        if number.is_multiple_of(divisor) {
            return false;
        }
        divisor += 1;
    }
    true
}

#[expect(clippy::cast_possible_truncation, reason = "the 32 bits after the point are wanted")]
const fn fraction_of_cube_root(number: u128) -> u32 {
    // The root of number × 2⁹⁶ is 2³² times the root of the number.
    let wanted = number << 96;
    let mut root: u128 = 0;
    let mut bit: u128 = 1 << 35;
    while bit > 0 {
        let larger = root | bit;
        if larger * larger * larger <= wanted {
            root = larger;
        }
        bit >>= 1;
    }
    root as u32
}

/// CRC-32 as in zip and Ethernet (polynomial 0x04c11db7, reflected), bit by bit.
pub(super) fn crc32(block: &[u8; BLOCK]) -> AnswerBytes {
    let mut crc = u32::MAX;
    for byte in block {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ ((crc & 1) * 0xedb8_8320);
        }
    }
    padded(&(!crc).to_be_bytes())
}

/// Products with a sum, exact in 128-bit integers and rounded once at the end, without floating-point instructions.
pub(super) fn fma(block: &[u8; BLOCK]) -> AnswerBytes {
    let sums: [u64; LANES] = std::array::from_fn(|lane| {
        let [factor, other, addend] = terms(block, lane);
        let product = i128::from(factor.value) * i128::from(other.value);
        rounded(product + (i128::from(addend.value) << addend.shift))
    });
    padded(&sums.map(u64::to_be_bytes).concat())
}

/// The bits of the 64-bit floating-point number that is nearest to an integer; of two, the even one.
#[expect(clippy::cast_possible_truncation, reason = "what is cut off is 0, or in `rest`")]
fn rounded(sum: i128) -> u64 {
    let size = sum.unsigned_abs();
    if size == 0 {
        return 0;
    }
    let exponent = size.ilog2();
    let sign = u64::from(sum < 0) << 63;
    let biased = u64::from(exponent + 1023) << 52;
    if exponent <= 52 {
        let fraction = ((size << (52 - exponent)) as u64) & ((1 << 52) - 1);
        return sign | biased | fraction;
    }
    let cut = exponent - 52;
    let fraction = ((size >> cut) as u64) & ((1 << 52) - 1);
    let rest = size & ((1 << cut) - 1);
    let half = 1 << (cut - 1);
    let is_up = rest > half || (rest == half && fraction & 1 == 1);
    // A fraction of all ones carries into the exponent, as it should.
    (sign | biased | fraction) + u64::from(is_up)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, S_BOX, SHA_CONSTANTS, crc32, encrypted, round_keys, rounded, sha256};

    #[test]
    fn aes_is_the_published_example() {
        // FIPS 197, appendix C.1.
        let key: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let plain: [u8; 16] = std::array::from_fn(|index| u8::try_from(index * 0x11).unwrap());
        let cipher: [u8; 16] = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes();
        assert_eq!(encrypted(plain, &round_keys(key)), cipher);
        assert_eq!((S_BOX[0], S_BOX[0x53], S_BOX[0xff]), (0x63, 0xed, 0x16));
    }

    #[test]
    fn sha_256_and_crc_32_are_what_other_programs_print() {
        assert_eq!((SHA_CONSTANTS[0], SHA_CONSTANTS[63]), (0x428a_2f98, 0xc671_78f2));
        // sha256sum and crc32 of 512 zero bytes.
        let zeros = [0; BLOCK];
        let hash = 0x076a_27c7_9e5a_ce2a_3d47_f9dd_2e83_e4ff_u128.to_be_bytes();
        assert_eq!(sha256(&zeros)[..16], hash);
        assert_eq!(crc32(&zeros)[..4], 0xb2aa_7578_u32.to_be_bytes());
    }

    #[test]
    fn integers_are_rounded_to_the_nearest_and_then_to_even() {
        for sum in [
            0,
            1,
            -3,
            (1 << 53) - 1,
            (1 << 53) + 1,
            (1 << 53) + 3,
            -((1 << 54) + 2),
            (1 << 54) - 1,
            (1 << 60) - 1,
            i128::MAX >> 10,
            i128::MIN >> 20,
        ] {
            #[expect(clippy::cast_precision_loss, reason = "the rounding is what is compared")]
            let expected = (sum as f64).to_bits();
            assert_eq!(rounded(sum), expected, "{sum}");
        }
    }
}
