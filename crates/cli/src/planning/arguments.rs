//! What every command understands that measures: when to stop, how a run is carried out, what is prepared.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use plumb_keeper::preparation::PRESETS;
use plumb_model::{By, FarEnd, Host, OnInterference};
use plumb_suite::TypedRules;

/// When to stop: all rules hold together.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "When to stop")]
pub struct GoalArgs {
    #[command(flatten)]
    pub rules: TypedRules,
    #[command(flatten)]
    pub execution: ExecutionArgs,
}

/// How any run is carried out.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "How to measure")]
pub struct ExecutionArgs {
    /// Limit the time of the run [default: 1m per point or comparison]
    ///
    /// A suite may set another default. Without it, `ab` measures at least 18 pairs of invocations over 2 s. Without a
    /// time or a precision, `run` and `exec` measure each point for 4 to 16 s, or up to a minute on a busy machine.
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Label each run
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub labels: Vec<String>,
    /// Name this host [default: $PLUMB_HOST, or a hash of its machine id]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub host: Option<Host>,
    /// Seed all random choices [default: from the clock; stored with the run]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub seed: Option<u32>,
    /// Do not wait for another plumb that is measuring on this machine
    #[arg(long, hide_short_help = true)]
    pub no_lock: bool,
    /// Add a monitor, or set its rate (0.1 to 100 Hz); `none` turns off the default ones
    #[arg(long = "monitor", value_name = "NAME[=HZ]", hide_short_help = true)]
    pub monitors: Vec<String>,
    /// Keep or retry disturbed invocations [default: retry for `ab`, otherwise keep]
    #[arg(long, value_name = "WHAT", value_parser = on_interference(), hide_short_help = true)]
    pub on_interference: Option<OnInterference>,
    /// Run servers on ssh:[USER@]HOST[:PORT] or peer:HOST[:PORT]
    ///
    /// The default is this machine. With ssh:, plumb copies itself there and removes the copy at the end; peer: needs a
    /// running `plumb peer` (docs/far-ends.md).
    #[arg(long, value_name = "WHERE")]
    pub to: Option<FarEnd>,
    /// Allow flood-rate traffic to hosts that you own
    ///
    /// Without it, plumb refuses to send more than 1,000 packets per second to a host that you name.
    #[arg(long, hide_short_help = true)]
    pub i_own_this_network: bool,
    /// Do not redact passwords and tokens in command lines
    ///
    /// By default, plumb replaces values such as `--password=VALUE`, `TOKEN=VALUE` and `scheme://user:VALUE@host` with
    /// `***` and a digest.
    #[arg(long, hide_short_help = true)]
    pub keep_secrets: bool,
    #[command(flatten)]
    pub prepare: PrepareArgs,
}

/// What is done to the machine first, and undone after.
#[derive(Debug, Clone, Default, Args)]
pub struct PrepareArgs {
    /// Prepare the machine with a preset [default: gentle, which needs no root]
    #[arg(long, value_name = "PRESET", value_parser = presets(), hide_short_help = true)]
    pub prepare: Option<String>,
    /// Set a knob for the run (`thp=never`, `drop-caches@round`)
    ///
    /// `plumb tune` lists the knobs. Plug-ins that prepare the machine work too.
    #[arg(long, value_name = "KNOB[=VALUE][@SLOT]")]
    pub set: Vec<String>,
    /// Also measure watts and joules per unit of work (root)
    ///
    /// Joules are shown with and without the idle power, which plumb measures for 5 s before the run (`--set energy=5s`).
    /// Needs the energy counters of the CPU (RAPL), which virtual machines lack.
    #[arg(long, hide_short_help = true)]
    pub energy: bool,
}

/// What `--on-interference` takes.
pub fn on_interference() -> impl TypedValueParser<Value = OnInterference> {
    let words = PossibleValuesParser::new(["keep", "retry"]);
    words.map(|word| match word.as_str() {
        "retry" => OnInterference::Retry,
        _ => OnInterference::Keep,
    })
}

/// What `--by` takes where runs of one machine are meant.
pub fn by() -> impl TypedValueParser<Value = By> {
    let words = PossibleValuesParser::new(["host", By::KIND]);
    words.map(|word| if word == By::KIND { By::Kind } else { By::Host })
}

/// What `--prepare` takes.
pub fn presets() -> PossibleValuesParser {
    PossibleValuesParser::new(PRESETS.iter().map(|(name, _)| *name))
}
