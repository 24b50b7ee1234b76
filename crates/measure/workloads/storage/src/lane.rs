//! One queue of blocks and what goes through it: each block is sent, waited for and checked.

use std::fs::File;
use std::path::Path;

use plumb_protocol::{ArrivalSchedule, Arrivals, Failure, SplitMix64, StartError, now_ns};

use crate::engine::BlockOperation;
use crate::file::Data;
use crate::method::{ChosenMethod, find};
use crate::offsets::{AccessPattern, Mix, Offsets};
use crate::queue::{BlockQueue, Completed};
use crate::settings::BlockSettings;
use crate::share::Share;
use crate::stamp;

/// Blocks of a batch that are checked whole, at most: the last ones.
const RECENT: usize = 8;

/// A wake-up takes about so long; the rest of the time to the next block is spent awake.
const WAKE_UP_NS: u64 = 60_000;

/// Where trials come from: how blocks arrive in them, and when one is good.
#[derive(Debug)]
pub struct Trials {
    arrivals: Arrivals,
    /// Of the last one.
    seed: u64,
    /// How long a good block takes at most, in nanoseconds; none if no rate is searched.
    bound_ns: Option<u64>,
}

/// A trial of an open loop, over all workers.
#[derive(Debug, Clone, Copy)]
pub struct OpenLoopTrial {
    arrivals: Arrivals,
    seed: u64,
    /// Blocks that are due each second.
    load: f64,
    /// Blocks that are due in all.
    pub blocks: u64,
    begin_ns: u64,
    duration_ns: u64,
    bound_ns: u64,
}

impl Trials {
    /// Of these settings.
    #[must_use]
    pub fn new(settings: &BlockSettings) -> Self {
        let BlockSettings { arrivals, seed, bound_ns, .. } = *settings;
        Self { arrivals, seed, bound_ns }
    }

    /// The next one, which begins now.
    ///
    /// # Errors
    /// If no rate is searched.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a positive number of blocks, far below 2^53"
    )]
    pub fn next(&mut self, load: f64, duration_ns: u64) -> Result<OpenLoopTrial, Failure> {
        let Some(bound_ns) = self.bound_ns else {
            return Err(Failure("only `rate=search` runs trials".into()));
        };
        self.seed = self.seed.wrapping_add(1);
        let arrivals = self.arrivals;
        let seed = self.seed;
        let begin_ns = now_ns();
        let blocks = (load * duration_ns as f64 * 1e-9).round().max(1.0) as u64;
        Ok(OpenLoopTrial { arrivals, seed, load, blocks, begin_ns, duration_ns, bound_ns })
    }
}

/// A queue and what is known of its blocks.
pub struct Lane {
    queue: BlockQueue,
    /// Which blocks are read and which written, and the coins that decide it.
    mix: (Mix, SplitMix64),
    /// What was last done with each buffer.
    done: Vec<BlockOperation>,
    depth: usize,
    share: Share,
    /// Whether blocks that are read carry stamps.
    stamped: bool,
    offsets: Offsets,
    /// Of the last block written; each of the batch has its own, over all workers.
    generation: u64,
    /// Of the last block that anybody wrote before the batch.
    generation_before: u64,
    /// Blocks that arrived in the batch.
    arrived: u64,
    /// The last blocks that arrived, in any order.
    recent: [Option<(Completed, BlockOperation)>; RECENT],
    /// Whether each block is timed.
    timed: bool,
    /// When the block in each buffer was sent.
    sent_ns: Vec<u64>,
    /// When blocks are to be sent, in an open loop, and how long before the batch that begins, in nanoseconds.
    schedule: Option<(ArrivalSchedule, u64)>,
}

impl Lane {
    /// A worker's queue on the file at `path`, in the best way that works, with what the reader should know of it.
    ///
    /// # Errors
    /// Those of [`find`].
    pub fn open(
        path: &Path,
        settings: &BlockSettings,
        share: Share,
    ) -> Result<(Self, ChosenMethod), StartError> {
        let size = settings.size;
        let block = settings.block;
        let seed = settings.seed;
        let mut offsets = Offsets::new(settings.pattern, size, block, seed, share);
        let (mut queue, method) = find(path, &settings.request, offsets.draw())?;
        fill_buffers(&mut queue, settings, share);
        let lane = Self {
            sent_ns: vec![0; queue.slots()],
            done: vec![BlockOperation::Read; queue.slots()],
            queue,
            mix: (settings.mix, SplitMix64::new(!share.seed(seed))),
            depth: usize::try_from(method.depth).unwrap_or(1),
            share,
            stamped: settings.request.stamped,
            offsets,
            generation: stamp::LAID_OUT,
            generation_before: stamp::LAID_OUT,
            arrived: 0,
            recent: [None; RECENT],
            timed: settings.pattern == AccessPattern::Random,
            schedule: None,
        };
        Ok((lane, method))
    }

    /// Opens the loop if the settings say so. To be called by the thread that works.
    ///
    /// # Errors
    /// Those of [`BlockSettings::schedule`].
    #[expect(clippy::cast_precision_loss, reason = "a rate that can be kept is far below 2^53")]
    pub fn pace(&mut self, settings: &BlockSettings, sync: bool) -> Result<(), StartError> {
        let rate = settings.rate.unwrap_or(1) as f64;
        let ahead_ns = self.share.ahead_ns(settings.arrivals, rate);
        self.schedule = settings.schedule(self.share, sync)?.map(|schedule| (schedule, ahead_ns));
        Ok(())
    }

    /// The file whose blocks are moved.
    #[must_use]
    pub fn file(&self) -> &File {
        self.queue.file()
    }

    /// What the kernel keeps of file and buffers.
    #[must_use]
    pub fn registration(&self) -> Option<&str> {
        self.queue.registration()
    }

    /// Whether blocks are sent when they are due.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.schedule.is_some()
    }

    /// Whether several blocks are in flight at a time.
    #[must_use]
    pub fn is_deep(&self) -> bool {
        self.depth > 1
    }

    /// Blocks that arrived since the batch began.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// The generation of the last block that it wrote, or of those before the batch.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The share of the blocks of the batch that were sent when they were due; 1 in a closed loop.
    #[must_use]
    pub fn share_in_time(&self) -> f64 {
        self.schedule.as_ref().map_or(1.0, |(schedule, _)| schedule.share_in_time())
    }

    /// Begins a batch: `newest` is the last generation that anybody wrote before.
    pub fn begin_batch(&mut self, newest: u64) {
        self.arrived = 0;
        self.recent = [None; RECENT];
        self.generation_before = newest;
        self.generation = newest + self.share.number();
    }

    /// Fills the queue, so that the first sample begins as the others do. With one block at a time nothing is in flight
    /// between samples, and an open loop sends when it is time.
    ///
    /// # Errors
    /// When a block can't be sent.
    pub fn fill(&mut self) -> Result<(), Failure> {
        if self.is_deep() && !self.is_open() { self.top_up(self.depth) } else { Ok(()) }
    }

    /// Begins the schedule of an open loop.
    pub fn begin_schedule(&mut self, now_ns: u64) {
        if let Some((schedule, ahead_ns)) = &mut self.schedule {
            schedule.begin(now_ns.saturating_sub(*ahead_ns));
        }
    }

    /// Moves blocks until `arrived`, which gets the time of each (0 if they are not timed), wants no more.
    ///
    /// # Errors
    /// When a block could not be moved, or is another than was written there.
    pub fn flow(&mut self, mut arrived: impl FnMut(u64) -> bool) -> Result<(), Failure> {
        let Some(mut open) = self.schedule.take() else {
            loop {
                self.top_up(self.depth)?;
                if !arrived(self.complete()?) {
                    return Ok(());
                }
            }
        };
        let ended = loop {
            match self.open_loop(&mut open.0) {
                Ok(time_ns) if arrived(time_ns) => {}
                Ok(_) => break Ok(()),
                Err(failure) => break Err(failure),
            }
        };
        self.schedule = Some(open);
        ended
    }

    /// Moves so many blocks from an empty queue to an empty queue.
    ///
    /// # Errors
    /// As for [`Lane::flow`].
    pub fn burst(&mut self, blocks: u64, mut arrived: impl FnMut(u64)) -> Result<(), Failure> {
        for left in (1..=blocks).rev() {
            let depth = usize::try_from(left).map_or(self.depth, |left| left.min(self.depth));
            self.top_up(depth)?;
            arrived(self.complete()?);
        }
        Ok(())
    }

    /// Sends its share of a trial's blocks when they are due; how many arrive within the bound from then.
    ///
    /// # Errors
    /// As for [`Lane::flow`].
    pub fn trial(&mut self, trial: &OpenLoopTrial) -> Result<u64, Failure> {
        let mut schedule = self.share.schedule(trial.arrivals, trial.load, trial.seed)?;
        let ahead_ns = self.share.ahead_ns(trial.arrivals, trial.load);
        schedule.begin(trial.begin_ns.saturating_sub(ahead_ns));
        self.offer(&mut schedule, trial)
    }

    /// Waits for all that is in flight; what comes late belongs to no sample.
    ///
    /// # Errors
    /// When a block did not arrive whole.
    pub fn drain(&mut self) -> Result<(), Failure> {
        while self.queue.in_flight() > 0 {
            let arrived = self.queue.complete()?;
            self.note(arrived);
        }
        Ok(())
    }

    /// Has the device keep what was written.
    ///
    /// # Errors
    /// Those of fdatasync.
    pub fn sync(&self) -> Result<(), Failure> {
        sync(self.file())
    }

    /// Checks the last blocks of the batch whole; `newest` is the last generation that anybody wrote in it.
    ///
    /// # Errors
    /// When a block that was read is another, or one that was written is not there.
    pub fn verify(&mut self, newest: u64) -> Result<(), Failure> {
        // A buffer in flight belongs to the kernel, which may still change it.
        self.drain()?;
        for (arrived, operation) in self.recent.into_iter().flatten() {
            match operation {
                BlockOperation::Read => self.check_read(arrived.slot)?,
                BlockOperation::Write => self.check_written(arrived.offset, newest)?,
            }
        }
        Ok(())
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
            BlockOperation::Read => self.queue.submit(operation, offset, |_| {}),
            BlockOperation::Write => {
                // Steps of the number of workers, from different starts: no two workers write the same generation.
                self.generation += self.share.workers();
                let generation = self.generation;
                let stamped = |block: &mut [u8]| stamp::write(block, offset, generation);
                self.queue.submit(operation, offset, stamped)
            }
        }?;
        self.done[slot] = operation;
        Ok(slot)
    }

    /// Sends blocks when they are due, as far as there is room for them, until one has arrived; its time. It sleeps in
    /// between, because arrivals are delivered late to a program that never does, and wakes up a little early.
    fn open_loop(&mut self, schedule: &mut ArrivalSchedule) -> Result<u64, Failure> {
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

    /// Sends its share of a trial's blocks when they are due and counts those that arrive within the bound from then. It is
    /// over early when the time is, and the next block is already too late.
    fn offer(
        &mut self,
        schedule: &mut ArrivalSchedule,
        trial: &OpenLoopTrial,
    ) -> Result<u64, Failure> {
        let blocks = self.share.of(trial.blocks);
        let bound_ns = trial.bound_ns;
        let mut sent = 0;
        let mut good = 0;
        loop {
            let now = now_ns();
            let is_late = now > schedule.due_ns() + bound_ns;
            let is_over = sent == blocks || (is_late && now - trial.begin_ns >= trial.duration_ns);
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

    /// Waits for a block; the time since it was sent, or was due, in nanoseconds.
    fn complete(&mut self) -> Result<u64, Failure> {
        let arrived = self.queue.complete()?;
        let time_ns = if self.timed { now_ns() - self.sent_ns[arrived.slot] } else { 0 };
        self.accept(arrived)?;
        Ok(time_ns)
    }

    fn accept(&mut self, arrived: Completed) -> Result<(), Failure> {
        self.note(arrived);
        let (block, offset) = self.queue.block(arrived.slot);
        if !self.stamped || stamp::ends_match(block, offset) {
            Ok(())
        } else {
            Err(Failure(format!(
                "the block read at offset {offset} is not the one that was written"
            )))
        }
    }

    fn note(&mut self, arrived: Completed) {
        #[expect(clippy::cast_possible_truncation, reason = "only the remainder matters")]
        let at = self.arrived as usize % RECENT;
        self.recent[at] = Some((arrived, self.done[arrived.slot]));
        self.arrived += 1;
    }

    /// Reads back some of what was written last.
    fn check_written(&mut self, offset: u64, newest: u64) -> Result<(), Failure> {
        match stamp::read(self.queue.read(offset)?, offset) {
            Ok((low, high)) if low > self.generation_before && high <= newest => Ok(()),
            Ok(_) => Err(Failure(format!("the write at offset {offset} was lost"))),
            Err(at) => Err(Failure(format!("unexpected bytes at offset {at}"))),
        }
    }

    fn check_read(&mut self, slot: usize) -> Result<(), Failure> {
        let (block, offset) = self.queue.block(slot);
        match stamp::read(block, offset) {
            Err(at) if self.stamped => {
                Err(Failure(format!("read unexpected bytes at offset {at}")))
            }
            _ => Ok(()),
        }
    }
}

/// Has the device keep what was written to a file.
///
/// # Errors
/// Those of fdatasync.
pub fn sync(file: &File) -> Result<(), Failure> {
    file.sync_data().map_err(|error| Failure::io("fdatasync of the test file", &error))
}

/// Writes get data to carry; reads bring their own. Buffers are zeros when they are made.
fn fill_buffers(queue: &mut BlockQueue, settings: &BlockSettings, share: Share) {
    if let Data::Random(seed) = settings.data
        && settings.is_write()
    {
        let mut random = SplitMix64::new(share.seed(seed));
        for slot in 0..queue.slots() {
            random.fill(queue.block(slot).0);
        }
    }
}
