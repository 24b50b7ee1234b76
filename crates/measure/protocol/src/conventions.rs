//! What both sides of a conversation hold to, besides the lines.

use std::time::Duration;

/// A program has this long to exit after its last word.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// More heartbeats than this before a reply are a flood.
pub const MOST_HEARTBEATS: u32 = 10_000;
/// The longest time that a program may ask for one message, in seconds: a day.
pub const LONGEST_TIMEOUT_S: u64 = 86_400;
/// How the lines begin that the far end sends about itself: a login shell may print lines, too.
pub const FAR_LINE: &str = "plumb-far: ";
/// The variable whose length makes the environment longer.
pub const PADDING: &str = "PLUMB_PADDING";
/// The variable that gives a worker which starts processes one length for all of them, in bytes.
pub const PADDING_LENGTH: &str = "PLUMB_PADDING_LENGTH";
/// The longest value of [`PADDING`], in bytes: a page, over which the start of the stack moves.
pub const MOST_PADDING: usize = 4096;
