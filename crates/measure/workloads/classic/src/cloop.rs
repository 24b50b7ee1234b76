//! `classic.forkloop` and `classic.wakeuploop`: small programs in C, built with the compiler of this machine.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use plumb_model::{Better, Metric, Parameter, ParameterType};
use plumb_protocol::{Failure, Start, StartError};

use plumb_workload_kit::declare::{bytes, integer, reported, reported_time, within};
use plumb_workload_kit::folder::Folder;

use crate::named::{Named, value_names};
use crate::tool::{Built, Call, Tool};
use crate::version;

/// Which of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CLoop {
    /// Processes made, ended and reaped.
    Fork,
    /// A thread wakes another at moments fixed beforehand.
    Wakeup,
}

impl Tool for CLoop {
    fn named(&self) -> Named {
        let (id, summary, manual) = match self {
            Self::Fork => (
                "classic.forkloop",
                "a loop in C: a process is made, ended and reaped",
                include_str!("forkloop.md"),
            ),
            Self::Wakeup => (
                "classic.wakeuploop",
                "a loop in C: a thread wakes another at a fixed rate",
                include_str!("wakeuploop.md"),
            ),
        };
        let (prints, values) = match self {
            Self::Fork => ("time", const { &value_names("time") }),
            Self::Wakeup => ("latency_p50", const { &value_names("latency_p50") }),
        };
        let (program, package, format) = ("cc", "gcc", None);
        Named { id, summary, manual, program, package, format, prints, values }
    }

    fn metric(&self) -> Metric {
        match self {
            Self::Fork => reported_time("time", "one process made, ended and reaped"),
            Self::Wakeup => {
                let summary = "time from when a wake-up was due until the thread runs, median";
                reported("latency_p50", "s", Better::Lower, summary)
            }
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Fork => vec![
                integer("forks", "forks", 10_000, "processes, one after the other"),
                bytes("resident", 0, "memory that the parent has touched, in pages of base size"),
            ],
            Self::Wakeup => {
                let rate = integer("rate", "wake-ups", 1000, "wake-ups that are due each second");
                vec![
                    integer("wakeups", "wake-ups", 1000, "wake-ups of one process"),
                    Parameter { kind: ParameterType::Rate, ..rate },
                ]
            }
        }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        let text = version::asked(path, &["-dumpfullversion", "-dumpversion"])?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let (source, words) = match self {
            Self::Fork => {
                let forks = within(start, "forks", 1, 1 << 24)?;
                let resident = within(start, "resident", 0, 1 << 30)?;
                (include_str!("forkloop.c"), vec![forks.to_string(), resident.to_string()])
            }
            Self::Wakeup => {
                let wakeups = within(start, "wakeups", 1, 1 << 24)?;
                let rate = within(start, "rate", 1, 1 << 20)?;
                (include_str!("wakeuploop.c"), vec![wakeups.to_string(), rate.to_string()])
            }
        };
        Ok(Call { built: Some(built(start, source)?), ..Call::with(words) })
    }
}

/// Builds a program.
///
/// # Errors
/// With what the compiler says.
fn built(start: &Start, source: &str) -> Result<Built, StartError> {
    let folder = if start.scratch.is_empty() { &start.dir } else { &start.scratch };
    let folder = Folder::create(Path::new(folder), "c")?;
    let (text, path) = (folder.path().join("loop.c"), folder.path().join("loop"));
    fs::write(&text, source).map_err(|e| Failure::io(format!("writing {}", text.display()), &e))?;
    let words = [OsStr::new("-O2"), OsStr::new("-pthread"), OsStr::new("-o"), path.as_os_str()];
    let output = Command::new("cc")
        .args(words)
        .arg(&text)
        // What it writes in between goes with the folder.
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Failure::io("starting cc", &e))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("nothing").to_owned();
        return Err(StartError::Failed(format!("cc could not build the loop: {last}")));
    }
    Ok(Built { path, folder })
}
