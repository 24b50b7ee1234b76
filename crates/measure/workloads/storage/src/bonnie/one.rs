//! The phases on one large file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::thread;

use plumb_protocol::{Failure, SplitMix64, now_ns};
use plumb_workload_kit::device::read_bytes as device_bytes;
use rustix::pipe::pipe;

use super::phase::{Longest, PhaseProgress, PhaseResult, cpu_ns, timed};

/// Tickets of this multiple have their block changed and written back.
const CHANGED: u32 = 10;

/// Bytes of a ticket in the pipe.
const TICKET: usize = 4;

/// The type of request.
#[derive(Debug, Clone)]
pub struct OneSettings {
    /// Of the file, in bytes: a multiple of the chunk.
    pub size: u64,
    /// Bytes of a block.
    pub chunk: usize,
    /// Bytes that are moved one by one.
    pub bytes: u64,
    /// Number of random reads, over all threads.
    pub seeks: u64,
    /// Threads that seek.
    pub seekers: usize,
    /// Whether blocks that a seek changes are synced.
    pub sync: bool,
    /// Seed of the seeks.
    pub seed: u64,
}

/// The file with its phases.
pub struct One {
    path: PathBuf,
    settings: OneSettings,
    buffer: Vec<u8>,
    /// Which byte of the buffer is changed next.
    next: usize,
}

impl One {
    /// In this folder.
    #[must_use]
    pub fn new(folder: &Path, settings: OneSettings) -> Self {
        let buffer = vec![0; settings.chunk];
        Self { path: folder.join("file"), settings, buffer, next: 0 }
    }

    /// All phases, in order; and the share of what `read_block` read that came from devices, if the kernel keeps an
    /// account.
    ///
    /// # Errors
    /// Those of the file.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a file stay far below 2^53")]
    pub fn pass(
        mut self,
        progress: &mut PhaseProgress<'_, '_>,
    ) -> Result<(Vec<PhaseResult>, Option<f64>), Failure> {
        let OneSettings { size, bytes, seeks, .. } = self.settings;
        // The file is written again in blocks, and may then be shorter than what was written byte by byte.
        let read = bytes.min(size);
        let mut results = Vec::new();
        if bytes > 0 {
            progress.next();
            results.push(timed(bytes, |longest| self.write_bytes(bytes, longest))?);
        }
        progress.next();
        results.push(timed(size, |longest| self.write_blocks(longest))?);
        progress.next();
        results.push(timed(size, |longest| self.rewrite(longest))?);
        if bytes > 0 {
            progress.next();
            results.push(timed(read, |longest| self.read_bytes(read, longest))?);
        }
        progress.next();
        let before = device_bytes();
        results.push(timed(size, |longest| self.read_blocks(longest))?);
        let from_device = before.zip(device_bytes()).map(|(before, now)| now - before);
        let share = from_device.map(|bytes| bytes as f64 / size as f64);
        if seeks > 0 {
            progress.next();
            results.push(self.seek()?);
        }
        std::fs::remove_file(&self.path).map_err(|error| self.failed("removing", &error))?;
        Ok((results, share))
    }

    fn failed(&self, what: &str, error: &io::Error) -> Failure {
        Failure::io(format!("{what} {}", self.path.display()), error)
    }

    fn create(&self) -> Result<File, Failure> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&self.path)
            .map_err(|error| self.failed("creating", &error))
    }

    fn open(&self) -> Result<File, Failure> {
        let opened = OpenOptions::new().read(true).write(true).open(&self.path);
        opened.map_err(|error| self.failed("opening", &error))
    }

    /// Every phase ends with fsync and close, inside its time.
    fn end(&self, file: File) -> Result<(), Failure> {
        file.sync_all().map_err(|error| self.failed("fsync of", &error))?;
        drop(file);
        Ok(())
    }

    fn change(&mut self) {
        let at = self.next % self.buffer.len();
        self.buffer[at] = self.buffer[at].wrapping_add(1);
        self.next += 1;
    }

    fn chunks(&self) -> u64 {
        self.settings.size / self.settings.chunk as u64
    }

    fn write_bytes(&mut self, bytes: u64, longest: &mut Longest) -> Result<(), Failure> {
        let mut file = self.create()?;
        for number in 0..bytes {
            let byte = [number.to_le_bytes()[0]];
            let written = file.write_all(&byte);
            longest.ended();
            written.map_err(|error| self.failed("writing a byte to", &error))?;
        }
        self.end(file)
    }

    fn write_blocks(&mut self, longest: &mut Longest) -> Result<(), Failure> {
        let mut file = self.create()?;
        for _ in 0..self.chunks() {
            self.change();
            let written = file.write_all(&self.buffer);
            longest.ended();
            written.map_err(|error| self.failed("writing", &error))?;
        }
        self.end(file)
    }

    fn rewrite(&mut self, longest: &mut Longest) -> Result<(), Failure> {
        let mut file = self.open()?;
        let back = i64::try_from(self.settings.chunk).unwrap_or(i64::MAX);
        for _ in 0..self.chunks() {
            let read = file.read_exact(&mut self.buffer);
            read.map_err(|error| self.failed("reading", &error))?;
            self.change();
            let written =
                file.seek(SeekFrom::Current(-back)).and_then(|_| file.write_all(&self.buffer));
            written.map_err(|error| self.failed("rewriting", &error))?;
            longest.ended();
        }
        self.end(file)
    }

    fn read_bytes(&mut self, bytes: u64, longest: &mut Longest) -> Result<(), Failure> {
        let mut file = self.open()?;
        let mut byte = [0];
        for _ in 0..bytes {
            let read = file.read_exact(&mut byte);
            longest.ended();
            read.map_err(|error| self.failed("reading a byte of", &error))?;
        }
        self.end(file)
    }

    fn read_blocks(&mut self, longest: &mut Longest) -> Result<(), Failure> {
        let mut file = self.open()?;
        for _ in 0..self.chunks() {
            let read = file.read_exact(&mut self.buffer);
            longest.ended();
            read.map_err(|error| self.failed("reading", &error))?;
        }
        self.end(file)
    }

    /// Tickets go through a pipe to the seekers; the time is from the first start to the last end of a seeker.
    fn seek(&self) -> Result<PhaseResult, Failure> {
        let (reader, writer) =
            pipe().map_err(|error| self.failed("creating a pipe for", &error.into()))?;
        let reader = File::from(reader);
        let ready = Arc::new(Barrier::new(self.settings.seekers + 1));
        let seekers: Vec<_> = (0..self.settings.seekers)
            .map(|number| {
                let tickets = reader
                    .try_clone()
                    .map_err(|error| self.failed("creating a pipe for", &error))?;
                let seeker = Seeker {
                    file: self.open()?,
                    tickets,
                    chunks: self.chunks(),
                    buffer: vec![0; self.settings.chunk],
                    sync: self.settings.sync,
                    random: SplitMix64::new(self.settings.seed.wrapping_add(1 + number as u64)),
                };
                let ready = Arc::clone(&ready);
                thread::Builder::new()
                    .spawn(move || {
                        ready.wait();
                        seeker.run()
                    })
                    .map_err(|error| self.failed("starting to seek in", &error))
            })
            .collect::<Result<_, _>>()?;
        // With this copy open, writing tickets would block for ever if every seeker failed.
        drop(reader);
        let mut random = SplitMix64::new(self.settings.seed);
        let mut all = Vec::new();
        for _ in 0..self.settings.seeks {
            let ticket = u32::try_from(random.below(1 << 31)).unwrap_or(0);
            all.extend(ticket.to_le_bytes());
        }
        // Threads are started before the time begins.
        ready.wait();
        let cpu = cpu_ns();
        let mut tickets = File::from(writer);
        tickets.write_all(&all).map_err(|error| self.failed("writing to the pipe for", &error))?;
        // The end of the pipe tells the seekers that no ticket follows.
        drop(tickets);
        let mut ended = Vec::new();
        for seeker in seekers {
            let joined = seeker.join().map_err(|_| Failure("a seeking thread panicked".into()))?;
            ended.push(joined.map_err(|error| self.failed("seeking in", &error))?);
        }
        let begun_ns = ended.iter().map(|seeker| seeker.begun_ns).min().unwrap_or(0);
        let ended_ns = ended.iter().map(|seeker| seeker.ended_ns).max().unwrap_or(0);
        let done: u64 = ended.iter().map(|seeker| seeker.seeks).sum();
        if done != self.settings.seeks {
            return Err(Failure(format!("{done} of {} seeks were done", self.settings.seeks)));
        }
        Ok(PhaseResult {
            work: done,
            elapsed_ns: ended_ns.saturating_sub(begun_ns),
            cpu_ns: cpu_ns() - cpu,
            longest_ns: ended.iter().map(|seeker| seeker.longest_ns).max().unwrap_or(0),
        })
    }
}

/// A thread that seeks.
struct Seeker {
    file: File,
    tickets: File,
    chunks: u64,
    buffer: Vec<u8>,
    sync: bool,
    random: SplitMix64,
}

/// The result of a seeker.
struct SeekerResult {
    begun_ns: u64,
    ended_ns: u64,
    longest_ns: u64,
    seeks: u64,
}

impl Seeker {
    fn run(mut self) -> io::Result<SeekerResult> {
        let begun_ns = now_ns();
        let mut longest = Longest::begin();
        let mut seeks = 0;
        let mut ticket = [0; TICKET];
        // A read of a pipe is whole: tickets are written whole, and shorter than a page.
        while self.tickets.read(&mut ticket)? == TICKET {
            let changes = u32::from_le_bytes(ticket).is_multiple_of(CHANGED);
            longest.again();
            self.seek(changes)?;
            longest.ended();
            seeks += 1;
        }
        // As every phase ends.
        self.file.sync_all()?;
        Ok(SeekerResult { begun_ns, ended_ns: now_ns(), longest_ns: longest.ns(), seeks })
    }

    fn seek(&mut self, changes: bool) -> io::Result<()> {
        let offset = self.random.below(self.chunks) * self.buffer.len() as u64;
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut self.buffer)?;
        if changes {
            let at = usize::try_from(self.random.below(self.buffer.len() as u64)).unwrap_or(0);
            self.buffer[at] = self.buffer[at].wrapping_add(1);
            self.file.seek(SeekFrom::Start(offset))?;
            self.file.write_all(&self.buffer)?;
            if self.sync {
                self.file.sync_all()?;
            }
        }
        Ok(())
    }
}
