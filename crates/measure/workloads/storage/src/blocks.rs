//! The work of both storage workloads: blocks of a laid-out file, read or written with a steady
//! number of them in flight.

use std::path::Path;

use plumb_model::{Flag, FlagKind, Ready};
use plumb_protocol::{
    Arrivals, BOUND_SHARE, Batch, Distribution, Failure, Held, Instance, Schedule, SplitMix64,
    Start, StartError, Started, TrialCounts, current_cpu, now_ns,
};

use plumb_workload_kit::device::{has_volatile_cache, is_counted};
use plumb_workload_kit::filesystem::{is_device, is_in_memory, show};

use crate::device;
use crate::engine::Operation;
use crate::file::{TestFile, drop_cache};
use crate::method::find;
use crate::offsets::{AccessPattern, Mix, Offsets};
use crate::queue::{Completed, Queue};
use crate::settings::{BlockSettings, is_in_memory_on_purpose};
use crate::stamp::{self, SECTOR};

/// Fewer device bytes than this share of the moved bytes means that memory did the work.
const DEVICE_SHARE: f64 = 0.9;

/// Blocks of a batch that are checked whole, at most: the last ones.
const RECENT: usize = 8;

/// With several blocks in flight a sample has this many times as many at least.
const FULL_QUEUES: u64 = 4;

/// A wake-up takes about so long; the rest of the time to the next block is spent awake.
const WAKE_UP_NS: u64 = 60_000;

/// Lays out the file.
pub fn prepare(start: &Start, name: &str) -> Result<(Ready, Box<dyn Held>), StartError> {
    let size = start.integer("size") / SECTOR as u64 * SECTOR as u64;
    if size == 0 {
        return Err(StartError::Failed(format!("`size` must be at least {SECTOR} bytes")));
    }
    let dir = Path::new(&start.dir);
    let file = match is_in_memory_on_purpose(start) {
        true => TestFile::in_memory(size, start.seed, start.facts.memory_bytes)?,
        false if is_device(dir) => TestFile::on_device(dir, size, start.seed)?,
        false => TestFile::lay_out(dir, name, size, start.seed)?,
    };
    let ready = Ready {
        endpoints: [("file".to_owned(), file.path().display().to_string())].into(),
        bytes_on_disk: if is_in_memory_on_purpose(start) { 0 } else { file.bytes_on_disk()? },
        flags: memory_flag(start),
        ..Ready::default()
    };
    Ok((ready, Box::new(file)))
}

fn memory_flag(start: &Start) -> Vec<Flag> {
    let path = Path::new(&start.dir);
    if is_in_memory_on_purpose(start) || !is_in_memory(path) {
        return Vec::new();
    }
    vec![Flag::new(FlagKind::Tmpfs, format!("{} is in memory: no device is used", path.display()))]
}

/// Opens the file that `prepare` laid out, in the best way that works.
pub fn start(start: &Start, pattern: AccessPattern) -> Result<Started, StartError> {
    let settings = BlockSettings::read(start)?;
    let path = start.endpoints.get("file").ok_or_else(|| {
        StartError::Failed("no test file: the fixture was not prepared".to_owned())
    })?;
    let path = Path::new(path);
    let mut offsets = Offsets::new(pattern, settings.size, settings.block, start.seed);
    let chosen = find(path, &settings.request, offsets.draw())?;
    let in_memory = is_in_memory_on_purpose(start);
    let cached = !chosen.direct && !in_memory;
    let sync = match start.text("sync") {
        "sample" => settings.is_write(),
        "none" => false,
        _ => settings.is_write() && cached,
    };
    let mut notes = chosen.notes;
    let mut flags = chosen.flags;
    flags.extend(memory_flag(start));
    if in_memory {
        notes.push("the file is in memory: no device is involved".to_owned());
    }
    if cached && settings.mix != Mix::WRITE {
        drop_cache(chosen.queue.file());
        notes.push("the file's cached pages were dropped at the start".to_owned());
    }
    if settings.is_write() && !cached && !sync && has_volatile_cache(path) == Some(true) {
        let why =
            "the device has a volatile write cache, and no sample ends with a flush (sync=sample)";
        flags.push(Flag::new(FlagKind::Unflushed, why));
    }
    if sync {
        notes.push("every sample ends with fdatasync, inside its time".to_owned());
    }
    if cached && settings.is_write() && !sync {
        let why = "writes end in the page cache: no time is spent waiting for the device";
        flags.push(Flag::new(FlagKind::Cached, why));
    }
    let mut queue = chosen.queue;
    fill_buffers(&mut queue, &settings, start.seed);
    if pattern == AccessPattern::Random {
        notes.push(settings.load());
    }
    let mut instance =
        Blocks::new(queue, &settings, offsets, chosen.depth, sync, (pattern, start.seed));
    instance.schedule = settings.schedule(start.seed, sync)?;
    instance.trials = (settings.arrivals, start.seed, settings.bound_ns);
    if !is_counted() && !in_memory {
        notes.push(
            "the kernel does not count a process's device bytes, so plumb can't detect caching"
                .to_owned(),
        );
    }
    #[expect(clippy::cast_precision_loss, reason = "blocks stay far below 2^53 bytes")]
    let work = match pattern {
        AccessPattern::Sequential => [("bandwidth".to_owned(), settings.block as f64)].into(),
        AccessPattern::Random => [("rate".to_owned(), 1.0)].into(),
    };
    let ready = Ready { work, notes, flags, ..Ready::default() };
    Ok(Started { instance: Box::new(instance), ready })
}

/// Writes get random data to carry; reads bring their own.
fn fill_buffers(queue: &mut Queue, settings: &BlockSettings, seed: u64) {
    if settings.is_write() {
        let mut random = SplitMix64::new(seed);
        for slot in 0..queue.slots() {
            random.fill(queue.block(slot).0);
        }
    }
}

const SEQUENTIAL_NAMES: &[&str] = &["device_ratio"];
const RANDOM_NAMES: &[&str] =
    &["latency_p50", "latency_p99", "latency_max", "in_time", "device_ratio"];

struct Blocks {
    queue: Queue,
    /// Which blocks are read and which written, and the coins that decide it.
    mix: (Mix, SplitMix64),
    /// What was last done with each buffer.
    done: Vec<Operation>,
    block: usize,
    depth: usize,
    sync: bool,
    offsets: Offsets,
    /// Of the last block written; each has its own.
    generation: u64,
    /// Of the last block written before the batch.
    generation_before: u64,
    /// Blocks that arrived in the batch.
    arrived: u64,
    /// The last blocks that arrived, in any order.
    recent: [Option<(Completed, Operation)>; RECENT],
    names: &'static [&'static str],
    /// Whether each block is timed.
    timed: bool,
    /// Whether a device should move the blocks.
    on_device: bool,
    /// When the block in each buffer was sent.
    sent_ns: Vec<u64>,
    /// Times of the blocks of a batch, in nanoseconds.
    latency: [Distribution; 1],
    /// When blocks are to be sent, in an open loop.
    schedule: Option<Schedule>,
    /// How blocks arrive in a trial, the seed of the last trial's, and how long a good one takes at most.
    trials: (Arrivals, u64, Option<u64>),
}

impl Blocks {
    fn new(
        queue: Queue,
        settings: &BlockSettings,
        offsets: Offsets,
        depth: u32,
        sync: bool,
        (pattern, seed): (AccessPattern, u64),
    ) -> Self {
        let names = match pattern {
            AccessPattern::Sequential => SEQUENTIAL_NAMES,
            AccessPattern::Random => RANDOM_NAMES,
        };
        // The last name needs the kernel's account.
        let told = names.len() - usize::from(!is_counted());
        Self {
            sent_ns: vec![0; queue.slots()],
            done: vec![Operation::Read; queue.slots()],
            queue,
            mix: (settings.mix, SplitMix64::new(!seed)),
            block: settings.block,
            depth: usize::try_from(depth).unwrap_or(1),
            sync,
            offsets,
            generation: stamp::LAID_OUT,
            generation_before: stamp::LAID_OUT,
            arrived: 0,
            recent: [None; RECENT],
            names: &names[..told],
            timed: pattern == AccessPattern::Random,
            on_device: !settings.in_memory,
            latency: [Distribution::of("latency")],
            schedule: None,
            trials: (Arrivals::Poisson, 0, None),
        }
    }

    /// Sends blocks until `depth` are in flight.
    fn top_up(&mut self, depth: usize) -> Result<(), Failure> {
        // One that takes the place of another goes out before the next is waited for, or with the call that waits. Where
        // the queue is filled they are sent one by one: blocks that are sent together arrive together, in convoys.
        let fills = depth.saturating_sub(self.queue.in_flight()) > 1;
        while self.queue.in_flight() < depth {
            let slot = self.send()?;
            if self.timed {
                self.sent_ns[slot] = now_ns();
            }
            if fills {
                self.queue.flush()?;
            }
        }
        Ok(())
    }

    /// Sends the next block; its buffer.
    fn send(&mut self) -> Result<usize, Failure> {
        let offset = self.offsets.draw();
        let operation = self.mix.0.draw(&mut self.mix.1);
        let slot = match operation {
            Operation::Read => self.queue.submit(operation, offset, |_| {}),
            Operation::Write => {
                self.generation += 1;
                let generation = self.generation;
                let stamped = |block: &mut [u8]| stamp::write(block, offset, generation);
                self.queue.submit(operation, offset, stamped)
            }
        }?;
        self.done[slot] = operation;
        Ok(slot)
    }

    /// Sends blocks when they are due, as far as there is room for them, until one has arrived. It sleeps in between,
    /// because arrivals are delivered late to a program that never does, and wakes up a little early.
    fn open_loop(&mut self, schedule: &mut Schedule) -> Result<(), Failure> {
        loop {
            let now = now_ns();
            if self.queue.in_flight() < self.depth && now >= schedule.due_ns() {
                let slot = self.send()?;
                self.sent_ns[slot] = schedule.sent(now);
                self.queue.flush()?;
            }
            if self.queue.has_arrived() {
                return self.complete();
            }
            let is_full = self.queue.in_flight() >= self.depth;
            let wait_ns = if is_full { u64::MAX } else { schedule.due_ns().saturating_sub(now) };
            if wait_ns > WAKE_UP_NS {
                self.queue.pause(wait_ns - WAKE_UP_NS)?;
            }
        }
    }

    /// Sends so many blocks when they are due and counts those that arrive within the bound from then. It is over
    /// early when the time is, and the next block is already too late.
    fn offer(
        &mut self,
        schedule: &mut Schedule,
        blocks: u64,
        duration_ns: u64,
        bound_ns: u64,
    ) -> Result<u64, Failure> {
        let (mut sent, mut good, begin_ns) = (0, 0, now_ns());
        schedule.begin(begin_ns);
        loop {
            let now = now_ns();
            let is_late = now > schedule.due_ns() + bound_ns;
            let is_over = sent == blocks || (is_late && now - begin_ns >= duration_ns);
            if is_over && self.queue.in_flight() == 0 {
                return Ok(good);
            }
            if !is_over && self.queue.in_flight() < self.depth && now >= schedule.due_ns() {
                let slot = self.send()?;
                self.sent_ns[slot] = schedule.sent(now);
                self.queue.flush()?;
                sent += 1;
            }
            if self.queue.has_arrived() {
                let arrived = self.queue.complete()?;
                good += u64::from(now_ns() - self.sent_ns[arrived.slot] <= bound_ns);
                self.accept(arrived)?;
                continue;
            }
            let is_full = is_over || self.queue.in_flight() >= self.depth;
            let wait_ns = if is_full { u64::MAX } else { schedule.due_ns().saturating_sub(now) };
            if wait_ns > WAKE_UP_NS {
                self.queue.pause(wait_ns - WAKE_UP_NS)?;
            }
        }
    }

    fn begin_batch(&mut self) {
        self.arrived = 0;
        self.recent = [None; RECENT];
        self.generation_before = self.generation;
    }

    fn complete(&mut self) -> Result<(), Failure> {
        let arrived = self.queue.complete()?;
        if self.timed {
            self.latency[0].record(now_ns() - self.sent_ns[arrived.slot]);
        }
        self.accept(arrived)
    }

    fn accept(&mut self, arrived: Completed) -> Result<(), Failure> {
        self.note(arrived);
        let (block, offset) = self.queue.block(arrived.slot);
        if stamp::ends_match(block, offset) {
            Ok(())
        } else {
            Err(Failure(format!("the block read at offset {offset} is not the one written there")))
        }
    }

    fn note(&mut self, arrived: Completed) {
        #[expect(clippy::cast_possible_truncation, reason = "only the remainder matters")]
        let at = self.arrived as usize % RECENT;
        self.recent[at] = Some((arrived, self.done[arrived.slot]));
        self.arrived += 1;
    }

    /// Waits for all that is in flight; what comes late belongs to no sample.
    fn drain(&mut self) -> Result<(), Failure> {
        while self.queue.in_flight() > 0 {
            let arrived = self.queue.complete()?;
            self.note(arrived);
        }
        Ok(())
    }

    fn synced_sample(&mut self, iterations: u64) -> Result<(), Failure> {
        for left in (1..=iterations).rev() {
            let depth = usize::try_from(left).map_or(self.depth, |left| left.min(self.depth));
            self.top_up(depth)?;
            self.complete()?;
        }
        self.queue
            .file()
            .sync_data()
            .map_err(|error| Failure::io("fdatasync of the test file", &error))
    }

    /// Takes the samples. With more than one block in flight they are consecutive windows of one
    /// steady flow: the next begins where the last one ended, and the queue is full at every border.
    fn take(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let steady = (self.depth > 1 || self.schedule.is_some()) && !self.sync;
        match &mut self.schedule {
            Some(schedule) => schedule.begin(now_ns()),
            None if steady => self.top_up(self.depth)?,
            None => {}
        }
        let mut border = now_ns();
        for &k in iterations {
            let start = if steady { border } else { now_ns() };
            self.run(k)?;
            border = now_ns();
            batch.record(start, border - start, k, current_cpu());
            self.latency[0].end_sample();
        }
        self.drain()
    }

    fn record_values(&mut self, samples: usize, ratio: Option<f64>, batch: &mut Batch) {
        let in_time = self.schedule.as_ref().map(Schedule::share_in_time);
        let mut row = Vec::with_capacity(self.names.len());
        for sample in 0..samples {
            row.clear();
            if self.timed {
                row.extend(percentiles(self.latency[0].sample(sample)));
                row.push(in_time.unwrap_or(1.0));
            }
            row.extend(ratio);
            batch.record_values(&row);
        }
    }

    /// Latencies of a client that does not keep up are its own.
    fn flag_client(&self, batch: &mut Batch) {
        let share = self.schedule.as_ref().map_or(1.0, Schedule::share_in_time);
        if share < BOUND_SHARE {
            let why = format!(
                "{:.1} % of the blocks were sent in time: depth {} is too small for this rate, or the CPU was busy",
                100.0 * share,
                self.depth
            );
            batch.flag(Flag::new(FlagKind::ClientBound, why));
        }
    }

    /// Reads back some of what was written last.
    fn check_written(&mut self, offset: u64) -> Result<(), Failure> {
        match stamp::read(self.queue.read(offset)?, offset) {
            Ok((low, high)) if low > self.generation_before && high <= self.generation => Ok(()),
            Ok(_) => Err(Failure(format!("the write at offset {offset} was lost"))),
            Err(at) => Err(Failure(format!("offset {at} holds foreign bytes"))),
        }
    }

    fn check_read(&mut self, slot: usize) -> Result<(), Failure> {
        let (block, offset) = self.queue.block(slot);
        match stamp::read(block, offset) {
            Ok(_) => Ok(()),
            Err(at) => Err(Failure(format!("offset {at} was read as foreign bytes"))),
        }
    }
}

impl Instance for Blocks {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        if self.sync {
            return self.synced_sample(iterations);
        }
        if let Some(mut schedule) = self.schedule.take() {
            let all = (0..iterations).try_for_each(|_| self.open_loop(&mut schedule));
            self.schedule = Some(schedule);
            return all;
        }
        for _ in 0..iterations {
            self.top_up(self.depth)?;
            self.complete()?;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.drain()?;
        for (arrived, operation) in self.recent.into_iter().flatten() {
            match operation {
                Operation::Read => self.check_read(arrived.slot)?,
                Operation::Write => self.check_written(arrived.offset)?,
            }
        }
        Ok(())
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a positive number of blocks, far below 2^53"
    )]
    fn trial(&mut self, load: f64, duration_ns: u64) -> Result<TrialCounts, Failure> {
        let (arrivals, seed, Some(bound_ns)) = self.trials else {
            return Err(Failure("only `rate=search` is answered by trials".into()));
        };
        self.trials.1 = seed.wrapping_add(1);
        let mut schedule = Schedule::new(arrivals, load, self.trials.1)?;
        let offered = (load * duration_ns as f64 * 1e-9).round().max(1.0) as u64;
        self.begin_batch();
        let good = self.offer(&mut schedule, offered, duration_ns, bound_ns)?;
        Ok(TrialCounts { offered, good })
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.names
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.begin_batch();
        let before = device::bytes_of(self.mix.0);
        self.take(iterations, batch)?;
        let device = before.zip(device::bytes_of(self.mix.0)).map(|(before, now)| now - before);
        #[expect(clippy::cast_precision_loss, reason = "bytes of a batch stay far below 2^53")]
        let ratio = device.map(|device| device as f64 / (self.arrived * self.block as u64) as f64);
        if let Some(device) = device
            && self.on_device
            && ratio.is_some_and(|ratio| ratio < DEVICE_SHARE)
        {
            batch.flag(cached(device, self.arrived * self.block as u64, self.mix.0));
        }
        self.record_values(iterations.len(), ratio, batch);
        self.flag_client(batch);
        Ok(())
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        if self.timed { &mut self.latency } else { &mut [] }
    }

    fn least_iterations(&self) -> u64 {
        if self.depth > 1 { FULL_QUEUES * self.depth as u64 } else { 1 }
    }

    fn shortest_sample_ns(&self) -> u64 {
        if self.timed && !self.sync { 10_000_000 } else { 60_000_000 }
    }
}

fn cached(device: u64, moved: u64, mix: Mix) -> Flag {
    let (device, moved, done) = (show(device), show(moved), mix.done());
    let why = format!("the device moved {device} of {moved} that were {done}");
    Flag::new(FlagKind::Cached, why)
}

/// Median, 99th percentile (nearest rank) and maximum, in seconds.
fn percentiles(latencies: &mut [u64]) -> [f64; 3] {
    latencies.sort_unstable();
    let rank = |percent: usize| {
        let rank = (latencies.len() * percent).div_ceil(100).max(1) - 1;
        latencies.get(rank).copied().unwrap_or(0)
    };
    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    [50, 99, 100].map(|percent| rank(percent) as f64 * 1e-9)
}
