//! The arguments after `--`: those of the classic tool that a suite is named after.

use std::path::Path;

use plumb_classics::bonnie::{NAME_LABEL, parameter};
use plumb_classics::{Arguments, SUITES, arguments};
use plumb_workload_kit::users::ids;

use crate::error::{CommandError, Result};
use crate::planning::arguments::GoalArgs;
use crate::planning::plan::PlanRequest;

/// What the tool's arguments ask for.
#[derive(Debug, Default)]
pub struct ToolRequest(Arguments);

/// Reads the arguments; without any, nothing is asked for.
///
/// # Errors
/// When no suite takes them, or plumb does not do what one asks for.
pub fn read(names: &[String], given: &[String]) -> Result<ToolRequest> {
    if given.is_empty() {
        return Ok(ToolRequest::default());
    }
    let suites = SUITES.join(", ");
    let of_suite = match names {
        [name] => arguments(name, given),
        _ => None,
    };
    let Some(read) = of_suite else {
        let why = format!(
            "arguments after `--` work only with a suite that is named after a tool ({suites})"
        );
        return Err(CommandError::usage(why).hint("plumb run bonnie -- -s 2048 -d /srv"));
    };
    let name = &names[0];
    read.and_then(with_known_users).map(ToolRequest).map_err(|why| {
        CommandError::usage(why)
            .hint(format!("or set parameters of the suite: plumb run {name} -p NAME=VALUE"))
    })
}

/// Checks users here, so that a run that cannot change its user ends before it begins.
fn with_known_users(asked: Arguments) -> std::result::Result<Arguments, String> {
    for (name, value) in &asked.settings {
        if *name == parameter::USER {
            check_user(value)?;
        }
    }
    Ok(asked)
}

/// Whether plumb may work as this user.
fn check_user(user: &str) -> std::result::Result<(), String> {
    let me = rustix::process::geteuid();
    match ids(user) {
        None => Err(format!("-u {user}: there is no such user in /etc/passwd")),
        Some((uid, _)) if me.is_root() || me.as_raw() == uid => Ok(()),
        Some(_) => Err(format!("-u {user}: only root may work as another user")),
    }
}

impl ToolRequest {
    /// Parameters as users type them: those of the tool, then those of `-p`.
    pub fn params(&self, given: &[String]) -> Vec<String> {
        let asked = self.0.settings.iter().map(|(name, value)| format!("{name}={value}"));
        asked.chain(given.iter().cloned()).collect()
    }

    /// The target directory.
    pub fn dir(&self) -> Option<&Path> {
        self.0.dir.as_deref().map(Path::new)
    }

    /// The request with the seed, the number of processes and the name. Whoever asks for a number gets it, whatever the
    /// suite's budget is.
    pub fn applied_to(&self, mut request: PlanRequest, goal: &GoalArgs) -> PlanRequest {
        request.seed = self.0.seed.map(u64::from);
        if let Some(processes) = self.0.processes.and_then(|count| usize::try_from(count).ok()) {
            request = request.with_invocations(processes, goal);
        }
        request.labels.extend(self.0.name.clone().map(|name| (NAME_LABEL.to_owned(), name)));
        request
    }
}
