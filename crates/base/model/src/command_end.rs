//! How the processes of samples ended, if other ends than success are accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

/// The reported value of a sample that says how its process ended, as [`CommandEnd::code`]. It is no metric. Samples have it
/// only if failures are accepted: without that, a failure ends the invocation.
pub const ENDED: &str = "ended";

/// Sides whose shares of ends differ by more than this are not compared: so many failures move no median far.
const MOST_UNLIKE: f64 = 0.05;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandEnd {
    /// It exited with this status; 0 is success.
    Status(i32),
    /// This signal ended it.
    Signal(i32),
}

impl CommandEnd {
    /// The end of this code; of a number that is no code, the nearest.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "statuses and signals are below 256")]
    pub fn of_code(code: f64) -> Self {
        let code = code.round() as i32;
        if code < 0 { Self::Signal(-code) } else { Self::Status(code) }
    }

    /// The status, or minus the number of the signal.
    #[must_use]
    pub fn code(self) -> i32 {
        match self {
            Self::Status(status) => status,
            Self::Signal(signal) => -signal,
        }
    }

    /// Whether the process succeeded.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Status(0)
    }
}

impl fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Numbers of x86 and ARM; those above 15 differ on other architectures.
        let name = match self {
            Self::Status(status) => return write!(f, "exit status {status}"),
            Self::Signal(1) => "SIGHUP",
            Self::Signal(2) => "SIGINT",
            Self::Signal(3) => "SIGQUIT",
            Self::Signal(4) => "SIGILL",
            Self::Signal(5) => "SIGTRAP",
            Self::Signal(6) => "SIGABRT",
            Self::Signal(8) => "SIGFPE",
            Self::Signal(9) => "SIGKILL",
            Self::Signal(11) => "SIGSEGV",
            Self::Signal(13) => "SIGPIPE",
            Self::Signal(14) => "SIGALRM",
            Self::Signal(15) => "SIGTERM",
            Self::Signal(signal) => return write!(f, "signal {signal}"),
        };
        f.write_str(name)
    }
}

/// How often the processes of a point ended in each way; empty if failures are not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<i32, usize>", into = "BTreeMap<i32, usize>")]
pub struct CommandEnds {
    /// A number of processes for each end that there was.
    counts: BTreeMap<CommandEnd, usize>,
}

impl CommandEnds {
    /// Adds processes that ended so.
    pub fn add(&mut self, end: CommandEnd, times: usize) {
        *self.counts.entry(end).or_default() += times;
    }

    /// Adds those of another run or point.
    pub fn extend(&mut self, other: &Self) {
        for (end, times) in other.iter() {
            self.add(end, times);
        }
    }

    /// The ends with their numbers of processes.
    pub fn iter(&self) -> impl Iterator<Item = (CommandEnd, usize)> {
        self.counts.iter().map(|(end, times)| (*end, *times))
    }

    /// The number of processes, however they ended.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// Whether nothing is known of the ends.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Whether a process did not succeed.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.counts.keys().any(|end| !end.is_success())
    }

    /// The most frequent end, and how often it was.
    #[must_use]
    pub fn most_frequent(&self) -> Option<(CommandEnd, usize)> {
        self.iter().max_by_key(|(_, times)| *times)
    }

    /// Whether so many processes ended otherwise than those of the other side that their times are not those of the same
    /// work. Nothing is known if either side is empty.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    pub fn differ(&self, other: &Self) -> bool {
        if self.is_empty() || other.is_empty() {
            return false;
        }
        let share = |side: &Self, end: CommandEnd| {
            side.counts.get(&end).copied().unwrap_or(0) as f64 / side.total() as f64
        };
        let ends: BTreeSet<CommandEnd> =
            self.counts.keys().chain(other.counts.keys()).copied().collect();
        let apart: f64 =
            ends.into_iter().map(|end| (share(self, end) - share(other, end)).abs()).sum();
        // Every process that ended otherwise is missing on one side and too many on the other.
        apart / 2.0 > MOST_UNLIKE
    }
}

impl From<BTreeMap<i32, usize>> for CommandEnds {
    fn from(by_code: BTreeMap<i32, usize>) -> Self {
        let mut ends = Self::default();
        for (code, times) in by_code {
            ends.add(CommandEnd::of_code(code.into()), times);
        }
        ends
    }
}

impl From<CommandEnds> for BTreeMap<i32, usize> {
    fn from(ends: CommandEnds) -> Self {
        ends.iter().map(|(end, times)| (end.code(), times)).collect()
    }
}

impl fmt::Display for CommandEnds {
    /// `all 12 runs ended with SIGSEGV`, `3 of 12 runs ended with exit status 1, 1 with SIGSEGV`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let failures: Vec<(CommandEnd, usize)> =
            self.iter().filter(|(end, _)| !end.is_success()).collect();
        match failures.as_slice() {
            [] => write!(f, "all {total} runs ended with exit status 0"),
            [(end, times)] if *times == total => write!(f, "all {total} runs ended with {end}"),
            [(end, times), others @ ..] => {
                write!(f, "{times} of {total} runs ended with {end}")?;
                others.iter().try_for_each(|(end, times)| write!(f, ", {times} with {end}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{CommandEnd, CommandEnds};

    fn ends(counts: &[(i32, usize)]) -> CommandEnds {
        counts.iter().copied().collect::<BTreeMap<_, _>>().into()
    }

    #[test]
    fn ends_are_told_in_words_with_their_counts() {
        assert_eq!(ends(&[(-11, 12)]).to_string(), "all 12 runs ended with SIGSEGV");
        let mixed = ends(&[(0, 8), (1, 3), (-35, 1)]);
        assert_eq!(mixed.to_string(), "3 of 12 runs ended with exit status 1, 1 with signal 35");
        assert_eq!(ends(&[(0, 2)]).to_string(), "all 2 runs ended with exit status 0");
        assert!(mixed.has_failures() && !ends(&[(0, 2)]).has_failures());
        let text = serde_json::to_string(&mixed).unwrap();
        assert_eq!(serde_json::from_str::<CommandEnds>(&text).unwrap(), mixed);
        assert_eq!(CommandEnd::of_code(-9.0), CommandEnd::Signal(9));
    }

    #[test]
    fn a_crash_is_unlike_a_success_but_a_rare_failure_moves_no_median() {
        assert!(ends(&[(-11, 12)]).differ(&ends(&[(0, 12)])));
        assert!(ends(&[(1, 12)]).differ(&ends(&[(2, 12)])));
        assert!(ends(&[(0, 11), (1, 1)]).differ(&ends(&[(0, 12)])));
        assert!(!ends(&[(1, 12)]).differ(&ends(&[(1, 20)])));
        assert!(!ends(&[(0, 39), (1, 1)]).differ(&ends(&[(0, 40)])));
        assert!(!ends(&[]).differ(&ends(&[(1, 12)])));
    }
}
