//! hackbench's lines.
//!
//! Every `Time:` is its own run, in its own process; the lines above it say of what. Whether
//! messages went through sockets or pipes is not among them. Old versions print `Running with 10*40 (== 400) tasks.`.

use plumb_model::Better::Lower;
use plumb_model::SampleIs;

use crate::numbers::figure;
use crate::result_file::ResultFile;
use crate::text::lines;
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// Digits after the point of a time.
const DECIMALS: usize = 3;

const TIME: (&str, &str, plumb_model::Better) = ("time", "s", Lower);

/// How the first line of a run begins, in new and in old versions.
const STARTS: [&str; 2] = ["Running in ", "Running with "];

/// What the time is.
const SUMMARY: &str = "time from the start signal until the last task has been reaped";

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let mut open: Option<HackbenchRun> = None;
    for line in lines(text) {
        if STARTS.iter().any(|start| line.text.starts_with(start)) {
            end_without_time(open.take(), found);
            open = Some(
                HackbenchRun::begin(line.text)
                    .ok_or_else(|| line.lacks_numbers(Format::Hackbench))?,
            );
        } else if line.text.starts_with("Each sender ") {
            let run = open.get_or_insert_default();
            run.messages(line.text).ok_or_else(|| line.lacks_numbers(Format::Hackbench))?;
        } else if let Some(time) = line.text.strip_prefix("Time: ") {
            let seconds = seconds(time).ok_or_else(|| line.lacks_numbers(Format::Hackbench))?;
            // A time alone is that of unknown tasks: those of another run are not its.
            let run = open.take().unwrap_or_default();
            let mut series = run.series();
            series.invocations.push(ImportedInvocation {
                failed: run.error,
                ..ImportedInvocation::lasting(seconds, 1)
            });
            series.measured(TIME, SUMMARY, [seconds]);
            found.plain_import(Format::Hackbench).add(series);
        } else if let Some(run) = &mut open
            && is_error(line.text)
        {
            run.error = Some(format!("hackbench reports `{}`", line.text));
        }
    }
    match open {
        // hackbench stops at its first error.
        Some(run) if run.error.is_none() => {
            Err(ImportError::damaged(Format::Hackbench, "the last run has no `Time:` line"))
        }
        open => {
            end_without_time(open, found);
            if found.imports.is_empty() && found.not_read.is_empty() {
                return Err(ImportError::unsupported(Format::Hackbench, "no `Time:` line"));
            }
            Ok(())
        }
    }
}

/// A run without a time failed.
fn end_without_time(run: Option<HackbenchRun>, found: &mut ResultFile) {
    let Some(run) = run else { return };
    let mut series = run.series();
    series.fail(run.error.unwrap_or_else(|| "hackbench printed no time".to_owned()));
    found.plain_import(Format::Hackbench).add(series);
}

/// `SENDER: write (error: Broken pipe)`, `fork() (error: …)`.
fn is_error(line: &str) -> bool {
    line.contains("error:")
}

/// A time with all its digits: one with fewer was cut off.
fn seconds(time: &str) -> Option<f64> {
    let whole = time.split_once('.').is_some_and(|(_, digits)| digits.len() == DECIMALS);
    figure(time).filter(|_| whole)
}

/// What runs, as the lines above a time give it.
#[derive(Default)]
struct HackbenchRun {
    settings: Vec<(&'static str, String)>,
    error: Option<String>,
}

impl HackbenchRun {
    /// `Running in process mode with 1 groups using 40 file descriptors each (== 40 tasks)`.
    fn begin(line: &str) -> Option<Self> {
        let mut run = Self::default();
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(tasks) = line.strip_prefix("Running with ") {
            let (groups, fds) = tasks.split_whitespace().next()?.split_once('*')?;
            run.set("groups", groups.parse::<u64>().ok()?);
            run.set("fds", fds.parse::<u64>().ok()? / 2);
            return Some(run);
        }
        let mode = if words.get(2) == Some(&"process") { "process" } else { "thread" };
        run.settings.push(("mode", mode.to_owned()));
        // The line counts both ends of each connection, `-f` one.
        let fds = number_before(&words, "file")? / 2;
        run.set("groups", number_before(&words, "groups")?);
        run.set("fds", fds);
        Some(run)
    }

    fn set(&mut self, name: &'static str, value: u64) {
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value.to_string()));
    }

    /// `Each sender will pass 1000 messages of 100 bytes`.
    fn messages(&mut self, line: &str) -> Option<()> {
        let rest = line.strip_prefix("Each sender will pass ")?.strip_suffix(" bytes")?;
        let (loops, bytes) = rest.split_once(" messages of ")?;
        self.set("loops", loops.parse().ok()?);
        self.set("bytes", bytes.parse().ok()?);
        Some(())
    }

    /// The test without figures.
    fn series(&self) -> ImportedSeries {
        let mut series =
            ImportedSeries::new("hackbench.messaging", "groups of tasks exchange messages");
        series.sample_is = SampleIs::Process;
        for (name, value) in &self.settings {
            series.set(name, value.as_str());
        }
        series.declare(TIME, SUMMARY);
        series
    }
}

/// The number that stands right before a word.
fn number_before(words: &[&str], word: &str) -> Option<u64> {
    let place = words.iter().position(|other| *other == word)?;
    words.get(place.checked_sub(1)?)?.parse().ok()
}
