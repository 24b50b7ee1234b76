//! The table of fs_mark.
//!
//! `#` begins its remarks: command, version, threads, size; a version begins a run. Each row is a pass (`-L`): share of the
//! filesystem in use, files so far, bytes of a file, files per second, time that fs_mark itself took in µs; with `-v` times of calls
//! follow, which are listed as not read. Its date has no time zone, and is taken as UTC.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use plumb_model::Better::Higher;

use crate::numbers::figure;
use crate::result_file::ResultFile;
use crate::text::{Line, lacks, lines, sections};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// How the heading begins.
pub(crate) const HEAD: &str = "FSUse%";

/// Columns of a row without `-v`.
const COLUMNS: usize = 5;

/// What a run is by default: such settings are not part of its name.
const DEFAULTS: [(&str, &str); 3] =
    [("directories", "no subdirectories used"), ("names", "40"), ("io", "16384")];

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let lines = lines(text);
    let has_command = lines.iter().any(|line| is_command(line.text));
    let begins = |line: &str| {
        if has_command { is_command(line) } else { remark(line).starts_with("Version ") }
    };
    for section in sections(&lines, begins) {
        let run = FsMarkRun::read(section)?;
        if let Some(line) = run.calls {
            found.not_read("times of calls (-v)", Some(line));
        }
        if run.rates.is_empty() {
            let error = lacks(section, Format::FsMark, "row with numbers");
            found.not_read_because(error, section.first().map(|line| line.number))?;
            continue;
        }
        let version = run.version.clone();
        let series = run.series();
        found.import(Format::FsMark, version, run.started_unix_ns, BTreeMap::new()).add(series);
    }
    Ok(())
}

/// A remark without its sign; empty if the line is none.
fn remark(line: &str) -> &str {
    line.strip_prefix('#').unwrap_or_default().trim()
}

/// `#  fs_mark  -d  /srv  -n  200`: the first line of a run.
fn is_command(line: &str) -> bool {
    remark(line).split_whitespace().next().is_some_and(|word| word.ends_with("fs_mark"))
}

/// A run as its lines give it.
#[derive(Default)]
struct FsMarkRun {
    version: Option<String>,
    started_unix_ns: Option<i64>,
    settings: Vec<(&'static str, String)>,
    /// Files per second of each pass.
    rates: Vec<f64>,
    /// The first line with times of calls.
    calls: Option<usize>,
}

impl FsMarkRun {
    fn read(section: &[Line<'_>]) -> Result<Self, ImportError> {
        let mut run = Self::default();
        let mut in_table = false;
        let mut columns = None;
        for line in section {
            let words = line.text.split_whitespace().count();
            if line.text.starts_with(HEAD) {
                in_table = true;
            } else if line.text.starts_with('#') {
                run.remark(remark(line.text));
            } else if in_table && is_row(line.text) {
                let is_same = words == *columns.get_or_insert(words);
                if is_same || !line.is_ended {
                    let rate = rate(line.text).filter(|_| is_same);
                    run.rates.push(rate.ok_or_else(|| line.lacks_numbers(Format::FsMark))?);
                } else {
                    in_table = false;
                }
                if is_same && words > COLUMNS {
                    run.calls.get_or_insert(line.number);
                }
            } else if columns.is_some() {
                // Output of another tool may follow.
                in_table = false;
            }
        }
        Ok(run)
    }

    /// Reads a line before the table.
    fn remark(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Version ") {
            let (version, rest) = rest.split_once(',').unwrap_or((rest, ""));
            self.version = Some(version.to_owned());
            self.set("threads", rest.split_whitespace().next().unwrap_or_default());
            self.started_unix_ns = rest.split_once(" at ").and_then(|(_, date)| started(date));
        } else if let Some(rest) = line.strip_prefix("Files info: size ") {
            self.set("size", rest.split_whitespace().next().unwrap_or_default());
            let io = rest.split_once("IO size of ").map_or("", |(_, io)| io);
            self.set("io", io.split_whitespace().next().unwrap_or_default());
        } else if let Some(rest) = line.strip_prefix("Sync method: ") {
            self.set("sync", rest.split(':').next().unwrap_or_default());
        } else if let Some(rest) = line.strip_prefix("Directories: ") {
            self.set("directories", rest.trim());
        } else if let Some(rest) = line.strip_prefix("File names: ") {
            self.set("names", rest.split_whitespace().next().unwrap_or_default());
        } else if is_command(&format!("#{line}")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let files =
                words.iter().position(|word| *word == "-n").and_then(|at| words.get(at + 1));
            self.set("files", files.copied().unwrap_or_default());
        }
    }

    fn set(&mut self, name: &'static str, value: &str) {
        if !value.is_empty() && !DEFAULTS.contains(&(name, value)) {
            self.settings.push((name, value.to_owned()));
        }
    }

    fn series(&self) -> ImportedSeries {
        let mut series = ImportedSeries::new("fs_mark.create", "creates files");
        for (name, value) in &self.settings {
            series.set(name, value.as_str());
        }
        for rate in &self.rates {
            series.invocations.push(ImportedInvocation::by_rate(*rate, 1000.0));
            series.measured(("rate", "files/s", Higher), "files created per second", [*rate]);
        }
        series.notes.push(crate::import::BY_RATE.to_owned());
        series
    }
}

/// `Mon Nov 23 21:23:15 2026`, in nanoseconds since 1970.
fn started(date: &str) -> Option<i64> {
    let date = DateTime::strptime("%a %b %d %H:%M:%S %Y", date.trim()).ok()?;
    i64::try_from(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond()).ok()
}

fn is_row(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.len() > 1 && words.iter().all(|word| word.parse::<f64>().is_ok())
}

/// Files per second of a row; None if it is cut off.
fn rate(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.len() < COLUMNS { None } else { figure(words[3]) }
}
