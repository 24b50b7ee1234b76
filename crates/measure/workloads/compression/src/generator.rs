//! The bytes that 7-Zip's benchmark compresses: random literals, and repeats of what came before.
//!
//! Two multiply-with-carry generators of 16 bits (Marsaglia) give words of 32 bits, from which choices, lengths and
//! distances are taken a few bits at a time. Distances are spread over powers of two, as in files.

/// The generators, from the seeds that 7-Zip begins with.
struct RandomWords {
    high: u32,
    low: u32,
}

impl RandomWords {
    fn new() -> Self {
        Self { high: 362_436_069, low: 521_288_629 }
    }

    fn next(&mut self) -> Bits {
        self.high = multiply_with_carry(self.high, 36_969);
        self.low = multiply_with_carry(self.low, 18_000);
        Bits((self.high << 16).wrapping_add(self.low))
    }
}

/// The low half of the state times the factor; the high half is the carry of the step before.
fn multiply_with_carry(state: u32, factor: u32) -> u32 {
    factor * (state & 0xffff) + (state >> 16)
}

/// A word of which bits are taken from below.
struct Bits(u32);

impl Bits {
    fn take(&mut self, count: u32) -> u32 {
        let taken = self.0 & ((1 << count) - 1);
        self.0 >>= count;
        taken
    }

    /// A length: its own number of bits comes first.
    fn length(&mut self) -> usize {
        let bits = 1 + self.take(2);
        self.take(bits) as usize
    }
}

/// Bytes before the first repeat.
const LITERALS_FIRST: usize = 1024;

/// Distances have this many bits at least.
const FEWEST_BITS: u32 = 6;

/// So many bytes of it, with repeats from as far back as 2^`dictionary_bits`.
pub(super) fn bytes(size: usize, dictionary_bits: u32) -> Vec<u8> {
    let mut words = RandomWords::new();
    let mut bytes: Vec<u8> = Vec::with_capacity(size);
    let mut distance = 1;
    while bytes.len() < size {
        let mut bits = words.next();
        if bits.take(1) == 0 || bytes.len() < LITERALS_FIRST {
            bytes.push(bits.0.to_le_bytes()[0]);
            continue;
        }
        let mut length = 1 + bits.length();
        // One repeat in eight has the distance of the one before.
        if bits.take(3) != 0 {
            length += bits.length();
            distance = new_distance(&mut words, bits, bytes.len(), dictionary_bits);
        }
        for _ in 0..length.min(size - bytes.len()) {
            bytes.push(bytes[bytes.len() - distance]);
        }
    }
    bytes
}

/// A distance within what there is: first its number of bits, then so many of the next word.
fn new_distance(
    words: &mut RandomWords,
    mut bits: Bits,
    there: usize,
    dictionary_bits: u32,
) -> usize {
    let most_bits = dictionary_bits.min(there.next_power_of_two().ilog2());
    let bits_of_number = if most_bits <= 15 + FEWEST_BITS { 4 } else { 5 };
    loop {
        let number = bits.take(bits_of_number) + FEWEST_BITS;
        bits = words.next();
        if number > most_bits {
            continue;
        }
        let distance = (bits.0 & ((1 << number) - 1)) as usize;
        if distance < there {
            return distance + 1;
        }
        bits = words.next();
    }
}

#[cfg(test)]
mod tests {
    use super::{LITERALS_FIRST, RandomWords, bytes};

    #[test]
    fn words_are_those_of_the_two_generators() {
        // By hand: 36969 × (362436069 mod 65536) + 362436069 / 65536, and the same of the other.
        let first = u64::from(362_436_069_u32 & 0xffff) * 36_969 + (362_436_069 >> 16);
        let second = u64::from(521_288_629_u32 & 0xffff) * 18_000 + (521_288_629 >> 16);
        let expected = (first << 16).wrapping_add(second) & 0xffff_ffff;
        assert_eq!(u64::from(RandomWords::new().next().0), expected);
    }

    #[test]
    fn longer_data_begin_with_shorter_ones_and_repeat_what_was() {
        let long = bytes(300_000, 18);
        assert_eq!(long.len(), 300_000);
        assert_eq!(bytes(100_000, 18), long[..100_000]);
        assert_ne!(bytes(100_000, 10), long[..100_000], "the dictionary bounds distances");
        // The first bytes are random, later ones are mostly in what was before.
        let again = |from: usize| {
            let repeats = |at: &usize| {
                let start = at.saturating_sub(1 << 13);
                long[start..*at].windows(4).any(|window| *window == long[*at..*at + 4])
            };
            (from..from + 400).filter(repeats).count()
        };
        assert!(
            again(500) < 10 && again(LITERALS_FIRST * 20) > 60,
            "{} {}",
            again(500),
            again(20_480)
        );
    }
}
