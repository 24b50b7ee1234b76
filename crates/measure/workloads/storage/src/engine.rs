//! How blocks are moved: through io_uring with many in flight, or by pread and pwrite one at a time.
#![expect(
    unsafe_code,
    reason = "the kernel reads and fills the buffers behind the compiler's back"
)]

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, types};
use plumb_protocol::StartError;
use plumb_workload_kit::mapping::{Mapping, Pages};

/// The operation on a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOperation {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

/// Longest wait in one call, in nanoseconds.
const LONGEST_PAUSE_NS: u64 = 1_000_000_000;

/// Buffers of one block each, aligned to a page, at addresses that never change.
#[derive(Debug)]
pub struct BufferPool {
    memory: ManuallyDrop<Mapping>,
    base: NonNull<u8>,
    block: usize,
    leaked: bool,
}

// SAFETY: it owns its memory, and nothing about it belongs to a thread.
unsafe impl Send for BufferPool {}

impl BufferPool {
    /// Room for `slots` blocks in such pages. Huge ones are touched here, so that it is known whether they are.
    ///
    /// # Errors
    /// Unsupported when there is no such memory, or no such pages.
    pub fn new(slots: usize, block: usize, pages: Pages) -> Result<Self, StartError> {
        let size = slots
            .checked_mul(block)
            .and_then(|size| size.checked_next_multiple_of(4096))
            // No allocation in Rust is larger.
            .filter(|size| *size > 0 && *size <= isize::MAX as usize)
            .ok_or_else(|| {
                StartError::Failed(format!("{slots} × {block} bytes of memory are not available"))
            })?;
        let mut memory = Mapping::new(size, pages)?;
        if pages == Pages::Huge {
            memory.words_mut().fill(0);
            memory.check_pages()?;
        }
        let base = NonNull::from(memory.words_mut()).cast();
        Ok(Self { memory: ManuallyDrop::new(memory), base, block, leaked: false })
    }

    /// Its memory, for the kernel to keep.
    fn whole(&self) -> libc::iovec {
        let bytes = self.memory.words().len() * 8;
        libc::iovec { iov_base: self.base.as_ptr().cast(), iov_len: bytes }
    }

    fn address(&self, slot: usize) -> *mut u8 {
        debug_assert!((slot + 1) * self.block <= self.memory.words().len() * 8);
        // SAFETY: every slot lies inside the mapping.
        unsafe { self.base.as_ptr().add(slot * self.block) }
    }

    /// A slot's block. Only for slots that are not in flight, which the exclusive borrow and the
    /// caller's list of free slots ensure.
    pub fn block(&mut self, slot: usize) -> &mut [u8] {
        // SAFETY: inside the mapping, initialised, and borrowed as long as the pool.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.block) }
    }

    /// Never gives the memory back: for when the kernel may still write to it.
    pub fn leak(&mut self) {
        self.leaked = true;
    }
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        if !self.leaked {
            // SAFETY: dropped once, here; the owner has waited for what is in flight.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

/// One block on its way.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// The operation of the workload.
    pub operation: BlockOperation,
    /// Where in the file.
    pub offset: u64,
    /// Index of the buffer in the pool.
    pub slot: usize,
}

/// Moves blocks between a file and a pool.
pub enum Engine {
    /// Linux's queue pair; many blocks in flight.
    Ring(Box<Ring>),
    /// pread and pwrite; one block at a time, moved when it is waited for.
    Psync(Option<Transfer>),
}

/// A queue pair, and what the kernel keeps of file and pool.
pub struct Ring {
    ring: IoUring,
    /// Whether it keeps the file: it need not look it up for each block.
    has_file: bool,
    /// Whether it keeps the pool: it need not pin its pages for each block.
    has_pool: bool,
}

impl Engine {
    /// A ring with room for `depth` blocks.
    ///
    /// # Errors
    /// When the kernel has no io_uring, forbids it, or knows no plain reads and writes.
    pub fn ring(depth: u32) -> io::Result<Self> {
        // Kernels before 5.19 refuse a ring with these two flags, which only spare the program interrupts.
        let ring = IoUring::builder()
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .build(depth)
            .or_else(|_| IoUring::new(depth))?;
        // io_uring came with Linux 5.1, but its plain reads and writes only with 5.6.
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if probe.is_supported(opcode::Read::CODE) && probe.is_supported(opcode::Write::CODE) {
            Ok(Self::Ring(Box::new(Ring { ring, has_file: false, has_pool: false })))
        } else {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// The plain calls.
    #[must_use]
    pub fn psync() -> Self {
        Self::Psync(None)
    }

    /// Has the kernel keep file and pool, as far as it will; what it keeps and why not, for the reader. The pool must
    /// outlive the engine.
    pub fn register(&mut self, file: &File, pool: &BufferPool) -> Option<String> {
        let Self::Ring(ring) = self else { return None };
        let submitter = ring.ring.submitter();
        let kept = submitter.register_files(&[file.as_raw_fd()]);
        // SAFETY: the pool's memory stays where it is until the pool is dropped, after the ring.
        let pinned = unsafe { submitter.register_buffers(&[pool.whole()]) };
        (ring.has_file, ring.has_pool) = (kept.is_ok(), pinned.is_ok());
        Some(match (kept.err(), pinned.err()) {
            (None, None) => "file and buffers are registered with io_uring".to_owned(),
            (Some(why), _) => format!("the file is not registered with io_uring: {why}"),
            (None, Some(why)) => {
                format!("the buffers are not registered with io_uring (ulimit -l): {why}")
            }
        })
    }

    /// Sends a block on its way, at the latest with the next [`Engine::wait`].
    ///
    /// # Errors
    /// When more blocks are in flight than the engine has room for.
    pub fn submit(&mut self, file: &File, pool: &BufferPool, transfer: Transfer) -> io::Result<()> {
        match self {
            Self::Psync(waiting) => {
                *waiting = Some(transfer);
                Ok(())
            }
            Self::Ring(ring) => push(ring, file, pool, transfer),
        }
    }

    /// Makes sure that everything submitted is in flight.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Psync(_) => Ok(()),
            Self::Ring(ring) => ring.ring.submit().map(|_| ()),
        }
    }

    /// Whether waiting for a block would not wait, as far as can be told: the plain calls are made then.
    pub fn has_arrived(&mut self) -> bool {
        match self {
            Self::Psync(waiting) => waiting.is_some(),
            Self::Ring(ring) => {
                // The kernel delivers to a program that makes no calls only when it is asked.
                if ring.ring.completion().is_empty() && ring.ring.submission().taskrun() {
                    let _ = ring.ring.submit();
                }
                !ring.ring.completion().is_empty()
            }
        }
    }

    /// Sleeps until a block has arrived, or so long.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn pause(&mut self, longest_ns: u64) -> io::Result<()> {
        let Self::Ring(ring) = self else { return Ok(()) };
        let longest = types::Timespec::from(Duration::from_nanos(longest_ns.min(LONGEST_PAUSE_NS)));
        match ring
            .ring
            .submitter()
            .submit_with_args(1, &types::SubmitArgs::new().timespec(&longest))
        {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // The time is over, or a signal came: the caller looks again in either case.
                Some(libc::ETIME | libc::EINTR) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// Waits for a block: its slot and the number of bytes moved.
    ///
    /// # Errors
    /// When waiting failed; then nobody knows which buffers the kernel still uses.
    pub fn wait(
        &mut self,
        file: &File,
        pool: &BufferPool,
    ) -> io::Result<(usize, io::Result<usize>)> {
        match self {
            Self::Psync(waiting) => {
                let transfer = waiting.take().ok_or(io::ErrorKind::WouldBlock)?;
                Ok((transfer.slot, plain(file, pool, transfer)))
            }
            Self::Ring(ring) => reap(&mut ring.ring),
        }
    }
}

fn length(pool: &BufferPool) -> u32 {
    u32::try_from(pool.block).unwrap_or(u32::MAX)
}

/// The request for a block by a descriptor of either type, of a pool that the kernel keeps as its first buffer or not.
macro_rules! request {
    ($fd:expr, $has_pool:expr, $address:expr, $length:expr, $transfer:expr) => {
        match ($transfer.operation, $has_pool) {
            (BlockOperation::Read, true) => {
                let request = opcode::ReadFixed::new($fd, $address, $length, 0);
                request.offset($transfer.offset).build()
            }
            (BlockOperation::Read, false) => {
                opcode::Read::new($fd, $address, $length).offset($transfer.offset).build()
            }
            (BlockOperation::Write, true) => {
                let request = opcode::WriteFixed::new($fd, $address, $length, 0);
                request.offset($transfer.offset).build()
            }
            (BlockOperation::Write, false) => {
                opcode::Write::new($fd, $address, $length).offset($transfer.offset).build()
            }
        }
    };
}

fn push(ring: &mut Ring, file: &File, pool: &BufferPool, transfer: Transfer) -> io::Result<()> {
    let address = pool.address(transfer.slot);
    let length = length(pool);
    let has_pool = ring.has_pool;
    let entry = if ring.has_file {
        request!(types::Fixed(0), has_pool, address, length, transfer)
    } else {
        request!(types::Fd(file.as_raw_fd()), has_pool, address, length, transfer)
    };
    let entry = entry.user_data(transfer.slot as u64);
    // SAFETY: buffer and descriptor stay valid until the completion is reaped: the owner of file and
    // pool waits for everything in flight before it drops them.
    unsafe { ring.ring.submission().push(&entry) }.map_err(io::Error::other)
}

/// Waits for a block. What was pushed goes out first, or with the call that waits: a call a block, and never several
/// blocks with one, which would go in convoys from then on.
fn reap(ring: &mut IoUring) -> io::Result<(usize, io::Result<usize>)> {
    if !ring.submission().is_empty() && !ring.completion().is_empty() {
        ring.submit()?;
    }
    loop {
        if let Some(entry) = ring.completion().next() {
            let moved = usize::try_from(entry.result())
                .map_err(|_| io::Error::from_raw_os_error(-entry.result()));
            return Ok((usize::try_from(entry.user_data()).unwrap_or(usize::MAX), moved));
        }
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}

fn plain(file: &File, pool: &BufferPool, transfer: Transfer) -> io::Result<usize> {
    let fd = file.as_raw_fd();
    let address = pool.address(transfer.slot);
    let offset = i64::try_from(transfer.offset).map_err(io::Error::other)?;
    // SAFETY: the slot is inside the pool, and the call ends before anything else touches it.
    let moved = unsafe {
        match transfer.operation {
            BlockOperation::Read => libc::pread64(fd, address.cast(), pool.block, offset),
            BlockOperation::Write => libc::pwrite64(fd, address.cast(), pool.block, offset),
        }
    };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}
