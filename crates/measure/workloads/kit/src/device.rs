//! Bytes that this process moved from and to devices, as the kernel counts them (/proc/self/io), and what the kernel
//! knows of a device.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

use crate::filesystem;

/// Bytes read from devices by this process and its threads so far; None if the kernel keeps no such account.
#[must_use]
pub fn read_bytes() -> Option<u64> {
    count("read_bytes:")
}

/// Bytes sent to devices. A buffered write counts when it makes a page dirty, not when the page reaches the device.
#[must_use]
pub fn written_bytes() -> Option<u64> {
    count("write_bytes:")
}

/// Whether the kernel keeps an account of device bytes.
#[must_use]
pub fn is_counted() -> bool {
    read_bytes().is_some()
}

/// Whether the device below a file loses what it holds in its cache when power fails, unless it was told to write it out
/// (`queue/write_cache` of the kernel); None if there is no device, or the kernel does not report.
///
/// Loop and mapped devices report a write cache wherever they lie. On memory alone there is no cache to flush: the data
/// are gone without power, flushed or not.
#[must_use]
pub fn has_volatile_cache(file: &Path) -> Option<bool> {
    let metadata = fs::metadata(file).ok()?;
    let is_device = metadata.file_type().is_block_device();
    let number = if is_device { metadata.rdev() } else { metadata.dev() };
    let block = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    // A partition has the queue of its disk.
    let queues = [format!("{block}/queue"), format!("{block}/../queue")];
    let cache =
        queues.iter().find_map(|queue| fs::read_to_string(format!("{queue}/write_cache")).ok())?;
    Some(cache.trim() == "write back" && !rests_on_memory(Path::new(&block)))
}

/// Whether a block device, given by its folder in sysfs, lies in memory alone: `ram0`, `zram0`, a loop device on a file in
/// tmpfs, and what is mapped onto these.
fn rests_on_memory(block: &Path) -> bool {
    // The links in /sys/dev/block are named by number, what they lead to by the kernel's name.
    let Ok(folder) = fs::canonicalize(block) else { return false };
    let is_partition = folder.join("partition").exists();
    let disk = if is_partition { folder.parent().unwrap_or(&folder) } else { &folder };
    let name = disk.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if is_numbered(name, "ram") || is_numbered(name, "zram") {
        // A zram device may write pages back to a disk.
        let backing = fs::read_to_string(disk.join("backing_dev")).unwrap_or_default();
        return matches!(backing.trim(), "" | "none");
    }
    if let Ok(file) = fs::read_to_string(disk.join("loop/backing_file")) {
        return filesystem::is_in_memory(Path::new(file.trim_end()));
    }
    let below = fs::read_dir(disk.join("slaves")).into_iter().flatten().flatten();
    let mut below = below.map(|device| rests_on_memory(&device.path())).peekable();
    below.peek().is_some() && below.all(|in_memory| in_memory)
}

/// Whether a name is this word and a number: `ram0`, not `ramen`.
fn is_numbered(name: &str, word: &str) -> bool {
    let number = name.strip_prefix(word).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn count(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::rests_on_memory;

    /// A device of a made-up sysfs; `backing` is the file of a loop device.
    fn device(sys: &Path, name: &str, backing: Option<&Path>) -> PathBuf {
        let folder = sys.join("devices").join(name);
        fs::create_dir_all(folder.join("slaves")).unwrap();
        if let Some(file) = backing {
            fs::create_dir_all(folder.join("loop")).unwrap();
            fs::write(folder.join("loop/backing_file"), format!("{}\n", file.display())).unwrap();
        }
        folder
    }

    #[test]
    fn memory_is_found_below_loops_maps_and_partitions() {
        let sys = tempfile::tempdir().unwrap();
        let on_disk = Path::new("/proc/version");
        let in_memory = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let disk = device(sys.path(), "sda", None);
        let ram = device(sys.path(), "ram0", None);
        let loop_on_memory = device(sys.path(), "loop0", Some(in_memory.path()));
        let loop_on_disk = device(sys.path(), "loop1", Some(on_disk));
        assert!(rests_on_memory(&ram) && rests_on_memory(&loop_on_memory));
        assert!(!rests_on_memory(&disk) && !rests_on_memory(&loop_on_disk));
        let mapped = device(sys.path(), "dm-0", None);
        symlink(&loop_on_memory, mapped.join("slaves/loop0")).unwrap();
        assert!(rests_on_memory(&mapped));
        // A part of it on a disk has that disk's cache.
        symlink(&disk, mapped.join("slaves/sda")).unwrap();
        assert!(!rests_on_memory(&mapped));
        let partition = ram.join("ram0p1");
        fs::create_dir_all(&partition).unwrap();
        fs::write(partition.join("partition"), "1\n").unwrap();
        assert!(rests_on_memory(&partition));
        let zram = device(sys.path(), "zram0", None);
        fs::write(zram.join("backing_dev"), "/dev/sdb\n").unwrap();
        assert!(!rests_on_memory(&zram));
        fs::write(zram.join("backing_dev"), "none\n").unwrap();
        assert!(rests_on_memory(&zram) && !rests_on_memory(&sys.path().join("devices/none")));
    }
}
