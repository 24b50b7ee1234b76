//! Go's benchmark format, which benchstat compares.
//!
//! The unit of inference is the process, so a line is one invocation with its median; benchstat's ±
//! and p value then rest on processes. Runs are compared from a file each (`benchstat old new`), or
//! from one file with `benchstat -col run`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plumb_model::Better;
use plumb_text::clean;
use plumb_text::csv::number;

use crate::entry::{Export, ExportedContent, Holds};
use plumb_report::run::{ResultRow, View};

pub(super) const GO_BENCH: Export = Export {
    name: "go-bench",
    extension: "txt",
    summary: "Go's benchmark format, one line per process, for benchstat",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: |runs| Ok(go_bench(runs.views).into_bytes()),
};

/// The runs as lines of benchmarks.
#[must_use]
pub fn go_bench(views: &[View]) -> String {
    let mut out = units(views);
    for view in views {
        if views.len() > 1 {
            // A key that differs would part the runs into their own tables when each has its file.
            let _ = writeln!(out, "run: {}", view.finding.run.id);
        }
        let cpu = view.finding.targets.first().and_then(|target| target.machine.facts.get("cpu"));
        if let Some(cpu) = cpu {
            let _ = writeln!(out, "cpu: {}", clean(cpu));
        }
        // All metrics of a process belong on one line.
        for rows in view.rows.chunk_by(|a, b| point_of(a) == point_of(b)) {
            lines(rows, &mut out);
        }
    }
    out
}

fn point_of(row: &ResultRow) -> (usize, usize) {
    (row.finding.point.index, row.finding.target)
}

/// Says of every unit which direction is good.
fn units(views: &[View]) -> String {
    let known = views
        .iter()
        .flat_map(|view| &view.rows)
        .filter(|row| row.finding.better != Better::Neither);
    let units: BTreeMap<String, &str> =
        known.map(|row| (unit(row), row.finding.better.word())).collect();
    units.iter().fold(String::new(), |mut out, (unit, better)| {
        let _ = writeln!(out, "Unit {unit} better={better}");
        out
    })
}

/// The metrics of one point: a line a process.
fn lines(rows: &[ResultRow], out: &mut String) {
    let Some(first) = rows.first() else { return };
    let name = name(&format!("{}{}", first.finding.point.name, first.on_target()));
    let most = rows.iter().map(|row| row.finding.process_medians.len()).max().unwrap_or(0);
    for process in 0..most {
        let values: Vec<String> = rows
            .iter()
            .filter_map(|row| {
                let value = row.finding.process_medians.get(process).filter(|v| v.is_finite())?;
                Some(format!("{} {}", number(*value), unit(row)))
            })
            .collect();
        if !values.is_empty() {
            // The format requires a number of iterations; values are per iteration already.
            let _ = writeln!(out, "Benchmark{name} 1 {}", values.join(" "));
        }
    }
}

/// `memory.copy:method=nt,size=8MiB` as `Memory.copy/method=nt/size=8MiB`: no lower-case letter may
/// follow `Benchmark`, and the parts become keys for `-row` and `-col`.
fn name(point: &str) -> String {
    let word = word(point);
    let (head, rest) = word.split_once(':').map_or((word.as_str(), None), |(h, r)| (h, Some(r)));
    let mut letters = head.chars();
    let mut name: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    // Some lower-case letters have no upper-case form.
    if name.starts_with(char::is_lowercase) {
        name.insert(0, '_');
    }
    name.push_str(letters.as_str());
    if let Some(rest) = rest {
        name.push('/');
        name.push_str(&rest.replace(',', "/"));
    }
    name
}

/// Go's unit: what precision is about has the plain one, other metrics their name before it.
fn unit(row: &ResultRow) -> String {
    let finding = row.finding;
    let seconds = row.finding.unit == "s";
    match (finding.primary, finding.unit.as_str()) {
        (_, "") => word(&finding.metric),
        (true, _) if seconds => "sec/op".to_owned(),
        (true, unit) => word(unit),
        (false, _) if seconds => format!("{}-sec", word(&finding.metric)),
        (false, unit) => format!("{}-{}", word(&finding.metric), word(unit)),
    }
}

/// Text as one field: the format has no quotes.
fn word(text: &str) -> String {
    let word: String =
        clean(text).chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
    if word.is_empty() { "_".to_owned() } else { word }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_are_benchmarks_with_keys() {
        assert_eq!(name("memory.copy:method=nt,size=8MiB"), "Memory.copy/method=nt/size=8MiB");
        assert_eq!(name("gzip -1 corpus"), "Gzip_-1_corpus");
        assert_eq!(name("ßx"), "SSx");
        assert_eq!(name("ĸ\nBenchmarkEvil 1 0 ns/op"), "_ĸ_BenchmarkEvil_1_0_ns/op");
        assert_eq!(name(""), "_");
    }
}
