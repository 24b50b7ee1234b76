//! HdrHistogram's V2 encoding in base64: read compressed or not, written plain.
//!
//! By hand, because what plug-ins send is not to be trusted and what is stored must stay readable. The
//! crate `hdrhistogram` takes the header's word for how much it allocates (4 GiB for a text of 60 bytes, and
//! every slot between the least and the greatest value), and refuses what some writers leave: an index offset,
//! another ratio, counts above the highest value. The tests have it write what is read here, and read what is
//! written.

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// The first word of the encoding, and of its compressed form.
const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED: u32 = 0x1c84_9314;
/// Where the counts begin; of the compressed form, where that begins.
const HEADER: usize = 40;
const SHORT_HEADER: usize = 8;
/// More digits than HdrHistogram has.
const MOST_DIGITS: u32 = 5;
/// A count above this is not a count: sums must fit into 64 bits.
const MOST: i64 = 1 << 50;
/// Unpacked, no histogram is longer: every slot of the finest one with the longest count.
const LONGEST: usize = 64 << 20;

/// Of the histograms that are written: three digits, so that a value is off by less than .1 %, from 1 on.
const DIGITS: u32 = 3;
/// Indices of a bucket of theirs: a power of two over twice as many as three digits have, halved.
const HALF_BITS: u32 = 10;
/// The greatest value that is written as it is, an hour and more in nanoseconds; what is above counts as this.
pub const HIGHEST: u64 = (1 << 42) - 1;

/// The histogram of these values, of three digits.
#[must_use]
pub fn encode(values: impl IntoIterator<Item = u64>) -> String {
    let mut indices: Vec<u32> = values.into_iter().map(index_of).collect();
    indices.sort_unstable();
    let mut payload = Vec::new();
    let mut next = 0;
    for equal in indices.chunk_by(|one, other| one == other) {
        match i64::from(equal[0] - next) {
            0 => {}
            // The format writes a stretch of empty slots as one negative number.
            empty => push_count(&mut payload, -empty),
        }
        push_count(&mut payload, i64::try_from(equal.len()).unwrap_or(MOST));
        next = equal[0] + 1;
    }
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend(COOKIE.to_be_bytes());
    bytes.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend(DIGITS.to_be_bytes());
    bytes.extend(1_u64.to_be_bytes());
    bytes.extend(HIGHEST.to_be_bytes());
    bytes.extend(1_f64.to_be_bytes());
    bytes.extend(payload);
    to_base64(&bytes)
}

/// Where a value is counted.
fn index_of(value: u64) -> u32 {
    let value = value.min(HIGHEST);
    let bucket = (value >> (HALF_BITS + 1)).checked_ilog2().map_or(0, |bits| bits + 1);
    let within = u32::try_from(value >> bucket).unwrap_or(u32::MAX);
    (bucket << HALF_BITS) + within
}

/// A zigzag LEB128 number of at most nine bytes.
fn push_count(payload: &mut Vec<u8>, count: i64) {
    let mut raw = ((count << 1) ^ (count >> 63)).cast_unsigned();
    while raw >= 0x80 {
        payload.push(u8::try_from(raw & 0x7f).unwrap_or(0) | 0x80);
        raw >>= 7;
    }
    payload.push(u8::try_from(raw).unwrap_or(0));
}

fn to_base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let given = three.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        // Letters are taken from the top, so the bytes that the last group lacks become zeros at the bottom.
        let bits = given << (8 * (3 - three.len()));
        text.extend(
            (0..=three.len()).map(|place| char::from(LETTERS[bits >> (18 - 6 * place) & 63])),
        );
        text.extend((three.len()..3).map(|_| '='));
    }
    text
}

/// Values with their counts, from the smallest; None if the text is not a histogram.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<(u64, u64)>> {
    let bytes = from_base64(text)?;
    if word(&bytes, 0)? != COMPRESSED {
        return counts(&bytes);
    }
    let length = usize::try_from(word(&bytes, 4)?).ok()?;
    let packed = bytes.get(SHORT_HEADER..SHORT_HEADER.checked_add(length)?)?;
    counts(&decompress_to_vec_zlib_with_limit(packed, LONGEST).ok()?)
}

/// A number in network order.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The V2 encoding: a header in network order, then counts by index, of which a negative one skips that many.
fn counts(bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
    let digits = word(bytes, 12)?;
    let lowest = u64::from_be_bytes(bytes.get(16..24)?.try_into().ok()?);
    if word(bytes, 0)? != COOKIE || digits > MOST_DIGITS || lowest == 0 {
        return None;
    }
    let length = usize::try_from(word(bytes, 4)?).ok()?;
    let mut payload = bytes.get(HEADER..HEADER.checked_add(length)?)?.iter();
    let half_bits = (2 * 10_u64.pow(digits)).next_power_of_two().trailing_zeros().max(1) - 1;
    let mut index = 0_u64;
    let mut found = Vec::new();
    while let Some(count) = next_count(&mut payload)? {
        if count < 0 {
            index = index.checked_add(count.unsigned_abs())?;
            continue;
        }
        if count > MOST {
            return None;
        }
        if count > 0 {
            found.push((value_at(index, half_bits, lowest.ilog2())?, count.unsigned_abs()));
        }
        index += 1;
    }
    Some(found)
}

/// The middle of the values that are counted at this index.
fn value_at(index: u64, half_bits: u32, unit_bits: u32) -> Option<u64> {
    let bucket = index >> half_bits;
    let within = index & ((1 << half_bits) - 1);
    let (steps, shift) = match u32::try_from(bucket).ok()? {
        0 => (within, unit_bits),
        bucket => (within + (1 << half_bits), bucket - 1 + unit_bits),
    };
    let size = 1_u64.checked_shl(shift)?;
    steps.checked_mul(size)?.checked_add(size / 2)
}

/// The next zigzag LEB128 number of at most nine bytes, the last of which has eight bits; `Some(None)` at
/// the end, None if it breaks off.
fn next_count(payload: &mut std::slice::Iter<u8>) -> Option<Option<i64>> {
    let mut raw = 0_u64;
    for place in 0..9 {
        let Some(&byte) = payload.next() else {
            return (place == 0).then_some(None);
        };
        let last = place == 8 || byte < 0x80;
        let bits = if place == 8 { u64::from(byte) } else { u64::from(byte & 0x7f) };
        raw |= bits << (7 * place);
        if last {
            break;
        }
    }
    Some(Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()))
}

/// The bytes of a base64 text, padded or not.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bits = 0_u32;
    // How many of the lowest bits belong to no byte yet.
    let mut held = 0;
    let mut bytes = Vec::new();
    for c in text.trim_end_matches('=').bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{
        Deserializer, Serializer, V2DeflateSerializer, V2Serializer,
    };
    use proptest::prelude::{any, prop, proptest};

    use super::{HIGHEST, decode, encode, from_base64, to_base64};

    /// Written by HdrHistogram's Python library (V2, 3 digits, 1 to 3,600,000,000): 1, 2000 twice, 5000,
    /// 123456 three times.
    const ENCODED: &str = "HISTEwAAAAsAAAAAAAAAAwAAAAAAAAABAAAAANaTpAA/8AAAAAAAAAECmx8EoRQCy0oG";

    fn written(histogram: &Histogram<u64>) -> [Vec<u8>; 2] {
        let mut forms = [Vec::new(), Vec::new()];
        V2Serializer::new().serialize(histogram, &mut forms[0]).unwrap();
        V2DeflateSerializer::new().serialize(histogram, &mut forms[1]).unwrap();
        forms
    }

    #[test]
    fn what_the_library_wrote_is_read() {
        let found = decode(ENCODED).unwrap();
        let counts: Vec<u64> = found.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [1, 2, 1, 3]);
        for ((value, _), wanted) in found.iter().zip([1_u64, 2000, 5000, 123_456]) {
            assert!(value.abs_diff(wanted) * 1000 <= wanted, "{value} {wanted}");
        }
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        for text in ["", "HISTEw", "HISTEwAAAAMAAAAA", "HISTFAAAAAMAAAAA", "%%%", &ENCODED[..60]] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; super::LONGEST + 1], 9);
        let length = u32::try_from(packed.len()).unwrap().to_be_bytes();
        let bytes = [&super::COMPRESSED.to_be_bytes()[..], &length, &packed].concat();
        assert!(bytes.len() < 100_000);
        assert_eq!(decode(&to_base64(&bytes)), None);
    }

    #[test]
    fn what_is_above_the_highest_counts_as_the_highest() {
        let found = decode(&encode([u64::MAX, 7])).unwrap();
        assert_eq!(found.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 1]);
        assert!(found[0].0 == 7 && found[1].0.abs_diff(HIGHEST) < HIGHEST / 1000, "{found:?}");
        assert_eq!(decode(&encode([])), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_by_the_crate_and_by_us(
            values in prop::collection::vec(0..1_u64 << 41, 0..200),
        ) {
            let text = encode(values.iter().copied());
            let bytes = from_base64(&text).unwrap();
            let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            let mut wanted = Histogram::<u64>::new_with_bounds(1, HIGHEST, 3).unwrap();
            values.iter().for_each(|value| wanted.record(*value).unwrap());
            assert_eq!(read, wanted);
            let found = decode(&text).unwrap();
            assert_eq!(found.iter().map(|(_, count)| *count).sum::<u64>(), values.len() as u64);
        }

        #[test]
        fn both_forms_are_read_as_the_crate_reads_them(
            values in prop::collection::vec((0..1_u64 << 40, 1..1_u64 << 40), 0..50),
            digits in 0..=4_u8,
            lowest in 1..2_000_u64,
        ) {
            let mut histogram = Histogram::<u64>::new_with_bounds(lowest, 1 << 41, digits).unwrap();
            for (value, count) in values {
                histogram.record_n(value, count).unwrap();
            }
            let wanted: Vec<(u64, u64)> = histogram
                .iter_recorded()
                .map(|entry| {
                    (histogram.median_equivalent(entry.value_iterated_to()), entry.count_at_value())
                })
                .collect();
            for form in written(&histogram) {
                assert_eq!(decode(&to_base64(&form)).as_ref(), Some(&wanted));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            compressed in any::<bool>(),
            at in 0..60_usize,
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, 1 << 41, 3).unwrap();
            [1, 2_000, 123_456].iter().for_each(|value| histogram.record(*value).unwrap());
            let mut form = written(&histogram)[usize::from(compressed)].clone();
            let at = at.min(form.len());
            let end = (at + bytes.len()).min(form.len());
            form.splice(at..end, bytes);
            let _ = decode(&to_base64(&form));
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = decode(&text);
        }
    }
}
