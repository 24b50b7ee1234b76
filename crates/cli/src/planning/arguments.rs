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
    /// Limit the time of the whole run [default: `run` and `exec` 1m a point, unless a suite sets another;
    /// `ab` 1m a comparison, and what 18 pairs take where an invocation takes over 2 s]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Label the run
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub labels: Vec<String>,
    /// Name this host, which tells it from others of its kind [default: $PLUMB_HOST, or a hash of its machine
    /// id]
    #[arg(long, value_name = "NAME")]
    pub host: Option<Host>,
    /// Seed all random choices [default: from the clock; stored with the run]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
    /// Do not wait for another plumb that is measuring on this machine
    #[arg(long)]
    pub no_lock: bool,
    /// Also read this monitor, or change its rate (0.1 to 100 Hz); `none` turns off the default monitors
    #[arg(long = "monitor", value_name = "NAME[=HZ]")]
    pub monitors: Vec<String>,
    /// Keep or repeat invocations that other activity disturbed [default: `ab` repeats them, other commands
    /// keep them]
    #[arg(long, value_name = "WHAT", value_parser = on_interference())]
    pub on_interference: Option<OnInterference>,
    /// Start servers on another machine: ssh:[USER@]HOST[:PORT], where plumb copies itself and leaves nothing, or
    /// peer:HOST[:PORT], where `plumb peer` runs [default: here]
    #[arg(long, value_name = "WHERE")]
    pub to: Option<FarEnd>,
    /// Also send more to machines that you name than anybody may: over 1,000 packets a second, say
    #[arg(long)]
    pub i_own_this_network: bool,
    #[command(flatten)]
    pub prepare: PrepareArgs,
}

/// What is done to the machine first, and undone after.
#[derive(Debug, Clone, Default, Args)]
pub struct PrepareArgs {
    /// Prepare the machine with a preset [default: gentle, which needs no root]
    #[arg(long, value_name = "PRESET", value_parser = presets())]
    pub prepare: Option<String>,
    /// Set a knob for the run (`thp=never`, `drop-caches@round`) or apply a plug-in's preparation; `plumb
    /// tune` lists the knobs
    #[arg(long, value_name = "KNOB[=VALUE][@SLOT]")]
    pub set: Vec<String>,
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
