//! The longest stretch of a recording as a series of chunks, and how a process takes samples from it.

use plumb_stats::flicker::HORIZON_S;

use crate::recording::Recording;

/// Chunks of a process that are discarded as warm-up.
const DISCARDED: usize = 100;
/// Chunks of one sample.
pub(super) const SAMPLE: usize = 10;
/// Samples of one process.
const SAMPLES: usize = 10;
/// Chunks from one process to the next.
pub(super) const PROCESS: usize = 220;

/// Chunks in order.
pub(super) struct ChunkTrace {
    /// Seconds from the beginning to each chunk.
    pub(super) sums: Vec<f64>,
    /// Whether the machine had other work.
    pub(super) beside: bool,
}

impl ChunkTrace {
    #[expect(clippy::expect_used, reason = "the files are committed, and a test reads them")]
    pub(super) fn of(bytes: &[u8], beside: bool) -> Self {
        let recording = Recording::of(bytes).expect("a recording");
        let chunks = recording.longest().iter().flat_map(|block| block.micros);
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        for micros in chunks {
            sum += f64::from(micros) * 1e-6;
            sums.push(sum);
        }
        Self { sums, beside }
    }

    pub(super) fn len(&self) -> usize {
        self.sums.len() - 1
    }

    /// How long so many chunks take from here on.
    pub(super) fn time(&self, from: usize, chunks: usize) -> f64 {
        self.sums[from + chunks] - self.sums[from]
    }

    /// The samples of a process that begins at this chunk, in seconds, without its warm-up.
    pub(super) fn samples(&self, begin: usize) -> Vec<f64> {
        let first = begin + DISCARDED;
        (0..SAMPLES).map(|sample| self.time(first + sample * SAMPLE, SAMPLE)).collect()
    }

    pub(super) fn seconds(&self) -> f64 {
        self.time(0, self.len())
    }

    /// The time that sessions describe, in seconds.
    pub(super) fn horizon(&self) -> f64 {
        self.seconds().min(HORIZON_S)
    }

    /// The ten minutes with this moment, in seconds, in their middle, as far as the trace goes: their chunks.
    pub(super) fn around(&self, moment: f64) -> (usize, usize) {
        let begin = (moment - 0.5 * self.horizon()).clamp(0.0, self.seconds() - self.horizon());
        (self.chunk_at(begin), self.chunk_at(begin + self.horizon()))
    }

    /// The chunk that runs after so many seconds.
    pub(super) fn chunk_at(&self, seconds: f64) -> usize {
        self.sums.partition_point(|&sum| sum < seconds).min(self.len())
    }
}
