//! Names of files, as bonnie++ makes them: ten hexadecimal digits that count, and up to twelve random
//! letters or digits; in random order the random part comes first.

use std::ffi::CString;

use plumb_protocol::SplitMix64;

/// Bytes of names that are read at a time, as glibc's readdir does.
pub const LISTING_BYTES: usize = 32 << 10;

/// Longest random part.
const LONGEST: u64 = 12;

const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The names of `count` files from the `first` number on, in the order in which they are visited; and a second
/// name for each, in the same order.
#[must_use]
pub fn names(first: usize, count: usize, random: bool, seed: u64) -> (Vec<CString>, Vec<CString>) {
    let mut numbers = SplitMix64::new(seed ^ first as u64);
    let mut both: Vec<(CString, CString)> = (first..first + count)
        .map(|number| {
            let digits = format!("{number:010x}");
            let letters = letters(&mut numbers);
            let name = if random { letters + &digits } else { digits + &letters };
            // A letter that the alphabet lacks: no first name is a second one, too.
            (text(name.clone()), text(format!("{name}-")))
        })
        .collect();
    if random {
        numbers.shuffle(&mut both);
    }
    both.into_iter().unzip()
}

fn letters(random: &mut SplitMix64) -> String {
    let count = random.below(LONGEST + 1);
    let mut letters = String::new();
    for _ in 0..count {
        let at = usize::try_from(random.below(LETTERS.len() as u64)).unwrap_or(0);
        letters.push(char::from(LETTERS[at]));
    }
    letters
}

fn text(name: String) -> CString {
    CString::new(name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::names;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_all_different_and_ordered_where_that_is_asked() {
        for random in [false, true] {
            let (first, second) = names(0, 3000, random, 7);
            let (other, _) = names(3000, 3000, random, 7);
            let all: BTreeSet<_> = first.iter().chain(&second).chain(&other).collect();
            assert_eq!(all.len(), 9000);
            assert_eq!(first.is_sorted(), !random);
            assert!(first.iter().all(|name| (10..=22).contains(&name.as_bytes().len())));
            assert_eq!(names(0, 3000, random, 7).0, first);
        }
    }
}
