//! A command that is timed, as a point of the workload behind `exec`.

use std::collections::BTreeMap;

use plumb_model::{Parameter, ParameterType, PlannedPoint, Point, Settings, Value};

use crate::error::{CommandError, Result};
use crate::planning::catalogue;

/// The workload behind `exec`.
pub const COMMAND: &str = "process.command";

/// A command: what people typed, and its words (one word for a shell).
pub struct TypedCommand {
    text: String,
    words: Vec<String>,
}

impl TypedCommand {
    /// A command in one argument.
    ///
    /// # Errors
    /// When it is empty or a quote has no partner.
    pub fn new(text: &str, shell: bool) -> Result<Self> {
        let words = if shell { vec![text.to_owned()] } else { split(text)? };
        Ok(Self { text: text.to_owned(), words })
    }

    /// The program that it starts; the whole text of a command for a shell.
    pub fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// What people typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A command word by word.
    pub fn of_words(words: &[String], shell: bool) -> Self {
        let text = words.join(" ");
        let words = if shell { vec![text.clone()] } else { words.to_vec() };
        Self { text, words }
    }
}

/// How a value of a parameter is asked for in a command: `{threads}`.
pub fn placeholder(name: &str) -> String {
    format!("{{{name}}}")
}

/// Whether a text asks for a value.
pub fn asks_for(text: &str, name: &str) -> bool {
    text.contains(&placeholder(name))
}

/// The parameters that a command's own values make; integers where all values are.
pub fn parameters(sets: &BTreeMap<String, Vec<Value>>) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for (name, values) in sets {
        let are_integers = values.iter().all(|value| value.to_string().parse::<u64>().is_ok());
        let (kind, default) = if are_integers {
            (ParameterType::Integer, Value::Integer(0))
        } else {
            (ParameterType::Text, Value::Text(String::new()))
        };
        parameters.push(Parameter::new(
            name.clone(),
            kind,
            default,
            format!("replaces {} in the command", placeholder(name)),
        ));
    }
    parameters
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

/// What reports call a point of `process.command` in a suite: its command, as people would type it. None for other points,
/// and if the command is the default.
pub fn title(point: &Point) -> Option<String> {
    let command = point.settings.get("command").filter(|_| point.workload == COMMAND)?;
    if !point.key.contains("command=") {
        return None;
    }
    let text = command.to_string();
    let words: Vec<String> = serde_json::from_str(&text).ok()?;
    shlex::try_join(words.iter().map(String::as_str)).ok()
}

/// The point of `process.command` that a command is, with other settings of it, those of its `own` parameters
/// among them.
///
/// # Errors
/// When it can't be a parameter, or one has the name of a parameter that there is.
pub fn point(
    command: &TypedCommand,
    shell: bool,
    more: Settings,
    own: &[Parameter],
) -> Result<PlannedPoint> {
    let Some(mut entry) = catalogue::builtin(COMMAND)? else {
        return Err(CommandError::bug("process.command is not built in"));
    };
    if let Some(taken) = own.iter().find(|own| entry.description.parameter(&own.name).is_some()) {
        let name = &taken.name;
        return Err(CommandError::usage(format!("`{name}` is a parameter of {COMMAND} itself"))
            .hint("choose another name for the values"));
    }
    entry.description.parameters.extend_from_slice(own);
    let mut title = command.text.clone();
    for parameter in own {
        if let Some(value) = more.get(&parameter.name) {
            title = title.replace(&placeholder(&parameter.name), &value.to_string());
        }
    }
    let words = if shell {
        command.text.clone()
    } else {
        serde_json::to_string(&command.words).map_err(|e| CommandError::bug(e.to_string()))?
    };
    let mut settings = more;
    settings.insert("command".to_owned(), Value::Text(words));
    settings.insert("shell".to_owned(), Value::Switch(shell));
    let point = Point::new(&entry.description, &settings, 1)?;
    let planned = PlannedPoint::new(point, entry.description, entry.program);
    Ok(PlannedPoint { title: Some(title), ..planned })
}
