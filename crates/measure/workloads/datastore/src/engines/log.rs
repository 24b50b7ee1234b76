//! A log: one file to which every change is appended, and an index of it in memory.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use plumb_protocol::{Failure, StartError};

use crate::engine::{
    CyclePhase, Durability, Entities, EntityEngine, MISSING, PhaseError, StartedEngine, THERE,
    compared,
};
use crate::file::FreshFile;

/// The version of the format below.
const FORMAT: &str = "1";

/// Bytes before a body: the key and the length of the body, little-endian. A deleted entity has the length [`DELETED`].
const HEAD_BYTES: usize = 12;
const DELETED: u32 = u32::MAX;

/// Changes are written in pieces of this many bytes, unless each has to be on the disk.
const BUFFER_BYTES: usize = 64 << 10;

/// Where a body lies in the file.
#[derive(Debug, Clone, Copy)]
struct Extent {
    offset: u64,
    bytes: usize,
}

/// Fields are dropped in this order: the file is closed before it goes.
struct LogEngine {
    writer: BufWriter<File>,
    /// The same file, for reads.
    reader: File,
    _file: FreshFile,
    index: HashMap<i64, Extent>,
    end: u64,
    durability: Durability,
    /// Room for an entity as it is read.
    found: Vec<u8>,
}

/// An empty log in a fresh file.
///
/// # Errors
/// If nothing can be written there.
pub(super) fn start(dir: &Path) -> Result<StartedEngine, StartError> {
    let file = FreshFile::create(dir)?;
    let writer = opened(OpenOptions::new().append(true), file.path())?;
    let reader = opened(OpenOptions::new().read(true), file.path())?;
    let engine = LogEngine {
        writer: BufWriter::with_capacity(BUFFER_BYTES, writer),
        reader,
        _file: file,
        index: HashMap::new(),
        end: 0,
        durability: Durability::None,
        found: Vec::new(),
    };
    Ok(StartedEngine { engine: Box::new(engine), component: "log", version: FORMAT.to_owned() })
}

fn opened(options: &OpenOptions, path: &Path) -> Result<File, Failure> {
    options.open(path).map_err(|error| Failure::io(format!("opening {}", path.display()), &error))
}

impl LogEngine {
    /// Appends a change; None deletes the entity.
    fn append(&mut self, key: i64, body: Option<&[u8]>) -> Result<(), PhaseError> {
        let length = match body {
            Some(body) => u32::try_from(body.len())
                .map_err(|_| PhaseError::Engine("an entity is too long".to_owned()))?,
            None => DELETED,
        };
        self.writer.write_all(&key.to_le_bytes())?;
        self.writer.write_all(&length.to_le_bytes())?;
        let body = body.unwrap_or_default();
        self.writer.write_all(body)?;
        let offset = self.end + HEAD_BYTES as u64;
        self.end = offset + body.len() as u64;
        match length {
            DELETED => self.index.remove(&key),
            _ => self.index.insert(key, Extent { offset, bytes: body.len() }),
        };
        if self.durability == Durability::Entity {
            self.commit()?;
        }
        Ok(())
    }

    /// Writes what waits in memory and, if it has to be durable, waits until it is on the disk.
    fn commit(&mut self) -> Result<(), PhaseError> {
        self.writer.flush()?;
        if self.durability != Durability::None {
            self.writer.get_ref().sync_data()?;
        }
        Ok(())
    }

    fn get(&mut self, key: i64, wanted: &[u8]) -> Result<(), PhaseError> {
        let extent = self.index.get(&key).ok_or(PhaseError::Entity(key, MISSING))?;
        self.found.resize(extent.bytes, 0);
        self.reader.read_exact_at(&mut self.found, extent.offset)?;
        compared(key, Some(&self.found), wanted)
    }
}

impl EntityEngine for LogEngine {
    fn set(&mut self, durability: Durability) -> Result<(), StartError> {
        self.durability = durability;
        Ok(())
    }

    fn phase(&mut self, phase: CyclePhase, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
        for &key in entities.keys(phase) {
            match phase {
                CyclePhase::Get => self.get(key, entities.body(key))?,
                CyclePhase::Add if self.index.contains_key(&key) => {
                    return Err(PhaseError::Entity(key, THERE));
                }
                CyclePhase::Update | CyclePhase::Delete if !self.index.contains_key(&key) => {
                    return Err(PhaseError::Entity(key, MISSING));
                }
                CyclePhase::Add | CyclePhase::Update => {
                    self.append(key, Some(entities.body(key)))?;
                }
                CyclePhase::Delete => self.append(key, None)?,
            }
        }
        if phase == CyclePhase::Get {
            return Ok(());
        }
        self.commit()?;
        // A log of deleted entities alone is of no use to anybody.
        if self.index.is_empty() {
            self.writer.get_ref().set_len(0)?;
            self.end = 0;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), Failure> {
        match self.index.len() {
            0 => Ok(()),
            left => Err(Failure(format!("datastore.batch: {left} entities remain in the log"))),
        }
    }
}
