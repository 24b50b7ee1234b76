//! The CSV of bonnie++ 2.00a (format 1.98, 50 fields), for `bon_csv2html` and `bon_csv2txt`: a line per pass.

use plumb_classics::bonnie::csv::{BonnieFigures, PassLine, SmallFiles};
use plumb_classics::bonnie::parameter::{
    CHUNK, CreatedLinks, FILES, FOLDERS, LARGEST, LINKS, SEEKERS, SEEKS, SIZE, SMALLEST,
};
use plumb_classics::bonnie::{FILE_SIZE, NAME_LABEL, PHASES, WORKLOAD};
use plumb_model::{InvocationRecord, PlannedPoint, RunRecord, Value};

use crate::entry::{Export, ExportError, ExportedContent, Holds};

pub(super) const BONNIE: Export = Export {
    name: "bonnie",
    extension: "csv",
    summary: "The CSV of `bonnie++ -q`, with one line per pass of storage.bonnie",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: |runs| bonnie(runs.records).map(String::into_bytes),
};

/// What wrote the lines, in the field of bonnie++'s version.
const PROGRAM: &str = concat!("plumb", env!("CARGO_PKG_VERSION"));

/// All passes of the runs.
///
/// # Errors
/// When no run has a pass.
pub fn bonnie(records: &[RunRecord]) -> Result<String, ExportError> {
    let mut text = String::new();
    for record in records {
        for (index, point) in record.plan.points.iter().enumerate() {
            if point.point.workload != WORKLOAD {
                continue;
            }
            for invocation in record.good_invocations(index) {
                let target = record.targets.get(invocation.target as usize);
                // What the user called the machine (-m) stands before the name of the target.
                let label = record.plan.labels.get(NAME_LABEL);
                let name = label.or(target.map(|target| &target.name)).map_or("", String::as_str);
                for pass in 0..invocation.samples.len() {
                    text.push_str(&pass_line(name, point, invocation, pass).text());
                    text.push('\n');
                }
            }
        }
    }
    if text.is_empty() {
        let why = format!("none of these runs measured {WORKLOAD}; `plumb run {WORKLOAD}` does");
        return Err(ExportError::Nothing(why));
    }
    Ok(text)
}

fn pass_line<'a>(
    name: &'a str,
    point: &PlannedPoint,
    invocation: &InvocationRecord,
    pass: usize,
) -> PassLine<'a> {
    let figures = PHASES.each_ref().map(|phase| BonnieFigures {
        rate: value(invocation, phase.name, pass),
        cpu: value(invocation, phase.cpu, pass),
        latency_s: value(invocation, phase.latency, pass),
    });
    // A size of 0 asks for twice the memory; the metric has what it came to.
    let measured_size = value(invocation, FILE_SIZE, pass);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole bytes of a file, and a cast saturates"
    )]
    let file_size = measured_size.map_or(number(point, SIZE), |bytes| bytes as u64);
    PassLine {
        program: PROGRAM,
        name,
        seed: invocation.seed,
        file_size,
        chunk: number(point, CHUNK),
        seeks: number(point, SEEKS),
        seekers: number(point, SEEKERS),
        small_files: small_files(point),
        figures,
    }
}

fn small_files(point: &PlannedPoint) -> Option<SmallFiles> {
    let links = point.point.settings.get(LINKS).and_then(Value::text);
    Some(SmallFiles {
        files: Some(number(point, FILES)).filter(|files| *files > 0)?,
        largest: number(point, LARGEST),
        smallest: number(point, SMALLEST),
        folders: number(point, FOLDERS),
        links: links.map_or(CreatedLinks::None, CreatedLinks::of_word),
    })
}

/// The value of a metric in a pass; None if the pass does not have it.
fn value(invocation: &InvocationRecord, metric: &str, pass: usize) -> Option<f64> {
    invocation.samples.values.get(metric)?.get(pass).copied()
}

fn number(point: &PlannedPoint, setting: &str) -> u64 {
    point.point.settings.get(setting).and_then(Value::integer).unwrap_or_default()
}
