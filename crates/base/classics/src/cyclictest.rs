//! The histogram of cyclictest (`-h`).
//!
//! A row has a latency in µs and, for each thread, how many times it was read. Behind them stand totals, extremes and how
//! many were longer than the last row.

use plumb_model::Better::Lower;
use plumb_model::SampleIs;

use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// The heading of the histogram.
pub(crate) const HEAD: &str = "# Histogram";

/// Digits of every figure, at least.
const DIGITS: usize = 5;

/// A histogram of all threads together.
#[derive(Default)]
struct CyclictestHistogram {
    /// Latency in µs and count, in the order of latencies.
    rows: Vec<(u64, u64)>,
    threads: usize,
    shortest_us: Option<u64>,
    longest_us: Option<u64>,
    longer_than_rows: Option<u64>,
}

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let histogram = histogram(text)?;
    let longer = histogram
        .longer_than_rows
        .ok_or_else(|| damaged("the number of longer latencies is missing"))?;
    let within = total(histogram.rows.iter().map(|(_, count)| *count));
    let extremes = histogram.shortest_us.zip(histogram.longest_us);
    let (shortest, longest) =
        extremes.ok_or_else(|| damaged("the minimum or maximum latencies are missing"))?;
    let all = within.saturating_add(longer);
    let median = histogram
        .median(all)
        .ok_or_else(|| damaged("half of all latencies exceed the histogram; increase -h"))?;
    let mut series = ImportedSeries::new("cyclictest.timer", "threads sleep until absolute times");
    series.sample_is = SampleIs::Process;
    series.set("threads", histogram.threads.to_string().as_str());
    series.notes.push(
        "the file does not give the length of the test: plumb assumes 1 ms per sleep, the default \
               of -i"
            .into(),
    );
    let sleeps = all / (histogram.threads.max(1) as u64);
    series.invocations.push(ImportedInvocation::by_rate(1000.0, sleeps.max(1) as f64));
    for (name, summary, micros) in [
        ("latency_p50", "median of the histogram", median),
        ("latency_min", "shortest latency", shortest),
        ("latency_max", "longest latency", longest),
    ] {
        series.measured((name, "s", Lower), summary, [seconds(micros)]);
    }
    let mut import = Import::new(Format::Cyclictest);
    import.series.push(series);
    Ok(vec![import])
}

fn damaged(why: impl Into<String>) -> ImportError {
    ImportError::damaged(Format::Cyclictest, why)
}

fn lacks_figures(line: &str) -> ImportError {
    damaged(format!("numbers are missing in `{line}`"))
}

#[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^53 µs")]
fn seconds(micros: u64) -> f64 {
    micros as f64 * 1e-6
}

fn histogram(text: &str) -> Result<CyclictestHistogram, ImportError> {
    let mut found = CyclictestHistogram::default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.skip_while(|line| *line != HEAD).skip(1) {
        let (name, figures) = match line.strip_prefix("# ") {
            Some(remark) => remark.split_once(':').ok_or_else(|| lacks_figures(line))?,
            None => ("", line),
        };
        if !["", "Min Latencies", "Max Latencies", "Histogram Overflows"].contains(&name) {
            continue;
        }
        let numbers = figures
            .split_whitespace()
            .map(figure)
            .collect::<Option<Vec<u64>>>()
            .filter(|numbers| !numbers.is_empty())
            .ok_or_else(|| lacks_figures(line))?;
        match name {
            "" => found.row(&numbers).ok_or_else(|| lacks_figures(line))?,
            _ if numbers.len() != found.threads => return Err(lacks_figures(line)),
            "Min Latencies" => found.shortest_us = numbers.into_iter().min(),
            "Max Latencies" => found.longest_us = numbers.into_iter().max(),
            _ => found.longer_than_rows = Some(total(numbers)),
        }
    }
    Ok(found)
}

/// The sum, which a file may make as large as it likes.
fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// A number with all its digits: one with fewer was cut off.
fn figure(word: &str) -> Option<u64> {
    word.parse().ok().filter(|_| word.len() >= DIGITS)
}

impl CyclictestHistogram {
    /// A row more; None when it is not of as many threads as those before, or no latency after theirs.
    fn row(&mut self, numbers: &[u64]) -> Option<()> {
        let (latency, counts) = numbers.split_first()?;
        let first = self.rows.is_empty();
        if first {
            self.threads = counts.len();
        }
        let next = first || self.rows.last().is_some_and(|last| last.0 < *latency);
        let whole = !counts.is_empty() && counts.len() == self.threads && next;
        self.rows.push((*latency, total(counts.iter().copied())));
        whole.then_some(())
    }

    /// The latency by nearest rank, of `all` that were read; None if it lies beyond the rows.
    fn median(&self, all: u64) -> Option<u64> {
        let mut below = 0_u64;
        self.rows.iter().find_map(|(latency, count)| {
            below = below.saturating_add(*count);
            (*count > 0 && below >= all.div_ceil(2)).then_some(*latency)
        })
    }
}
