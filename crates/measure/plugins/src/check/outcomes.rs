//! The checklist's reading of a plug-in's answers and ends.

use plumb_launch::{Refusal, Stopped};
use plumb_protocol::Reply;

use crate::check::checklist::{Checklist, State};

/// What stays when failures of the plug-in are noted: signals and plumb's own trouble.
pub fn note(
    list: &mut Checklist<'_>,
    name: &'static str,
    refusal: &Refusal,
) -> Result<(), Refusal> {
    let why = refusal.to_string();
    match refusal {
        Refusal::Interrupted | Refusal::Fatal(_) => Err(refusal.clone()),
        Refusal::Unsupported { fix, .. } => {
            let state = if fix.is_empty() { State::Warning } else { State::Ok };
            let tell = if fix.is_empty() { "; it gives no fix" } else { "" };
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
    list: &mut Checklist<'_>,
    name: &'static str,
    reply: Result<Reply, Refusal>,
) -> Result<(), Refusal> {
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
    list: &mut Checklist<'_>,
    name: &'static str,
    stopped: Result<Stopped, Refusal>,
) -> Result<(), Refusal> {
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
