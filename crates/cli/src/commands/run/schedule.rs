//! `plumb run --every`: what would measure at fixed times, as files for systemd and as a line for cron.
//! Nothing is installed.

use std::path::Path;

use plumb_suite::time_ns;
use plumb_text::{Period, RepeatSchedule};

use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::ui::Ui;

/// Longest part of a unit's name that comes from what is measured.
const LONGEST_NAME: usize = 48;

/// Prints the schedule of the command that was typed, which measures these names.
///
/// # Errors
/// When the time does not divide an hour or a day, or plumb does not find itself.
pub fn print(every: &str, names: &[String], store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let period = Period::of_ns(time_ns(every)?).ok_or_else(|| {
        CommandError::usage(format!(
            "systemd and cron calendars cannot express an interval of {every}"
        ))
        .hint("--every 10m, 15m, 20m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 1d")
    })?;
    let typed: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.into_string())
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| CommandError::usage("--every needs arguments in UTF-8"))?;
    let folder = std::env::current_dir()
        .map_err(|error| CommandError::usage(format!("the current folder is gone: {error}")))?;
    let plumb = locate::plumb_for_others();
    if plumb.is_empty() {
        return Err(CommandError::nothing("plumb can't find its own binary"));
    }
    let store = folder.join(locate::store(store)?).to_string_lossy().into_owned();
    let schedule = RepeatSchedule {
        name: unit_name(names, every),
        words: words(&plumb, &store, std::env::var(locate::HOST).ok(), &typed, every),
        folder: folder.to_string_lossy().into_owned(),
        period,
    };
    ui.out(&schedule.text());
    Ok(Exit::Fine)
}

/// The command that was typed, with a label in place of `--every`, the store by its path, the host by its name if the
/// environment gives it one, and no talk.
fn words(
    plumb: &str,
    store: &str,
    host: Option<String>,
    typed: &[String],
    every: &str,
) -> Vec<String> {
    let mut words = vec![plumb.to_owned()];
    // A timer has another environment, so the store is named, and nobody watches its progress.
    if !is_typed(typed, "--store", "--store") {
        words.extend(["--store".to_owned(), store.to_owned()]);
    }
    if !is_typed(typed, "--quiet", "-q") {
        words.push("--quiet".to_owned());
    }
    let mut label = vec!["--label".to_owned(), format!("schedule={every}")];
    if let Some(host) = host.filter(|_| !is_typed(typed, "--host", "--host")) {
        label.extend(["--host".to_owned(), host]);
    }
    let mut typed = typed.iter();
    while let Some(word) = typed.next() {
        if word == "--every" {
            typed.next();
            words.extend(label.clone());
        } else if word.starts_with("--every=") {
            words.extend(label.clone());
        } else {
            words.push(word.clone());
        }
    }
    words
}

/// Whether an option is among the words, with its value in the next word or in the same.
fn is_typed(words: &[String], long: &str, short: &str) -> bool {
    words.iter().any(|word| word == long || word == short || word.starts_with(&format!("{long}=")))
}

/// `plumb-first-look-6h`, of characters that unit names may have.
fn unit_name(names: &[String], every: &str) -> String {
    let what = if names.is_empty() { "first-look".to_owned() } else { names.join("-") };
    let name: String = what.chars().take(LONGEST_NAME).map(allowed_in_unit).collect();
    let every: String = every.chars().map(allowed_in_unit).collect();
    format!("plumb-{}-{every}", name.trim_matches(['-', '.']))
}

fn allowed_in_unit(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }
}

#[cfg(test)]
mod tests {
    use super::{unit_name, words};

    #[test]
    fn a_schedule_says_what_was_typed() {
        assert_eq!(
            unit_name(&["cpu.sieve:threads=2".to_owned()], "6h"),
            "plumb-cpu.sieve-threads-2-6h"
        );
        let kept = words(
            "p",
            "/s",
            None,
            &["-q", "--store=x", "run", "--every=1d"].map(str::to_owned),
            "1d",
        );
        assert_eq!(kept, ["p", "-q", "--store=x", "run", "--label", "schedule=1d"]);
        let host = |typed: &[&str]| {
            let typed: Vec<String> = typed.iter().map(|&word| word.to_owned()).collect();
            words("p", "/s", Some("db1".into()), &typed, "1d").join(" ")
        };
        let start = "p --store /s --quiet run";
        assert_eq!(
            host(&["run", "--every", "1d"]),
            format!("{start} --label schedule=1d --host db1")
        );
        let given = ["run", "--every", "1d", "--host", "db2"];
        assert_eq!(host(&given), format!("{start} --label schedule=1d --host db2"));
    }
}
