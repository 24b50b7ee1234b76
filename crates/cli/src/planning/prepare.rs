//! From `--prepare` and `--set` to what a plan prepares.

use plumb_keeper::Keeper;
use plumb_keeper::preparation::{KNOBS, PRESETS, preset, slotted};
use plumb_model::{Companion, Preparation, Role, Slot};

use crate::error::{CommandError, Result};
use crate::planning::arguments::PrepareArgs;
use crate::planning::knobs::knob;
use crate::planning::points::{self, Named};

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
                true => prepare.plugins.push(plugin(keeper, text, all_threads)?),
                false => prepare.knobs.push(knob(text)?),
            }
        }
        let named = prepare.knobs.split_off(before);
        refuse_twice(&named)?;
        prepare.knobs.retain(|old| named.iter().all(|new| new.knob != old.knob));
        prepare.knobs.extend(named);
    }
    Ok(prepare)
}

/// What the first suite and the user want prepared.
///
/// # Errors
/// When a name or value is unknown, or this machine can't have what was named.
pub fn for_named(
    keeper: &mut Keeper,
    named: &Named,
    args: &PrepareArgs,
    all_threads: u64,
) -> Result<Prepare> {
    let of_suite = named.suites.first();
    let of_suite = of_suite.map(|it| (it.prepare.as_str(), it.knobs.as_slice()));
    wanted(keeper, args, of_suite, all_threads)
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

/// Plug-ins have ids with a dot, or paths; so do only a few knobs.
fn is_plugin(text: &str) -> bool {
    let name = text.split(['=', ':', '@']).next().unwrap_or(text);
    let head = name.split('.').next().unwrap_or(name);
    name.contains(['.', '/']) && KNOBS.iter().all(|knob| knob.name != head)
}

/// A plug-in that prepares: `ID[:NAME=VALUE,…][@SLOT]`.
fn plugin(keeper: &mut Keeper, text: &str, all_threads: u64) -> Result<Companion> {
    let (name, slot) = slotted(text).unwrap_or((text, Slot::Run));
    let found = points::companions(keeper, &[name.to_owned()], all_threads)?;
    match found.into_iter().next() {
        Some(companion) if companion.point.description.can_be(Role::Preparation) => {
            Ok(Companion { role: Role::Preparation, slot, ..companion })
        }
        _ => Err(CommandError::usage(format!("`{name}` is not a preparation")).hint(
            "--set takes plug-ins with the role preparation; --with runs loads and monitors",
        )),
    }
}

fn refuse_twice(named: &[Preparation]) -> Result<()> {
    for (index, one) in named.iter().enumerate() {
        // Several services, or several slots of an action, are no contradiction.
        let same = |other: &&Preparation| {
            other.knob == one.knob && other.slot == one.slot && one.knob != "stop-service"
        };
        if let Some(other) = named[..index].iter().find(same) {
            let (one, other) = (one.name(), other.name());
            return Err(CommandError::usage(format!(
                "--set {other} and --set {one} contradict each other"
            ))
            .hint("plumb ab --set A --set B WORKLOAD compares two values of a knob"));
        }
    }
    Ok(())
}
