//! Reads a machine and owns its processes: fingerprint, facts for workloads, the measuring lock, and
//! the keeper that starts everything and cleans up after whatever happens.
//!
//! Files of the kernel are read under a [`Root`], so that a captured tree can stand in for them.

mod cgroup;
mod clock;
pub mod doctor;
mod facts;
mod fingerprint;
mod hash;
mod id;
pub mod interference;
mod journal;
mod keeper;
mod lock;
pub mod monitor;
pub mod preparation;
mod root;
mod time;

pub use clock::{ClockDrift, ClockGrain, ClockMark, clock_grain};
pub use facts::facts;
pub use fingerprint::{environment, machine};
pub use hash::with_fact;
pub use id::fresh_id;
pub use journal::{Change, Held, Journal, Settled, Unchanged, held, recover};
pub use keeper::{
    Exit, Keeper, KeeperError, Pipes, end_with_keeper, serve as serve_keeper, stand_in,
};
pub use lock::{LockError, MeasuringLock};
pub use root::Root;
pub use time::{Moment, boot_id, is_alive, now, owner};
