//! The metrics of stress-ng (`--metrics`, `--metrics-brief`).
//!
//! A row has the stressor, its bogus operations, real, user and system time in s, and operations per second of the real and
//! of the CPU time; newer versions add columns. The last line says whether the run was successful.

use plumb_model::Better::Higher;
use plumb_model::SampleIs;

use crate::numbers::{count, positive};
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// How every line begins.
pub(crate) const HEAD: &str = "stress-ng: ";

/// What the last line has.
const END: &str = "run completed in ";

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let mut import = Import::new(Format::StressNg);
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix(HEAD));
    let mut end = None;
    for line in lines {
        let Some((_, said)) = line.split_once("] ") else { continue };
        let words: Vec<&str> = said.split_whitespace().collect();
        if said.contains(END) {
            end = Some(said);
        } else if let [name, operations, rest @ ..] = words.as_slice()
            && let Some(operations) = positive(operations)
        {
            let seconds = rest.first().and_then(|word| positive(word));
            let rate = rest.get(3).and_then(|word| positive(word));
            let (Some(seconds), Some(rate)) = (seconds, rate) else {
                return Err(damaged(format!("numbers are missing in the row of `{name}`")));
            };
            import.series.push(series(name, operations, seconds, rate));
        }
    }
    match end {
        None => Err(damaged("the end of the run is missing".to_owned())),
        Some(said) if said.contains("unsuccessful") => Err(damaged(format!("it reports `{said}`"))),
        Some(_) => Ok(vec![import]),
    }
}

fn damaged(why: String) -> ImportError {
    ImportError::damaged(Format::StressNg, why)
}

fn series(stressor: &str, operations: f64, seconds: f64, rate: f64) -> ImportedSeries {
    let mut series = ImportedSeries::new("stressng.stressor", "bogus operations of a stressor");
    series.sample_is = SampleIs::Process;
    series.set("stressor", stressor);
    series.notes.push("the method and the number of processes are unknown".to_owned());
    series.invocations.push(ImportedInvocation::lasting(seconds, count(operations)));
    let summary = "bogus operations per second of real time";
    series.measured(("rate", "ops/s", Higher), summary, [rate]);
    series
}
