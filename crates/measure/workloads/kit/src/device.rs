//! Bytes that this process moved from and to devices, as the kernel counts them (/proc/self/io).

use std::fs;

/// Bytes read from devices by this process and its threads so far; None where the kernel keeps no such account.
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

fn count(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}
