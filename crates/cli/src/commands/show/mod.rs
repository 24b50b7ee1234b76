//! `plumb show`: a run, its machine, or the list of runs.

pub mod command;
mod machine;
