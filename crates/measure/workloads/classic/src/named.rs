//! A tool's name and format, whatever its settings.

use plumb_classics::Format;
use plumb_protocol::StartError;
use plumb_workload_kit::spawn::VALUES_OF_TOOLS;

/// What does not depend on a setting.
pub(crate) struct ToolNames {
    /// The workload's id.
    pub id: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// The manual page of the workload, in Markdown.
    pub manual: &'static str,
    /// The file that is started.
    pub program: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// The form of what it prints; None for a number alone.
    pub format: Option<Format>,
    /// What the reader of that form calls its figure.
    pub prints: &'static str,
    /// The names of what every sample reports: see [`value_names`].
    pub values: &'static [&'static str],
}

impl ToolNames {
    /// The command that installs it.
    pub(crate) fn fix(&self) -> String {
        format!("apt install {}", self.package)
    }

    /// Why it can't run if it is missing.
    pub(crate) fn missing(&self) -> StartError {
        StartError::unsupported(format!("{} is not installed", self.program), self.fix())
    }
}

/// What `wait4` tells of the process, then the tool's own figure.
pub(crate) const fn value_names(metric: &'static str) -> [&'static str; VALUES_OF_TOOLS + 1] {
    ["user", "system", "cpu", "peak_memory", metric]
}
