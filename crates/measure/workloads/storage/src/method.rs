//! Which way blocks go: io_uring or plain calls, past the page cache or through it; the best that
//! works here, found by trying it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use plumb_model::{Flag, FlagKind};
use plumb_protocol::StartError;

use super::engine::{Engine, Operation};
use super::file::{DirectRule, direct_rule};
use super::queue::Queue;
use super::stamp;

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The target directory, for messages.
    pub dir: PathBuf,
    /// `auto`, `io_uring` or `psync`.
    pub engine: String,
    /// `auto`, `yes` or `no`.
    pub direct: String,
    /// Read or write.
    pub operation: Operation,
    /// Bytes of one block.
    pub block: usize,
    /// Blocks that should be under way.
    pub depth: u32,
    /// Buffers.
    pub slots: usize,
}

/// The way that works, with what the reader should know of it.
pub struct Found {
    /// Ready to move blocks.
    pub queue: Queue,
    /// Blocks that will be under way.
    pub depth: u32,
    /// Whether it goes past the page cache.
    pub direct: bool,
    /// `method: io_uring, O_DIRECT, depth 8`, and why better ways were not taken.
    pub notes: Vec<String>,
    /// Whether a better way was wanted.
    pub flags: Vec<Flag>,
}

#[derive(Debug, Clone, Copy)]
struct Way {
    ring: bool,
    direct: bool,
}

/// Best first: going past the page cache matters more than the depth.
const WAYS: [Way; 4] = [
    Way { ring: true, direct: true },
    Way { ring: false, direct: true },
    Way { ring: true, direct: false },
    Way { ring: false, direct: false },
];

impl Way {
    fn is_wished(self, wish: &Wish) -> bool {
        let engine = match wish.engine.as_str() {
            "io_uring" => self.ring,
            "psync" => !self.ring,
            _ => true,
        };
        let direct = match wish.direct.as_str() {
            "yes" => self.direct,
            "no" => !self.direct,
            _ => true,
        };
        engine && direct
    }

    fn show(self, depth: u32) -> String {
        let engine = if self.ring { "io_uring" } else { "psync" };
        let direct = if self.direct { "O_DIRECT" } else { "page cache" };
        format!("{engine}, {direct}, depth {depth}")
    }
}

/// The best wished way that can read the block at `offset` of the file at `path`.
///
/// # Errors
/// Unsupported, with every reason, when none works; failed when the file was changed.
pub fn find(path: &Path, wish: &Wish, offset: u64) -> Result<Found, StartError> {
    let mut reasons: Vec<String> = Vec::new();
    for way in WAYS.into_iter().filter(|way| way.is_wished(wish)) {
        match try_way(path, wish, way, offset) {
            Ok(queue) => return Ok(found(queue, wish, way, reasons)),
            Err(Refusal::Wrong(why)) => return Err(StartError::Failed(why)),
            Err(Refusal::Way(reason)) if reasons.contains(&reason) => {}
            Err(Refusal::Way(reason)) => reasons.push(reason),
        }
    }
    Err(StartError::unsupported(
        reasons.join("; "),
        "engine=auto and direct=auto take what works; io_uring wants `sysctl \
         kernel.io_uring_disabled=0` and a container that allows it, O_DIRECT a filesystem that has \
         it and a larger block",
    ))
}

fn found(queue: Queue, wish: &Wish, way: Way, reasons: Vec<String>) -> Found {
    let depth = if way.ring { wish.depth } else { 1 };
    let mut notes = vec![format!("method: {}", way.show(depth))];
    notes.extend(reasons.iter().cloned());
    let mut flags = Vec::new();
    if depth < wish.depth {
        let why = format!("depth 1 instead of {}: psync has one block under way", wish.depth);
        notes.push(why.clone());
        flags.push(Flag::new(FlagKind::Capped, why));
    }
    Found { queue, depth, direct: way.direct, notes, flags }
}

/// Why a way was not taken.
enum Refusal {
    /// It does not work here; another may.
    Way(String),
    /// The file is not the one that was laid out.
    Wrong(String),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Way(reason)
    }
}

fn try_way(path: &Path, wish: &Wish, way: Way, offset: u64) -> Result<Queue, Refusal> {
    let file = open(path, wish, way.direct)?;
    let engine = if way.ring {
        Engine::ring(wish.depth).map_err(|error| format!("io_uring is not to be had: {error}"))?
    } else {
        Engine::psync()
    };
    let mut queue = Queue::new(&wish.dir, file, engine, wish.operation, wish.slots, wish.block)
        .map_err(|error| format!("{} buffers of {} bytes: {error}", wish.slots, wish.block))?;
    let block = queue.read(offset).map_err(|error| format!("{}: {error}", way.show(1)))?;
    match stamp::read(block, offset) {
        Ok(_) => Ok(queue),
        Err(at) => Err(Refusal::Wrong(format!(
            "the test file in {} holds foreign bytes at offset {at}",
            wish.dir.display()
        ))),
    }
}

fn open(path: &Path, wish: &Wish, direct: bool) -> Result<File, String> {
    let rule = if direct { direct_rule(path) } else { DirectRule::MultiplesOf(1) };
    match rule {
        DirectRule::Never => return Err("the filesystem has no O_DIRECT for this file".to_owned()),
        DirectRule::MultiplesOf(multiple) if !(wish.block as u64).is_multiple_of(multiple) => {
            return Err(format!(
                "O_DIRECT wants multiples of {multiple} bytes here, the block has {}",
                wish.block
            ));
        }
        DirectRule::MultiplesOf(_) | DirectRule::Unknown => {}
    }
    OpenOptions::new()
        .read(true)
        .write(wish.operation == Operation::Write)
        .custom_flags(if direct { libc::O_DIRECT } else { 0 })
        .open(path)
        .map_err(|error| match (direct, error.kind()) {
            (true, io::ErrorKind::InvalidInput) => "the filesystem has no O_DIRECT".to_owned(),
            _ => format!("opening {}: {error}", path.display()),
        })
}

#[cfg(test)]
mod tests {
    use super::{Wish, find};
    use crate::engine::Operation;
    use crate::file::TestFile;
    use plumb_protocol::StartError;

    fn wish(engine: &str, direct: &str, block: usize) -> Wish {
        Wish {
            dir: "/nowhere".into(),
            engine: engine.into(),
            direct: direct.into(),
            operation: Operation::Read,
            block,
            depth: 4,
            slots: 4,
        }
    }

    #[test]
    fn the_way_that_was_taken_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = TestFile::lay_out(dir.path(), "test", 1 << 20, 1).unwrap();
        let found = find(file.path(), &wish("psync", "no", 4096), 8192).unwrap();
        assert_eq!(found.notes[0], "method: psync, page cache, depth 1");
        assert!(found.notes[1].contains("depth 1 instead of 4"), "{:?}", found.notes);
        assert_eq!(found.flags.len(), 1);
    }

    #[test]
    fn a_block_that_direct_io_refuses_falls_back_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let file = TestFile::lay_out(dir.path(), "test", 1 << 20, 1).unwrap();
        // 520 is a multiple of nothing that any device takes.
        let found = find(file.path(), &wish("auto", "auto", 520), 0);
        if let Ok(found) = found {
            assert!(found.notes[0].contains("page cache"), "{:?}", found.notes);
            assert!(found.notes.len() > 1, "no reason: {:?}", found.notes);
        }
        let Err(StartError::Unsupported { why, fix }) =
            find(file.path(), &wish("auto", "yes", 520), 0)
        else {
            panic!("direct I/O of 520 bytes worked");
        };
        assert!(why.contains("520"), "{why}");
        assert!(fix.contains("direct=auto"), "{fix}");
    }
}
