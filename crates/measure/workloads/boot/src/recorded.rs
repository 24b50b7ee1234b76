//! The output of a program on this machine, or as it was recorded in a captured tree.

use std::process::Command;

use plumb_machine::Root;
use plumb_protocol::StartError;
use plumb_workload_kit::{ended, tool};

/// The standard output of a program; of a captured tree the text of its file `recorded`.
///
/// # Errors
/// Unsupported, if the program is missing or fails: with the last line of what it says.
pub fn output(
    root: &Root,
    recorded: &str,
    program: &str,
    arguments: &[&str],
) -> Result<String, StartError> {
    if !root.is_live() {
        return root.text(recorded).ok_or_else(|| {
            let why = format!("the captured tree has no {recorded}");
            StartError::unsupported(why, format!("{program} {} > {recorded}", arguments.join(" ")))
        });
    }
    run(tool::tool(program).args(arguments))
}

/// The standard output of a program that has ended well.
///
/// # Errors
/// As [`output`].
pub fn run(command: &mut Command) -> Result<String, StartError> {
    let name = tool::shown(command);
    if tool::program(&name).is_none() {
        return Err(StartError::unsupported(
            format!("{name} is not installed"),
            "install systemd, or measure on a machine that it has started",
        ));
    }
    // Messages are compared as text, so they must not be translated.
    let output = ended::output(command.env("LC_ALL", "C"))
        .map_err(|error| StartError::Failed(format!("{name}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = tool::last_line(&said).map_or_else(|| output.status.to_string(), str::to_owned);
    Err(StartError::unsupported(format!("{name} failed: {why}"), READABLE))
}

/// The fix if the journal can't be read.
pub const READABLE: &str = "run as root, or join the group systemd-journal";
