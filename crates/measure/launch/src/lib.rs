//! How invocations are started and talked to: workers, servers, fixtures, media and loads, here or on another machine.
//!
//! The engine knows only [`Launcher`] and [`InvocationSession`]. [`KeeperLauncher`] implements them with processes that the keeper
//! spawns; the engine's tests bring their own. Plug-ins are checked through the same [`Conversation`].

mod companions;
mod conversation;
mod describe;
mod far_hosts;
mod fixtures;
mod keeper;
mod launcher;
mod log;
mod media;
mod preparations;
mod progress;
mod refusal;
mod secrets;
mod slot_report;
mod transport;
mod validate;

pub use conversation::{Conversation, DEFAULT_TIMEOUT};
pub use describe::describe;
pub use keeper::{KeeperLauncher, LauncherSettings};
pub use launcher::{InvocationSession, Launcher, ProcessEnd, StartSpec};
pub use preparations::may_have;
pub use progress::ignore_progress;
pub use refusal::LaunchRefusal;
pub use slot_report::SlotReport;
pub use validate::{MOST_OF_SUPPLY, SampleShape, ready as valid_ready, valid_supply, valid_trial};
