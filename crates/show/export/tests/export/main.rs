//! Exports: what they say, what hostile names do to them, and the programs that read them.

mod consumers;
mod formats;
mod hostile;
mod poison;
