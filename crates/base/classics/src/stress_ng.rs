//! The metrics of stress-ng (`--metrics`, `--metrics-brief`).
//!
//! A row has the stressor, its bogus operations, real, user and system time in s, and operations per second of the real and
//! of the CPU time; newer versions add columns, and below the table further metrics of some stressors, which are listed as not
//! read. A line says whether the run was successful: the last one, or in old versions one above the table.

use plumb_model::Better::Higher;
use plumb_model::SampleIs;

use crate::numbers::{count, figure};
use crate::result_file::ResultFile;
use crate::text::{Line, lines};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// How every line begins.
pub(crate) const HEAD: &str = "stress-ng: ";

/// What the line at the end of a run has.
const END: &str = "run completed in ";

/// How the line begins that names the stressors of a run.
const DISPATCHED: &str = "dispatching hogs: ";

/// How the lines below the heading of the table begin.
const UNITS: &str = "(secs)";

/// Figures of a row behind the name, at least.
const FIGURES: usize = 6;

/// A run as far as it was read.
#[derive(Default)]
struct StressNgRun<'a> {
    /// The number of processes of each stressor, as `dispatching hogs` gives it.
    instances: Vec<(&'a str, &'a str)>,
    rows: Vec<StressNgRow<'a>>,
    in_table: bool,
    in_others: bool,
    /// The end of the run, if it stands above the table.
    end: Option<&'a str>,
    /// Stressors that were skipped or failed, with what stress-ng says of them.
    failures: Vec<(&'a str, String)>,
}

struct StressNgRow<'a> {
    stressor: &'a str,
    operations: f64,
    seconds: f64,
    rate: f64,
}

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let lines = lines(text);
    let mut run = StressNgRun::default();
    let mut started = false;
    for line in &lines {
        let Some((head, said)) =
            line.text.strip_prefix(HEAD).and_then(|rest| rest.split_once("] "))
        else {
            continue;
        };
        // `--verbose` prints these anywhere. A time may stand in front of the level.
        if head.contains("debug:") {
            continue;
        }
        let said = said.trim();
        if said.starts_with(DISPATCHED) && run.end.is_some() {
            std::mem::take(&mut run).finish(found);
        }
        started = true;
        if !said.contains(END) {
            run.read(line, head, said, found)?;
            continue;
        }
        if run.end.is_some() && run.rows.is_empty() {
            std::mem::take(&mut run).finish(found);
        }
        run.end = Some(said);
        if !run.rows.is_empty() || !run.failures.is_empty() {
            std::mem::take(&mut run).finish(found);
            started = false;
        }
    }
    if run.end.is_some() {
        run.finish(found);
    } else if started {
        return Err(ImportError::damaged(Format::StressNg, "the end of the run is missing"));
    }
    if found.imports.is_empty() && found.not_read.is_empty() {
        let why = "no table of metrics (run stress-ng with --metrics)";
        return Err(ImportError::unsupported(Format::StressNg, why));
    }
    Ok(())
}

impl<'a> StressNgRun<'a> {
    fn read(
        &mut self,
        line: &Line<'a>,
        head: &str,
        said: &'a str,
        found: &mut ResultFile,
    ) -> Result<(), ImportError> {
        if let Some(hogs) = said.strip_prefix(DISPATCHED) {
            let hogs = hogs.split(',').filter_map(|hog| hog.trim().split_once(' '));
            self.instances = hogs.map(|(count, name)| (name, count)).collect();
        } else if said.starts_with(UNITS) {
            self.in_table = true;
        } else if said.starts_with("miscellaneous metrics") {
            self.in_table = false;
            self.in_others = true;
        } else if head.contains("info:") && is_summary(said) {
            self.in_table = false;
            self.in_others = false;
            self.note_failures(said);
        } else if self.in_others {
            found.not_read("a miscellaneous metric of stress-ng", Some(line.number));
        } else if self.in_table {
            match row(said) {
                Some(row) => self.rows.push(row),
                // Newer versions print other lines of information below the table.
                None if !line.is_last && !looks_like_row(said) => {}
                None => return Err(line.lacks_numbers(Format::StressNg)),
            }
        }
        Ok(())
    }

    /// `skipped: 1: rdrand (1)` or `failed: 2: vm (2)`.
    fn note_failures(&mut self, said: &'a str) {
        for word in ["skipped", "failed"] {
            let Some(rest) = said.strip_prefix(word).and_then(|rest| rest.strip_prefix(": "))
            else {
                continue;
            };
            let Some((_, names)) = rest.split_once(": ") else { continue };
            let names = names.split_whitespace().filter(|name| !name.starts_with('('));
            self.failures.extend(names.map(|name| (name, format!("stress-ng {word} it"))));
        }
    }

    /// What stress-ng says of a stressor that was skipped or failed.
    fn failure(&self, stressor: &str) -> Option<String> {
        self.failures.iter().find(|(name, _)| *name == stressor).map(|(_, why)| why.clone())
    }

    /// Takes over the rows of a run that has ended.
    fn finish(self, found: &mut ResultFile) {
        let end = self.end.unwrap_or_default();
        let import = found.plain_import(Format::StressNg);
        let unsuccessful = end.contains("unsuccessful");
        for row in &self.rows {
            let mut series = self.series(row.stressor);
            let failed = self.failure(row.stressor).or_else(|| {
                // If stress-ng does not say which stressors failed, it may be any.
                (unsuccessful && self.failures.is_empty())
                    .then(|| format!("stress-ng reports `{end}`"))
            });
            series.invocations.push(ImportedInvocation {
                failed,
                ..ImportedInvocation::lasting(row.seconds, count(row.operations))
            });
            let summary = "bogus operations per second of real time";
            series.measured(("rate", "ops/s", Higher), summary, [row.rate]);
            import.add(series);
        }
        for (name, why) in &self.failures {
            if self.rows.iter().all(|row| row.stressor != *name) {
                let mut series = self.series(name);
                series.fail(why.clone());
                import.add(series);
            }
        }
        if self.rows.is_empty() && self.failures.is_empty() {
            found.not_read(format!("a run without metrics (`{end}`)"), None);
        }
    }

    fn series(&self, stressor: &str) -> ImportedSeries {
        let mut series = ImportedSeries::new("stressng.stressor", "bogus operations of a stressor");
        series.sample_is = SampleIs::Process;
        series.set("stressor", stressor);
        let dispatched = self.instances.iter().find(|(name, _)| *name == stressor);
        // One instance is the usual test of one CPU; the name of its point is that of older imports.
        let instances = dispatched.map_or("", |(_, count)| *count);
        series.set("instances", if instances == "1" { "" } else { instances });
        series.notes.push("the method of the stressor is unknown".to_owned());
        let summary = "bogus operations per second of real time";
        series.declare(("rate", "ops/s", Higher), summary);
        series
    }
}

/// Whether a line stands below the tables: `passed: 4: cpu (4)`, `for a 60.14s run time:`.
fn is_summary(said: &str) -> bool {
    ["skipped:", "passed:", "failed:", "metrics untrustworthy:", "for a "]
        .iter()
        .any(|start| said.starts_with(start))
}

/// Whether a line has a name and then a number.
fn looks_like_row(said: &str) -> bool {
    said.split_whitespace().nth(1).is_some_and(|word| figure(word).is_some())
}

fn row(said: &str) -> Option<StressNgRow<'_>> {
    let words: Vec<&str> = said.split_whitespace().collect();
    let (name, figures) = words.split_first()?;
    let numbers: Vec<f64> = figures.iter().map_while(|word| figure(word)).collect();
    if numbers.len() < FIGURES || !figures.get(FIGURES - 1)?.contains('.') {
        return None;
    }
    Some(StressNgRow {
        stressor: name,
        operations: numbers[0],
        seconds: numbers[1],
        rate: numbers[4],
    })
}
