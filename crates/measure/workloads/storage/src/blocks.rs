//! The work of both storage workloads: blocks of a file, read or written with a steady number of them in flight.

use std::path::Path;

use plumb_model::{Flag, FlagKind, Ready};
use plumb_protocol::{
    Batch, Distribution, Failure, Held, Instance, Start, StartError, StartedWorkload, TrialCounts,
    current_cpu, now_ns,
};

use plumb_workload_kit::device::{has_volatile_cache, is_counted};
use plumb_workload_kit::filesystem::{is_device, is_in_memory};
use plumb_workload_kit::limits;

use crate::account::{BatchAccount, BlockCounts};
use crate::extents;
use crate::file::{TestFile, drop_cache};
use crate::lane::{Lane, Trials};
use crate::method::ChosenMethod;
use crate::offsets::{AccessPattern, Mix};
use crate::settings::{BlockSettings, data, file_of_user, is_in_memory_on_purpose};
use crate::share::Share;
use crate::stamp::SECTOR;
use crate::workers::IoWorkers;

/// Lays out the file, or finds the user's.
pub fn prepare(start: &Start, name: &str) -> Result<(Ready, Box<dyn Held>), StartError> {
    let size = start.integer("size") / SECTOR as u64 * SECTOR as u64;
    if size == 0 {
        return Err(StartError::Failed(format!("`size` must be at least {SECTOR} bytes")));
    }
    let dir = Path::new(&start.dir);
    let data = data(start);
    let of_user = file_of_user(start)?;
    let in_memory = is_in_memory_on_purpose(start);
    let file = match of_user {
        Some(path) => TestFile::of_user(path, size)?,
        None if in_memory => TestFile::in_memory(size, data, start.facts.memory_bytes)?,
        None if is_device(dir) => TestFile::on_device(dir, size, data)?,
        None => TestFile::lay_out(dir, name, size, data)?,
    };
    let is_laid_out = of_user.is_none() && !in_memory;
    let ready = Ready {
        endpoints: [("file".to_owned(), file.path().display().to_string())].into(),
        bytes_on_disk: if is_laid_out { file.bytes_on_disk()? } else { 0 },
        flags: memory_flag(start),
        ..Ready::default()
    };
    Ok((ready, Box::new(file)))
}

fn memory_flag(start: &Start) -> Vec<Flag> {
    let path = match start.text("file") {
        "" => Path::new(&start.dir),
        file => Path::new(file),
    };
    if is_in_memory_on_purpose(start) || !is_in_memory(path) {
        return Vec::new();
    }
    vec![Flag::new(FlagKind::Tmpfs, format!("{} is in memory: no device is used", path.display()))]
}

/// Opens the file that `prepare` laid out or found, in the best way that works.
pub fn start(start: &Start, pattern: AccessPattern) -> Result<StartedWorkload, StartError> {
    let settings = BlockSettings::read(start, pattern)?;
    let path = start.endpoints.get("file").ok_or_else(|| {
        StartError::Failed("no test file: the fixture was not prepared".to_owned())
    })?;
    let path = Path::new(path);
    // Each worker opens the file, and io_uring takes another descriptor.
    if settings.workers > 1 {
        limits::raise_open_files();
    }
    let (mut lane, method) = Lane::open(path, &settings, Share::WHOLE)?;
    // A file in memory has no cache in front of it.
    let cached = !method.direct && !settings.in_memory;
    let sync = match start.text("sync") {
        "sample" => settings.is_write(),
        "none" => false,
        _ => settings.is_write() && cached,
    };
    let mut notes = notes(&settings, &method, sync);
    let mut flags = method.flags.clone();
    flags.extend(memory_flag(start));
    flags.extend(flags_of_writes(&settings, path, cached, sync));
    // Only a file on a filesystem can be in pieces.
    if !settings.in_memory && !is_device(path) {
        flags.extend(extents::flags(path, settings.size));
    }
    if cached && settings.mix != Mix::WRITE {
        drop_cache(lane.file());
        notes.push("the file's cached pages were dropped at the start".to_owned());
    }
    let instance: Box<dyn Instance> = if settings.workers == 1 {
        lane.pace(&settings, sync)?;
        Box::new(BlocksWorker::new(lane, &settings, &method, sync))
    } else {
        // It only showed what works here: each worker has a separate queue.
        drop(lane);
        let workers = IoWorkers::start(&start.facts, path, &settings, &method, sync)?;
        let more = workers.registrations().into_iter().filter(|note| !notes.contains(note));
        notes.extend(more.collect::<Vec<_>>());
        Box::new(workers)
    };
    #[expect(clippy::cast_precision_loss, reason = "blocks stay far below 2^53 bytes")]
    let work = match pattern {
        AccessPattern::Sequential => [("bandwidth".to_owned(), settings.block as f64)].into(),
        AccessPattern::Random => [("rate".to_owned(), 1.0)].into(),
    };
    Ok(StartedWorkload { instance, ready: Ready { work, notes, flags, ..Ready::default() } })
}

/// What the reader should know of how blocks are moved.
fn notes(settings: &BlockSettings, method: &ChosenMethod, sync: bool) -> Vec<String> {
    let mut notes = method.notes.clone();
    if settings.workers > 1 {
        notes.push(format!("{} workers, each with a separate queue", settings.workers));
    }
    if settings.in_memory {
        notes.push("the file is in memory: no device is involved".to_owned());
    }
    if !settings.request.stamped {
        notes.push("data read from your `file` is not checked".to_owned());
    }
    if sync {
        notes.push("every sample ends with fdatasync, included in its time".to_owned());
    }
    notes.extend(settings.load());
    if !is_counted() && !settings.in_memory {
        notes.push(
            "the kernel does not count a process's device bytes, so plumb can't detect caching"
                .to_owned(),
        );
    }
    notes
}

/// Reasons to doubt that a device keeps what is written.
fn flags_of_writes(
    settings: &BlockSettings,
    path: &Path,
    cached: bool,
    sync: bool,
) -> Option<Flag> {
    if !settings.is_write() || sync {
        return None;
    }
    if cached {
        let why = "writes end in the page cache and do not wait for the device";
        return Some(Flag::new(FlagKind::Cached, why));
    }
    let why =
        "the device has a volatile write cache, and no sample ends with a flush (sync=sample)";
    let is_volatile = has_volatile_cache(path) == Some(true);
    is_volatile.then(|| Flag::new(FlagKind::Unflushed, why))
}

/// One worker, which is the caller's thread.
struct BlocksWorker {
    lane: Lane,
    account: BatchAccount,
    sync: bool,
    /// Whether samples are consecutive windows of one steady flow: blocks are in flight, or due, at their borders.
    steady: bool,
    trials: Trials,
}

impl BlocksWorker {
    fn new(lane: Lane, settings: &BlockSettings, method: &ChosenMethod, sync: bool) -> Self {
        let account = BatchAccount::new(settings, method.depth, sync);
        let steady = (lane.is_deep() || lane.is_open()) && !sync;
        Self { lane, account, sync, steady, trials: Trials::new(settings) }
    }

    /// Takes the samples. In a steady flow the next begins where the last one ended, and the queue is full at every
    /// border.
    fn take(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        if !self.sync {
            self.lane.begin_schedule(now_ns());
            self.lane.fill()?;
        }
        let mut border = now_ns();
        for &k in iterations {
            let start = if self.steady { border } else { now_ns() };
            self.run(k)?;
            border = now_ns();
            batch.record(start, border - start, k, current_cpu());
            self.account.end_sample();
        }
        self.lane.drain()
    }
}

impl Instance for BlocksWorker {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let Self { lane, account, sync, .. } = self;
        if *sync {
            lane.burst(iterations, |time_ns| account.record(time_ns))?;
            return lane.sync();
        }
        let mut left = iterations;
        lane.flow(|time_ns| {
            account.record(time_ns);
            left = left.saturating_sub(1);
            left > 0
        })
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.lane.verify(self.lane.generation())
    }

    fn trial(&mut self, load: f64, duration_ns: u64) -> Result<TrialCounts, Failure> {
        self.lane.begin_batch(self.lane.generation());
        let trial = self.trials.next(load, duration_ns)?;
        let good = self.lane.trial(&trial)?;
        Ok(TrialCounts { offered: trial.blocks, good, flags: Vec::new() })
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.account.names()
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.lane.begin_batch(self.lane.generation());
        let before = self.account.device_bytes();
        self.take(iterations, batch)?;
        let moved = BlockCounts { blocks: self.lane.arrived(), in_time: self.lane.share_in_time() };
        self.account.close(before, moved, iterations.len(), batch);
        Ok(())
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        self.account.distributions()
    }

    fn least_iterations(&self) -> u64 {
        self.account.least_blocks()
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.account.shortest_sample_ns()
    }
}
