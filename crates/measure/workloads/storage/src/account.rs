//! What is told of the blocks of a batch: latencies, how many were sent in time, and what the device moved.

use plumb_model::{Flag, FlagKind};
use plumb_protocol::{BOUND_SHARE, Batch, Distribution};
use plumb_units::whole_size;

use plumb_workload_kit::device::is_counted;

use crate::device;
use crate::offsets::{AccessPattern, Mix};
use crate::settings::BlockSettings;

/// Fewer device bytes than this share of the moved bytes means that memory did the work.
const DEVICE_SHARE: f64 = 0.9;

/// With several blocks in flight a sample has this many times as many at least.
const FULL_QUEUES: u64 = 4;

const SEQUENTIAL_NAMES: &[&str] = &["in_time", "device_ratio"];
const RANDOM_NAMES: &[&str] =
    &["latency_p50", "latency_p99", "latency_max", "in_time", "device_ratio"];

/// The counts of a batch's blocks.
#[derive(Debug, Clone, Copy)]
pub struct BlockCounts {
    /// Blocks that arrived, those that came late as well.
    pub blocks: u64,
    /// The share of them that was sent in time.
    pub in_time: f64,
}

/// Keeps what is told of batches.
pub struct BatchAccount {
    names: &'static [&'static str],
    /// Whether each block is timed.
    timed: bool,
    /// Whether a device should move the blocks.
    on_device: bool,
    /// Whether samples end with a sync.
    sync: bool,
    mix: Mix,
    block: usize,
    /// Blocks in flight at a time, of one worker.
    depth: u32,
    workers: usize,
    /// Times of the blocks of a batch, in nanoseconds.
    latency: [Distribution; 1],
}

impl BatchAccount {
    /// Of batches with these settings, `depth` blocks in flight a worker, and samples that end with a sync or do not.
    #[must_use]
    pub fn new(settings: &BlockSettings, depth: u32, sync: bool) -> Self {
        let names = match settings.pattern {
            AccessPattern::Sequential => SEQUENTIAL_NAMES,
            AccessPattern::Random => RANDOM_NAMES,
        };
        // The last name needs the kernel's account.
        let told = names.len() - usize::from(!is_counted());
        Self {
            names: &names[..told],
            timed: settings.pattern == AccessPattern::Random,
            on_device: !settings.in_memory,
            sync,
            mix: settings.mix,
            block: settings.block,
            depth,
            workers: settings.workers,
            latency: [Distribution::of("latency")],
        }
    }

    /// Names of the values of a sample.
    #[must_use]
    pub fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// Whether each block is timed.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// The distributions of a batch.
    pub fn distributions(&mut self) -> &mut [Distribution] {
        if self.timed { &mut self.latency } else { &mut [] }
    }

    /// Adds the time of a block, in nanoseconds.
    #[inline]
    pub fn record(&mut self, time_ns: u64) {
        if self.timed {
            self.latency[0].record(time_ns);
        }
    }

    /// Ends a sample.
    pub fn end_sample(&mut self) {
        if self.timed {
            self.latency[0].end_sample();
        }
    }

    /// Bytes that devices moved so far for this process; None if the kernel keeps no account.
    #[must_use]
    pub fn device_bytes(&self) -> Option<u64> {
        device::bytes_of(self.mix)
    }

    /// Ends a batch of so many samples, before which devices had moved `before` bytes: values and flags.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a batch stay far below 2^53")]
    pub fn close(
        &mut self,
        before: Option<u64>,
        moved: BlockCounts,
        samples: usize,
        batch: &mut Batch,
    ) {
        let device = before.zip(self.device_bytes()).map(|(before, now)| now - before);
        let bytes = moved.blocks * self.block as u64;
        let ratio = device.map(|device| device as f64 / bytes as f64);
        if let Some(device) = device
            && self.on_device
            && ratio.is_some_and(|ratio| ratio < DEVICE_SHARE)
        {
            batch.flag(cached(device, bytes, self.mix));
        }
        self.record_values(samples, moved.in_time, ratio, batch);
        self.flag_client(moved.in_time, batch);
    }

    /// Blocks of a sample, at least.
    #[must_use]
    pub fn least_blocks(&self) -> u64 {
        let in_flight = u64::from(self.depth) * self.workers as u64;
        if in_flight > 1 { FULL_QUEUES * in_flight } else { 1 }
    }

    /// The shortest sample, in nanoseconds.
    #[must_use]
    pub fn shortest_sample_ns(&self) -> u64 {
        if self.timed && !self.sync { 10_000_000 } else { 60_000_000 }
    }

    fn record_values(
        &mut self,
        samples: usize,
        in_time: f64,
        ratio: Option<f64>,
        batch: &mut Batch,
    ) {
        let mut row = Vec::with_capacity(self.names.len());
        for sample in 0..samples {
            row.clear();
            if self.timed {
                row.extend(percentiles(self.latency[0].sample(sample)));
            }
            row.push(in_time);
            row.extend(ratio);
            batch.record_values(&row);
        }
    }

    /// Latencies of a client that does not keep up are its own.
    fn flag_client(&self, in_time: f64, batch: &mut Batch) {
        if in_time < BOUND_SHARE {
            let why = format!(
                "only {:.1} % of the blocks were sent in time: depth {} is too small for this rate, or the CPU was busy",
                100.0 * in_time,
                self.depth
            );
            batch.flag(Flag::new(FlagKind::ClientBound, why));
        }
    }
}

fn cached(device: u64, moved: u64, mix: Mix) -> Flag {
    let device = whole_size(device);
    let moved = whole_size(moved);
    let done = mix.done();
    let why = format!("the device moved only {device} of the {moved} {done}");
    Flag::new(FlagKind::Cached, why)
}

/// Median, 99th percentile (nearest rank) and maximum, in seconds.
fn percentiles(latencies: &mut [u64]) -> [f64; 3] {
    latencies.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    [50, 99, 100].map(|percent| rank(latencies, percent) as f64 * 1e-9)
}

/// A percentile by its nearest rank: the smallest latency that is not below this share of all. 0 without latencies.
fn rank(sorted: &[u64], percent: usize) -> u64 {
    let index = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(index).copied().unwrap_or(0)
}
