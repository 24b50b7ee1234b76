//! Fleets that Slurm carries out: one exclusive job per machine, which runs the whole suite.

mod answers;
pub mod arguments;
mod ask;
pub mod cancel;
mod client;
pub mod collect;
mod decide;
mod folder;
mod nodes;
mod options;
mod script;
pub mod status;
pub mod submit;
