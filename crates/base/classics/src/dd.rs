//! The line of dd.
//!
//! `268435456 bytes (268 MB, 256 MiB) copied, 0.123456 s, 2.2 GB/s`: only bytes and seconds are taken, the rate is rounded.
//! Each such line is a process. What was copied, and how, is not among it.

use plumb_model::Better::Higher;
use plumb_model::SampleIs;

use crate::numbers::positive;
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// What stands before the time.
const COPIED: &str = " copied, ";

pub(crate) fn fits(line: &str) -> bool {
    line.contains(COPIED) && line.contains(" byte")
}

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let mut import = Import::new(Format::Dd);
    let mut series = ImportedSeries::new("dd.copy", "copies a file block by block");
    series.sample_is = SampleIs::Process;
    for line in text.lines().map(str::trim).filter(|line| fits(line)) {
        let Some((bytes, seconds)) = figures(line) else {
            return Err(ImportError::damaged(
                Format::Dd,
                format!("numbers are missing in `{line}`"),
            ));
        };
        series.invocations.push(ImportedInvocation::lasting(seconds, 1));
        series.metrics.clear();
        series.measured(("bandwidth", "B/s", Higher), "bytes copied per second", [bytes / seconds]);
    }
    if series.invocations.is_empty() {
        return Err(ImportError::damaged(Format::Dd, "no line with the number of bytes copied"));
    }
    import.series.push(series);
    Ok(vec![import])
}

/// Bytes and seconds of a line that is whole: it ends with a rate.
fn figures(line: &str) -> Option<(f64, f64)> {
    let (before, after) = line.split_once(COPIED)?;
    let bytes = positive(before.split_whitespace().next()?)?;
    let seconds = positive(after.split_whitespace().next()?)?;
    line.ends_with("B/s").then_some((bytes, seconds))
}
