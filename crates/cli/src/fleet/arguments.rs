//! The arguments that name other machines.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use clap::Args;
use plumb_agent::{MachineAddress, read_inventory, read_yaml_inventory};
use plumb_model::{FLEET_LABEL, Host};

use crate::error::{CommandError, Result};

/// Each machine needs a few file descriptors here, of which a process has 1,024.
const DEFAULT_AT_ONCE: usize = 50;

/// Machines that measure, instead of this one.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "On other machines")]
pub struct MachineArgs {
    /// Measure on other machines (ssh): [USER@]HOST[:PORT], or `local`
    ///
    /// plumb copies itself to each machine, measures on all at once, stores one run per machine here, and removes the
    /// copies. ssh must connect without a prompt (docs/fleet.md).
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    on: Vec<String>,
    /// Measure on the machines in an Ansible inventory (INI, YAML or JSON)
    ///
    /// JSON as from `ansible-inventory --list`. plumb reads the variables price, ansible_host, ansible_port, ansible_user,
    /// ansible_ssh_private_key_file and ansible_connection.
    #[arg(long, value_name = "FILE[:GROUP]", conflicts_with = "on", hide_short_help = true)]
    inventory: Option<String>,
    /// Measure on at most N machines at once [default: 50]
    #[arg(long, value_name = "N", hide_short_help = true)]
    at_once: Option<NonZeroUsize>,
}

/// Whether slow machines measure again.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "On other machines")]
pub struct ConfirmArgs {
    /// Repeat results that are slow for their kind of machine, in three fresh runs
    #[arg(long, hide_short_help = true)]
    confirm: bool,
}

/// Whether machines measure together.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "On other machines")]
pub struct TogetherArgs {
    /// Start each invocation on all machines at the same time, and report the sum of their rates
    ///
    /// Shows how much a server, network or filesystem that they share delivers in total. 15 rounds of 2 s each, unless
    /// --max-invocations and --invocation-time say otherwise.
    #[arg(long, hide_short_help = true, conflicts_with_all =
        ["precision", "min_time", "max_time", "soak", "stream", "confirm"])]
    together: bool,
}

impl TogetherArgs {
    /// Whether machines measure together.
    pub fn is_given(&self) -> bool {
        self.together
    }

    /// Refuses machines that could never be ready at the same time.
    ///
    /// # Errors
    /// When there is one machine alone, or fewer measure at once than there are.
    pub fn check(&self, machines: usize, at_once: usize) -> Result<()> {
        if self.together && machines < 2 {
            return Err(CommandError::usage("--together needs two or more machines")
                .hint("--on local,HOST    measures on this machine and another"));
        }
        if self.together && at_once < machines {
            return Err(CommandError::usage(format!(
                "--together needs all {machines} machines at once, but --at-once is {at_once}"
            ))
            .hint(format!("--at-once {machines}")));
        }
        Ok(())
    }
}

/// Runs that confirm slow results.
#[derive(Debug, Clone, Copy)]
pub struct ConfirmingRuns {
    /// Whether they wait for another plumb that is measuring there.
    pub wait_for_lock: bool,
}

impl ConfirmArgs {
    /// Whether slow machines measure again.
    pub fn confirms(&self) -> bool {
        self.confirm
    }

    /// How slow machines measure again, if they do.
    pub fn confirming(&self, wait_for_lock: bool) -> Option<ConfirmingRuns> {
        self.confirm.then_some(ConfirmingRuns { wait_for_lock })
    }

    /// Refuses the option if no other machines measure.
    ///
    /// # Errors
    /// When it was given.
    pub fn refuse_alone(&self) -> Result<()> {
        if self.confirm {
            return Err(CommandError::usage("--confirm needs --on or --inventory").hint(
                "plumb check    compares this machine with a baseline, and confirms slow-downs",
            ));
        }
        Ok(())
    }
}

/// The options above, which other machines do not get, with whether a value follows them.
pub const OF_THIS_MACHINE: [(&str, bool); 4] =
    [("--on", true), ("--inventory", true), ("--at-once", true), ("--confirm", false)];

impl MachineArgs {
    /// The machines that were named; None for this one alone.
    ///
    /// # Errors
    /// When a name is not a machine, or is there twice.
    pub fn named(&self) -> Result<Option<Vec<MachineAddress>>> {
        let machines = match &self.inventory {
            Some(typed) => of_inventory(typed)?,
            None if self.on.is_empty() => {
                return match self.at_once {
                    Some(_) => Err(CommandError::usage("--at-once needs --on or --inventory")),
                    None => Ok(None),
                };
            }
            None => self
                .on
                .iter()
                .map(|text| text.parse().map_err(|why| CommandError::usage(format!("--on: {why}"))))
                .collect::<Result<Vec<MachineAddress>>>()?,
        };
        for machine in &machines {
            let name = machine.name();
            name.parse::<Host>().map_err(|why| {
                CommandError::usage(why)
                    .hint("use an alias from ~/.ssh/config, or set ansible_host")
            })?;
        }
        let mut names = BTreeSet::new();
        match machines.iter().find(|machine| !names.insert(machine.name().to_owned())) {
            Some(twice) => Err(CommandError::usage(format!("{} is named twice", twice.name()))
                .hint("to measure two ports of one host, give each an alias in ~/.ssh/config")),
            None => Ok(Some(machines)),
        }
    }

    /// Whether other machines measure.
    pub fn are_named(&self) -> bool {
        self.inventory.is_some() || !self.on.is_empty()
    }

    /// How many machines measure at the same time at most.
    pub fn at_once(&self) -> usize {
        self.at_once.map_or(DEFAULT_AT_ONCE, NonZeroUsize::get)
    }
}

/// Refuses options that have no meaning if other machines measure.
///
/// # Errors
/// The first that was given.
pub fn refuse_options(given: &[(&str, bool)]) -> Result<()> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            Err(CommandError::usage(format!("{option} cannot be used with --on or --inventory"))
                .hint("omit --on to measure this machine"))
        }
        None => Ok(()),
    }
}

/// Whether one of these labels is the one that the runs of a fleet get.
pub fn has_fleet_label(labels: &[String]) -> bool {
    labels.iter().any(|label| label.split('=').next() == Some(FLEET_LABEL))
}

/// The machines of `FILE[:GROUP]`.
fn of_inventory(typed: &str) -> Result<Vec<MachineAddress>> {
    let (file, group) = match typed.rsplit_once(':') {
        Some((file, group)) if !Path::new(typed).exists() => (file, Some(group)),
        _ => (typed, None),
    };
    let wrong = |why: String| CommandError::usage(format!("inventory {file}: {why}"));
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let is_yaml = [".yml", ".yaml"].iter().any(|ending| file.ends_with(ending));
    let read = if is_yaml { read_yaml_inventory(&text) } else { read_inventory(&text) };
    let inventory = read.map_err(|error| wrong(error.to_string()))?;
    inventory.machines(group).map_err(|error| wrong(error.to_string()))
}
