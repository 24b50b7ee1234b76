//! The raw line of ioping (`-B`): eight numbers before 1.0, ten since.
//!
//! Requests, their time in ns, requests per second, bytes per second; shortest, mean, longest time and its mean
//! deviation in ns; since 1.0 requests and time with those that are left out (the first one). With `-P` there is a line a period.

use plumb_model::Better::{Higher, Lower};
use plumb_model::SampleIs;

use crate::numbers::{figure, nanoseconds};
use crate::result_file::ResultFile;
use crate::text::lines;
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// Numbers of a line, in old and new versions.
const FIELDS: [usize; 2] = [8, 10];

/// Latencies: name, what it is, and where it stands.
const LATENCIES: [(&str, &str, usize); 3] = [
    ("latency_mean", "mean time of a request", 5),
    ("latency_min", "shortest time of a request", 4),
    ("latency_max", "longest time of a request", 6),
];

pub(crate) fn fits(line: &str) -> bool {
    numbers(line).is_some_and(|numbers| numbers.len() >= 5)
}

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    for line in lines(text).iter().filter(|line| fits(line.text)) {
        let numbers = numbers(line.text).unwrap_or_default();
        // A line of ten numbers that was cut off may have eight.
        let is_whole = if line.is_ended {
            FIELDS.contains(&numbers.len())
        } else {
            numbers.len() == FIELDS[1]
        };
        if !is_whole {
            let shown: String = line.text.chars().take(80).collect();
            return Err(line.wrong(Format::Ioping, format!("`{shown}` is not a raw line")));
        }
        found.plain_import(Format::Ioping).add(series(&numbers));
    }
    if found.imports.is_empty() {
        return Err(ImportError::unsupported(Format::Ioping, "no raw line (run ioping with -B)"));
    }
    Ok(())
}

/// A process, or a period of it. Without a request there are no latencies.
fn series(numbers: &[f64]) -> ImportedSeries {
    let mut series = ImportedSeries::new("ioping.request", "requests one after the other");
    series.sample_is = SampleIs::Process;
    let [count, time_ns, rate, bandwidth] = [0, 1, 2, 3].map(|at: usize| numbers[at]);
    series.invocations.push(ImportedInvocation {
        elapsed_ns: vec![nanoseconds(time_ns * 1e-9)],
        iterations: crate::numbers::count(count),
        ..ImportedInvocation::default()
    });
    series.measured(("rate", "ops/s", Higher), "requests per second", [rate]);
    series.measured(("bandwidth", "B/s", Higher), "bytes per second", [bandwidth]);
    let latencies = LATENCIES.iter().filter(|(.., place)| count > 0.0 || numbers[*place] > 0.0);
    for (name, summary, place) in latencies {
        series.measured((name, "s", Lower), summary, [numbers[*place] * 1e-9]);
    }
    series
}

/// A line of nothing but whole numbers.
fn numbers(line: &str) -> Option<Vec<f64>> {
    let whole = line.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b' ');
    whole.then(|| line.split_whitespace().map(figure).collect())?
}
