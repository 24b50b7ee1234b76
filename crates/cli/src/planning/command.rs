//! A command that is timed, as a point of the workload behind `exec`.

use plumb_model::{PlannedPoint, Point, Settings, Value};

use crate::error::{CommandError, Result};
use crate::planning::catalogue;

/// The workload behind `exec`.
pub const COMMAND: &str = "process.command";

/// A command: what people typed, and its words (one word for a shell).
pub struct Typed {
    text: String,
    words: Vec<String>,
}

impl Typed {
    /// A command in one argument.
    ///
    /// # Errors
    /// When it is empty or a quote has no partner.
    pub fn new(text: &str, shell: bool) -> Result<Self> {
        let words = if shell { vec![text.to_owned()] } else { split(text)? };
        Ok(Self { text: text.to_owned(), words })
    }

    /// A command word by word.
    pub fn of_words(words: &[String], shell: bool) -> Self {
        let text = words.join(" ");
        let words = if shell { vec![text.clone()] } else { words.to_vec() };
        Self { text, words }
    }
}

fn split(text: &str) -> Result<Vec<String>> {
    match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => Err(CommandError::usage("an empty command")),
        None => Err(CommandError::usage(format!("`{text}` has an unmatched quote"))
            .hint("quote it as you would for a shell, or use --shell")),
    }
}

/// Whether another status than 0 is no failure, as a setting.
pub fn ignoring(failure: bool) -> (String, Value) {
    ("ignore_failure".to_owned(), Value::Switch(failure))
}

/// The point of `process.command` that a command is, with other settings of it.
///
/// # Errors
/// When it can't be a parameter.
pub fn point(command: &Typed, shell: bool, more: Settings) -> Result<PlannedPoint> {
    let Some(entry) = catalogue::builtin(COMMAND)? else {
        return Err(CommandError::bug("process.command is not built in"));
    };
    let words = if shell {
        command.text.clone()
    } else {
        serde_json::to_string(&command.words).map_err(|e| CommandError::bug(e.to_string()))?
    };
    let mut settings = more;
    settings.insert("command".to_owned(), Value::Text(words));
    settings.insert("shell".to_owned(), Value::Switch(shell));
    Ok(PlannedPoint {
        point: Point::new(&entry.description, &settings, 1)?,
        description: entry.description,
        program: entry.program,
        sample_ns: None,
        sampling: None,
        rules: None,
        title: Some(command.text.clone()),
        capped: None,
        preparation: Vec::new(),
    })
}
