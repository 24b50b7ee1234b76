//! bonnie++: its phases, the fields of its CSV and its command line.
//!
//! This is the one definition of them. The import of results, the export, the arguments behind `plumb run bonnie --`
//! and the workload `storage.bonnie` all use it.

pub(crate) mod command_line;
pub mod csv;
pub mod parameter;
mod pass;
pub(crate) mod read;

pub use pass::{
    CREATE_SEQUENTIAL, DEVICE_SHARE, FILE_SIZE, IMPORTED_PASS, NAME_LABEL, PHASES, Phase, Requires,
    WORKLOAD, WRITE_BLOCK, imported_phase,
};
