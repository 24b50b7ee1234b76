//! A file, an engine and buffers: blocks go in, blocks come out.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumb_protocol::{Failure, StartError};
use plumb_units::whole_size;
use plumb_workload_kit::filesystem::free_bytes;
use plumb_workload_kit::mapping::Pages;

use crate::engine::{BlockOperation, BufferPool, Engine, Transfer};
use crate::file::is_full;

/// Blocks on their way between a file and buffers. Dropping it waits for those in flight.
pub struct BlockQueue {
    dir: PathBuf,
    file: File,
    /// Before the pool: the kernel keeps the pool as long as there is an engine.
    engine: Engine,
    pool: BufferPool,
    /// Buffers that are not in flight, the longest unused first.
    free: VecDeque<usize>,
    /// What each buffer last held.
    offsets: Vec<u64>,
    in_flight: usize,
    block: usize,
    registration: Option<String>,
}

/// A block that has arrived.
#[derive(Debug, Clone, Copy)]
pub struct Completed {
    /// Index of the buffer that holds the block.
    pub slot: usize,
    /// Where it lies in the file.
    pub offset: u64,
}

impl BlockQueue {
    /// A queue with `slots` buffers of `block` bytes in such pages, for the open `file` in `dir`.
    ///
    /// # Errors
    /// Unsupported when there is no such memory.
    pub fn new(
        dir: &Path,
        file: File,
        mut engine: Engine,
        (slots, block): (usize, usize),
        pages: Pages,
    ) -> Result<Self, StartError> {
        let pool = BufferPool::new(slots, block, pages)?;
        let registration = engine.register(&file, &pool);
        let free = (0..slots).collect();
        Ok(Self {
            dir: dir.to_owned(),
            file,
            engine,
            pool,
            free,
            offsets: vec![0; slots],
            in_flight: 0,
            block,
            registration,
        })
    }

    /// The file whose blocks are moved.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What the kernel keeps of file and buffers, so that a block costs it less; none if it never would.
    pub fn registration(&self) -> Option<&str> {
        self.registration.as_deref()
    }

    /// Blocks in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The number of buffers.
    pub fn slots(&self) -> usize {
        self.offsets.len()
    }

    /// The block in a buffer that is not in flight, and where it lies in the file.
    pub fn block(&mut self, slot: usize) -> (&mut [u8], u64) {
        (self.pool.block(slot), self.offsets[slot])
    }

    /// Sends the block at `offset` on its way in the buffer that was unused longest, after `ready` has
    /// made it ready; the buffer is returned.
    ///
    /// # Errors
    /// When no buffer is free.
    pub fn submit(
        &mut self,
        operation: BlockOperation,
        offset: u64,
        ready: impl FnOnce(&mut [u8]),
    ) -> Result<usize, Failure> {
        let slot = self.free.pop_front().ok_or_else(|| Failure("no buffer is free".to_owned()))?;
        ready(self.pool.block(slot));
        self.offsets[slot] = offset;
        self.engine
            .submit(&self.file, &self.pool, Transfer { operation, offset, slot })
            .map_err(|error| Failure::io("sending a block", &error))?;
        self.in_flight += 1;
        Ok(slot)
    }

    /// Makes sure that everything sent is in flight.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.engine.flush().map_err(|error| Failure::io("sending blocks", &error))
    }

    /// Whether a block has arrived, without waiting for it.
    pub fn has_arrived(&mut self) -> bool {
        self.in_flight > 0 && self.engine.has_arrived()
    }

    /// Sleeps until a block has arrived, or so long.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn pause(&mut self, longest_ns: u64) -> Result<(), Failure> {
        if self.in_flight == 0 {
            std::thread::sleep(Duration::from_nanos(longest_ns));
            return Ok(());
        }
        self.engine.pause(longest_ns).map_err(|error| Failure::io("waiting for a block", &error))
    }

    /// Waits for a block.
    ///
    /// # Errors
    /// When it did not arrive whole.
    pub fn complete(&mut self) -> Result<Completed, Failure> {
        let (slot, moved) = self
            .engine
            .wait(&self.file, &self.pool)
            .map_err(|error| Failure::io("waiting for a block", &error))?;
        self.in_flight -= 1;
        // To the end of the line: what it holds can still be checked until all others were used.
        self.free.push_back(slot);
        let offset = self.offsets[slot];
        match moved {
            Ok(moved) if moved == self.block => Ok(Completed { slot, offset }),
            Ok(moved) => Err(Failure(format!(
                "{moved} of {} bytes were transferred at offset {offset}",
                self.block
            ))),
            Err(error) => Err(not_moved(&self.dir, self.block, offset, &error)),
        }
    }

    /// Reads the block at `offset` while nothing is in flight; what the buffer held is wiped first, so
    /// that what is found there was read.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(&mut self, offset: u64) -> Result<&[u8], Failure> {
        self.submit(BlockOperation::Read, offset, |block| block.fill(0))?;
        let slot = self.complete()?.slot;
        Ok(self.pool.block(slot))
    }
}

/// The failure to move a block; if the disk is full, with what is free.
fn not_moved(dir: &Path, block: usize, offset: u64, error: &io::Error) -> Failure {
    let free_bytes = Some(dir).filter(|_| is_full(error)).and_then(|dir| free_bytes(dir).ok());
    let free =
        free_bytes.map(|free| format!("; {} free there", whole_size(free))).unwrap_or_default();
    let dir = dir.display();
    Failure(format!(
        "{block} bytes at offset {offset} of the test file in {dir} were not transferred: {error}{free}"
    ))
}

impl Drop for BlockQueue {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            if self.engine.wait(&self.file, &self.pool).is_err() {
                // The kernel may still write into the buffers, so their memory must not be used for anything else.
                self.pool.leak();
                return;
            }
            self.in_flight -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::not_moved;
    use std::io;
    use std::path::Path;

    #[test]
    fn a_full_disk_is_told_with_what_is_free() {
        let full = io::Error::from_raw_os_error(libc::ENOSPC);
        let failure = not_moved(Path::new("/tmp"), 4096, 8192, &full);
        assert!(
            failure.0.starts_with("4096 bytes at offset 8192 of the test file in /tmp"),
            "{failure}"
        );
        assert!(failure.0.ends_with(" free there"), "{failure}");
        let broken = io::Error::from_raw_os_error(libc::EIO);
        assert!(!not_moved(Path::new("/tmp"), 4096, 0, &broken).0.contains("free"));
    }
}
