//! The keeper: a small process between plumb and everything it starts.
//!
//! It is started before anything large is touched, does every spawn and every `wait4` of workers and
//! fixtures, is their subreaper, and holds a socket to plumb. When that socket ends (exit, panic,
//! kill -9) it restores the settings of the machine that its journal holds, kills every descendant and
//! removes the temporary folders that plumb told it of. When
//! the keeper itself is killed, plumb inherits its descendants, and does that; when both are killed at
//! once, each worker ends what it started (`orphaned.rs`).

mod client;
mod message;
mod orphaned;
mod server;

pub use client::{Keeper, KeeperError, Pipes};
pub use message::Exit;
pub use orphaned::end_with_keeper;
pub use server::{serve, stand_in};
