//! The line of dd: GNU's and busybox's, and that of BSD.
//!
//! `268435456 bytes (268 MB, 256 MiB) copied, 0.123456 s, 2.2 GB/s`: only bytes and seconds are taken, the rate is rounded.
//! Each such line is a process. `status=progress` prints the same line while dd works, each over the last by a carriage return, and
//! the result after the counts of records. What was copied, and how, is not among it.

use plumb_model::Better::Higher;
use plumb_model::SampleIs;

use crate::numbers::figure;
use crate::result_file::ResultFile;
use crate::text::{Line, lines};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// What stands before the time.
const COPIED: &str = " copied, ";
/// What BSD prints in its place.
const TRANSFERRED: &str = " bytes transferred in ";

pub(crate) fn fits(line: &str) -> bool {
    (line.contains(COPIED) && line.contains(" byte")) || line.contains(TRANSFERRED)
}

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let lines = lines(text);
    let has_records = lines.iter().any(|line| is_records(line.text));
    // Without the counts of records a line is progress if another was printed over it.
    let mut is_result = !has_records;
    let mut error = None;
    let mut progress = None;
    for line in &lines {
        if is_records(line.text) {
            is_result = true;
        } else if let Some(why) = line.text.strip_prefix("dd: ") {
            error = Some(format!("dd reports `{why}`"));
        } else if fits(line.text) && is_result && !is_progress(line, has_records) {
            read_line(*line, error.take(), found)?;
            is_result = !has_records;
            progress = None;
        } else if fits(line.text) {
            progress = Some(*line);
        }
    }
    if let Some(line) = progress {
        let why = "progress without the result that dd prints at its end";
        if found.imports.is_empty() {
            return Err(ImportError::damaged(Format::Dd, why));
        }
        found.not_read(why, Some(line.number));
    }
    if found.imports.is_empty() && found.not_read.is_empty() {
        let why = "no line in English with the number of bytes copied";
        return Err(ImportError::unsupported(Format::Dd, why));
    }
    Ok(())
}

/// Whether a line was printed over another one; or, at the end of a file without counts of records, would have been: progress has
/// whole seconds.
fn is_progress(line: &Line<'_>, has_records: bool) -> bool {
    let is_open = !line.is_ended && !has_records;
    line.text.contains('\r')
        || (is_open && DdCopy::read(line.text).is_some_and(|copy| copy.seconds.fract() == 0.0))
}

/// `4096+0 records out`.
fn is_records(line: &str) -> bool {
    line.ends_with(" records out") || line.ends_with(" record out")
}

fn read_line(line: Line, error: Option<String>, found: &mut ResultFile) -> Result<(), ImportError> {
    let Some(copy) = DdCopy::read(line.text) else {
        return Err(line.lacks_numbers(Format::Dd));
    };
    let mut series = ImportedSeries::new("dd.copy", "copies a file block by block");
    series.set("bytes", copy.bytes.to_string());
    series.sample_is = SampleIs::Process;
    let bandwidth = ("bandwidth", "B/s", Higher);
    series.declare(bandwidth, "bytes copied per second");
    if copy.seconds <= 0.0 {
        // GNU dd prints `Infinity B/s`.
        found.not_read("a copy in 0 s, which has no rate", Some(line.number));
        return Ok(());
    }
    series
        .invocations
        .push(ImportedInvocation { failed: error, ..ImportedInvocation::lasting(copy.seconds, 1) });
    series.measured(bandwidth, "bytes copied per second", [copy.bytes / copy.seconds]);
    found.plain_import(Format::Dd).add(series);
    Ok(())
}

/// What a line says.
struct DdCopy {
    bytes: f64,
    seconds: f64,
}

impl DdCopy {
    /// Of a line that is whole: it ends with a rate.
    fn read(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(COPIED).or_else(|| line.split_once(TRANSFERRED))?;
        let is_whole = line.ends_with("B/s") || line.ends_with("bytes/sec)");
        let copy = Self {
            bytes: figure(before.split_whitespace().next()?)?,
            seconds: figure(after.split_whitespace().next()?)?,
        };
        is_whole.then_some(copy)
    }
}
