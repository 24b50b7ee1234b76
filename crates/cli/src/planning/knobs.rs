//! Knobs as they are typed: with `--set`, and in suites.

use plumb_keeper::preparation::{KNOBS, Unusable, parse, resolve};
use plumb_model::{Preparation, PreparationSlot};
use plumb_suite::nearest;

use crate::error::{CommandError, Result};
use crate::locate;

/// A knob that is set before each invocation of a point of its own, and undone after it; what holds for the run stands
/// all the time.
///
/// # Errors
/// As for [`knob`].
pub fn of_invocations(text: &str) -> Result<Preparation> {
    let preparation = knob(text)?;
    let slot = if preparation.medium().is_some() {
        PreparationSlot::Run
    } else {
        PreparationSlot::Invocation
    };
    Ok(Preparation { slot, ..preparation })
}

/// A knob as `--set` names it; this machine must be able to have it.
///
/// # Errors
/// When it means nothing, or can't be had here.
pub fn knob(text: &str) -> Result<Preparation> {
    let preparation = parse(text).map_err(|why| unknown(text, &why))?;
    available(&format!("--set {text}"), preparation)
}

/// The preparation, if this machine can have it; `typed` is what the user asked for.
///
/// # Errors
/// When its value means nothing, or it can't be had here.
pub fn available(typed: &str, preparation: Preparation) -> Result<Preparation> {
    match resolve(&locate::root(), &preparation) {
        Ok(_) => Ok(preparation),
        Err(Unusable::Usage(why)) => Err(CommandError::usage(format!("{typed}: {why}"))),
        Err(Unusable::Unsupported(lack)) => {
            let why = format!("{typed} is unsupported: {}", lack.why);
            let error = CommandError::nothing(why);
            Err(if lack.fix.is_empty() { error } else { error.hint(lack.fix) })
        }
    }
}

/// The knob of `KNOB=VALUE@SLOT`.
pub fn name(text: &str) -> &str {
    text.split(['=', '@']).next().unwrap_or(text)
}

fn unknown(text: &str, why: &str) -> CommandError {
    let mut error = CommandError::usage(format!("--set {text}: {why}"));
    let name = name(text);
    let known: Vec<String> = KNOBS.iter().map(|knob| knob.name.to_owned()).collect();
    if let Some(near) = nearest(name, &known).filter(|near| *near != name) {
        error = error.hint(format!("did you mean `{near}`?"));
    }
    error.hint("`plumb tune` lists the knobs")
}
