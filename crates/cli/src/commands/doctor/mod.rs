//! `plumb doctor`: what is wrong with this machine, how small a change it can show, and what monitors cost.

mod audit;
mod command;
mod diagnose;
mod monitors;
mod relinked;

pub use command::DoctorArgs;
