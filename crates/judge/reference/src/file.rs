//! The file of a reference: `plumb.reference/1`, in TOML.

use plumb_model::Settings;
use serde::{Deserialize, Serialize};

/// The schema of the file.
pub const SCHEMA: &str = "plumb.reference/1";

/// Hosts from which on a reference stands for all machines of its kind.
const POPULATION: usize = 8;

/// The longest name, in bytes: it is typed, and becomes the name of a file.
const LONGEST_NAME: usize = 64;

/// Figures of one or several machines of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Reference {
    /// The format and its version: [`SCHEMA`].
    pub schema: String,
    /// Lower-case letters, digits, `-` and `.`.
    pub name: String,
    /// One line: whose figures these are.
    pub summary: String,
    /// When they were published, or measured last: `2010-01-19`. Empty if the source does not say.
    #[serde(default)]
    pub date: String,
    /// The page that printed them, or how they were made.
    pub source: String,
    /// What machine they are of.
    pub machine: String,
    /// The fingerprint of its kind, if plumb measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How the machine was prepared, if plumb measured it: runs that are prepared otherwise are not compared with it by
    /// themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepared: Option<String>,
    /// How they were measured: commands as the source prints them.
    #[serde(default)]
    pub method: String,
    /// What a reader must know of all figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The figures, in the order of the source.
    #[serde(rename = "figure")]
    pub figures: Vec<ReferenceFigure>,
}

/// A figure of a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReferenceFigure {
    /// What it is of: `sequential block writes`, or the name of a series.
    pub name: String,
    /// As the source prints it; empty if plumb measured it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub printed: String,
    /// The figure, in `unit`.
    pub value: f64,
    /// An SI base unit, as metrics have it.
    pub unit: String,
    /// How `value` follows from what is printed, if it is more than a change of unit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub recomputed: String,
    /// The workload that may be compared with it; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// The version of the workload that measured it; None if another program did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The metric of that workload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// The settings that a point must have to be compared.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// The command that measures it; empty if `workload` and `settings` say enough.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub measure: String,
    /// How the conditions differ from those of the workload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub differs: String,
    /// Why it cannot be compared with any workload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub not_comparable: String,
    /// A list per host: the median of each of its runs. Empty if the source prints one figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Vec<f64>>,
}

/// Why a file is not a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// It is not TOML, or a field is missing, unknown or of another type.
    #[error("{0}")]
    Toml(String),
    /// It is of another format or version.
    #[error("its schema is `{0}`, but this plumb reads {SCHEMA}")]
    Schema(String),
    /// Its name could not be typed.
    #[error("`{0}` is not a name of a reference: use lower-case letters, digits, `-` and `.`")]
    Name(String),
    /// It has no figure.
    #[error("it has no figures")]
    Empty,
    /// A figure is negative, zero or no number.
    #[error("the figure `{0}` is not a positive number")]
    Value(String),
    /// A figure neither names a workload and a metric nor says why it has none.
    #[error("the figure `{0}` needs a workload and a metric, or not-comparable with the reason")]
    Incomparable(String),
}

/// The error of the reader of TOML on one line, with the line that it is about.
fn of_toml(text: &str, error: &toml::de::Error) -> ReferenceError {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| before.matches('\n').count() + 1);
    ReferenceError::Toml(match line {
        Some(line) => format!("line {line}: {}", error.message()),
        None => error.message().to_owned(),
    })
}

/// Whether a reference may have this name: it becomes the name of a file.
#[must_use]
pub fn is_reference_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.len() <= LONGEST_NAME
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.')
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

impl Reference {
    /// Reads a file.
    ///
    /// # Errors
    /// When it is not a complete reference.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        // The schema first: a later version may have other fields.
        let document: toml::Table = toml::from_str(text).map_err(|error| of_toml(text, &error))?;
        let schema = document.get("schema").and_then(toml::Value::as_str).unwrap_or_default();
        if schema != SCHEMA {
            return Err(ReferenceError::Schema(schema.to_owned()));
        }
        let reference: Self = toml::from_str(text).map_err(|error| of_toml(text, &error))?;
        reference.check()?;
        Ok(reference)
    }

    fn check(&self) -> Result<(), ReferenceError> {
        if !is_reference_name(&self.name) {
            return Err(ReferenceError::Name(self.name.clone()));
        }
        if self.figures.is_empty() {
            return Err(ReferenceError::Empty);
        }
        for figure in &self.figures {
            let has_runs = figure.hosts.iter().all(|runs| !runs.is_empty());
            let mut runs = figure.hosts.iter().flatten();
            if !is_positive(figure.value) || !has_runs || !runs.all(|run| is_positive(*run)) {
                return Err(ReferenceError::Value(figure.name.clone()));
            }
            let is_named = !figure.workload.is_empty() && !figure.metric.is_empty();
            let has_no_reason = figure.not_comparable.is_empty();
            if is_named != has_no_reason {
                return Err(ReferenceError::Incomparable(figure.name.clone()));
            }
        }
        Ok(())
    }

    /// The file's text.
    ///
    /// # Errors
    /// When a value cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String, ReferenceError> {
        toml::to_string(self).map_err(|error| ReferenceError::Toml(error.to_string()))
    }

    /// The most hosts that one of its figures is of.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.figures.iter().map(|figure| figure.hosts.len()).max().unwrap_or(0)
    }

    /// Whether it is of enough hosts to stand for all machines of its kind.
    #[must_use]
    pub fn is_population(&self) -> bool {
        self.hosts() >= POPULATION
    }
}

impl ReferenceFigure {
    /// Whether a point of this workload may be compared with it. `wanted` are its own settings as points have them.
    #[must_use]
    pub fn is_of(
        &self,
        workload: &str,
        version: u32,
        wanted: &Settings,
        settings: &Settings,
    ) -> bool {
        self.workload == workload
            && self.version.is_none_or(|of_figure| of_figure == version)
            && wanted.iter().all(|(name, value)| settings.get(name) == Some(value))
    }

    /// The lowest and the highest run of all hosts; None for a single figure.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        let mut runs: Vec<f64> = self.hosts.iter().flatten().copied().collect();
        runs.sort_by(f64::total_cmp);
        match runs.as_slice() {
            [lowest, .., highest] => Some((*lowest, *highest)),
            [] | [_] => None,
        }
    }
}
