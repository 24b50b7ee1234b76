//! `plumb show`: a run, its machine, its monitors, or the list of runs.

mod command;
mod list;
mod machine;
mod monitors;

pub use command::ShowArgs;
