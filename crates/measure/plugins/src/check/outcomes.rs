//! The checklist's reading of a plug-in's answers and ends.

use plumb_launch::{LaunchRefusal, ProcessEnd};
use plumb_protocol::Reply;

use crate::check::checklist::{CheckOutcome, Checklist};

/// What stays when failures of the plug-in are noted: signals and plumb's own trouble.
pub fn note(
    list: &mut Checklist<'_>,
    name: &'static str,
    refusal: &LaunchRefusal,
) -> Result<(), LaunchRefusal> {
    let why = refusal.to_string();
    match refusal {
        LaunchRefusal::Interrupted | LaunchRefusal::OutOfTime | LaunchRefusal::Fatal(_) => {
            Err(refusal.clone())
        }
        LaunchRefusal::Unsupported { fix, .. } => {
            let state = if fix.is_empty() { CheckOutcome::Warning } else { CheckOutcome::Ok };
            let tell = if fix.is_empty() { "; it suggests no fix" } else { "" };
            list.add(name, state, format!("{why}{tell}"));
            Ok(())
        }
        LaunchRefusal::Failed(_) | LaunchRefusal::WrongResult(_) => {
            list.add(name, CheckOutcome::Failed, why);
            Ok(())
        }
    }
}

/// A reply that is not the expected one.
pub fn wrong(
    list: &mut Checklist<'_>,
    name: &'static str,
    reply: Result<Reply, LaunchRefusal>,
) -> Result<(), LaunchRefusal> {
    match reply {
        Ok(other) => {
            let start: String = format!("{other:?}").chars().take(80).collect();
            list.add(
                name,
                CheckOutcome::Failed,
                format!("it answered with the wrong message: {start}"),
            );
            Ok(())
        }
        Err(refusal) => note(list, name, &refusal),
    }
}

/// How a process ended.
pub fn ended(
    list: &mut Checklist<'_>,
    name: &'static str,
    stopped: Result<ProcessEnd, LaunchRefusal>,
) -> Result<(), LaunchRefusal> {
    match stopped {
        Ok(ProcessEnd { left_behind: 0, .. }) => {
            list.add(
                name,
                CheckOutcome::Ok,
                "`stop` answered, exit status 0, no process left behind",
            );
        }
        Ok(ProcessEnd { left_behind, .. }) => list.add(
            name,
            CheckOutcome::Failed,
            format!(
                "it left {left_behind} processes behind, which plumb killed; it must wait for them"
            ),
        ),
        Err(refusal) => note(list, name, &refusal)?,
    }
    Ok(())
}
