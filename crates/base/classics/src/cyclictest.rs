//! The histogram of cyclictest (`-h`).
//!
//! A row has a latency in µs and, for each thread, how many times it was read. Behind them stand totals, extremes and how
//! many were longer than the last row.

use plumb_model::Better::Lower;
use plumb_model::SampleIs;

use crate::result_file::ResultFile;
use crate::text::{Line, lacks, lines};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// Whether a line is the status of a thread: `T: 0 ( 2604) P:95 I:1000 C: 349868 Min:      4 Act:    6 …`.
pub(crate) fn is_of_thread(line: &str) -> bool {
    line.trim_start().starts_with("T:") && line.contains(" Min:")
}

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
    /// The mean of the threads' means.
    mean_us: Option<f64>,
}

/// The remarks that are read; a row has no name.
const NAMES: [&str; 6] =
    ["", "Total", "Min Latencies", "Avg Latencies", "Max Latencies", "Histogram Overflows"];

pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    let lines = lines(text);
    for section in histograms(&lines) {
        let number = section.first().map(|line| line.number);
        let histogram = histogram(section)?;
        match series(section, &histogram, found) {
            Ok(series) => found.plain_import(Format::Cyclictest).add(series),
            Err(error) => found.not_read_because(error, number)?,
        }
    }
    if found.imports.is_empty() && found.not_read.is_empty() {
        let why = format!("no line `{HEAD}` (run cyclictest with -h)");
        return Err(ImportError::unsupported(Format::Cyclictest, why));
    }
    Ok(())
}

fn series(
    section: &[Line<'_>],
    histogram: &CyclictestHistogram,
    found: &mut ResultFile,
) -> Result<ImportedSeries, ImportError> {
    let longer = histogram
        .longer_than_rows
        .ok_or_else(|| lacks(section, Format::Cyclictest, "number of longer latencies"))?;
    let within = total(histogram.rows.iter().map(|(_, count)| *count));
    let extremes = histogram.shortest_us.zip(histogram.longest_us);
    let (shortest, longest) = extremes
        .ok_or_else(|| lacks(section, Format::Cyclictest, "minimum or maximum latencies"))?;
    let all = within.saturating_add(longer);
    if all == 0 {
        return Err(ImportError::nothing(Format::Cyclictest, "a histogram of 0 latencies"));
    }
    let mut series = ImportedSeries::new("cyclictest.timer", "threads sleep until absolute times");
    series.sample_is = SampleIs::Process;
    series.set("threads", histogram.threads.to_string().as_str());
    let interval_us = set_thread_settings(section, &mut series);
    if interval_us.is_none() {
        series.notes.push(
            "the file does not give the length of the test: plumb assumes 1 ms per sleep, the default \
                   of -i"
                .into(),
        );
    }
    let rate = 1e6 / interval_us.filter(|interval| *interval > 0.0).unwrap_or(1000.0);
    let sleeps = all / (histogram.threads.max(1) as u64);
    series.invocations.push(ImportedInvocation::by_rate(rate, sleeps.max(1) as f64));
    let median = histogram.median(all).map(seconds);
    if median.is_none() {
        let what = "the median: half of all latencies exceed the histogram; increase -h";
        found.not_read(what, section.first().map(|line| line.number));
    }
    for (name, summary, value) in [
        ("latency_p50", "median of the histogram", median),
        ("latency_mean", "mean of the threads' means", histogram.mean_us.map(|us| us * 1e-6)),
        ("latency_min", "shortest latency", Some(seconds(shortest))),
        ("latency_max", "longest latency", Some(seconds(longest))),
    ] {
        series.measured((name, "s", Lower), summary, value);
    }
    Ok(series)
}

/// The word that follows a name in a line.
fn word_after<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(name)?;
    rest.split_whitespace().next()
}

/// The lines of each histogram, with those of its threads above it.
fn histograms<'l, 'a>(lines: &'l [Line<'a>]) -> Vec<&'l [Line<'a>]> {
    let heads: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].text == HEAD).collect();
    let mut starts = Vec::new();
    for head in heads {
        let above = lines[..head].iter().rev();
        let threads = above.take_while(|line| !line.text.starts_with('#')).count();
        starts.push(head - threads);
    }
    let ends = starts.iter().copied().skip(1).chain([lines.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &lines[start..end]).collect()
}

/// Priority and interval of the lines `T: 0 ( 1234) P:80 I:1000 C:  10000 Min: …`, if cyclictest was not quiet (`-q`). Gives the
/// interval in µs.
fn set_thread_settings(section: &[Line<'_>], series: &mut ImportedSeries) -> Option<f64> {
    let line = section.iter().rev().find(|line| line.text.starts_with("T:"))?;
    series.set("priority", word_after(line.text, " P:").unwrap_or_default());
    let interval = word_after(line.text, " I:")?;
    series.set("interval", format!("{interval}us"));
    crate::numbers::figure(interval)
}

#[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^53 µs")]
fn seconds(micros: u64) -> f64 {
    micros as f64 * 1e-6
}

fn histogram(section: &[Line<'_>]) -> Result<CyclictestHistogram, ImportError> {
    let mut found = CyclictestHistogram::default();
    for line in section.iter().skip_while(|line| line.text != HEAD).skip(1) {
        // What follows the remarks of a histogram is not part of it.
        if found.longer_than_rows.is_some() {
            break;
        }
        let (name, figures) = match line.text.strip_prefix("# ") {
            Some(remark) => {
                remark.split_once(':').ok_or_else(|| line.lacks_numbers(Format::Cyclictest))?
            }
            None if !line.text.starts_with(|c: char| c.is_ascii_digit()) => continue,
            None => ("", line.text),
        };
        if !NAMES.contains(&name) {
            continue;
        }
        let numbers = figures
            .split_whitespace()
            .map(figure)
            .collect::<Option<Vec<u64>>>()
            .filter(|numbers| !numbers.is_empty())
            .ok_or_else(|| line.lacks_numbers(Format::Cyclictest))?;
        match name {
            "" => found.row(&numbers).ok_or_else(|| line.lacks_numbers(Format::Cyclictest))?,
            _ if numbers.len() != found.threads => {
                return Err(line.lacks_numbers(Format::Cyclictest));
            }
            "Total"
                if total(numbers.iter().copied())
                    != total(found.rows.iter().map(|(_, count)| *count)) =>
            {
                let why = "the rows are not all there: their sum is another than the total";
                return Err(line.wrong(Format::Cyclictest, why));
            }
            "Total" => {}
            "Min Latencies" => found.shortest_us = numbers.into_iter().min(),
            "Max Latencies" => found.longest_us = numbers.into_iter().max(),
            "Avg Latencies" => found.mean_us = Some(mean(&numbers)),
            _ => found.longer_than_rows = Some(total(numbers)),
        }
    }
    Ok(found)
}

#[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^53 µs")]
fn mean(numbers: &[u64]) -> f64 {
    total(numbers.iter().copied()) as f64 / numbers.len().max(1) as f64
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
    /// A row more; None when it is not of as many threads as those before, or not of the next latency.
    fn row(&mut self, numbers: &[u64]) -> Option<()> {
        let (latency, counts) = numbers.split_first()?;
        let first = self.rows.is_empty();
        if first {
            self.threads = counts.len();
        }
        let next =
            first || self.rows.last().is_some_and(|last| last.0.checked_add(1) == Some(*latency));
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
