//! A small compressor of the family LZ77, byte by byte as in LZ4's block format: a row of sequences, each of literals and
//! a repeat.
//!
//! A sequence is a token, whose halves say how many literals and how long a repeat (15 goes on in bytes of up to 255),
//! the literals, and two bytes of distance. A repeat has four bytes at least. The last sequence has literals alone, five
//! at least, and no repeat begins in the last twelve bytes.

use std::fmt;

/// The shortest repeat.
const SHORTEST: usize = 4;
/// Bytes at the end that are always literals, and that no repeat begins in.
const LAST_LITERALS: usize = 5;
const LAST_BEGINNING: usize = 12;
/// The farthest distance.
const FARTHEST: usize = 65_535;
/// Places that the compressor remembers, by a hash of four bytes.
const PLACES_BITS: u32 = 14;

/// The most bytes that a block of so many takes, when nothing repeats.
pub(super) fn bound(size: usize) -> usize {
    size + size / 255 + 16
}

/// Room for the places that the compressor remembers.
pub(super) fn places() -> Vec<u32> {
    vec![0; 1 << PLACES_BITS]
}

/// Packs a block into `packed`, which has room for [`bound`], and shows how many bytes it took.
#[inline(never)]
pub(super) fn compress(block: &[u8], packed: &mut [u8], places: &mut [u32]) -> usize {
    places.fill(0);
    let mut out = Out { bytes: packed, at: 0 };
    let mut at = 0;
    let mut literals = 0;
    let last = block.len().saturating_sub(LAST_BEGINNING);
    while at < last {
        let word = word_at(block, at);
        let place = &mut places[place_of(word)];
        let before = *place as usize;
        *place = u32::try_from(at).unwrap_or(u32::MAX);
        // A place that nothing was remembered at says 0: what stands there decides.
        if before >= at || at - before > FARTHEST || word_at(block, before) != word {
            at += 1;
            continue;
        }
        let most = block.len() - LAST_LITERALS - at;
        let length =
            SHORTEST + alike(&block[before + SHORTEST..], &block[at + SHORTEST..], most - SHORTEST);
        out.sequence(&block[literals..at], at - before, length);
        at += length;
        literals = at;
    }
    out.last(&block[literals..]);
    out.at
}

fn word_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

/// Where four bytes are remembered: the upper bits of a product (Knuth's multiplicative hash).
fn place_of(word: u32) -> usize {
    (word.wrapping_mul(2_654_435_761) >> (32 - PLACES_BITS)) as usize
}

/// How many bytes are alike, up to `most`.
fn alike(one: &[u8], other: &[u8], most: usize) -> usize {
    let words = one.chunks_exact(8).zip(other[..most].chunks_exact(8));
    let whole = 8 * words.take_while(|(one, other)| one == other).count();
    let rest = one[whole..].iter().zip(&other[whole..most]);
    whole + rest.take_while(|(one, other)| one == other).count()
}

/// Where the packed bytes go.
struct Out<'b> {
    bytes: &'b mut [u8],
    at: usize,
}

impl Out<'_> {
    fn byte(&mut self, byte: u8) {
        self.bytes[self.at] = byte;
        self.at += 1;
    }

    /// What a half of a token has no room for.
    fn rest_of(&mut self, length: usize) {
        let Some(mut rest) = length.checked_sub(15) else { return };
        while rest >= 255 {
            self.byte(255);
            rest -= 255;
        }
        self.byte(low_byte(rest));
    }

    fn literals(&mut self, literals: &[u8], repeat: usize) {
        self.byte(low_byte(literals.len().min(15) << 4 | repeat.min(15)));
        self.rest_of(literals.len());
        self.bytes[self.at..self.at + literals.len()].copy_from_slice(literals);
        self.at += literals.len();
    }

    fn sequence(&mut self, literals: &[u8], distance: usize, length: usize) {
        let repeat = length - SHORTEST;
        self.literals(literals, repeat);
        self.byte(low_byte(distance));
        self.byte(low_byte(distance >> 8));
        self.rest_of(repeat);
    }

    fn last(&mut self, literals: &[u8]) {
        self.literals(literals, 0);
    }
}

fn low_byte(number: usize) -> u8 {
    number.to_le_bytes()[0]
}

/// Why packed bytes are no block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Damaged {
    /// They end within a sequence.
    Short,
    /// They hold more than there is room for.
    Long,
    /// A repeat reaches back before the beginning.
    Distance(usize),
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("the packed bytes end within a sequence"),
            Self::Long => f.write_str("the packed bytes unpack to more than the original block"),
            Self::Distance(distance) => write!(f, "invalid repeat distance of {distance} bytes"),
        }
    }
}

/// Unpacks a block into `block` and shows how many bytes it had.
#[inline(never)]
pub(super) fn decompress(packed: &[u8], block: &mut [u8]) -> Result<usize, Damaged> {
    let mut packed = packed;
    let mut at = 0;
    loop {
        let token = usize::from(byte_of(&mut packed)?);
        let count = length_of(token >> 4, &mut packed)?;
        let (literals, rest) = packed.split_at_checked(count).ok_or(Damaged::Short)?;
        block.get_mut(at..at + count).ok_or(Damaged::Long)?.copy_from_slice(literals);
        at += count;
        packed = rest;
        if packed.is_empty() {
            return Ok(at);
        }
        let distance = usize::from(byte_of(&mut packed)?) | usize::from(byte_of(&mut packed)?) << 8;
        let length = SHORTEST + length_of(token & 15, &mut packed)?;
        if distance == 0 || distance > at {
            return Err(Damaged::Distance(distance));
        }
        let end = at + length;
        if end > block.len() {
            return Err(Damaged::Long);
        }
        repeat(block, at, distance, length);
        at = end;
    }
}

/// Writes what stands `distance` back; a repeat that is longer than that repeats itself.
fn repeat(block: &mut [u8], at: usize, distance: usize, length: usize) {
    if distance >= length {
        block.copy_within(at - distance..at - distance + length, at);
        return;
    }
    for to in at..at + length {
        block[to] = block[to - distance];
    }
}

fn byte_of(packed: &mut &[u8]) -> Result<u8, Damaged> {
    let (first, rest) = packed.split_first().ok_or(Damaged::Short)?;
    *packed = rest;
    Ok(*first)
}

/// The length that a half of a token begins.
fn length_of(half: usize, packed: &mut &[u8]) -> Result<usize, Damaged> {
    let mut length = half;
    let mut last = if half == 15 { 255 } else { 0 };
    while last == 255 {
        last = byte_of(packed)?;
        length += usize::from(last);
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::{Damaged, bound, compress, decompress, places};
    use crate::generator;

    fn packed(block: &[u8]) -> Vec<u8> {
        let mut packed = vec![0; bound(block.len())];
        let length = compress(block, &mut packed, &mut places());
        packed.truncate(length);
        packed
    }

    #[test]
    fn every_block_comes_back_byte_for_byte() {
        let generated = generator::bytes(200_000, 18);
        for size in (0..40).chain([255, 270, 1023, 4096, 65_536, 200_000]) {
            for block in [&generated[..size], &vec![7; size]] {
                let mut unpacked = vec![0; size];
                assert_eq!(decompress(&packed(block), &mut unpacked), Ok(size));
                assert!(unpacked == *block, "{size} bytes");
            }
        }
    }

    #[test]
    fn a_block_is_one_of_lz4() {
        // By hand: 1 literal, a repeat of 26 from one back (4 + 15 + 7), then five literals.
        assert_eq!(packed(&[9; 32]), [0x1f, 9, 1, 0, 7, 0x50, 9, 9, 9, 9, 9]);
        assert_eq!(packed(b"abc"), [0x30, b'a', b'b', b'c']);
    }

    #[test]
    fn what_repeats_shrinks_and_what_does_not_keeps_to_the_bound() {
        let generated = generator::bytes(1 << 18, 18);
        let ratio = generated.len() as f64 / packed(&generated).len() as f64;
        assert!((1.1..3.0).contains(&ratio), "{ratio}");
        let mut word = 1_u64;
        let random = std::iter::repeat_with(|| {
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(99);
            word.to_be_bytes()[0]
        });
        let random: Vec<u8> = random.take(10_000).collect();
        assert!(packed(&random).len() <= bound(random.len()));
    }

    #[test]
    fn damaged_blocks_are_refused_or_differ() {
        let block = generator::bytes(5_000, 18);
        let packed = packed(&block);
        let unpack = |packed: &[u8]| {
            let mut unpacked = vec![0; block.len()];
            decompress(packed, &mut unpacked).map(|length| (length, unpacked))
        };
        assert_eq!(unpack(&packed[..packed.len() - 1]), Err(Damaged::Short));
        assert_eq!(unpack(&[]), Err(Damaged::Short));
        assert_eq!(unpack(&[0x10, 1, 9, 0, 0]), Err(Damaged::Distance(9)));
        for at in (0..packed.len()).step_by(7) {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x10;
            assert_ne!(unpack(&damaged), Ok((block.len(), block.clone())), "byte {at}");
        }
    }
}
