//! Starts every process, prepares the machine, and cleans up whatever happens: the keeper, its journal,
//! preparations, and the measuring lock.
//!
//! The keeper is a small process between plumb and everything that it starts. It is started before
//! anything large is touched, does every spawn and every `wait4` of workers and fixtures, is their
//! subreaper, and holds a socket to plumb. When that socket ends (exit, panic, kill -9) it kills every
//! descendant, undoes the changes that its journal holds and removes the temporary folders that plumb
//! told it of. When the keeper itself is killed, plumb inherits its descendants, and does that; when both
//! are killed at once, each worker ends what it started (`orphaned_worker.rs`), and the next plumb does the rest.

mod client;
mod descendants;
mod exit;
mod journal;
mod lock;
mod message;
mod mount_namespaces;
mod orphaned_worker;
mod plugin;
pub mod preparation;
mod private;
mod server;
mod setting;
mod signals;
mod spawn;
mod spawn_options;
#[cfg(test)]
mod testing;
mod unchanged;
mod untraced;

pub use client::{Keeper, KeeperError, ProgramPipes};
pub use descendants::stand_in;
pub use exit::ProcessExit;
pub use journal::{ChangeMade, HeldChange, Journal, Settled, held, recover};
pub use lock::{LockError, MeasuringLock};
pub use orphaned_worker::end_with_keeper;
pub use plugin::PluginPreparation;
pub use private::{NotPrivate, check_private, make_private};
pub use server::serve as serve_keeper;
pub use setting::{OFF, ON, SystemSetting};
pub use spawn_options::{SchedulingClass, SpawnOption, SpawnOptions};
pub use unchanged::Unchanged;
