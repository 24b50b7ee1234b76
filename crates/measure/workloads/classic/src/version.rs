//! Which version of a tool is installed.

use std::path::Path;
use std::process::Command;

use plumb_protocol::{Failure, StartError};
use plumb_workload_kit::ended;

/// The output of a program for these arguments, stdout and then stderr.
///
/// # Errors
/// When it can't be started.
pub(crate) fn asked(path: &Path, arguments: &[&str]) -> Result<String, StartError> {
    let output = ended::output(Command::new(path).args(arguments))
        .map_err(|e| Failure::io(format!("starting {}", path.display()), &e))?;
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The version after `before` in what the program says of itself.
///
/// # Errors
/// When it does not report.
pub(crate) fn after(path: &Path, arguments: &[&str], before: &str) -> Result<String, StartError> {
    let text = asked(path, arguments)?;
    word_after(&text, before).ok_or_else(|| {
        let why = format!("{} reports no version, so it is a different program", path.display());
        StartError::Failed(why)
    })
}

/// That of a compiler of C.
///
/// # Errors
/// When it can't be started.
pub(crate) fn of_compiler(path: &Path) -> Result<String, StartError> {
    let text = asked(path, &["-dumpfullversion", "-dumpversion"])?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// The first word behind `before` that begins with a digit, without what punctuation ends it.
fn word_after(text: &str, before: &str) -> Option<String> {
    let rest = text.split_once(before)?.1;
    let word = rest.split_whitespace().next()?.trim_end_matches([',', ')']);
    word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::word_after;

    #[test]
    fn versions_stand_behind_a_word() {
        let version = |text, before| word_after(text, before);
        assert_eq!(version("fio-3.33\n", "fio-").as_deref(), Some("3.33"));
        assert_eq!(version("iperf 3.12 (cJSON 1.7.15)", "iperf ").as_deref(), Some("3.12"));
        assert_eq!(
            version("ping from iputils 20221126\n", "iputils ").as_deref(),
            Some("20221126")
        );
        assert_eq!(version("hackbench V 2.40\n", " V ").as_deref(), Some("2.40"));
        assert_eq!(version("BusyBox v1.36", "iputils "), None);
        assert_eq!(version("perf version from git", "perf version "), None);
    }
}
