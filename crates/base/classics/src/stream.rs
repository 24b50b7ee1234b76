//! The table of STREAM (5.x).
//!
//! Above it stand the elements of an array, their bytes and the threads; each row is a loop: MB/s (10⁶) of its best pass,
//! then average, shortest and longest time in s. The last line says whether the arrays are right. A heading with the version begins
//! each run.

use std::collections::BTreeMap;

use plumb_model::Better::{Higher, Lower};

use crate::numbers::{figure, positive};
use crate::result_file::ResultFile;
use crate::text::{Line, lacks, lines, sections};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// How the heading of the table begins in 5.10, and in older versions.
const HEADS: [&str; 2] = ["Function    Best Rate MB/s", "Function      Rate (MB/s)"];

/// The loops, as the table names them.
const KERNELS: [&str; 4] = ["Copy", "Scale", "Add", "Triad"];

/// Passes that STREAM does by default.
const DEFAULT_PASSES: &str = "10";

pub(crate) fn fits(line: &str) -> bool {
    HEADS.iter().any(|head| line.trim_start().starts_with(head))
}

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let lines = lines(text);
    for lines in sections(&lines, |line| line.starts_with("STREAM version")) {
        StreamRun { lines }.read(found)?;
    }
    Ok(())
}

struct StreamRun<'l, 'a> {
    lines: &'l [Line<'a>],
}

impl<'a> StreamRun<'_, 'a> {
    fn read(&self, found: &mut ResultFile) -> Result<(), ImportError> {
        let verdict = self.lines.iter().find(|line| {
            line.text.starts_with("Solution Validates")
                || line.text.starts_with("Failed Validation")
        });
        let Some(verdict) = verdict else {
            let error = lacks(self.lines, Format::Stream, "line `Solution Validates`");
            return found.not_read_because(error, self.lines.first().map(|line| line.number));
        };
        let failed = verdict.text.starts_with("Failed").then(|| verdict.text.to_owned());
        let version = self.after("STREAM version $Revision: ").map(str::to_owned);
        let import = found.import(Format::Stream, version, None, BTreeMap::new());
        let mut kernels = 0;
        for line in self.lines {
            let Some((name, figures)) = line.text.split_once(':') else { continue };
            let Some(kernel) = KERNELS.into_iter().find(|kernel| *kernel == name) else { continue };
            let numbers: Option<Vec<f64>> = figures.split_whitespace().map(figure).collect();
            let &[rate, mean, shortest, longest] = numbers.unwrap_or_default().as_slice() else {
                return Err(line.lacks_numbers(Format::Stream));
            };
            let mut series = self.series(kernel);
            series.invocations.push(ImportedInvocation {
                failed: failed.clone(),
                ..ImportedInvocation::lasting(shortest, 1)
            });
            series.measured(
                ("bandwidth", "B/s", Higher),
                "bytes per second of the best pass",
                [rate * 1e6],
            );
            series.measured(("time_mean", "s", Lower), "mean time of a pass", [mean]);
            series.measured(("time_max", "s", Lower), "longest time of a pass", [longest]);
            import.add(series);
            kernels += 1;
        }
        if kernels == 0 {
            return Err(lacks(self.lines, Format::Stream, "rows of loops"));
        }
        Ok(())
    }

    /// A loop with the settings of the run.
    fn series(&self, kernel: &str) -> ImportedSeries {
        let elements = self.after("Array size = ").and_then(positive);
        let element_bytes = self.after("This system uses ").and_then(positive);
        let bytes = elements.zip(element_bytes).map(|(elements, bytes)| elements * bytes);
        let mut series =
            ImportedSeries::new("stream.loop", "one loop of STREAM; 8 bytes count for each array");
        series.set("kernel", kernel.to_lowercase());
        series.set("size", bytes.map(|bytes| format!("{bytes:.0}")).unwrap_or_default());
        let counted = self.after("Number of Threads counted = ");
        let threads = counted.or_else(|| self.after("Number of Threads requested = "));
        series.set("threads", threads.unwrap_or("1"));
        // The best of more passes is better. Defaults are left out of the name, as they were before plumb read them.
        let passes =
            self.after("Each kernel will be executed ").or_else(|| self.after("Each test is run "));
        series.set("passes", passes.filter(|passes| *passes != DEFAULT_PASSES).unwrap_or_default());
        let offset = self.after("Offset = ").filter(|offset| *offset != "0");
        series.set("offset", offset.unwrap_or_default());
        series.notes.push("the best pass, excluding the first".to_owned());
        series
    }

    /// The first word after `before`, without the comma that older versions print.
    fn after(&self, before: &str) -> Option<&'a str> {
        let rest = self.lines.iter().find_map(|line| Some(line.text.split_once(before)?.1))?;
        rest.split_whitespace().next().map(|word| word.trim_end_matches(','))
    }
}
