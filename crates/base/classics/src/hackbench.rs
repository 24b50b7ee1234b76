//! hackbench's lines.
//!
//! Every `Time:` is its own run, in its own process; the lines above it say of what. Whether
//! messages went through sockets or pipes is not among them.

use plumb_model::Better::Lower;
use plumb_model::SampleIs;

use crate::numbers::positive;
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// Digits after the point of a time.
const DECIMALS: usize = 3;

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let mut import = Import::new(Format::Hackbench);
    let mut settings = HackbenchSettings::default();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Running in ") {
            settings = HackbenchSettings::tasks(line).ok_or_else(|| wrong(line))?;
        } else if line.starts_with("Each sender ") {
            settings.messages(line).ok_or_else(|| wrong(line))?;
        } else if let Some(time) = line.strip_prefix("Time: ") {
            let seconds = seconds(time).ok_or_else(|| wrong(line))?;
            add(&mut import, &settings, seconds);
        }
    }
    if import.series.is_empty() {
        return Err(ImportError::damaged(Format::Hackbench, "no `Time:` line"));
    }
    Ok(vec![import])
}

fn wrong(line: &str) -> ImportError {
    ImportError::damaged(Format::Hackbench, format!("numbers are missing in `{line}`"))
}

/// A time with all its digits: one with fewer was cut off.
fn seconds(time: &str) -> Option<f64> {
    let whole = time.split_once('.').is_some_and(|(_, digits)| digits.len() == DECIMALS);
    positive(time).filter(|_| whole)
}

/// What runs, as the lines above a time give it.
#[derive(Clone, PartialEq, Default)]
struct HackbenchSettings(Vec<(&'static str, String)>);

impl HackbenchSettings {
    /// `Running in process mode with 1 groups using 40 file descriptors each (== 40 tasks)`.
    fn tasks(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mode = if words.get(2) == Some(&"process") { "process" } else { "thread" };
        // The line counts both ends of each connection, `-f` one.
        let fds = number_before(&words, "file")? / 2;
        let groups = number_before(&words, "groups")?;
        Some(Self(vec![
            ("mode", mode.to_owned()),
            ("groups", groups.to_string()),
            ("fds", fds.to_string()),
        ]))
    }

    /// `Each sender will pass 1000 messages of 100 bytes`.
    fn messages(&mut self, line: &str) -> Option<()> {
        let rest = line.strip_prefix("Each sender will pass ")?.strip_suffix(" bytes")?;
        let (loops, bytes) = rest.split_once(" messages of ")?;
        self.0.retain(|(name, _)| *name != "loops" && *name != "bytes");
        self.0.push(("loops", loops.parse::<u64>().ok()?.to_string()));
        self.0.push(("bytes", bytes.parse::<u64>().ok()?.to_string()));
        Some(())
    }
}

/// The number that stands right before a word.
fn number_before(words: &[&str], word: &str) -> Option<u64> {
    let place = words.iter().position(|other| *other == word)?;
    words.get(place.checked_sub(1)?)?.parse().ok()
}

/// A run more of these settings.
fn add(import: &mut Import, settings: &HackbenchSettings, seconds: f64) {
    let mut series =
        ImportedSeries::new("hackbench.messaging", "groups of tasks exchange messages");
    settings.0.iter().for_each(|(name, value)| series.set(name, value.as_str()));
    series.sample_is = SampleIs::Process;
    let known = import.series.iter_mut().find(|known| known.settings == series.settings);
    if let Some(known) = known {
        add_time(known, seconds);
    } else {
        add_time(&mut series, seconds);
        import.series.push(series);
    }
}

/// Another process of a series. The metric is declared again: [`ImportedSeries::measured`] adds to the last invocation.
fn add_time(series: &mut ImportedSeries, seconds: f64) {
    series.invocations.push(ImportedInvocation::lasting(seconds, 1));
    series.metrics.clear();
    series.measured(
        ("time", "s", Lower),
        "time from the start signal until the last task has been reaped",
        [seconds],
    );
}
