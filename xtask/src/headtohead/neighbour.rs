//! A process that burns one core, in bursts as another tenant or a browser would, or all the time.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use plumb_stats::rng::Rng;

/// The word that starts this binary as the neighbour.
pub const ROLE: &str = "--neighbour";

/// Mean length of a burst and of a pause, in seconds; both are exponential.
pub const MEAN_BURST_S: f64 = 0.2;

/// How much of a core the neighbour burns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeighbourKind {
    /// Half of the time, in bursts.
    Bursty,
    /// All the time.
    Full,
}

impl NeighbourKind {
    /// All, by the words that are typed.
    pub const WORDS: [(&str, Self); 2] = [("bursty", Self::Bursty), ("full", Self::Full)];

    /// The kind that a typed word names.
    ///
    /// # Errors
    /// When it is none of the words.
    pub fn of_word(word: &str) -> Result<Self, String> {
        let found = Self::WORDS.into_iter().find(|(its, _)| *its == word);
        found.map(|(_, kind)| kind).ok_or_else(|| format!("bursty or full, not {word}"))
    }

    /// The word by which it is typed.
    pub fn word(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }
}

/// The neighbour, which goes when this does.
pub struct Neighbour(Child);

impl Neighbour {
    /// Starts this binary again.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn start(kind: NeighbourKind, seed: u64) -> Result<Self, String> {
        let me = std::env::current_exe().map_err(|error| format!("this binary: {error}"))?;
        let mut command = Command::new(me);
        let words = ["headtohead", ROLE, kind.word(), &seed.to_string()];
        command.args(words).stdin(Stdio::piped());
        command.spawn().map(Self).map_err(|error| format!("the neighbour: {error}"))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // The neighbour ends with its input, so it also ends if this process is killed and drops nothing.
        drop(self.0.stdin.take());
        _ = self.0.wait();
    }
}

/// Burns, and pauses if it has bursts, until standard input ends: a pipe closes even if the parent was killed.
pub fn burn(kind: NeighbourKind, seed: u64) {
    let (end, ended) = channel::<()>();
    std::thread::spawn(move || {
        _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(end);
    });
    let mut rng = Rng::new(seed);
    loop {
        let burst = drawn(&mut rng);
        let pause = if kind == NeighbourKind::Bursty { drawn(&mut rng) } else { Duration::ZERO };
        if spin(burst, &ended) || is_over(&ended, pause) {
            return;
        }
    }
}

/// A length of a burst or a pause.
fn drawn(rng: &mut Rng) -> Duration {
    Duration::from_secs_f64(MEAN_BURST_S * rng.exponential())
}

/// Burns for this time; returns whether the end came meanwhile.
fn spin(burst: Duration, ended: &Receiver<()>) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < burst {
        if is_over(ended, Duration::ZERO) {
            return true;
        }
        for _ in 0..10_000 {
            std::hint::spin_loop();
        }
    }
    false
}

fn is_over(ended: &Receiver<()>, wait: Duration) -> bool {
    use std::sync::mpsc::RecvTimeoutError::Disconnected;
    ended.recv_timeout(wait) == Err(Disconnected)
}
