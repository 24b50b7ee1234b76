//! A folder of our own in the target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use plumb_protocol::{Failure, StartError};

/// Removed with all that is in it when it is dropped; after kill -9 the keeper removes it.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A fresh one in `dir`, for the workload of this name.
    ///
    /// # Errors
    /// Unsupported when nothing can be created there.
    pub fn create(dir: &Path, name: &str) -> Result<Self, StartError> {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!("plumb-{name}-{}-{number}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => Err(StartError::unsupported(
                format!("can't create a folder in {}: {error}", dir.display()),
                "use --dir with a folder that you can write to",
            )),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes it, before it is dropped.
    ///
    /// # Errors
    /// When something is left.
    pub fn remove(&self) -> Result<(), Failure> {
        match fs::remove_dir_all(&self.0) {
            Ok(()) => Ok(()),
            // Who became another user empties it; the folder itself then goes with the run's.
            Err(_) if fs::read_dir(&self.0).is_ok_and(|mut left| left.next().is_none()) => Ok(()),
            Err(error) => Err(Failure::io(format!("removing {}", self.0.display()), &error)),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // When this fails nobody is left to be told.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Waits until the filesystem of a folder has written all that it holds back, untimed.
///
/// # Errors
/// When it can't.
pub fn sync_filesystem(folder: &Path) -> Result<(), Failure> {
    let synced = File::open(folder).and_then(|file| Ok(rustix::fs::syncfs(file)?));
    synced.map_err(|error| Failure::io(format!("syncfs of {}", folder.display()), &error))
}
