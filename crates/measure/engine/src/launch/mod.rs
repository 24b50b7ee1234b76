//! How invocations are started and talked to.

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
mod refusal;
mod road;
mod secrets;
mod slot_report;
mod validate;

pub use conversation::{Conversation, DEFAULT_TIMEOUT};
pub use describe::describe;
pub use keeper::{KeeperLauncher, LauncherSettings};
pub use launcher::{Launcher, Session, StartSpec, Stopped};
pub use refusal::Refusal;
pub use slot_report::SlotReport;
pub use validate::{Shape, valid_trial};
