//! How blocks are moved: io_uring or plain calls, past the page cache or through it; the best that
//! works here, found by trying it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use plumb_model::{Flag, FlagKind};
use plumb_protocol::{Start, StartError};
use plumb_workload_kit::mapping::Pages;

use crate::engine::Engine;
use crate::file::{DirectRule, direct_rule};
use crate::queue::BlockQueue;
use crate::stamp;

/// The interface to the kernel that the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineChoice {
    /// The best that works.
    Auto,
    /// io_uring, or the point can't be measured.
    IoUring,
    /// Plain calls of pread and pwrite, one block at a time.
    Psync,
}

impl EngineChoice {
    /// The requested settings.
    #[must_use]
    pub fn read(start: &Start) -> Self {
        match start.text("engine") {
            "io_uring" => Self::IoUring,
            "psync" => Self::Psync,
            _ => Self::Auto,
        }
    }
}

/// Whether the user wants to bypass the page cache (O_DIRECT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectChoice {
    /// If the file and the block allow it.
    Auto,
    /// Yes, or the point can't be measured.
    Yes,
    /// No: blocks go through the page cache.
    No,
}

impl DirectChoice {
    /// The requested settings.
    #[must_use]
    pub fn read(start: &Start) -> Self {
        match start.text("direct") {
            "yes" => Self::Yes,
            "no" => Self::No,
            _ => Self::Auto,
        }
    }
}

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct MethodRequest {
    /// The target directory, for messages.
    pub dir: PathBuf,
    /// The interface to the kernel.
    pub engine: EngineChoice,
    /// Whether to bypass the page cache.
    pub direct: DirectChoice,
    /// Whether some blocks are written.
    pub writes: bool,
    /// Whether some blocks are read: then the file must hold what was laid out.
    pub reads: bool,
    /// Whether its blocks carry stamps: it was laid out.
    pub stamped: bool,
    /// Bytes of one block.
    pub block: usize,
    /// Blocks that should be in flight.
    pub depth: u32,
    /// Number of buffers, at least one per block in flight.
    pub slots: usize,
    /// The pages of the memory.
    pub pages: Pages,
}

/// The method that works, with what the reader should know of it.
#[derive(Debug)]
pub struct ChosenMethod {
    /// Blocks that will be in flight.
    pub depth: u32,
    /// Whether it goes past the page cache.
    pub direct: bool,
    /// `method: io_uring, O_DIRECT, depth 8`, and why better ways were not taken.
    pub notes: Vec<String>,
    /// Flags when a better method was asked for.
    pub flags: Vec<Flag>,
}

#[derive(Debug, Clone, Copy)]
struct Method {
    ring: bool,
    direct: bool,
}

/// Best first: going past the page cache matters more than the depth.
const METHODS: [Method; 4] = [
    Method { ring: true, direct: true },
    Method { ring: false, direct: true },
    Method { ring: true, direct: false },
    Method { ring: false, direct: false },
];

impl Method {
    fn is_requested(self, request: &MethodRequest) -> bool {
        let engine = match request.engine {
            EngineChoice::IoUring => self.ring,
            EngineChoice::Psync => !self.ring,
            EngineChoice::Auto => true,
        };
        let direct = match request.direct {
            DirectChoice::Yes => self.direct,
            DirectChoice::No => !self.direct,
            DirectChoice::Auto => true,
        };
        engine && direct
    }

    fn show(self, depth: u32) -> String {
        let engine = if self.ring { "io_uring" } else { "psync" };
        let direct = if self.direct { "O_DIRECT" } else { "page cache" };
        format!("{engine}, {direct}, depth {depth}")
    }
}

/// The best requested method that can read the block at `offset` of the file at `path`, with a queue that moves blocks
/// so.
///
/// # Errors
/// Unsupported, with every reason, when none works; failed when the file was changed.
pub fn find(
    path: &Path,
    request: &MethodRequest,
    offset: u64,
) -> Result<(BlockQueue, ChosenMethod), StartError> {
    let mut reasons: Vec<String> = Vec::new();
    for method in METHODS.into_iter().filter(|method| method.is_requested(request)) {
        match try_method(path, request, method, offset) {
            Ok(queue) => {
                let chosen = chosen(&queue, request, method, reasons);
                return Ok((queue, chosen));
            }
            Err(MethodError::Start(error)) => return Err(error),
            Err(MethodError::Unavailable(reason)) if reasons.contains(&reason) => {}
            Err(MethodError::Unavailable(reason)) => reasons.push(reason),
        }
    }
    Err(StartError::unsupported(
        reasons.join("; "),
        "use engine=auto and direct=auto; io_uring needs `sysctl kernel.io_uring_disabled=0` and a container that allows it; O_DIRECT needs a filesystem that supports it and a larger block",
    ))
}

fn chosen(
    queue: &BlockQueue,
    request: &MethodRequest,
    method: Method,
    reasons: Vec<String>,
) -> ChosenMethod {
    let depth = if method.ring { request.depth } else { 1 };
    let mut notes = vec![format!("method: {}", method.show(depth))];
    notes.extend((request.pages == Pages::Huge).then(|| "buffers in huge pages".to_owned()));
    notes.extend(queue.registration().map(str::to_owned));
    notes.extend(reasons.iter().cloned());
    let mut flags = Vec::new();
    if depth < request.depth {
        let why = format!("depth 1 instead of {}: psync keeps one block in flight", request.depth);
        notes.push(why.clone());
        flags.push(Flag::new(FlagKind::Capped, why));
    }
    ChosenMethod { depth, direct: method.direct, notes, flags }
}

/// Why a method was not taken.
enum MethodError {
    /// It does not work here; another may.
    Unavailable(String),
    /// None will: the file is not the one that was laid out, or there is no memory for the buffers.
    Start(StartError),
}

impl From<String> for MethodError {
    fn from(reason: String) -> Self {
        Self::Unavailable(reason)
    }
}

fn try_method(
    path: &Path,
    request: &MethodRequest,
    method: Method,
    offset: u64,
) -> Result<BlockQueue, MethodError> {
    let file = open(path, request, method.direct)?;
    let engine = if method.ring {
        Engine::ring(request.depth)
            .map_err(|error| format!("io_uring is not available: {error}"))?
    } else {
        Engine::psync()
    };
    let buffers = (request.slots, request.block);
    let mut queue = BlockQueue::new(&request.dir, file, engine, buffers, request.pages)
        .map_err(MethodError::Start)?;
    // A block is read for certainty: some filters and filesystems refuse only the transfer itself.
    let block = queue.read(offset).map_err(|error| format!("{}: {error}", method.show(1)))?;
    match stamp::read(block, offset) {
        Ok(_) => Ok(queue),
        Err(_) if !request.stamped || !request.reads => Ok(queue),
        Err(at) => Err(MethodError::Start(StartError::Failed(format!(
            "the test file in {} contains unexpected bytes at offset {at}",
            request.dir.display()
        )))),
    }
}

fn open(path: &Path, request: &MethodRequest, direct: bool) -> Result<File, String> {
    let rule = if direct { direct_rule(path) } else { DirectRule::MultiplesOf(1) };
    match rule {
        DirectRule::Never => {
            return Err("the filesystem does not support O_DIRECT for this file".to_owned());
        }
        DirectRule::MultiplesOf(multiple) if !(request.block as u64).is_multiple_of(multiple) => {
            return Err(format!(
                "O_DIRECT needs multiples of {multiple} bytes here, but `block` is {}",
                request.block
            ));
        }
        DirectRule::MultiplesOf(_) | DirectRule::Unknown => {}
    }
    OpenOptions::new()
        .read(true)
        .write(request.writes)
        .custom_flags(if direct { libc::O_DIRECT } else { 0 })
        .open(path)
        .map_err(|error| match (direct, error.kind()) {
            // With EINVAL a filesystem refuses O_DIRECT at open (open(2)).
            (true, io::ErrorKind::InvalidInput) => {
                "the filesystem does not support O_DIRECT".to_owned()
            }
            _ => format!("opening {}: {error}", path.display()),
        })
}

#[cfg(test)]
mod tests {
    use super::{DirectChoice, EngineChoice, MethodRequest, find};
    use crate::file::{Data, TestFile};
    use plumb_protocol::StartError;
    use plumb_workload_kit::mapping::Pages;

    fn request(engine: EngineChoice, direct: DirectChoice, block: usize) -> MethodRequest {
        MethodRequest {
            dir: "/nowhere".into(),
            engine,
            direct,
            writes: false,
            reads: true,
            stamped: true,
            block,
            depth: 4,
            slots: 4,
            pages: Pages::System,
        }
    }

    #[test]
    fn the_way_that_was_taken_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = TestFile::lay_out(dir.path(), "test", 1 << 20, Data::Random(1)).unwrap();
        let (_, chosen) =
            find(file.path(), &request(EngineChoice::Psync, DirectChoice::No, 4096), 8192).unwrap();
        assert_eq!(chosen.notes[0], "method: psync, page cache, depth 1");
        assert!(chosen.notes[1].contains("depth 1 instead of 4"), "{:?}", chosen.notes);
        assert_eq!(chosen.flags.len(), 1);
    }

    #[test]
    fn a_block_that_direct_io_refuses_falls_back_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let file = TestFile::lay_out(dir.path(), "test", 1 << 20, Data::Random(1)).unwrap();
        // 520 is a multiple of nothing that any device takes.
        let chosen = find(file.path(), &request(EngineChoice::Auto, DirectChoice::Auto, 520), 0);
        if let Ok((_, chosen)) = chosen {
            assert!(chosen.notes[0].contains("page cache"), "{:?}", chosen.notes);
            assert!(chosen.notes.len() > 1, "no reason: {:?}", chosen.notes);
        }
        let Err(StartError::Unsupported { why, fix }) =
            find(file.path(), &request(EngineChoice::Auto, DirectChoice::Yes, 520), 0)
        else {
            panic!("direct I/O of 520 bytes worked");
        };
        assert!(why.contains("520"), "{why}");
        assert!(fix.contains("direct=auto"), "{fix}");
    }
}
