//! The storage under a folder: a device or memory, and its free room.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use plumb_model::{Flag, FlagKind};
use plumb_protocol::StartError;
use plumb_units::{typed_at_most, whole_size};
use rustix::fs::{major, minor, statfs, statvfs};

/// Filesystem types that keep files in memory: tmpfs and ramfs (linux/magic.h).
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// A workload or a layer of a medium may take this share of what is free: 4 in 5.
pub const MOST_OF_FREE: (u64, u64) = (4, 5);

/// The filesystem of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filesystem {
    /// Whether it keeps its files in memory: tmpfs or ramfs.
    pub in_memory: bool,
    /// Bytes that an ordinary user may still write.
    pub free_bytes: u64,
    /// Files that may still be created; none if the filesystem makes room for them as they come.
    pub free_files: Option<u64>,
}

impl Filesystem {
    /// Of this path.
    ///
    /// # Errors
    /// Those of statvfs.
    pub fn of(path: &Path) -> io::Result<Self> {
        let stat = statvfs(path)?;
        Ok(Self {
            in_memory: is_in_memory(path),
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
            free_files: (stat.f_files > 0).then_some(stat.f_favail),
        })
    }

    /// Whether there is room for so many bytes in so many files, of which `what` is said in the refusal; `less` says what
    /// to set if no more than so many bytes may be taken.
    ///
    /// # Errors
    /// Unsupported when they would take more than 80 % of what is free.
    pub fn check_room(
        &self,
        dir: &Path,
        what: &str,
        bytes: u64,
        files: u64,
        less: &dyn Fn(u64) -> String,
    ) -> Result<(), StartError> {
        let fits = |wanted: u64, free: u64| {
            wanted.saturating_mul(MOST_OF_FREE.1) <= free.saturating_mul(MOST_OF_FREE.0)
        };
        let refused = |free: String, less: String| {
            let dir = dir.display();
            let why = format!("{what} would take more than 80 % of the {free} free in {dir}");
            Err(StartError::unsupported(
                why,
                format!("{less}, or use --dir on a larger filesystem"),
            ))
        };
        match self.free_files {
            _ if !fits(bytes, self.free_bytes) => {
                let room = self.free_bytes / MOST_OF_FREE.1 * MOST_OF_FREE.0;
                refused(whole_size(self.free_bytes), less(room))
            }
            Some(free) if !fits(files, free) => {
                let most = free / MOST_OF_FREE.1 * MOST_OF_FREE.0;
                refused(format!("{free} inodes"), format!("set files={most} or less"))
            }
            _ => Ok(()),
        }
    }
}

/// What to set if a parameter `size` may be no more than this.
#[must_use]
pub fn less_size(most: u64) -> String {
    format!("set size={} or less", typed_at_most(most))
}

/// Bytes that an ordinary user may still write in this folder's filesystem.
///
/// # Errors
/// Those of statvfs.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    Filesystem::of(dir).map(|filesystem| filesystem.free_bytes)
}

/// Whether this is a device, whose file alone lies in memory.
#[must_use]
pub fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device())
}

/// Whether a file or folder lies in memory: tmpfs or ramfs.
#[must_use]
pub fn is_in_memory(path: &Path) -> bool {
    !is_device(path)
        && statfs(path)
            .is_ok_and(|stat| IN_MEMORY.contains(&u64::try_from(stat.f_type).unwrap_or(0)))
}

/// The flag of files that are created in this folder, where its filesystem makes the time depend on what was deleted
/// before: ext4 without a journal passes over every inode that was deleted in the last minutes (`recently_deleted` in
/// Linux's fs/ext4/ialloc.c). None elsewhere, and if the kernel does not report.
#[must_use]
pub fn without_journal(dir: &Path) -> Option<Flag> {
    let number = dir.metadata().ok()?.dev();
    let block = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    let device = std::fs::canonicalize(block).ok()?;
    let options = Path::new("/proc/fs/ext4").join(device.file_name()?).join("options");
    lacks_journal(&std::fs::read_to_string(options).ok()?).then(|| {
        let dir = dir.display();
        let why = format!("{dir} is on ext4 without a journal, where creating files is slow after others were deleted");
        Flag::new(FlagKind::NoJournal, why)
    })
}

/// Whether these options of an ext4 are of one without a journal: only a journal has a mode for data.
fn lacks_journal(options: &str) -> bool {
    !options.lines().any(|line| line.starts_with("data="))
}

#[cfg(test)]
mod tests {
    use super::{Filesystem, is_in_memory, lacks_journal, less_size, without_journal};
    use plumb_protocol::StartError;
    use std::path::Path;

    #[test]
    fn memory_is_told_from_disks() {
        assert!(!is_in_memory(Path::new("/proc")) && !is_in_memory(Path::new("/no/such/folder")));
        if std::fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
            assert!(Filesystem::of(Path::new("/dev/shm")).unwrap().in_memory);
        }
        let here = Filesystem::of(&std::env::temp_dir()).unwrap();
        assert!(here.free_bytes > 0 && here.free_files != Some(0), "{here:?}");
        assert!(Filesystem::of(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn a_journal_has_a_mode_for_data() {
        // Of Linux 6.18: a file in a loop device by mkfs.ext4, and one by mkfs.ext4 -O ^has_journal.
        assert!(!lacks_journal("rw\nbsddf\ndata=ordered\nprefetch_block_bitmaps\n"));
        assert!(lacks_journal("rw\nbsddf\ncommit=5\nprefetch_block_bitmaps\n"));
        assert_eq!(without_journal(Path::new("/proc")), None);
    }

    #[test]
    fn four_fifths_of_what_is_free_may_be_taken() {
        let small = Filesystem { in_memory: false, free_bytes: 100 << 20, free_files: Some(1000) };
        let room =
            |bytes, files| small.check_room(Path::new("/srv"), "it", bytes, files, &less_size);
        assert!(room(79 << 20, 800).is_ok() && room(0, 0).is_ok());
        for (bytes, files, words, remedy) in [
            (81 << 20, 1, "of the 100 MiB free in /srv", "set size=80MiB or less, or use --dir"),
            (1, 801, "of the 1000 inodes", "set files=800 or less, or use --dir"),
        ] {
            let Err(StartError::Unsupported { why, fix }) = room(bytes, files) else {
                panic!("{bytes} bytes in {files} files fit");
            };
            assert!(why.contains(words) && fix.starts_with(remedy), "{why}; {fix}");
        }
        let unbounded = Filesystem { free_files: None, ..small };
        assert!(unbounded.check_room(Path::new("/"), "it", 1, u64::MAX, &less_size).is_ok());
    }
}
