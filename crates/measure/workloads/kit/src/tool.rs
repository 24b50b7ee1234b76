//! Programs for administrators, run to their end: mkfs, mount, cryptsetup.

use std::path::{Path, PathBuf};
use std::process::Command;

use plumb_protocol::Failure;

use crate::ended;
use crate::spawn::find_program;

/// Where programs for administrators lie that PATH may not name.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The program of this name, also if only administrators have it on their path.
#[must_use]
pub fn program(name: &str) -> Option<PathBuf> {
    let others = FOLDERS.map(|folder| Path::new(folder).join(name));
    find_program(name).ok().or_else(|| others.into_iter().find(|path| path.is_file()))
}

/// It with arguments to come.
#[must_use]
pub fn tool(name: &str) -> Command {
    Command::new(program(name).unwrap_or_else(|| PathBuf::from(name)))
}

/// Runs a program with this input.
///
/// # Errors
/// When it can't be started, or ends with another status than 0: with the last line of what it says.
pub fn run(command: &mut Command, input: &[u8]) -> Result<(), Failure> {
    let name = shown(command);
    let failed = |error: std::io::Error| Failure::io(name.as_str(), &error);
    let output = ended::output_for(command, input).map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = last_line(&said).map_or_else(|| output.status.to_string(), str::to_owned);
    Err(Failure(format!("{name}: {why}")))
}

/// A program without its folder.
#[must_use]
pub fn shown(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The last line of a text that has anything in it. After a complaint `ip -batch` says which of its lines failed, which tells
/// nobody anything.
#[must_use]
pub fn last_line(text: &str) -> Option<&str> {
    text.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !line.starts_with("Command failed "))
}

#[cfg(test)]
mod tests {
    use super::{program, run, tool};
    use plumb_protocol::Failure;

    #[test]
    fn a_tool_that_fails_is_quoted_with_its_last_line() {
        assert!(run(tool("true").arg("x"), b"ignored").is_ok());
        let said = run(tool("sh").args(["-c", "cat >&2; echo >&2; exit 3"]), b"one\ntwo\n");
        assert_eq!(said, Err(Failure("sh: two".into())));
        let silent = run(tool("sh").args(["-c", "exit 3"]), &[]);
        assert_eq!(silent, Err(Failure("sh: exit status: 3".into())));
        assert!(program("sh").is_some() && program("mkfs.none").is_none());
    }
}
