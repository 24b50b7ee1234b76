//! The far end of an ssh session: what `plumb ssh-sink` runs.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use plumb_protocol::SplitMix64;
use plumb_workload_kit::framed_stream::receive;

/// What the sink says first, with its process id and an end of line: whatever comes before is noise
/// of the user's shell.
pub const GREETING: &str = "plumb ssh-sink ";

/// Bytes taken in at a time: what a pipe holds.
const BUFFER: usize = 64 << 10;

/// Says who it is, then takes in frames from standard input (8 bytes of length, little-endian, and
/// that many bytes) and answers each on standard output with the number of bytes taken in (8 bytes,
/// little-endian), until standard input ends. A frame may ask for bytes instead
/// ([`WANTED`](plumb_workload_kit::framed_stream::WANTED)); they can't be compressed.
///
/// # Errors
/// When reading or answering fails, or the input ends within a frame.
pub fn ssh_sink() -> io::Result<()> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    output.write_all(format!("{GREETING}{}\n", std::process::id()).as_bytes())?;
    let mut buffer = vec![0; BUFFER];
    SplitMix64::new(0).fill(&mut buffer);
    receive(input, output, &mut buffer)
}
