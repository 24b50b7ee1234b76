//! Bytes that this process moved from and to devices, by what is done to blocks.

use plumb_workload_kit::device::{read_bytes, written_bytes};

use crate::engine::BlockOperation;
use crate::offsets::Mix;

/// Bytes read from (or, for writing, sent to) devices so far; None if the kernel keeps no account.
#[must_use]
pub fn bytes(operation: BlockOperation) -> Option<u64> {
    match operation {
        BlockOperation::Read => read_bytes(),
        BlockOperation::Write => written_bytes(),
    }
}

/// The same of blocks of which some are read and some written.
#[must_use]
pub fn bytes_of(mix: Mix) -> Option<u64> {
    let read = if mix == Mix::WRITE { 0 } else { bytes(BlockOperation::Read)? };
    let written = if mix.writes() { bytes(BlockOperation::Write)? } else { 0 };
    Some(read + written)
}
