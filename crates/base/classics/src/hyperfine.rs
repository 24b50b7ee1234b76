//! hyperfine's JSON.
//!
//! Each of `times` is a process. `user` and `system` are means over them.

use plumb_model::Better::{Lower, Neither};
use plumb_model::SampleIs;
use serde_json::Value;

use crate::json::{document, list, number, positive, shown, text};
use crate::numbers::nanoseconds;
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

pub(crate) fn parse(input: &str) -> Result<Vec<Import>, ImportError> {
    let document = document(input, Format::Hyperfine)?;
    let mut import = Import::new(Format::Hyperfine);
    let results = list(&document, "results");
    if results.is_empty() {
        return Err(ImportError::damaged(Format::Hyperfine, "no `results` array"));
    }
    import.series = results.iter().map(series).collect::<Result<_, _>>()?;
    Ok(vec![import])
}

fn series(result: &Value) -> Result<ImportedSeries, ImportError> {
    let missing =
        |name: &str| ImportError::damaged(Format::Hyperfine, format!("a result has no `{name}`"));
    let command = text(result, "command").ok_or_else(|| missing("command"))?;
    let mut series = ImportedSeries::new("hyperfine.command", "wall time of a command");
    series.set("command", command);
    series.title = Some(command.to_owned());
    for (name, value) in result.get("parameters").and_then(Value::as_object).into_iter().flatten() {
        series.set(&format!("parameter_{name}"), shown(value));
    }
    let times = times(result)?;
    if times.is_empty() {
        let mean = positive(result, "mean").ok_or_else(|| missing("times"))?;
        series.invocations.push(ImportedInvocation::lasting(mean, 1));
        series.measured(("wall", "s", Lower), "mean time from start to end", [mean]);
        series.notes.push("the file has the mean but not the individual times".to_owned());
        return Ok(series);
    }
    series.sample_is = SampleIs::Process;
    series.invocations.push(invocation(result, &times));
    series.measured(("wall", "s", Lower), "time from start to end", times);
    let memory = list(result, "memory_usage_byte").iter().filter_map(Value::as_f64);
    series.measured(("peak_memory", "B", Lower), "peak of resident memory", memory);
    let codes = list(result, "exit_codes").iter().filter_map(Value::as_f64);
    if codes.clone().any(|code| code != 0.0) {
        let summary = "exit status of the command";
        series.measured(("status", "", Neither), summary, codes);
        series.notes.push("some runs exited with a status other than 0".to_owned());
    }
    Ok(series)
}

fn times(result: &Value) -> Result<Vec<f64>, ImportError> {
    let mut times = Vec::new();
    for time in list(result, "times") {
        match time.as_f64() {
            Some(seconds) if seconds.is_finite() && seconds >= 0.0 => times.push(seconds),
            _ => {
                return Err(ImportError::damaged(
                    Format::Hyperfine,
                    format!("`{time}` is not a time"),
                ));
            }
        }
    }
    Ok(times)
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
