//! `storage.files`: what a filesystem does with many files.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plumb_model::{AuditClass, Better, CurveKind, Description, Flag, FlagKind, Ready};
use plumb_protocol::{
    Batch, Distribution, Failure, Instance, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};
use plumb_units::whole_size;
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, between, bytes, choice, curve, distribution, integer, rate, reported, threads,
    work, workload,
};
use plumb_workload_kit::device;
use plumb_workload_kit::filesystem::{Filesystem, less_size, without_journal};
use plumb_workload_kit::folder::{Folder, sync_filesystem};
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Team};

use self::worker::{FileOperation, FileSync, FileTask, FilesWorker};

mod worker;

/// Most files of all threads together: bonnie++'s `-n 256`.
const MOST: usize = 256 << 10;

/// Bytes of the largest file.
const LARGEST: usize = 1 << 30;

/// Where the kernel's caches are dropped.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Reads of metadata that come from the device.
const COLD: [FileOperation; 3] = [FileOperation::Open, FileOperation::Stat, FileOperation::List];

/// The workload `storage.files`.
pub struct StorageFiles;

impl Workload for StorageFiles {
    fn describe(&self) -> Description {
        let mut metrics = vec![rate("rate", "files/s", "files per second, all threads together")];
        if device::is_counted() {
            metrics.push(reported(
                "device_read",
                "B",
                Better::Neither,
                "bytes read from devices per file, over the whole batch",
            ));
        }
        metrics.push(distribution("latency", "time of each operation; missing for readdir"));
        Description {
            parameters: vec![
                choice(
                    "operation",
                    &FileOperation::ALL.map(FileOperation::word),
                    "operation on each file",
                ),
                choice(
                    "state",
                    &["hot", "cold"],
                    "for open, stat and readdir; hot: from memory; cold: the kernel drops its caches \
                     before each pass (needs root)",
                ),
                choice(
                    "sync",
                    &["none", "fsync", "fsync+folder"],
                    "fsync: sync each created file; fsync+folder: also sync the folder after each change",
                ),
                choice(
                    "folder",
                    &["shared", "private"],
                    "one folder for all threads, or one per thread",
                ),
                choice("order", &["sequential", "random"], "order of names and accesses"),
                curve(CurveKind::Line, integer("files", "files", 1000, "files of each thread")),
                between(0, LARGEST, bytes("size", 0, "bytes written to each created file")),
                threads("threads, each with separate files"),
                placement(),
            ],
            metrics,
            audit_class: Some(AuditClass::Scheduler),
            timeout_s: Some(LONG_TIMEOUT_S),
            ..workload(
                "storage.files",
                "creates, opens, stats, lists, renames, links or unlinks files",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("files.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let mut task = task(start)?;
        let threads = start.size("threads").max(1);
        check_count(&task, threads)?;
        let dir = Path::new(&start.dir);
        let filesystem = Filesystem::of(dir)
            .map_err(|error| StartError::Failed(format!("{}: {error}", dir.display())))?;
        let files = (task.files * threads) as u64;
        let size = start.size("size") as u64;
        let what = format!("{files} files of {}", whole_size(size));
        filesystem.check_room(dir, &what, files * size, files, &|room| {
            format!("{}, or fewer files", less_size(room / files.max(1)))
        })?;
        let cold = start.text("state") == "cold";
        if cold {
            check_cold(task.operation, dir, filesystem)?;
        }
        task.contents = contents(start).into();
        let mut ready = Ready { work: work(&[("rate", threads as u64)]), ..Ready::default() };
        threads::describe(threads, start, &mut ready)?;
        if task.operation == FileOperation::List {
            ready.without.push("latency".into());
        }
        if filesystem.in_memory {
            let why = format!("{} is in memory: no device is used", dir.display());
            ready.flags.push(Flag::new(FlagKind::Tmpfs, why));
        }
        // Without a journal, creation skips the work that most machines do.
        if task.operation == FileOperation::Create {
            ready.flags.extend(without_journal(dir));
        }
        Ok(StartedWorkload { instance: Box::new(Passes::new(start, task, threads, cold)?), ready })
    }
}

/// What is to be done to each file.
fn task(start: &Start) -> Result<FileTask, StartError> {
    let operation = FileOperation::of_word(start.text("operation"));
    let sync = match start.text("sync") {
        "fsync" => FileSync::File,
        "fsync+folder" => FileSync::Folder,
        _ => FileSync::None,
    };
    let is_change = !COLD.contains(&operation);
    let word = operation.word();
    match sync {
        FileSync::None => {}
        _ if !is_change => {
            let why = format!("{word} changes nothing, so there is nothing to sync");
            return Err(StartError::unsupported(why, "sync=none"));
        }
        FileSync::File if operation != FileOperation::Create => {
            let why = format!("{word} changes a folder, not a file");
            return Err(StartError::unsupported(why, "use sync=fsync+folder to sync the folder"));
        }
        _ => {}
    }
    let files = start.size("files");
    Ok(FileTask { operation, sync, files, contents: Arc::new([]), seed: start.seed })
}

/// Incompressible bytes for a file.
fn contents(start: &Start) -> Vec<u8> {
    let mut contents = vec![0; start.size("size")];
    plumb_protocol::SplitMix64::new(start.seed).fill(&mut contents);
    contents
}

fn check_count(task: &FileTask, threads: usize) -> Result<(), StartError> {
    if task.files == 0 || task.files.saturating_mul(threads) > MOST {
        return Err(StartError::Failed(format!(
            "`files` is {} for each of {threads} threads; it must be 1 to {MOST} in total",
            task.files
        )));
    }
    Ok(())
}

/// Whether what is read here can be made cold.
fn check_cold(
    operation: FileOperation,
    dir: &Path,
    filesystem: Filesystem,
) -> Result<(), StartError> {
    if !COLD.contains(&operation) {
        let why = "only open, stat and readdir have a cold state";
        return Err(StartError::unsupported(why, "state=hot"));
    }
    if filesystem.in_memory {
        let why = format!("{} is in memory, so its files are never cold", dir.display());
        return Err(StartError::unsupported(why, "use --dir on a disk, or set state=hot"));
    }
    OpenOptions::new().write(true).open(DROP_CACHES).map(drop).map_err(|error| {
        let why = format!("can't drop the kernel's caches: {DROP_CACHES}: {error}");
        StartError::unsupported(why, "run plumb as root, or set state=hot")
    })
}

/// Passes over all files, by all threads.
struct Passes {
    team: Team<FilesWorker>,
    /// Whether the workers undo what they did.
    undo: Arc<AtomicBool>,
    operation: FileOperation,
    threads: u64,
    files: u64,
    cold: bool,
    /// Whether there is something to undo.
    changed: bool,
    latency: [Distribution; 1],
    folder: Folder,
}

impl Passes {
    fn new(start: &Start, task: FileTask, threads: usize, cold: bool) -> Result<Self, StartError> {
        let operation = task.operation;
        let files = task.files as u64;
        let folder = Folder::create(Path::new(&start.dir), "files")?;
        let undo = Arc::new(AtomicBool::new(false));
        let root = folder.path().to_owned();
        let flag = Arc::clone(&undo);
        let private = start.text("folder") == "private";
        let random = start.text("order") == "random";
        let build = move |thread: usize| {
            FilesWorker::new(&root, thread, private, random, task.clone(), Arc::clone(&flag))
        };
        let team = Team::placed(threads, start, build)?;
        // What laying the files out left dirty would be written during the first pass.
        sync_filesystem(folder.path())?;
        Ok(Self {
            team,
            undo,
            operation,
            threads: threads as u64,
            files,
            cold,
            changed: false,
            latency: [Distribution::of("latency")],
            folder,
        })
    }

    /// Puts the files back as they were before the first pass, if a pass changes them, and has the
    /// filesystem write what it still holds back: each pass begins alike.
    fn get_ready(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.changed) {
            // The workers read this at their next start, which the barrier of the team orders after it.
            self.undo.store(true, Ordering::Relaxed);
            let undone = self.team.run(1);
            self.undo.store(false, Ordering::Relaxed);
            undone?;
            sync_filesystem(self.folder.path())?;
        }
        if self.cold {
            // The kernel drops only what is clean: the files were synced when they were laid out.
            std::fs::write(DROP_CACHES, "3")
                .map_err(|error| Failure::io(format!("writing 3 to {DROP_CACHES}"), &error))?;
        }
        Ok(())
    }

    /// Does so many files by each thread, pass after pass; the time that the passes took.
    fn sample(&mut self, files: u64) -> Result<u64, Failure> {
        let mut left = files;
        let mut elapsed_ns = 0;
        while left > 0 {
            let pass = left.min(self.files);
            self.get_ready()?;
            let begun = now_ns();
            self.team.run(pass)?;
            elapsed_ns += now_ns() - begun;
            self.changed = !COLD.contains(&self.operation);
            let latency = &mut self.latency[0];
            self.team.each(|worker| worker.times().iter().for_each(|time| latency.record(*time)));
            left -= pass;
        }
        Ok(elapsed_ns)
    }
}

impl Instance for Passes {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.sample(iterations).map(drop)
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let before = device::read_bytes();
        let mut files = 0;
        for &k in iterations {
            let start = now_ns();
            let elapsed = self.sample(k)?;
            batch.record(start, elapsed, k, current_cpu());
            self.latency[0].end_sample();
            files += k * self.threads;
        }
        let read = before.zip(device::read_bytes());
        let Some(read) = read.map(|(before, now)| now - before) else { return Ok(()) };
        if self.cold && read == 0 {
            let why = "no byte was read from a device after the caches were dropped";
            batch.flag(Flag::new(FlagKind::Cached, why));
        }
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        iterations.iter().for_each(|_| batch.record_values(&[read as f64 / files as f64]));
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.team.verify()
    }

    fn value_names(&self) -> &'static [&'static str] {
        if device::is_counted() { &["device_read"] } else { &[] }
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        if self.operation == FileOperation::List { &mut [] } else { &mut self.latency }
    }

    fn values_per_iteration(&self) -> u64 {
        self.threads
    }

    fn has_untimed_parts(&self) -> bool {
        true
    }

    /// Every sample has a whole pass: the last file of a full folder costs more than the first.
    fn least_iterations(&self) -> u64 {
        self.files
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.team.shortest_sample_ns()
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.folder.remove()
    }
}
