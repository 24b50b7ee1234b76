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

Each job has a node to itself and runs everything you name. docs/slurm.md has the requirements and the next steps.")]
pub struct SlurmRunArgs {
    /// Suites, workloads or plug-ins, as for `plumb run`
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Options for sbatch, such as '-p main -t 30' ('' for none)
    #[arg(long, value_name = "OPTIONS", required = true, allow_hyphen_values = true)]
    pub slurm: String,
    /// Run N times, on nodes that Slurm selects [default: 1]
    ///
    /// Slurm may choose a node several times.
    #[arg(long, value_name = "N", conflicts_with = "every")]
    pub any: Option<NonZeroUsize>,
    /// Run once on each node of --nodelist, or of the partition
    ///
    /// Idle nodes come first. plumb reports and skips nodes that are out of service.
    #[arg(long)]
    pub every: bool,
    /// Keep at most N jobs in the queue [default: 1000]
    ///
    /// `plumb fleet collect` submits the rest as jobs end.
    #[arg(long, value_name = "N")]
    pub queued: Option<NonZeroUsize>,
    /// Create this folder for the script, logs and results [default: ./plumb-fleet-ID]
    ///
    /// It must be on a file system that this machine and all nodes share, under the same path.
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Print the script and the sbatch commands, and submit nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Options of `plumb run` for the nodes
    #[arg(last = true, value_name = "OPTION")]
    pub words: Vec<String>,
}

/// Which fleet is asked about.
#[derive(Debug, Args)]
pub struct SlurmFleetArgs {
    /// Fleet id or prefix [default: the last Slurm fleet]
    pub fleet: Option<String>,
}

/// Which fleet is collected, and how long.
#[derive(Debug, Args)]
pub struct CollectArgs {
    #[command(flatten)]
    pub which: SlurmFleetArgs,
    /// Keep collecting until all jobs have ended
    #[arg(long)]
    pub wait: bool,
}
