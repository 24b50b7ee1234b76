//! The arguments of commands about fleets that Slurm carries out.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// Measure on the nodes of a Slurm cluster
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb fleet run first-look --slurm '-p main' --every      one run on each node of a partition
  plumb fleet run first-look --slurm '-p main' --any 10     ten runs, on nodes that Slurm selects
  plumb fleet run cpu.sieve --slurm '' -- -p threads=1,all  with options of `plumb run`
  plumb fleet run my-suite.toml --slurm '-w n[1-8] -t 30' --every --queued 2 --dry-run
                                                            show what would be submitted

Each job has a node for itself and runs everything that you name. `plumb fleet status` shows how far Slurm is, `plumb fleet \
collect` stores the results here, and `plumb fleet show` shows them. docs/slurm.md describes what is needed.")]
pub struct SlurmRunArgs {
    /// Suites (by name or as a TOML file), workloads or plug-ins, as for `plumb run`
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Submit to Slurm with these options of sbatch, such as '-p main -t 30'; '' for none
    #[arg(long, value_name = "OPTIONS", required = true, allow_hyphen_values = true)]
    pub slurm: String,
    /// Make N runs, each on a node that Slurm selects [default: 1]
    ///
    /// Slurm may give a node several of these runs, one after the other.
    #[arg(long, value_name = "N", conflicts_with = "every")]
    pub any: Option<NonZeroUsize>,
    /// Make one run on each node: those of --nodelist, or all of the partition
    ///
    /// Idle nodes come first. Nodes that are out of service are reported and left out.
    #[arg(long)]
    pub every: bool,
    /// Have at most N jobs in Slurm's queue at once [default: 1000]
    ///
    /// `plumb fleet collect` submits the others as soon as there is room.
    #[arg(long, value_name = "N")]
    pub queued: Option<NonZeroUsize>,
    /// Use this folder for the script, logs and results [default: plumb-fleet-ID in the current folder]
    ///
    /// plumb makes the folder. It must be on a file system that this machine and all nodes share, under the same path.
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Print the script and the commands that would submit it, and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Options of `plumb run` for the nodes
    #[arg(last = true, value_name = "OPTION")]
    pub words: Vec<String>,
}

/// Which fleet is asked about.
#[derive(Debug, Args)]
pub struct SlurmFleetArgs {
    /// The id of the fleet, or its beginning [default: the last one that was submitted to Slurm]
    pub fleet: Option<String>,
}

/// Which fleet is collected, and how long.
#[derive(Debug, Args)]
pub struct CollectArgs {
    #[command(flatten)]
    pub which: SlurmFleetArgs,
    /// Collect again and again until all jobs have ended
    #[arg(long)]
    pub wait: bool,
}
