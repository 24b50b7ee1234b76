//! What lies under a folder: a device or memory, and how much room is left.

use std::io;
use std::path::Path;

use rustix::fs::{statfs, statvfs};

/// Filesystem types that keep files in memory: tmpfs and ramfs (linux/magic.h).
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Bytes that an ordinary user may still write in this folder's filesystem.
///
/// # Errors
/// Those of statvfs.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let stat = statvfs(dir)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Whether a file or folder lies in memory: tmpfs or ramfs.
#[must_use]
pub fn is_in_memory(path: &Path) -> bool {
    statfs(path).is_ok_and(|stat| IN_MEMORY.contains(&u64::try_from(stat.f_type).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::{free_bytes, is_in_memory};
    use std::path::Path;

    #[test]
    fn memory_is_told_from_disks() {
        assert!(!is_in_memory(Path::new("/proc")) && !is_in_memory(Path::new("/no/such/folder")));
        if std::fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
            assert!(is_in_memory(Path::new("/dev/shm")));
        }
        assert!(free_bytes(&std::env::temp_dir()).unwrap() > 0);
        assert!(free_bytes(Path::new("/no/such/folder")).is_err());
    }
}
