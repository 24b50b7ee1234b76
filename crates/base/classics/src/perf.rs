//! `perf bench` in its default format.
//!
//! A benchmark begins with a line that names it, and has a total time; if it repeats one operation,
//! it also says how long one takes, with more digits than the total has.

use plumb_model::Better::Lower;
use plumb_model::SampleIs;

use crate::numbers::{count, positive};
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// How the line begins that names a benchmark.
pub(crate) const HEAD: &str = "# Running '";
/// Digits after the point of a time an operation, and of a total.
const DECIMALS: [usize; 2] = [6, 3];

/// One benchmark as far as it was read.
struct PerfBench {
    name: String,
    total_s: Option<f64>,
    operation_s: Option<f64>,
}

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let mut import = Import::new(Format::Perf);
    let mut benches: Vec<PerfBench> = Vec::new();
    for line in text.lines().map(str::trim) {
        let wrong =
            || ImportError::damaged(Format::Perf, format!("numbers are missing in `{line}`"));
        if let Some(rest) = line.strip_prefix(HEAD) {
            let name = rest.strip_suffix("' benchmark:").ok_or_else(wrong)?.to_owned();
            benches.push(PerfBench { name, total_s: None, operation_s: None });
            continue;
        }
        let Some(bench) = benches.last_mut() else { continue };
        if let Some(rest) = line.strip_prefix("Total time:") {
            let total = rest.strip_suffix("[sec]").and_then(|text| figure(text, DECIMALS[1]));
            bench.total_s = Some(total.ok_or_else(wrong)?);
        } else if let Some(rest) = line.strip_suffix("usecs/op") {
            bench.operation_s = Some(figure(rest, DECIMALS[0]).ok_or_else(wrong)? * 1e-6);
        }
    }
    import.series = benches.into_iter().map(series).collect::<Result<_, _>>()?;
    Ok(vec![import])
}

/// A number above zero with so many digits after the point: one with fewer was cut off.
fn figure(text: &str, decimals: usize) -> Option<f64> {
    let text = text.trim();
    let whole = text.split_once('.').is_some_and(|(_, digits)| digits.len() == decimals);
    positive(text).filter(|_| whole)
}

fn series(bench: PerfBench) -> Result<ImportedSeries, ImportError> {
    let name = bench.name;
    let Some(total_s) = bench.total_s else {
        return Err(ImportError::damaged(Format::Perf, format!("`{name}` has no total time")));
    };
    let id: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let mut series =
        ImportedSeries::new(format!("perf.{}", id.to_ascii_lowercase()), "a test of perf bench");
    series.sample_is = SampleIs::Process;
    let (time_s, summary) = match bench.operation_s {
        Some(operation_s) => (operation_s, "one operation"),
        None => (total_s, "the whole test"),
    };
    series.invocations.push(ImportedInvocation::lasting(total_s, count(total_s / time_s)));
    series.measured(("time", "s", Lower), summary, [time_s]);
    Ok(series)
}
