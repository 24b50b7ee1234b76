//! The raw line of ioping (`-B`), version 1.3.
//!
//! Ten numbers: requests, their time in ns, requests per second, bytes per second; shortest, mean, longest time and its mean
//! deviation in ns; requests and time with those that are left out (the first one). With `-P` there is a line a period.

use plumb_model::Better::{Higher, Lower};
use plumb_model::SampleIs;

use crate::numbers::{nanoseconds, positive};
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// Numbers of a line.
const FIELDS: usize = 10;

/// Latencies: name, what it is, and where it stands.
const LATENCIES: [(&str, &str, usize); 3] = [
    ("latency_mean", "mean time of a request", 5),
    ("latency_min", "shortest time of a request", 4),
    ("latency_max", "longest time of a request", 6),
];

pub(crate) fn fits(line: &str) -> bool {
    numbers(line).is_some_and(|numbers| numbers.len() >= 5)
}

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let mut import = Import::new(Format::Ioping);
    let mut series = ImportedSeries::new("ioping.request", "requests one after the other");
    series.sample_is = SampleIs::Process;
    for line in text.lines().filter(|line| fits(line)) {
        let Some(numbers) = numbers(line).filter(|numbers| numbers.len() == FIELDS) else {
            let why = format!("`{}` is not a raw line", line.trim());
            return Err(ImportError::damaged(Format::Ioping, why));
        };
        let [count, time_ns, rate, bandwidth] = [0, 1, 2, 3].map(|at: usize| numbers[at]);
        if count < 1.0 || time_ns < 1.0 {
            return Err(ImportError::nothing(Format::Ioping, "no request was completed"));
        }
        series.invocations.push(ImportedInvocation {
            elapsed_ns: vec![nanoseconds(time_ns * 1e-9)],
            iterations: crate::numbers::count(count),
            ..ImportedInvocation::default()
        });
        series.metrics.clear();
        series.measured(("rate", "ops/s", Higher), "requests per second", [rate]);
        series.measured(("bandwidth", "B/s", Higher), "bytes per second", [bandwidth]);
        for (name, summary, place) in LATENCIES {
            series.measured((name, "s", Lower), summary, [numbers[place] * 1e-9]);
        }
    }
    if series.invocations.is_empty() {
        return Err(ImportError::damaged(Format::Ioping, "no raw line (run ioping with -B)"));
    }
    import.series.push(series);
    Ok(vec![import])
}

/// A line of nothing but numbers.
fn numbers(line: &str) -> Option<Vec<f64>> {
    let whole = line.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b' ');
    whole.then(|| line.split_whitespace().map(zero_or_positive).collect())?
}

fn zero_or_positive(word: &str) -> Option<f64> {
    if word == "0" { Some(0.0) } else { positive(word) }
}
