//! References: figures of other machines that results can be compared with.
//!
//! plumb ships what some pages printed ([`SHIPPED`]); users add what they measured on their own machines. A
//! reference is a TOML file, `plumb.reference/1`. Nothing here is stored or drawn.

mod compare;
mod file;
mod hardware;
mod population;
mod shipped;

pub use compare::{ComparedFigure, NotCompared, ReferenceComparison, compare};
pub use file::{Reference, ReferenceError, ReferenceFigure, SCHEMA, is_reference_name};
pub use hardware::{
    CpuModels, HARDWARE_SCHEMA, HardwareFigure, Microarchitecture, microarchitecture,
    microarchitectures,
};
pub use population::{MergeError, merge, of_runs};
pub use shipped::{SHIPPED, shipped};
