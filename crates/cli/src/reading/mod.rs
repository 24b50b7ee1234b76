//! What all commands share that read the store and write what they find.

pub mod audits;
pub mod baselines;
pub mod closing;
pub mod comparison;
pub mod output;
pub mod runs;
pub mod series;
pub mod since;
