//! Where tests keep stores that need no disk.

/// A folder in memory if the machine has one: syncing many small stores to a disk takes most of the time
/// otherwise. What is about files and crashes stays on a disk (`files.rs`).
pub fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
