//! `plumb doctor`: its arguments and its three ways.

use std::path::PathBuf;

use clap::Args;
use plumb_model::Host;

use crate::commands::doctor::audit::{AuditSettings, audit};
use crate::commands::doctor::diagnose::diagnose;
use crate::commands::doctor::monitors;
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{Exit, Result};
use crate::locate;

/// How good is this machine for measuring, and how small a change can it show?
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb doctor                           a grade from A to F, and how to improve it
  plumb doctor --dir /srv                check /srv as the target directory
  plumb doctor --audit                   how small a change can it detect? takes ten minutes
  plumb doctor --audit --comparisons 5   a quick estimate
  plumb doctor --audit --of memory.read  how often does it differ from itself?
  plumb doctor --monitors                how much overhead do the monitors add?

Without --audit, plumb inspects the machine for a second and changes nothing; docs/doctor.md explains the grade. An \
audit compares programs with themselves as `plumb ab` does, so every difference is noise; `plumb ab` never uses a margin \
below that noise. It also slows a program down by 1, 2 and 5 % to see which slow-downs it detects, and compares a C program \
with relinked copies (needs cc).")]
pub struct DoctorArgs {
    /// The target directory of later runs [default: the current one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Compare programs with themselves and store the result
    #[arg(long)]
    audit: bool,
    /// Measure the overhead of the monitors, in up to two minutes
    #[arg(long, conflicts_with = "audit")]
    monitors: bool,
    /// First read the monitors alone for this long, twice
    ///
    /// The comparison of a workload with and without monitors then takes up to six times as long.
    #[arg(long = "for", value_name = "TIME", requires = "monitors", default_value = "10s")]
    length: String,
    /// Make this many comparisons per kind of work
    #[arg(long, value_name = "N", default_value_t = 20, requires = "audit")]
    comparisons: usize,
    /// Audit these kinds of work, or a point such as memory.read
    ///
    /// cpu includes the added slow-downs; layout is a C program and relinked copies of it. For a point, plumb reports how
    /// often comparing it with itself shows a difference. Repeat --of for several points.
    #[arg(
        long,
        value_name = "KIND,…",
        requires = "audit",
        default_value = "cpu,memory,scheduler,process,layout"
    )]
    of: Vec<String>,
    /// Name this host [default: $PLUMB_HOST, or a hash of its machine id]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    host: Option<Host>,
    /// Do not wait for another plumb that is measuring on this machine
    #[arg(long)]
    no_lock: bool,
}

impl Subcommand for DoctorArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let lock = !self.no_lock;
        let store = context.store;
        let ui = context.ui;
        if self.monitors {
            return monitors::costs(&self.length, lock, store, ui);
        }
        if self.audit {
            let settings = AuditSettings {
                subjects: &self.of,
                comparisons: self.comparisons,
                host: self.host.clone(),
                lock,
            };
            return audit(&settings, store, ui);
        }
        diagnose(self.dir.as_deref(), &locate::host(self.host.as_ref())?, store, ui)
    }
}
