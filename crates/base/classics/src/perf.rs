//! `perf bench` in its default format.
//!
//! A benchmark begins with a line that names it, and has a total time; if it repeats one operation,
//! it also says how long one takes, with more digits than the total has. Remarks say what ran: groups, tasks, processes or threads.
//! Benchmarks without a total time, such as those of memory, are listed as not read.

use plumb_model::Better::Lower;
use plumb_model::SampleIs;

use crate::numbers::{count, figure};
use crate::result_file::ResultFile;
use crate::text::{Line, lines};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// How the line begins that names a benchmark: `# Running 'sched/pipe' benchmark:`; without quotes in old versions.
const HEAD: &str = "# Running ";
/// Digits after the point of a time an operation, and of a total.
const DECIMALS: [usize; 2] = [6, 3];

const TIME: (&str, &str, plumb_model::Better) = ("time", "s", Lower);

/// One benchmark as far as it was read.
struct PerfBench {
    name: String,
    line: usize,
    settings: Vec<(&'static str, String)>,
    total_s: Option<f64>,
    operation_s: Option<f64>,
    /// Whether it has a figure of another kind.
    has_other_figure: bool,
}

pub(crate) fn fits(line: &str) -> bool {
    line.trim_start().strip_prefix(HEAD).is_some_and(|rest| name(rest).is_some())
}

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let mut open: Option<PerfBench> = None;
    for line in lines(text) {
        if let Some(rest) = line.text.strip_prefix(HEAD) {
            if let Some(bench) = open.take() {
                bench.finish(found);
            }
            let name = name(rest).ok_or_else(|| line.lacks_numbers(Format::Perf))?;
            open = Some(PerfBench::new(name, line.number));
            continue;
        }
        // What follows a result without a name of its own is not part of that result.
        if let Some(bench) = open.take_if(|bench| bench.is_ended_by(line.text)) {
            bench.finish(found);
            open = Some(PerfBench::new("", line.number));
        }
        if let Some(bench) = &mut open {
            bench.read(line)?;
        }
    }
    let Some(bench) = open else {
        return Err(ImportError::unsupported(Format::Perf, "no line that names a benchmark"));
    };
    if let Some(what) = bench.lacks().filter(|_| !bench.name.is_empty()) {
        let why = format!("`{}` has no {what}", bench.name);
        return Err(ImportError::damaged(Format::Perf, why));
    }
    bench.finish(found);
    Ok(())
}

/// `'sched/pipe' benchmark:` or `sched/pipe benchmark...`.
fn name(rest: &str) -> Option<&str> {
    let (name, end) = rest.split_once(" benchmark")?;
    [":", "..."].contains(&end).then(|| name.trim_matches('\''))
}

/// A figure with so many digits after the point: one with fewer was cut off.
fn whole_figure(text: &str, decimals: usize) -> Option<f64> {
    let text = text.trim();
    let whole = text.split_once('.').is_some_and(|(_, digits)| digits.len() == decimals);
    figure(text).filter(|_| whole)
}

impl PerfBench {
    fn new(name: &str, line: usize) -> Self {
        Self {
            name: name.to_owned(),
            line,
            settings: Vec::new(),
            total_s: None,
            operation_s: None,
            has_other_figure: false,
        }
    }

    /// Whether a line belongs to another benchmark: remarks stand above figures, of which there is one of a kind.
    fn is_ended_by(&self, line: &str) -> bool {
        let has_figure = self.total_s.is_some() || self.has_other_figure;
        (line.starts_with('#') && has_figure)
            // Benchmarks of memory have no total time.
            || (line.starts_with("Total time:") && (has_figure || self.name.starts_with("mem/")))
            || (line.ends_with("usecs/op") && self.operation_s.is_some())
    }

    fn read(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        if let Some(remark) = line.text.strip_prefix('#') {
            self.remark(remark);
        } else if let Some(rest) = line.text.strip_prefix("Total time:") {
            let total = rest.strip_suffix("[sec]").and_then(|text| whole_figure(text, DECIMALS[1]));
            self.total_s = Some(total.ok_or_else(|| line.lacks_numbers(Format::Perf))?);
        } else if let Some(rest) = line.text.strip_suffix("usecs/op") {
            self.operation_s = Some(
                whole_figure(rest, DECIMALS[0]).ok_or_else(|| line.lacks_numbers(Format::Perf))?
                    * 1e-6,
            );
        } else if line.text.contains("/sec") || line.text.ends_with("sec]") {
            self.has_other_figure = true;
        }
        Ok(())
    }

    /// `20 sender and receiver processes per group`, `1 groups == 40 processes run`,
    /// `Executed 20000 pipe operations between two processes`.
    fn remark(&mut self, remark: &str) {
        let words: Vec<&str> = remark.split_whitespace().collect();
        let mut set =
            |name: &'static str, value: &str| self.settings.push((name, value.to_owned()));
        match words.as_slice() {
            [pairs, "sender", "and", "receiver", tasks, "per", "group"] => {
                set("pairs", pairs);
                set("tasks", tasks);
            }
            [groups, "groups", "==", ..] => set("groups", groups),
            ["Executed", operations, _, "operations", "between", "two", tasks] => {
                set("operations", operations);
                set("tasks", tasks);
            }
            _ => {}
        }
    }

    /// What a whole benchmark of this name has, and this one lacks.
    fn lacks(&self) -> Option<&'static str> {
        let repeats = self.name.starts_with("syscall/") || self.name == "sched/pipe";
        match self.total_s {
            None if !self.has_other_figure => Some("total time"),
            Some(_) if repeats && self.operation_s.is_none() => Some("time of an operation"),
            _ => None,
        }
    }

    /// Takes over the result of a benchmark that is whole.
    fn finish(self, found: &mut ResultFile) {
        if self.name.is_empty() {
            if self.total_s.is_some() || self.operation_s.is_some() {
                found.not_read("a benchmark without its name", Some(self.line));
            }
            return;
        }
        let id: String = self
            .name
            .chars()
            .take(48)
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let mut series = ImportedSeries::new(
            format!("perf.{}", id.to_ascii_lowercase()),
            "a test of perf bench",
        );
        series.sample_is = SampleIs::Process;
        for (name, value) in &self.settings {
            series.set(name, value.as_str());
        }
        let (Some(total_s), None) = (self.total_s, self.lacks()) else {
            let name: String = self.name.chars().take(48).collect();
            let what = self.lacks().unwrap_or("total time");
            found.not_read(format!("`{name}`, which has no {what}"), Some(self.line));
            return;
        };
        let (time_s, summary) = match self.operation_s {
            Some(operation_s) => (operation_s, "one operation"),
            None => (total_s, "the whole test"),
        };
        let operations = if time_s > 0.0 { total_s / time_s } else { 1.0 };
        series.invocations.push(ImportedInvocation::lasting(total_s, count(operations)));
        series.measured(TIME, summary, [time_s]);
        found.plain_import(Format::Perf).add(series);
    }
}
