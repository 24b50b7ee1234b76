//! hyperfine's JSON (`--export-json`), for the scripts that read it.
//!
//! A time is what one process gives: of a command, its run; of other workloads, the median time of
//! one iteration in that process.

use std::collections::BTreeMap;

use plumb_analysis::{ProcessTimes, process_times};
use plumb_model::{CommandEnd, ENDED, RunRecord, SampleIs, Value};
use serde::Serialize;

use crate::entry::{Export, ExportError, ExportedContent, Holds};

pub(super) const HYPERFINE: Export = Export {
    name: "hyperfine",
    extension: "json",
    summary: "The JSON of `hyperfine --export-json`",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: |runs| match hyperfine(runs.records) {
        Ok(text) => Ok(text.into_bytes()),
        Err(error) => Err(ExportError::Broken(error.to_string())),
    },
};

#[derive(Debug, Serialize)]
struct HyperfineDocument {
    results: Vec<Command>,
}

/// One command, in hyperfine's order and words.
#[derive(Debug, Serialize)]
struct Command {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<u64>>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
}

/// The runs as one JSON document, a result a point.
///
/// # Errors
/// Should JSON not take it, which would be a bug.
pub fn hyperfine(records: &[RunRecord]) -> serde_json::Result<String> {
    let runs = records.iter().flat_map(|record| {
        process_times(record)
            .into_iter()
            .map(move |times| command(times, record, records.len() > 1))
    });
    serde_json::to_string_pretty(&HyperfineDocument { results: runs.collect() })
}

fn command(found: ProcessTimes, record: &RunRecord, name_run: bool) -> Command {
    let settings = &found.point.settings;
    let is_process = found.sample_is == SampleIs::Process;
    // A command is known by its line; the points of another workload by their parameters.
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    if !is_process {
        parameters = settings.iter().map(|(k, v)| (k.clone(), v.to_string())).collect();
    }
    if name_run {
        parameters.insert("run".to_owned(), record.run.to_string());
    }
    Command {
        mean: found.mean,
        stddev: found.deviation,
        median: found.median,
        // hyperfine has seconds here; plumb keeps shares of the wall time.
        user: found.cpu.map_or(0.0, |cpu| cpu.user * found.mean),
        system: found.cpu.map_or(0.0, |cpu| cpu.system * found.mean),
        min: found.times_s.iter().copied().fold(f64::INFINITY, f64::min),
        max: found.times_s.iter().copied().fold(0.0, f64::max),
        memory_usage_byte: memory(&found, record),
        exit_codes: exit_codes(&found, record),
        times: found.times_s,
        command: found.point.name,
        parameters,
    }
}

/// The exit status of every process; null after a signal, or if a run of an older plumb did not keep it.
fn exit_codes(found: &ProcessTimes, record: &RunRecord) -> Vec<Option<i32>> {
    // Only processes that ended with 0 count, unless that was not asked for.
    if found.point.settings.get("ignore_failure") != Some(&Value::Switch(true)) {
        return vec![Some(0); found.times_s.len()];
    }
    let Some(codes) = column(found, record, ENDED) else { return vec![None; found.times_s.len()] };
    let mut statuses = Vec::with_capacity(codes.len());
    for code in codes {
        statuses.push(match CommandEnd::of_code(code) {
            CommandEnd::Status(status) => Some(status),
            CommandEnd::Signal(_) => None,
        });
    }
    statuses
}

/// Peak memory of every process, if the workload reports it.
fn memory(found: &ProcessTimes, record: &RunRecord) -> Option<Vec<u64>> {
    let values = column(found, record, "peak_memory")?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bytes; the cast saturates"
    )]
    Some(values.iter().map(|&value| value as u64).collect())
}

/// A value of every process; None if one lacks it, because the columns of the document belong together row by row.
fn column(found: &ProcessTimes, record: &RunRecord, name: &str) -> Option<Vec<f64>> {
    let good = record.good_invocations(found.point.index);
    let values: Vec<f64> = good
        .filter(|invocation| invocation.target as usize == found.target)
        .map(|invocation| {
            let column = invocation.samples.values.get(name)?;
            column.get(invocation.steady_start()..)
        })
        .collect::<Option<Vec<_>>>()?
        .concat();
    (values.len() == found.times_s.len()).then_some(values)
}
