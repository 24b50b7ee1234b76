//! The family `boot`.

use plumb_protocol::Workload;

mod firmware;
mod journal;
mod kernel_log;
mod milestones;
mod processes;
mod recorded;
mod startup;
mod supply;
mod systemd;
#[cfg(test)]
mod tests;
mod timespan;
mod units;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&startup::StartupOfBoots, &milestones::MilestonesOfBoot];
