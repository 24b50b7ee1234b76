//! How a run is carried out: what every command that measures understands.

use clap::Args;

/// When to stop, and what to remember with the run.
#[derive(Debug, Args)]
pub struct GoalArgs {
    /// Measure until the interval's half-width is this share of the estimate [default: 1%; suites state theirs]
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<String>,
    /// Fewest invocations of each point; with this or the next two, precision does not stop a point
    #[arg(long, value_name = "N")]
    pub min_invocations: Option<usize>,
    /// Shortest time on each point
    #[arg(long, value_name = "TIME")]
    pub min_time: Option<String>,
    /// Longest time on each point
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<String>,
    #[command(flatten)]
    pub way: WayArgs,
}

/// How any run is carried out.
#[derive(Debug, Args)]
pub struct WayArgs {
    /// Time for the whole run [default: `run` and `exec` 1m a point, suites state theirs; `ab` none]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Label the run
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub labels: Vec<String>,
    /// Seed of every random choice [default: from the clock; stored with the run]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
    /// Don't wait for another plumb that measures on this machine
    #[arg(long)]
    pub no_lock: bool,
    /// Read this monitor too, or at another rate (0.1 to 100 a second); `none` reads no others
    #[arg(long = "monitor", value_name = "NAME[=HZ]")]
    pub monitors: Vec<String>,
    /// What to do with invocations that something else disturbed [default: `ab` replaces them, others keep them]
    #[arg(long, value_name = "WHAT", value_parser = ["keep", "retry"])]
    pub on_interference: Option<String>,
    #[command(flatten)]
    pub prepare: PrepareArgs,
}

/// What is done to the machine first, and undone after.
#[derive(Debug, Clone, Default, Args)]
pub struct PrepareArgs {
    /// Prepare the machine by a preset [default: gentle, which needs no root]
    #[arg(long, value_name = "PRESET", value_parser = ["none", "gentle", "lab"])]
    pub prepare: Option<String>,
    /// Set a knob (`thp=never`, `drop-caches@round`), or let a plug-in prepare; `plumb tune` lists the knobs
    #[arg(long, value_name = "KNOB[=VALUE][@SLOT]")]
    pub set: Vec<String>,
}
