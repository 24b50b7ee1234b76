//! From `--prepare` and `--set` to what a plan prepares.

use plumb_keeper::Keeper;
use plumb_keeper::preparation::{PRESETS, preset};
use plumb_model::{Companion, ENERGY_KNOB, Preparation, PreparationSlot};

use crate::error::{CommandError, Result};
use crate::planning::arguments::PrepareArgs;
use crate::planning::knobs::{self, available, knob};
use crate::planning::points::{NamedPoints, is_plugin, preparing_plugin};
use crate::planning::several_suites;

/// How long the power of the idle machine is measured.
const IDLE_TIME: &str = "5s";
/// The preset when nobody names one.
const DEFAULT: &str = "gentle";

/// What is prepared: knobs, and plug-ins that run beside.
#[derive(Debug, Clone, Default)]
pub struct Prepare {
    /// The knobs: of the preset, then those that were named.
    pub knobs: Vec<Preparation>,
    /// Plug-ins of the role `preparation`.
    pub plugins: Vec<Companion>,
}

/// What a suite and the user want prepared; the user wins over the suite, both over the preset.
///
/// # Errors
/// When a name or value is unknown, or this machine can't have what was named.
pub fn wanted(
    keeper: &mut Keeper,
    args: &PrepareArgs,
    of_suite: Option<(&str, &[String])>,
    all_threads: u64,
) -> Result<Prepare> {
    let (suites_preset, suites_sets) = of_suite.unwrap_or_default();
    let suites_preset = Some(suites_preset).filter(|name| !name.is_empty());
    let preset = args.prepare.as_deref().or(suites_preset).unwrap_or(DEFAULT);
    let mut prepare = Prepare { knobs: of_preset(preset)?, plugins: Vec::new() };
    for texts in [suites_sets, &args.set] {
        let before = prepare.knobs.len();
        for text in texts {
            match is_plugin(text) {
                true => prepare.plugins.push(preparing_plugin(keeper, text, all_threads)?),
                false => prepare.knobs.push(knob(text)?),
            }
        }
        let named = prepare.knobs.split_off(before);
        refuse_twice(&named)?;
        prepare.knobs.retain(|old| named.iter().all(|new| new.knob != old.knob));
        prepare.knobs.extend(named);
    }
    if args.energy && prepare.knobs.iter().all(|named| named.knob != ENERGY_KNOB) {
        prepare.knobs.push(idle_power()?);
    }
    Ok(prepare)
}

/// The power of the idle machine, measured before the run.
///
/// # Errors
/// When this machine has no energy counters, or this user may not read them.
fn idle_power() -> Result<Preparation> {
    let preparation = Preparation {
        knob: ENERGY_KNOB.to_owned(),
        value: IDLE_TIME.to_owned(),
        slot: PreparationSlot::Run,
        optional: false,
    };
    available("--energy", preparation)
}

/// What suites and the user want prepared for the whole run. Next to other names, a suite's knobs are prepared for its
/// points alone.
///
/// # Errors
/// When a name or value is unknown, this machine can't have what was named, or suites and the user contradict each other.
pub fn for_named(
    keeper: &mut Keeper,
    named: &NamedPoints,
    args: &PrepareArgs,
    all_threads: u64,
) -> Result<Prepare> {
    let preset = match &args.prepare {
        Some(typed) => Some(typed.as_str()),
        None => several_suites::preset(&named.suites)?,
    };
    let knobs = match named.run_wide() {
        Some(suite) => suite.knobs.as_slice(),
        None => {
            refuse_suite_knobs(named, &args.set)?;
            &[]
        }
    };
    wanted(keeper, args, Some((preset.unwrap_or_default(), knobs)), all_threads)
}

/// A knob that is typed for the run, and set by a suite for its points: the typed one would be undone at each of them.
fn refuse_suite_knobs(named: &NamedPoints, typed: &[String]) -> Result<()> {
    for suite in &named.suites {
        for text in typed {
            if let Some(of_suite) =
                suite.knobs.iter().find(|other| knobs::name(other) == knobs::name(text))
            {
                return Err(CommandError::usage(format!(
                    "--set {text} and set = [\"{of_suite}\"] of the suite {} conflict",
                    suite.name
                ))
                .hint(format!(
                    "to override it, run the suite alone: plumb run {} --set {text}",
                    suite.name
                )));
            }
        }
    }
    Ok(())
}

/// What a preset holds.
///
/// # Errors
/// When it is unknown.
pub fn of_preset(name: &str) -> Result<Vec<Preparation>> {
    let names: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
    preset(name).ok_or_else(|| {
        CommandError::usage(format!("no preset is called `{name}`"))
            .hint(format!("known presets: {}", names.join(", ")))
    })
}

fn refuse_twice(named: &[Preparation]) -> Result<()> {
    for (index, one) in named.iter().enumerate() {
        // Several services, or several slots of an action, are no contradiction.
        if one.knob == "stop-service" {
            continue;
        }
        let mut earlier = named[..index].iter();
        if let Some(other) = earlier.find(|other| other.knob == one.knob && other.slot == one.slot)
        {
            return Err(CommandError::usage(format!(
                "--set {} and --set {} conflict",
                other.name(),
                one.name()
            ))
            .hint("plumb ab --set A --set B WORKLOAD compares two values of a knob"));
        }
    }
    Ok(())
}
