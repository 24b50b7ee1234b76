//! hyperfine's JSON (`--export-json`).
//!
//! Each of `times` is a process. `user` and `system` are means over them. Results of one document are different benchmarks, even
//! if their commands are the same: they differ in what the file does not have, such as `--prepare`.

use plumb_model::Better::{Lower, Neither};
use plumb_model::SampleIs;
use serde_json::Value;

use crate::json::{documents, list, number, shown, text};
use crate::numbers::nanoseconds;
use crate::result_file::ResultFile;
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

pub(crate) fn parse(input: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let documents = documents(input, Format::Hyperfine, found)?;
    let alone = documents.len() == 1;
    for document in documents {
        let Some(results) = document.value.get("results").and_then(Value::as_array) else {
            let why = "a JSON document without `results`";
            if alone {
                return Err(ImportError::unsupported(Format::Hyperfine, why));
            }
            found.not_read(why, Some(document.line));
            continue;
        };
        if results.is_empty() {
            found.not_read("a document whose `results` are empty", Some(document.line));
        }
        let mut tests: Vec<ImportedSeries> = Vec::new();
        for result in results {
            let mut series = named(result)?;
            let same = tests.iter().filter(|test| test.settings == series.settings).count();
            tests.push(series.clone());
            if same > 0 {
                series.set("benchmark", (same + 1).to_string());
                series.title =
                    series.title.map(|title| format!("{title} (benchmark {})", same + 1));
                let note = "the file has several benchmarks of this command, in this order; it does not \
                            say how they differ";
                series.notes.push(note.to_owned());
            }
            measure(result, &mut series, found, document.line)?;
            found.plain_import(Format::Hyperfine).add(series);
        }
    }
    Ok(())
}

fn missing(name: &str) -> ImportError {
    ImportError::unsupported(Format::Hyperfine, format!("a result has no `{name}`"))
}

/// The benchmark without figures.
fn named(result: &Value) -> Result<ImportedSeries, ImportError> {
    let command = text(result, "command").ok_or_else(|| missing("command"))?;
    let mut series = ImportedSeries::new("hyperfine.command", "wall time of a command");
    series.set("command", command);
    series.title = Some(command.to_owned());
    // Versions before 1.9 have one parameter, without its name.
    series.set("parameter", result.get("parameter").map(shown).unwrap_or_default());
    for (name, value) in result.get("parameters").and_then(Value::as_object).into_iter().flatten() {
        series.set(&format!("parameter_{name}"), shown(value));
    }
    Ok(series)
}

fn measure(
    result: &Value,
    series: &mut ImportedSeries,
    found: &mut ResultFile,
    line: usize,
) -> Result<(), ImportError> {
    let times = times(result)?;
    if times.is_empty() {
        let mean = number(result, "mean").ok_or_else(|| missing("times"))?;
        series.invocations.push(ImportedInvocation::lasting(mean, 1));
        series.measured(("wall", "s", Lower), "mean time from start to end", [mean]);
        series.notes.push("the file has the mean but not the individual times".to_owned());
        return Ok(());
    }
    series.sample_is = SampleIs::Process;
    let memory: Vec<f64> =
        list(result, "memory_usage_byte").iter().filter_map(Value::as_f64).collect();
    let memory = if memory.len() == times.len() {
        memory
    } else {
        if !memory.is_empty() {
            found.not_read("`memory_usage_byte`, which lacks values", Some(line));
        }
        Vec::new()
    };
    let ends = ends(result, times.len());
    if ends.is_empty() && !list(result, "exit_codes").is_empty() {
        found.not_read("`exit_codes`, which do not fit the times", Some(line));
    }
    let failed = note_ends(series, &ends);
    let runs: Vec<HyperfineRun> = times
        .iter()
        .enumerate()
        .map(|(index, &seconds)| HyperfineRun {
            seconds,
            memory: memory.get(index).copied(),
            status: ends.get(index).copied().flatten(),
            failed: failed.get(index).cloned().flatten(),
        })
        .collect();
    let fine: Vec<&HyperfineRun> = runs.iter().filter(|run| run.failed.is_none()).collect();
    if !fine.is_empty() {
        record(series, &fine, result);
    }
    for run in runs.iter().filter(|run| run.failed.is_some()) {
        record(series, &[run], &Value::Null);
    }
    Ok(())
}

/// One process that hyperfine timed, in seconds and bytes.
struct HyperfineRun {
    seconds: f64,
    memory: Option<f64>,
    /// None if a signal ended it, or nothing is known.
    status: Option<f64>,
    failed: Option<String>,
}

/// How each run ended: its status, or None if a signal ended it. Empty if the file does not say.
fn ends(result: &Value, runs: usize) -> Vec<Option<f64>> {
    let codes = list(result, "exit_codes");
    if codes.len() == runs { codes.iter().map(Value::as_f64).collect() } else { Vec::new() }
}

/// Notes runs that did not end with status 0, and gives the failure of each run. If all runs ended with the same status, that is
/// what the command does (hyperfine stops at such a run, unless `--ignore-failure` was given): none of them failed.
fn note_ends(series: &mut ImportedSeries, ends: &[Option<f64>]) -> Vec<Option<String>> {
    let others = ends.iter().filter(|end| **end != Some(0.0)).count();
    if others == 0 {
        return Vec::new();
    }
    series.notes.push(format!("{others} of {} runs ended with another status than 0", ends.len()));
    if ends.iter().all(|end| end.is_some() && *end == ends[0]) {
        return Vec::new();
    }
    let failures = ends.iter().map(|end| match end {
        Some(0.0) => None,
        Some(status) => Some(format!("the command ended with another status than 0: {status}")),
        None => Some("a signal ended the command".to_owned()),
    });
    failures.collect()
}

fn times(result: &Value) -> Result<Vec<f64>, ImportError> {
    let mut times = Vec::new();
    for time in list(result, "times") {
        match time.as_f64() {
            Some(seconds) if seconds.is_finite() && seconds >= 0.0 => times.push(seconds),
            _ => {
                let why = format!("`{time}` is not a time");
                return Err(ImportError::unsupported(Format::Hyperfine, why));
            }
        }
    }
    Ok(times)
}

/// Adds an invocation of these runs, which all failed or all did not.
fn record(series: &mut ImportedSeries, runs: &[&HyperfineRun], result: &Value) {
    let times: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    let mut invocation = invocation(result, &times);
    invocation.failed = runs.iter().find_map(|run| run.failed.clone());
    series.invocations.push(invocation);
    series.measured(("wall", "s", Lower), "time from start to end", times);
    let memory = runs.iter().filter_map(|run| run.memory);
    series.measured(("peak_memory", "B", Lower), "peak of resident memory", memory);
    let codes = runs.iter().filter_map(|run| run.status);
    if codes.clone().any(|code| code != 0.0) {
        let summary = "exit status of the command";
        series.measured(("status", "", Neither), summary, codes);
    }
}

fn invocation(result: &Value, times: &[f64]) -> ImportedInvocation {
    let elapsed_ns: Vec<u64> = times.iter().map(|&time| nanoseconds(time)).collect();
    let mut invocation =
        ImportedInvocation { elapsed_ns, iterations: 1, ..ImportedInvocation::default() };
    #[expect(clippy::cast_precision_loss, reason = "a number of runs")]
    let runs = times.len() as f64;
    if let (Some(user), Some(system)) = (number(result, "user"), number(result, "system")) {
        // hyperfine gives the mean of its runs; usage is the sum.
        invocation.usage.wall_ns = nanoseconds(times.iter().sum());
        invocation.usage.user_ns = nanoseconds(user.max(0.0) * runs);
        invocation.usage.system_ns = nanoseconds(system.max(0.0) * runs);
    }
    invocation
}
