//! A file that is there before a tool begins.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use plumb_model::Ready;
use plumb_protocol::{Failure, Held, SplitMix64, Start, StartError};
use plumb_units::whole_size;
use plumb_workload_kit::declare::within;
use plumb_workload_kit::filesystem::{Filesystem, less_size};

/// Bytes written at a time.
const PIECE: usize = 1 << 20;

/// A file. Dropping it removes it.
pub(crate) struct LaidOut(pub PathBuf);

impl LaidOut {
    /// A file of `size` bytes that do not compress, on its device; where the workload finds it is the endpoint `file`.
    ///
    /// # Errors
    /// Unsupported if it takes more than 80 % of the free space; failed when it can't be written.
    pub(crate) fn random(start: &Start, name: &str) -> Result<(Ready, Box<dyn Held>), StartError> {
        let size = within(start, "size", PIECE, usize::MAX)?;
        let dir = Path::new(&start.dir);
        let failed = |what: &str, error: &std::io::Error| {
            StartError::from(Failure::io(format!("{what} {}", dir.display()), error))
        };
        let filesystem =
            Filesystem::of(dir).map_err(|error| failed("reading the free space of", &error))?;
        let what = format!("a file of {}", whole_size(size as u64));
        filesystem.check_room(dir, &what, size as u64, 1, &less_size)?;
        let file = Self(dir.join(name));
        file.fill(size, start.seed).map_err(|error| failed("laying out a file in", &error))?;
        Ok(file.ready(size))
    }

    fn fill(&self, size: usize, seed: u64) -> std::io::Result<()> {
        let mut file = File::create(&self.0)?;
        let mut random = SplitMix64::new(seed);
        let mut piece = vec![0; PIECE];
        let mut left = size;
        while left > 0 {
            let length = left.min(PIECE);
            random.fill(&mut piece[..length]);
            file.write_all(&piece[..length])?;
            left -= length;
        }
        file.sync_all()
    }

    /// The reply of a fixture, and the object that keeps it alive.
    pub(crate) fn ready(self, size: usize) -> (Ready, Box<dyn Held>) {
        let endpoints = [("file".to_owned(), self.0.display().to_string())].into();
        let ready = Ready { endpoints, bytes_on_disk: size as u64, ..Ready::default() };
        (ready, Box::new(self))
    }
}

/// The file that was laid out for this invocation.
///
/// # Errors
/// When none was.
pub(crate) fn path(start: &Start) -> Result<&str, StartError> {
    let path = start.endpoints.get("file").map(String::as_str);
    path.ok_or_else(|| StartError::Failed("the file was not laid out".into()))
}

impl Held for LaidOut {
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        let removed = fs::remove_file(&self.0);
        removed.map_err(|error| Failure::io(format!("removing {}", self.0.display()), &error))
    }
}

impl Drop for LaidOut {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
