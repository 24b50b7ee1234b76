//! Starts every process, prepares the machine, and cleans up whatever happens: the keeper, its journal,
//! preparations, and the measuring lock.

mod journal;
mod keeper;
mod lock;
pub mod preparation;

pub use journal::{Change, Held, Journal, Settled, Unchanged, held, recover};
pub use keeper::{
    Exit, Keeper, KeeperError, Pipes, end_with_keeper, serve as serve_keeper, stand_in,
};
pub use lock::{LockError, MeasuringLock};
