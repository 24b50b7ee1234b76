//! The family `crypto`.

use plumb_protocol::Workload;

mod aead;
mod sealer;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&aead::Aead];
