//! The counters of a relay, in a memory file that others read while it works.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The counts of the frames of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameCounts {
    /// Frames that came to the relay.
    pub came: u64,
    /// Frames that it lost on purpose.
    pub lost: u64,
    /// Frames that were not delayed.
    pub overtaking: u64,
    /// Frames that it passed on.
    pub passed: u64,
    /// Of these, frames that it passed on more than a millisecond after they were due.
    pub late: u64,
    /// Frames that it had no room for: the relay was the limit.
    pub dropped: u64,
}

const WORDS: usize = 6;
const BYTES: usize = WORDS * 8;

impl FrameCounts {
    /// The activity since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut words = self.words();
        words
            .iter_mut()
            .zip(before.words())
            .for_each(|(now, then)| *now = now.saturating_sub(then));
        Self::of(words)
    }

    /// Why the relay and not what is measured was the limit, if it was.
    #[must_use]
    pub fn limit(&self) -> Option<String> {
        if self.dropped > 0 {
            let all = self.came + self.dropped;
            return Some(format!(
                "the relay dropped {} of {all} frames because its buffer was full",
                self.dropped
            ));
        }
        let is_late = self.late * 100 > self.passed;
        is_late.then(|| {
            format!("the relay forwarded {} of {} frames over 1 ms late", self.late, self.passed)
        })
    }

    fn words(&self) -> [u64; WORDS] {
        [self.came, self.lost, self.overtaking, self.passed, self.late, self.dropped]
    }

    fn of([came, lost, overtaking, passed, late, dropped]: [u64; WORDS]) -> Self {
        Self { came, lost, overtaking, passed, late, dropped }
    }
}

/// Writes what the direction of this number carried.
///
/// # Errors
/// When the file can't be written.
pub(crate) fn write(file: &File, direction: usize, carried: &FrameCounts) -> io::Result<()> {
    let mut bytes = [0; BYTES];
    for (to, word) in bytes.chunks_exact_mut(8).zip(carried.words()) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    file.write_all_at(&bytes, (direction * BYTES) as u64)
}

/// The traffic of both directions, up and down.
///
/// # Errors
/// When the file can't be read.
pub(crate) fn read(file: &File) -> io::Result<[FrameCounts; 2]> {
    let mut bytes = [0; 2 * BYTES];
    file.read_exact_at(&mut bytes, 0)?;
    let mut words = bytes
        .chunks_exact(8)
        .map(|word| word.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    let mut next = || FrameCounts::of(std::array::from_fn(|_| words.next().unwrap_or(0)));
    Ok([next(), next()])
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::{FrameCounts, read, write};

    #[test]
    fn what_was_written_is_read() {
        let file = File::from(memfd_create("counts", MemfdFlags::CLOEXEC).unwrap());
        let up = FrameCounts {
            came: 300,
            lost: 2,
            overtaking: 3,
            passed: 298,
            late: 4,
            dropped: 1 << 40,
        };
        write(&file, 0, &up).unwrap();
        write(&file, 1, &FrameCounts::default()).unwrap();
        assert_eq!(read(&file).unwrap(), [up, FrameCounts::default()]);
        assert_eq!(up.since(&FrameCounts { came: 100, ..FrameCounts::default() }).came, 200);
    }

    #[test]
    fn a_relay_that_drops_or_is_late_was_the_limit() {
        let good = FrameCounts { came: 1000, passed: 1000, late: 10, ..FrameCounts::default() };
        assert_eq!(good.limit(), None);
        let late = FrameCounts { late: 11, ..good };
        assert_eq!(late.limit().unwrap(), "the relay forwarded 11 of 1000 frames over 1 ms late");
        let full = FrameCounts { dropped: 24, ..good };
        assert_eq!(
            full.limit().unwrap(),
            "the relay dropped 24 of 1024 frames because its buffer was full"
        );
    }
}
