//! Bytes that this process moved from and to devices, as the kernel counts them (/proc/self/io), and what the kernel
//! knows of a device.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

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
    Some(cache.trim() == "write back")
}

fn count(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}
