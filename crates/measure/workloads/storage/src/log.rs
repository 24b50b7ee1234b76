//! `storage.log`: what a database's log does: write at the end, and wait until it is safe.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use plumb_model::{AuditClass, Better, CurveKind, Description, Flag, FlagKind, Ready};
use plumb_protocol::{
    Batch, Distribution, Failure, Instance, SplitMix64, Start, StartError, StartedWorkload,
    Workload, current_cpu, now_ns,
};
use plumb_units::whole_size;
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, between, bytes, choice, curve, distribution, integer, rate, reported, workload,
};
use plumb_workload_kit::device::{is_counted, written_bytes};
use plumb_workload_kit::filesystem::{Filesystem, less_size};
use plumb_workload_kit::folder::Folder;
use rustix::fs::{fdatasync, fsync};

/// Upper limit of the size of a record, in bytes.
const LARGEST: usize = 1 << 20;

/// Most records a commit.
const MOST: usize = 1024;

/// The workload `storage.log`.
pub struct StorageLog;

/// How a commit is made safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitSync {
    Data,
    All,
    Open,
}

impl Workload for StorageLog {
    fn describe(&self) -> Description {
        let mut metrics = vec![
            rate("rate", "commits/s", "synced commits per second, one after another"),
            distribution(
                "latency",
                "time of each commit, from its first write to the end of its sync",
            ),
        ];
        if is_counted() {
            metrics.push(reported(
                "device_bytes",
                "B",
                Better::Neither,
                "bytes that this process wrote per commit, as the kernel counts them",
            ));
        }
        Description {
            parameters: vec![
                curve(
                    CurveKind::Line,
                    between(1, LARGEST, bytes("record", 4096, "size of a record")),
                ),
                curve(
                    CurveKind::Line,
                    between(1, MOST, integer("records", "records", 1, "records per commit")),
                ),
                choice(
                    "sync",
                    &["fdatasync", "fsync", "o_dsync"],
                    "how a commit is made durable: a call after the writes, or O_DSYNC on each write",
                ),
                choice(
                    "file",
                    &["append", "overwrite"],
                    "append: the file grows; overwrite: it is laid out first, then overwritten in place",
                ),
                bytes("size", 64 << 20, "size at which the log starts again from the beginning"),
            ],
            metrics,
            timeout_s: Some(LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("storage.log", "appends records to a file and syncs each commit")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("log.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let record = start.size("record");
        let records = start.size("records");
        let dir = Path::new(&start.dir);
        let size = start.integer("size");
        let commit = (record * records) as u64;
        if size < commit {
            return Err(StartError::Failed(format!(
                "`size` ({size} bytes) is less than one commit ({commit} bytes)"
            )));
        }
        let filesystem = Filesystem::of(dir)
            .map_err(|error| StartError::Failed(format!("{}: {error}", dir.display())))?;
        let what = format!("a log of {}", whole_size(size));
        filesystem.check_room(dir, &what, size, 1, &less_size)?;
        let mut ready = Ready { work: [("rate".to_owned(), 1.0)].into(), ..Ready::default() };
        if filesystem.in_memory {
            let why = format!("{} is in memory, so syncs cost nothing", dir.display());
            ready.flags.push(Flag::new(FlagKind::Tmpfs, why));
        }
        let folder = Folder::create(dir, "log")?;
        let instance = Commits::new(start, folder, record, records, size).map_err(|error| {
            StartError::Failed(format!("creating a log in {}: {error}", dir.display()))
        })?;
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// The log, and where its end is.
struct Commits {
    /// None once the log has ended.
    file: Option<File>,
    sync: CommitSync,
    /// Whether the file grows.
    appends: bool,
    record: Vec<u8>,
    records: usize,
    size: u64,
    end: u64,
    /// Records so far: each begins with its number.
    count: u64,
    latency: [Distribution; 1],
    folder: Folder,
}

impl Commits {
    fn new(
        start: &Start,
        folder: Folder,
        record: usize,
        records: usize,
        size: u64,
    ) -> io::Result<Self> {
        let sync = match start.text("sync") {
            "fsync" => CommitSync::All,
            "o_dsync" => CommitSync::Open,
            _ => CommitSync::Data,
        };
        let appends = start.text("file") != "overwrite";
        let path = folder.path().join("log");
        let mut random = SplitMix64::new(start.seed);
        if !appends {
            lay_out(&path, size, &mut random)?;
        }
        let flags = if sync == CommitSync::Open { libc::O_DSYNC } else { 0 };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .custom_flags(flags)
            .open(&path)?;
        let mut data = vec![0; record];
        random.fill(&mut data);
        // Once, before any commit: without a safe name the file would keep nothing after a crash.
        fsync(&File::open(folder.path())?)?;
        let latency = [Distribution::of("latency")];
        Ok(Self {
            file: Some(file),
            sync,
            appends,
            record: data,
            records,
            size,
            end: 0,
            count: 0,
            latency,
            folder,
        })
    }

    fn commit(&mut self) -> io::Result<()> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        if self.end + (self.record.len() * self.records) as u64 > self.size {
            self.end = 0;
            if self.appends {
                // Emptied, so that the next commits allocate blocks again as the first ones did.
                file.set_len(0)?;
            }
        }
        for _ in 0..self.records {
            self.count += 1;
            // No record is like the one before: none can be left out.
            for (byte, new) in self.record.iter_mut().zip(self.count.to_le_bytes()) {
                *byte = new;
            }
            file.write_all_at(&self.record, self.end)?;
            self.end += self.record.len() as u64;
        }
        match self.sync {
            CommitSync::Data => Ok(fdatasync(file.as_fd())?),
            CommitSync::All => Ok(fsync(file.as_fd())?),
            CommitSync::Open => Ok(()),
        }
    }
}

/// A file that is written whole before: no commit allocates.
fn lay_out(path: &Path, size: u64, random: &mut SplitMix64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut piece = vec![0; LARGEST];
    let mut left = size;
    while left > 0 {
        random.fill(&mut piece);
        let length = usize::try_from(left).map_or(LARGEST, |left| left.min(LARGEST));
        file.write_all(&piece[..length])?;
        left -= length as u64;
    }
    file.sync_all()
}

impl Instance for Commits {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let mut last = now_ns();
        for _ in 0..iterations {
            self.commit().map_err(|error| Failure::io("committing to the log", &error))?;
            let now = now_ns();
            self.latency[0].record(now - last);
            last = now;
        }
        Ok(())
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let before = written_bytes();
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            batch.record(start, now_ns() - start, k, current_cpu());
            self.latency[0].end_sample();
        }
        let written = before.zip(written_bytes()).map(|(before, now)| now - before);
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let each = written.map(|bytes| bytes as f64 / batch.total_iterations() as f64);
        if let Some(each) = each {
            iterations.iter().for_each(|_| batch.record_values(&[each]));
        }
        Ok(())
    }

    /// The last record is what lies there.
    fn verify(&mut self) -> Result<(), Failure> {
        if self.count == 0 {
            return Ok(());
        }
        let mut there = vec![0; self.record.len()];
        let at = self.end - there.len() as u64;
        let file = self.file.as_ref().ok_or_else(|| Failure("the log has ended".to_owned()))?;
        let read = file.read_exact_at(&mut there, at);
        read.map_err(|error| Failure::io("reading the log back", &error))?;
        if there == self.record {
            return Ok(());
        }
        Err(Failure(format!(
            "the record at offset {at} of the log is not the one that was written"
        )))
    }

    fn value_names(&self) -> &'static [&'static str] {
        if is_counted() { &["device_bytes"] } else { &[] }
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latency
    }

    fn finish(&mut self) -> Result<(), Failure> {
        // A network filesystem keeps a file that is open under another name.
        self.file = None;
        self.folder.remove()
    }
}
