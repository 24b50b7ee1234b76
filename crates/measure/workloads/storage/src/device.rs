//! Bytes that this process moved from and to devices, as the kernel counts them.

use std::fs;

use crate::engine::Operation;
use crate::offsets::Mix;

/// Bytes read from (or, for writing, sent to) devices by this process and its threads so far, from
/// /proc/self/io; None where the kernel keeps no such account. A buffered write counts when it makes
/// a page dirty, not when the page reaches the device.
#[must_use]
pub fn bytes(operation: Operation) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    let name = match operation {
        Operation::Read => "read_bytes:",
        Operation::Write => "write_bytes:",
    };
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// The same of blocks of which some are read and some written.
#[must_use]
pub fn bytes_of(mix: Mix) -> Option<u64> {
    let of = |operation, counts: bool| if counts { bytes(operation) } else { Some(0) };
    Some(of(Operation::Read, mix != Mix::WRITE)? + of(Operation::Write, mix.writes())?)
}

/// Whether the kernel keeps an account of device bytes.
#[must_use]
pub fn is_counted() -> bool {
    bytes(Operation::Read).is_some()
}
