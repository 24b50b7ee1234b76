//! The part of the family `storage` that is about a filesystem as a whole: many files, and passes of bonnie++.

use plumb_protocol::Workload;

mod bonnie;
mod files;
mod names;

/// The workloads of this part.
pub const ALL: &[&dyn Workload] = &[&files::Files, &bonnie::Bonnie];
