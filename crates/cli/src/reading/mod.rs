//! What all commands share that read the store and write what they find.

pub mod audits;
pub mod hardware;
pub mod output;
pub mod references;
pub mod runs;
pub mod series;
