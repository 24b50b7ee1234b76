//! A file per entity, in one folder.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use plumb_protocol::{Failure, StartError};
use plumb_workload_kit::folder::{Folder, sync_filesystem};
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, statat, unlinkat};

use crate::engine::{
    CyclePhase, Durability, Entities, EntityEngine, MISSING, PhaseError, StartedEngine, THERE,
    compared,
};

/// The name of a file whose contents are about to replace those of another.
const NEXT: &CStr = c"next";

/// The name of an entity's file: its key in hexadecimal digits, without allocation.
struct FileName([u8; Self::DIGITS + 1]);

impl FileName {
    const DIGITS: usize = 16;

    fn of(key: i64) -> Self {
        let mut name = [0; Self::DIGITS + 1];
        // The last byte stays zero.
        let _ = write!(&mut name[..Self::DIGITS], "{key:016x}");
        Self(name)
    }

    fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

struct FilesEngine {
    folder: Folder,
    /// The folder, in which files are found by their names.
    opened: File,
    durability: Durability,
    /// Room for an entity as it is read.
    found: Vec<u8>,
}

/// An empty folder.
///
/// # Errors
/// If nothing can be written there.
pub(super) fn start(dir: &Path) -> Result<StartedEngine, StartError> {
    let folder = Folder::create(dir, "datastore")?;
    let opened = File::open(folder.path())
        .map_err(|error| Failure::io(format!("opening {}", folder.path().display()), &error))?;
    let version = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let engine = FilesEngine { folder, opened, durability: Durability::None, found: Vec::new() };
    Ok(StartedEngine {
        engine: Box::new(engine),
        component: "kernel",
        version: version.trim().to_owned(),
    })
}

impl FilesEngine {
    /// Writes a new file.
    fn write(&self, name: &CStr, body: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.opened, name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(body)?;
        if self.durability == Durability::Entity {
            file.sync_all()?;
        }
        Ok(())
    }

    /// After a name was made or removed.
    fn sync_names(&self) -> io::Result<()> {
        if self.durability == Durability::Entity { self.opened.sync_all() } else { Ok(()) }
    }

    fn add(&self, key: i64, body: &[u8]) -> Result<(), PhaseError> {
        match self.write(FileName::of(key).as_c_str(), body) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(PhaseError::Entity(key, THERE))
            }
            written => Ok(written.and_then(|()| self.sync_names())?),
        }
    }

    fn get(&mut self, key: i64, wanted: &[u8]) -> Result<(), PhaseError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = openat(&self.opened, FileName::of(key).as_c_str(), flags, Mode::empty());
        let mut file = File::from(existing(key, opened)?);
        self.found.clear();
        file.read_to_end(&mut self.found)?;
        compared(key, Some(&self.found), wanted)
    }

    /// Writes another file and gives it the name of the first one, so that a crash leaves one of both.
    fn update(&self, key: i64, body: &[u8]) -> Result<(), PhaseError> {
        let name = FileName::of(key);
        existing(key, statat(&self.opened, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW))?;
        self.write(NEXT, body)?;
        renameat(&self.opened, NEXT, &self.opened, name.as_c_str()).map_err(io::Error::from)?;
        Ok(self.sync_names()?)
    }

    fn delete(&self, key: i64) -> Result<(), PhaseError> {
        let name = FileName::of(key);
        existing(key, unlinkat(&self.opened, name.as_c_str(), AtFlags::empty()))?;
        Ok(self.sync_names()?)
    }
}

/// What was done to the file of an entity that must be there.
fn existing<T>(key: i64, done: rustix::io::Result<T>) -> Result<T, PhaseError> {
    done.map_err(|error| match error {
        rustix::io::Errno::NOENT => PhaseError::Entity(key, MISSING),
        _ => PhaseError::from(io::Error::from(error)),
    })
}

impl EntityEngine for FilesEngine {
    fn set(&mut self, durability: Durability) -> Result<(), StartError> {
        self.durability = durability;
        Ok(())
    }

    fn phase(&mut self, phase: CyclePhase, entities: &mut Entities<'_>) -> Result<(), PhaseError> {
        for &key in entities.keys(phase) {
            match phase {
                CyclePhase::Add => self.add(key, entities.body(key))?,
                CyclePhase::Get => self.get(key, entities.body(key))?,
                CyclePhase::Update => self.update(key, entities.body(key))?,
                CyclePhase::Delete => self.delete(key)?,
            }
        }
        if self.durability == Durability::Batch && phase != CyclePhase::Get {
            sync_filesystem(self.folder.path()).map_err(|failure| PhaseError::Engine(failure.0))?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), Failure> {
        let listed = fs::read_dir(self.folder.path());
        let left = listed.map_err(|error| Failure::io("listing the files", &error))?.count();
        match left {
            0 => Ok(()),
            left => Err(Failure(format!("datastore.batch: {left} files remain"))),
        }
    }
}
