//! `storage.oneblock`: the same block of a file repeatedly, by many workers with a file each.
//!
//! Workers draw tickets from one counter until all operations of a sample are done, so that none waits for the
//! slowest, and each one's share is its own.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plumb_model::{AuditClass, CurveKind, Description, Flag, FlagKind, Ready};
use plumb_protocol::{
    Batch, Distribution, Failure, Instance, SplitMix64, Start, StartError, StartedWorkload,
    Workload, current_cpu, now_ns,
};
use plumb_units::whole_size;
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, between, bytes, choice, curve, distribution, integer, neutral, rate, workload,
};
use plumb_workload_kit::device::is_counted;
use plumb_workload_kit::filesystem::{Filesystem, less_size};
use plumb_workload_kit::limits;
use plumb_workload_kit::mapping::Pages;
use plumb_workload_kit::threads::{Member, Team};

use crate::device;
use crate::engine::{BlockOperation, BufferPool};
use crate::file::{Data, DirectRule, TestFile, direct_rule};
use crate::method::DirectChoice;
use crate::nfs::{NfsCounts, NfsMount};

/// Upper limit of the number of workers.
const MOST: usize = 1024;

/// The fewest operations of a sample for each worker.
const SHARES: u64 = 8;

/// Files are whole pages.
const PAGE: u64 = 4096;

/// Upper limit of the size of a block, in bytes.
const LARGEST: usize = 1 << 20;

/// By Little's law as many operations are under way as there are workers; with fewer than this share of them, the
/// workers were held up outside the storage.
const BUSY: f64 = 0.9;

/// The workload `storage.oneblock`.
pub struct OneBlock;

impl Workload for OneBlock {
    fn describe(&self) -> Description {
        let mut metrics = vec![
            rate("rate", "ops/s", "operations of all workers together"),
            distribution("latency", "time of each operation"),
            neutral(
                "share_min",
                "",
                "operations of the slowest worker relative to an equal share: 1 is fair",
            ),
            neutral("share_max", "", "operations of the fastest worker relative to an equal share"),
            neutral(
                "in_flight",
                "operations",
                "mean number of operations in flight, by Little's law: rate × mean latency",
            ),
            neutral(
                "nfs_requests",
                "",
                "on NFS: READ or WRITE requests per operation (mountstats), over the whole batch",
            ),
            neutral(
                "interface_bytes",
                "B",
                "on NFS: bytes that network interfaces sent and received per operation",
            ),
            neutral(
                "interface_packets",
                "",
                "on NFS: packets that network interfaces sent and received per operation",
            ),
        ];
        if is_counted() {
            metrics.push(neutral(
                "device_bytes",
                "B",
                "device bytes per operation, counted by the kernel over the whole batch",
            ));
        }
        Description {
            parameters: vec![
                choice("operation", &["write", "read"], "operation on the block"),
                curve(
                    CurveKind::Line,
                    between(
                        1,
                        LARGEST,
                        bytes("block", 4096, "bytes of one operation, from 1 byte to 1 MiB"),
                    ),
                ),
                curve(
                    CurveKind::Knee,
                    between(
                        1,
                        MOST,
                        integer("workers", "workers", 1, "threads, each with a separate file"),
                    ),
                ),
                choice(
                    "offset",
                    &["zero", "random"],
                    "offset of the block: the start of the file, or random within `size`",
                ),
                bytes("size", 1 << 20, "size of each file with offset=random"),
                choice(
                    "direct",
                    &["auto", "yes", "no"],
                    "bypass the page cache (O_DIRECT); auto: if the filesystem supports it",
                ),
            ],
            metrics,
            audit_class: Some(AuditClass::Scheduler),
            timeout_s: Some(LONG_TIMEOUT_S),
            ..workload(
                "storage.oneblock",
                "writes or reads one block of a file repeatedly, each write synchronously",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("oneblock.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let block = start.size("block");
        let workers = start.size("workers");
        let is_random = start.text("offset") == "random";
        let wanted = if is_random { start.integer("size").max(block as u64) } else { block as u64 };
        let size = wanted.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
        let dir = Path::new(&start.dir);
        let filesystem = Filesystem::of(dir)
            .map_err(|error| StartError::Failed(format!("{}: {error}", dir.display())))?;
        let all = size.saturating_mul(workers as u64);
        let what = format!("{workers} files of {}", whole_size(size));
        filesystem.check_room(dir, &what, all, workers as u64, &|room| {
            format!("{}, or fewer workers", less_size(room / workers as u64))
        })?;
        let mut ready = Ready { work: [("rate".to_owned(), 1.0)].into(), ..Ready::default() };
        // Each worker holds a file, and 1,024 is the usual limit of open files.
        limits::raise_open_files();
        let mut files = Vec::with_capacity(workers);
        for number in 0..workers as u64 {
            // Files differ, so that a filesystem that finds equal blocks stores each of them.
            let data = Data::Random(start.seed ^ number);
            files.push(TestFile::lay_out(dir, "oneblock", size, data)?);
        }
        let direct = is_direct(start, files[0].path(), block, &mut ready)?;
        if filesystem.in_memory {
            let why = format!("{} is in memory: no device is used", dir.display());
            ready.flags.push(Flag::new(FlagKind::Tmpfs, why));
        }
        let places = if is_random { size / block as u64 } else { 1 };
        let operation = match start.text("operation") {
            "read" => BlockOperation::Read,
            _ => BlockOperation::Write,
        };
        let task = BlockTask { operation, block, places, direct, seed: start.seed };
        let nfs = NfsMount::of(dir, operation);
        if nfs.is_none() {
            ready.without.extend(NAMES[..OF_NFS].iter().map(|&name| name.to_owned()));
        }
        let instance = OneBlockWorkers::new(start, files, task, nfs)?;
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// Whether blocks of this size bypass the page cache here; what the reader should know of it goes into `ready`.
fn is_direct(
    start: &Start,
    path: &Path,
    block: usize,
    ready: &mut Ready,
) -> Result<bool, StartError> {
    let refusal = match direct_rule(path) {
        DirectRule::Never => {
            Some("the filesystem does not support O_DIRECT for this file".to_owned())
        }
        DirectRule::MultiplesOf(multiple) if !(block as u64).is_multiple_of(multiple) => Some(
            format!("O_DIRECT needs multiples of {multiple} bytes here, but `block` is {block}"),
        ),
        _ => {
            try_direct(path, block).err().map(|error| format!("O_DIRECT of {block} bytes: {error}"))
        }
    };
    match (DirectChoice::read(start), refusal) {
        (DirectChoice::No, _) => {
            ready.notes.push("method: O_SYNC through the page cache".into());
            Ok(false)
        }
        (_, None) => {
            ready.notes.push("method: O_DIRECT and O_SYNC".into());
            Ok(true)
        }
        (DirectChoice::Yes, Some(why)) => Err(StartError::unsupported(
            why,
            "use direct=auto, which falls back to O_SYNC alone, or set `block` to such a multiple",
        )),
        (DirectChoice::Auto, Some(why)) => {
            ready.notes.push("method: O_SYNC through the page cache".into());
            ready.flags.push(Flag::new(FlagKind::NotDirect, why));
            Ok(false)
        }
    }
}

fn open(path: &Path, direct: bool) -> io::Result<File> {
    let flags = libc::O_SYNC | if direct { libc::O_DIRECT } else { 0 };
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

fn buffer(block: usize) -> io::Result<BufferPool> {
    BufferPool::new(1, block, Pages::System).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

fn try_direct(path: &Path, block: usize) -> io::Result<()> {
    let mut pool = buffer(block)?;
    // Read, not only opened: the kernel checks the alignment at the first transfer.
    open(path, true)?.read_exact_at(pool.block(0), 0)
}

/// Those of NFS stand first, and that of the device last: points without them leave them out.
const NAMES: &[&str] = &[
    "nfs_requests",
    "interface_bytes",
    "interface_packets",
    "share_min",
    "share_max",
    "in_flight",
    "device_bytes",
];

/// So many of them are of NFS.
const OF_NFS: usize = 3;

/// How the workers work.
#[derive(Debug, Clone)]
struct BlockTask {
    operation: BlockOperation,
    block: usize,
    /// Blocks of a file, of which each operation takes one.
    places: u64,
    direct: bool,
    seed: u64,
}

/// What the workers share.
#[derive(Debug, Default)]
struct OneBlockState {
    /// Operations of the sample that were begun, and one more for each worker that found none left.
    begun: AtomicU64,
    /// Whether the workers only make room for the times of their operations.
    makes_room: AtomicBool,
}

/// One worker with its file.
struct OneBlockWorker {
    file: File,
    pool: BufferPool,
    task: BlockTask,
    shared: Arc<OneBlockState>,
    random: SplitMix64,
    /// Operations so far.
    count: u64,
    /// Where the last one was.
    offset: u64,
    /// The time of each operation of the last sample, in nanoseconds.
    times: Vec<u64>,
}

impl OneBlockWorker {
    fn new(
        path: &Path,
        number: u64,
        task: BlockTask,
        shared: Arc<OneBlockState>,
    ) -> io::Result<Self> {
        let mut pool = buffer(task.block)?;
        let mut random = SplitMix64::new(task.seed.wrapping_add(number));
        random.fill(pool.block(0));
        let file = open(path, task.direct)?;
        Ok(Self { file, pool, task, shared, random, count: 0, offset: 0, times: Vec::new() })
    }

    fn operate(&mut self) -> io::Result<()> {
        let place = if self.task.places > 1 { self.random.below(self.task.places) } else { 0 };
        self.offset = place * self.task.block as u64;
        self.count += 1;
        let block = self.pool.block(0);
        match self.task.operation {
            BlockOperation::Read => self.file.read_exact_at(block, self.offset),
            BlockOperation::Write => {
                // No write is like the one before: none can be left out.
                for (byte, new) in block.iter_mut().zip(self.count.to_le_bytes()) {
                    *byte = new;
                }
                self.file.write_all_at(block, self.offset)
            }
        }
    }
}

impl Member for OneBlockWorker {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.times.clear();
        if self.shared.makes_room.load(Ordering::Relaxed) {
            // Written to: memory that is only reserved would have its page faults within a sample.
            self.times.resize(usize::try_from(iterations).unwrap_or(0), 1);
            return Ok(());
        }
        let mut last = now_ns();
        // One counter for all: with fixed shares the fast workers would idle at the end of a sample.
        while self.shared.begun.fetch_add(1, Ordering::Relaxed) < iterations {
            self.operate().map_err(|error| {
                let block = self.task.block;
                Failure::io(
                    format!("{block} bytes at offset {} of a test file", self.offset),
                    &error,
                )
            })?;
            let now = now_ns();
            self.times.push(now - last);
            last = now;
        }
        Ok(())
    }

    /// What was read or written last is what lies there.
    fn verify(&mut self) -> Result<(), Failure> {
        if self.count == 0 {
            return Ok(());
        }
        let mut there =
            buffer(self.task.block).map_err(|e| Failure::io("allocating a buffer", &e))?;
        let read = self.file.read_exact_at(there.block(0), self.offset);
        read.map_err(|error| Failure::io("reading the block back", &error))?;
        if there.block(0) == self.pool.block(0) {
            return Ok(());
        }
        Err(Failure(format!("unexpected bytes at offset {} of a test file", self.offset)))
    }
}

/// All workers, with what they share.
struct OneBlockWorkers {
    team: Team<OneBlockWorker>,
    shared: Arc<OneBlockState>,
    workers: usize,
    operation: BlockOperation,
    direct: bool,
    latency: [Distribution; 1],
    nfs: Option<NfsMount>,
    _files: Arc<Vec<TestFile>>,
}

impl OneBlockWorkers {
    fn new(
        start: &Start,
        files: Vec<TestFile>,
        task: BlockTask,
        nfs: Option<NfsMount>,
    ) -> Result<Self, StartError> {
        let shared = Arc::new(OneBlockState::default());
        let files = Arc::new(files);
        let operation = task.operation;
        let direct = task.direct;
        let workers = files.len();
        let of_all = Arc::clone(&shared);
        let all = Arc::clone(&files);
        let build = move |number: usize| {
            let path = all[number].path();
            OneBlockWorker::new(path, number as u64, task.clone(), Arc::clone(&of_all))
                .map_err(|error| StartError::Failed(format!("{}: {error}", path.display())))
        };
        let team = Team::start(workers, &start.facts, build)?;
        let latency = [Distribution::of("latency")];
        Ok(Self { team, shared, workers, operation, direct, latency, nfs, _files: files })
    }

    /// The counts of the NFS mount so far, if there is one.
    fn nfs_counts(&self) -> Result<Option<NfsCounts>, Failure> {
        self.nfs.as_ref().map(NfsMount::counts).transpose()
    }

    /// Room for the times of so many operations, all by one worker if it comes to that.
    fn make_room(&mut self, operations: u64) -> Result<(), Failure> {
        self.shared.makes_room.store(true, Ordering::Relaxed);
        let made = self.team.run(operations);
        self.shared.makes_room.store(false, Ordering::Relaxed);
        made
    }

    /// The shares of the slowest and the quickest worker, and the operations under way, of the sample just taken.
    #[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
    fn shares(&mut self, operations: u64, elapsed_ns: u64) -> [f64; 3] {
        let mut fewest = usize::MAX;
        let mut most = 0;
        let mut sum = 0;
        let latency = &mut self.latency[0];
        self.team.each(|worker| {
            fewest = fewest.min(worker.times.len());
            most = most.max(worker.times.len());
            worker.times.iter().for_each(|time| {
                sum += time;
                latency.record(*time);
            });
        });
        latency.end_sample();
        let share = |count: usize| (count * self.workers) as f64 / operations as f64;
        [share(fewest), share(most), sum as f64 / elapsed_ns as f64]
    }
}

impl Instance for OneBlockWorkers {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.shared.begun.store(0, Ordering::Relaxed);
        self.team.run(iterations)
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.make_room(iterations.iter().copied().max().unwrap_or(0))?;
        let nfs_before = self.nfs_counts()?;
        let before = device::bytes(self.operation);
        let mut rows = Vec::with_capacity(iterations.len());
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            let elapsed = now_ns() - start;
            batch.record(start, elapsed, k, current_cpu());
            rows.push(self.shares(k, elapsed));
        }
        let device = before.zip(device::bytes(self.operation)).map(|(before, now)| now - before);
        let operations = batch.total_iterations();
        let nfs_counts = nfs_before.zip(self.nfs_counts()?);
        let nfs = nfs_counts.map(|(before, now)| now.per_operation(before, operations));
        self.note(&rows, operations, nfs, device, batch);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.team.verify()
    }

    fn value_names(&self) -> &'static [&'static str] {
        let first = if self.nfs.is_some() { 0 } else { OF_NFS };
        &NAMES[first..NAMES.len() - usize::from(!is_counted())]
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latency
    }

    /// Enough for each worker to have a share.
    fn least_iterations(&self) -> u64 {
        SHARES * self.workers as u64
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.team.shortest_sample_ns()
    }
}

impl OneBlockWorkers {
    /// The values of each sample, and the reasons to distrust the batch.
    #[expect(clippy::cast_precision_loss, reason = "counts and bytes stay far below 2^53")]
    fn note(
        &self,
        rows: &[[f64; 3]],
        operations: u64,
        nfs: Option<[f64; OF_NFS]>,
        device: Option<u64>,
        batch: &mut Batch,
    ) {
        let device = device.map(|bytes| bytes as f64 / operations as f64);
        for row in rows {
            nfs.iter().for_each(|values| batch.record_values(values));
            batch.record_values(row);
            device.iter().for_each(|bytes| batch.record_values(&[*bytes]));
        }
        let busy = rows.iter().map(|row| row[2]).sum::<f64>() / rows.len().max(1) as f64;
        if busy < BUSY * self.workers as f64 {
            let why = format!(
                "by Little's law {busy:.2} operations were in flight, not {}: workers waited for a CPU",
                self.workers
            );
            batch.flag(Flag::new(FlagKind::ClientBound, why));
        }
        if device.is_some_and(|bytes| bytes == 0.0) && self.operation == BlockOperation::Read {
            let how = if self.direct { "a lower-level cache" } else { "the page cache" };
            let why = format!("no byte was read from a device: the blocks came from {how}");
            batch.flag(Flag::new(FlagKind::Cached, why));
        }
    }
}
