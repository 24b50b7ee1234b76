//! The database's file: fresh, on a filesystem with room, and gone at the end.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_protocol::StartError;

/// A file of its own name in the target directory; removed when dropped, with what SQLite puts
/// next to it.
#[derive(Debug)]
pub(super) struct FreshFile(PathBuf);

impl FreshFile {
    /// Creates it in `dir`.
    ///
    /// # Errors
    /// [`StartError::Unsupported`] when nothing can be written there.
    pub(super) fn create(dir: &Path) -> Result<Self, StartError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!("plumb-datastore-{}-{number}.db", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => Ok(Self(path)),
            Err(error) => Err(StartError::unsupported(
                format!("can't create {}: {error}", path.display()),
                "use --dir to choose a directory that you can write to",
            )),
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for FreshFile {
    fn drop(&mut self) {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            let mut name = self.0.clone().into_os_string();
            name.push(suffix);
            // Most of them do not exist, and nobody could do more about the rest.
            drop(fs::remove_file(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FreshFile;
    use plumb_protocol::StartError;
    use std::path::Path;

    #[test]
    fn files_are_new_and_go_with_their_companions() {
        let dir = tempfile::tempdir().unwrap();
        let one = FreshFile::create(dir.path()).unwrap();
        let two = FreshFile::create(dir.path()).unwrap();
        assert_ne!(one.path(), two.path());
        std::fs::write(format!("{}-journal", one.path().display()), "x").unwrap();
        drop((one, two));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let error = FreshFile::create(Path::new("/no/such/folder")).unwrap_err();
        let StartError::Unsupported { fix, .. } = error else { panic!("{error:?}") };
        assert!(fix.contains("--dir"));
    }
}
