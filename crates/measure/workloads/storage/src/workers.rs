//! Several workers: threads, each with a separate queue, on the same file.
//!
//! The samples of a batch are windows of one steady flow over all workers. Whoever has the last block of a window arrive
//! reads the clock and goes on: no worker waits for another between samples. Only if samples end with a sync each
//! begins and ends with empty queues, and the blocks are divided before.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumb_model::Facts;
use plumb_protocol::{
    Batch, Distribution, Failure, Instance, StartError, TrialCounts, current_cpu, now_ns,
};
use plumb_workload_kit::threads::{Member, Team};

use crate::account::{BatchAccount, BlockCounts};
use crate::lane::{Lane, OpenLoopTrial, Trials, sync};
use crate::method::ChosenMethod;
use crate::settings::BlockSettings;
use crate::share::Share;
use crate::stamp;

/// What the workers write down together of a batch, in memory that was touched before.
struct WorkersTally {
    /// Blocks of the batch after which each sample ends.
    ends: Vec<u64>,
    /// When each sample ended, and on which CPU.
    borders: Vec<(AtomicU64, AtomicI32)>,
    /// Blocks that arrived.
    arrived: AtomicU64,
    /// The time of each of them, in nanoseconds; empty if they are not timed.
    times_ns: Vec<AtomicU64>,
}

impl WorkersTally {
    /// Of samples of so many blocks.
    fn new(iterations: &[u64], timed: bool) -> Self {
        let mut all = 0;
        let ends = iterations.iter().map(|k| {
            all += k;
            all
        });
        let ends: Vec<u64> = ends.collect();
        let times = if timed { all } else { 0 };
        Self {
            borders: ends.iter().map(|_| (AtomicU64::new(1), AtomicI32::new(-1))).collect(),
            ends,
            arrived: AtomicU64::new(0),
            times_ns: (0..times).map(|_| AtomicU64::new(1)).collect(),
        }
    }

    /// Counts a block; whether more are wanted.
    fn count(&self, time_ns: u64) -> bool {
        let before = self.arrived.fetch_add(1, Ordering::Relaxed);
        let time = usize::try_from(before).ok().and_then(|index| self.times_ns.get(index));
        if let Some(time) = time {
            time.store(time_ns, Ordering::Relaxed);
        }
        // Only who moved the last block of a sample reads the clock.
        if let Ok(sample) = self.ends.binary_search(&(before + 1)) {
            let (end_ns, cpu) = &self.borders[sample];
            end_ns.store(now_ns(), Ordering::Relaxed);
            cpu.store(current_cpu(), Ordering::Relaxed);
        }
        self.ends.last().is_some_and(|all| before + 1 < *all)
    }

    /// Lets no worker wait for blocks that another will not move any more.
    fn stop(&self) {
        self.arrived.store(u64::MAX / 2, Ordering::Relaxed);
    }
}

/// What all workers do next.
#[derive(Clone)]
enum WorkerStep {
    /// They make ready for a batch, and fill their queues if blocks flow over its samples.
    Begin {
        /// Whether they do.
        flows: bool,
    },
    /// They move the blocks of all samples.
    Flow {
        tally: Arc<WorkersTally>,
        /// When the first sample began.
        begin_ns: u64,
    },
    /// They move their shares of one sample's blocks.
    Burst(Arc<WorkersTally>),
    /// They move their shares of a trial's blocks.
    Offer(OpenLoopTrial),
}

/// What the workers share.
struct WorkersState {
    step: Mutex<WorkerStep>,
    /// The last generation that any of them wrote.
    newest: AtomicU64,
}

impl WorkersState {
    fn step(&self) -> MutexGuard<'_, WorkerStep> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn newest(&self) -> u64 {
        self.newest.load(Ordering::Relaxed)
    }
}

struct IoWorker {
    lane: Lane,
    share: Share,
    shared: Arc<WorkersState>,
    /// Good blocks of its last trial.
    good: u64,
}

impl IoWorker {
    fn flow(&mut self, tally: &WorkersTally, begin_ns: u64) -> Result<(), Failure> {
        self.lane.begin_schedule(begin_ns);
        let moved = self.lane.flow(|time_ns| tally.count(time_ns));
        if moved.is_err() {
            tally.stop();
        }
        moved?;
        self.lane.drain()
    }
}

impl Member for IoWorker {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let step = self.shared.step().clone();
        match step {
            WorkerStep::Begin { flows } => {
                self.lane.begin_batch(self.shared.newest());
                if flows { self.lane.fill() } else { Ok(()) }
            }
            WorkerStep::Flow { tally, begin_ns } => self.flow(&tally, begin_ns),
            WorkerStep::Burst(tally) => self.lane.burst(self.share.of(iterations), |time_ns| {
                tally.count(time_ns);
            }),
            WorkerStep::Offer(trial) => {
                self.good = self.lane.trial(&trial)?;
                Ok(())
            }
        }
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.lane.verify(self.shared.newest())
    }
}

/// All workers, each a thread with a separate queue.
pub struct IoWorkers {
    team: Team<IoWorker>,
    shared: Arc<WorkersState>,
    account: BatchAccount,
    trials: Trials,
    /// What each sample ends with a sync of.
    synced: Option<File>,
}

impl IoWorkers {
    /// Workers that all move blocks of the file at `path` by this method.
    ///
    /// # Errors
    /// Unsupported if one of them can't; failed when the loop can't be opened.
    pub fn start(
        facts: &Facts,
        path: &Path,
        settings: &BlockSettings,
        method: &ChosenMethod,
        is_synced: bool,
    ) -> Result<Self, StartError> {
        let step = Mutex::new(WorkerStep::Begin { flows: false });
        let newest = AtomicU64::new(stamp::LAID_OUT);
        let shared = Arc::new(WorkersState { step, newest });
        let of_all = Arc::clone(&shared);
        let all = settings.clone();
        let file = path.to_owned();
        let wanted = method.notes.first().cloned();
        let build = move |number: usize| {
            let share = Share::of_worker(number, all.workers);
            let (mut lane, method) = Lane::open(&file, &all, share)?;
            // A limit can refuse a later worker what the first one got, and a mix of methods is no result.
            if method.notes.first() != wanted.as_ref() {
                let notes = method.notes.join("; ");
                let why = format!(
                    "worker {} of {} can't use the same method: {notes}",
                    number + 1,
                    all.workers
                );
                return Err(StartError::unsupported(why, "set fewer workers or a smaller depth"));
            }
            lane.pace(&all, is_synced)?;
            Ok(IoWorker { lane, share, shared: Arc::clone(&of_all), good: 0 })
        };
        let opened = is_synced.then(|| File::open(path)).transpose();
        let synced = opened.map_err(|error| Failure::io("opening the test file", &error))?;
        Ok(Self {
            team: Team::start(settings.workers, facts, build)?,
            shared,
            account: BatchAccount::new(settings, method.depth, is_synced),
            trials: Trials::new(settings),
            synced,
        })
    }

    /// What the kernel keeps of file and buffers, each once: it may keep less of the last worker than of the first.
    #[must_use]
    pub fn registrations(&self) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        self.team.each(|worker| {
            let new = worker
                .lane
                .registration()
                .filter(|registration| told.iter().all(|known| known != registration));
            told.extend(new.map(str::to_owned));
        });
        told
    }

    /// Has all workers do this.
    fn step(&mut self, step: WorkerStep, iterations: u64) -> Result<(), Failure> {
        *self.shared.step() = step;
        self.team.run(iterations)
    }

    /// Moves the blocks of all samples; when the first one began.
    fn flow(&mut self, tally: &Arc<WorkersTally>) -> Result<u64, Failure> {
        let begin_ns = now_ns();
        self.step(WorkerStep::Flow { tally: Arc::clone(tally), begin_ns }, 0)?;
        Ok(begin_ns)
    }

    /// Moves the blocks of one sample and ends it with a sync.
    fn synced_sample(&mut self, iterations: u64) -> Result<(), Failure> {
        self.team.run(iterations)?;
        self.synced.as_ref().map_or(Ok(()), sync)
    }

    /// Takes the samples.
    fn take(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let tally = Arc::new(WorkersTally::new(iterations, self.account.is_timed()));
        self.step(WorkerStep::Begin { flows: self.synced.is_none() }, 0)?;
        if self.synced.is_some() {
            *self.shared.step() = WorkerStep::Burst(Arc::clone(&tally));
            for &k in iterations {
                let start = now_ns();
                self.synced_sample(k)?;
                batch.record(start, now_ns() - start, k, current_cpu());
            }
        } else {
            let mut start = self.flow(&tally)?;
            for (&k, (end_ns, cpu)) in iterations.iter().zip(&tally.borders) {
                // Two may read the clock in another order than their blocks arrived.
                let end = end_ns.load(Ordering::Relaxed).max(start + 1);
                batch.record(start, end - start, k, cpu.load(Ordering::Relaxed));
                start = end;
            }
        }
        self.record_times(&tally);
        Ok(())
    }

    fn record_times(&mut self, tally: &WorkersTally) {
        let mut recorded = 0;
        for &end in &tally.ends {
            let end = usize::try_from(end).unwrap_or(usize::MAX).min(tally.times_ns.len());
            for time in &tally.times_ns[recorded..end] {
                self.account.record(time.load(Ordering::Relaxed));
            }
            recorded = end;
            self.account.end_sample();
        }
    }

    /// What became of the blocks of all workers since the batch began.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn moved(&mut self) -> BlockCounts {
        let mut blocks = 0;
        let mut in_time = 0.0;
        let mut newest = 0;
        self.team.each(|IoWorker { lane, .. }| {
            blocks += lane.arrived();
            in_time += lane.share_in_time() * lane.arrived() as f64;
            newest = newest.max(lane.generation());
        });
        self.shared.newest.store(newest, Ordering::Relaxed);
        let in_time = if blocks == 0 { 1.0 } else { in_time / blocks as f64 };
        BlockCounts { blocks, in_time }
    }
}

impl Instance for IoWorkers {
    /// As a batch of one sample.
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let mut batch = Batch::with_room(1, &[]);
        self.take(&[iterations], &mut batch)
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.team.verify()
    }

    fn trial(&mut self, load: f64, duration_ns: u64) -> Result<TrialCounts, Failure> {
        self.step(WorkerStep::Begin { flows: false }, 0)?;
        let trial = self.trials.next(load, duration_ns)?;
        self.step(WorkerStep::Offer(trial), 0)?;
        self.moved();
        let mut good = 0;
        self.team.each(|worker| good += worker.good);
        Ok(TrialCounts { offered: trial.blocks, good, flags: Vec::new() })
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.account.names()
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let before = self.account.device_bytes();
        self.take(iterations, batch)?;
        let moved = self.moved();
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

#[cfg(test)]
mod tests {
    use super::{IoWorkers, WorkersTally};
    use crate::lane::Lane;
    use crate::offsets::AccessPattern;
    use crate::settings::BlockSettings;
    use crate::share::Share;
    use plumb_model::Facts;
    use plumb_protocol::{Batch, Instance};
    use plumb_workload_testing::{TestPoint, alone};
    use std::path::Path;
    use std::sync::atomic::Ordering;

    #[test]
    fn every_worker_has_its_part_of_a_batch_and_generations_of_its_own() {
        let _alone = alone();
        let folder = tempfile::tempdir().unwrap();
        let settings = [("size", "4MiB"), ("workers", "3"), ("depth", "2"), ("operation", "write")];
        let settings = [&settings[..], &[("sync", "none")]].concat();
        let point = TestPoint::new(crate::ALL, "storage.random", &settings);
        let mut point = point.in_folder(folder.path());
        point.prepare().unwrap();
        let settings = BlockSettings::read(&point.start, AccessPattern::Random).unwrap();
        let path = Path::new(&point.start.endpoints["file"]);
        let (_, method) = Lane::open(path, &settings, Share::WHOLE).unwrap();
        let mut workers =
            IoWorkers::start(&Facts::default(), path, &settings, &method, false).unwrap();
        let mut generations = Vec::new();
        for _ in 0..2 {
            let mut batch = Batch::with_room(1, workers.value_names());
            workers
                .distributions()
                .iter_mut()
                .for_each(|distribution| distribution.make_room(1, 3000));
            workers.batch(&[3000], &mut batch).unwrap();
            workers.verify().unwrap();
            let mut arrived = Vec::new();
            workers.team.each(|worker| {
                arrived.push(worker.lane.arrived());
                generations.push(worker.lane.generation());
            });
            // A fair part is a thousand. Each has one block more than is wanted at most, and those in flight.
            assert!(arrived.iter().all(|count| *count > 30), "{arrived:?}");
            assert!((3000..=3000 + 3 * 3).contains(&arrived.iter().sum::<u64>()), "{arrived:?}");
        }
        let (first, second) = generations.split_at(3);
        assert!(first.iter().max() < second.iter().min(), "{generations:?}");
        let own = first.iter().map(|number| number % 3).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(own.len(), 3, "{generations:?}");
    }

    #[test]
    fn a_tally_ends_each_sample_with_its_last_block() {
        let tally = WorkersTally::new(&[2, 3], true);
        let more: Vec<bool> = (1..=6).map(|time_ns| tally.count(time_ns)).collect();
        assert_eq!(more, [true, true, true, true, false, false]);
        let ends: Vec<u64> =
            tally.borders.iter().map(|border| border.0.load(Ordering::Relaxed)).collect();
        assert!(1 < ends[0] && ends[0] <= ends[1], "{ends:?}");
        let times = tally.times_ns.iter().map(|time_ns| time_ns.load(Ordering::Relaxed));
        assert_eq!(times.collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_tally_that_was_stopped_wants_no_more() {
        let tally = WorkersTally::new(&[1000], false);
        assert!(tally.count(0));
        tally.stop();
        assert!(!tally.count(0) && tally.times_ns.is_empty());
    }
}
