//! What answers and ends of a plug-in's process mean for the checklist.

use plumb_engine::{Refusal, Stopped};
use plumb_protocol::Reply;

use crate::commands::plugin::checklist::{Checklist, State};
use crate::error::{CommandError, Result};
use crate::planning::catalogue::reason;

/// What stays when failures of the plug-in are noted: signals and plumb's own trouble.
pub fn note(list: &mut Checklist, name: &'static str, refusal: &Refusal) -> Result<()> {
    let why = reason(refusal);
    match refusal {
        Refusal::Interrupted => Err(CommandError::interrupted(why)),
        Refusal::Fatal(_) => Err(CommandError::bug(why)),
        Refusal::Unsupported { fix, .. } => {
            let state = if fix.is_empty() { State::Warning } else { State::Ok };
            let tell = if fix.is_empty() { "; it does not say what would mend it" } else { "" };
            list.add(name, state, format!("{why}{tell}"));
            Ok(())
        }
        Refusal::Failed(_) => {
            list.add(name, State::Failed, why);
            Ok(())
        }
    }
}

/// A reply that is not the expected one.
pub fn wrong(
    list: &mut Checklist,
    name: &'static str,
    reply: std::result::Result<Reply, Refusal>,
) -> Result<()> {
    match reply {
        Ok(other) => {
            let start: String = format!("{other:?}").chars().take(80).collect();
            list.add(name, State::Failed, format!("it answered with the wrong message: {start}"));
            Ok(())
        }
        Err(refusal) => note(list, name, &refusal),
    }
}

/// How a process ended.
pub fn ended(
    list: &mut Checklist,
    name: &'static str,
    stopped: std::result::Result<Stopped, Refusal>,
) -> Result<()> {
    match stopped {
        Ok(Stopped { left_behind: 0, .. }) => {
            list.add(name, State::Ok, "`stop` answered, exit status 0, no process left behind");
        }
        Ok(Stopped { left_behind, .. }) => list.add(
            name,
            State::Failed,
            format!("it left {left_behind} processes behind, which plumb killed; wait for them"),
        ),
        Err(refusal) => note(list, name, &refusal)?,
    }
    Ok(())
}
