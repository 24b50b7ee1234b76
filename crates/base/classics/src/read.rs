//! Which format a file has, by what it contains, and who reads it.

use plumb_model::{Flag, FlagKind};

use crate::error::ImportError;
use crate::format::Format;
use crate::import::Import;
use crate::numbers::MOST;
use crate::result_file::{NotRead, ResultFile};
use crate::text::plain;
use crate::{
    bonnie, cloudwatch, cyclictest, dd, fio, fsmark, hackbench, hyperfine, ioping, iperf3, mbw,
    openssl, perf, ping, sockperf, stream, stress_ng, sysbench,
};

/// Output for people of tools whose other output is read: what it has, and the option that gives the other.
const FOR_PEOPLE: [(Format, &str, &str); 9] = [
    (Format::Fio, ": (groupid=", "--output-format=json"),
    (Format::Iperf3, "[ ID] Interval", "-J"),
    (Format::Hyperfine, "Time (mean", "--export-json FILE"),
    (Format::Openssl, "in 1000s of bytes per second", "-mr"),
    (Format::Openssl, " size blocks: ", "-mr"),
    (Format::Bonnie, "------Sequential Output------", "-q"),
    (Format::Ioping, "min/avg/max/mdev = ", "-B"),
    (Format::Ioping, " requests completed in ", "-B"),
    (Format::Cyclictest, "/dev/cpu_dma_latency", "-h"),
];

/// The results in a file. Without a format it is recognised by its content, which may be output of several tools. `version` is the
/// tool's, for files that do not give it.
///
/// # Errors
/// When nothing knows it, or it is cut off, or nothing of it can be read: then nothing of it is given.
pub fn read(
    text: &str,
    format: Option<Format>,
    version: Option<&str>,
) -> Result<ResultFile, ImportError> {
    let text = &*plain(text);
    let formats: Vec<Format> = match format {
        Some(format) => vec![format],
        None => Format::ALL.into_iter().filter(|format| fits(*format, text)).collect(),
    };
    let mut found = read_formats(&formats, text, version)?;
    note_unended_line(&formats, text, version, &mut found);
    found.imports.iter_mut().for_each(flag_impossible);
    Ok(found)
}

/// The results of all these formats.
fn read_formats(
    formats: &[Format],
    text: &str,
    version: Option<&str>,
) -> Result<ResultFile, ImportError> {
    let mut all = ResultFile::default();
    let mut first_error = None;
    for format in formats {
        match read_format(*format, text, version) {
            Ok(found) => {
                all.imports.extend(found.imports);
                all.not_read.extend(found.not_read);
            }
            // Five numbers in a line may be anything.
            Err(error) if *format == Format::Ioping && formats.len() > 1 => {
                first_error = first_error.or(Some(error));
            }
            Err(error @ ImportError::Damaged { .. }) => return Err(first_error.unwrap_or(error)),
            Err(error) => {
                all.not_read(error.to_string(), None);
                first_error = first_error.or(Some(error));
            }
        }
    }
    if all.imports.is_empty() {
        return Err(first_error.unwrap_or_else(|| unknown(text)));
    }
    Ok(all)
}

/// The error for a text that no reader takes.
fn unknown(text: &str) -> ImportError {
    let known = FOR_PEOPLE.iter().find(|(_, needle, _)| text.contains(needle));
    known.map_or(ImportError::Unknown, |(format, _, option)| {
        ImportError::unsupported(
            *format,
            format!("this is output for people; run it with {option}"),
        )
    })
}

/// The results of one format.
fn read_format(
    format: Format,
    text: &str,
    version: Option<&str>,
) -> Result<ResultFile, ImportError> {
    let mut found = ResultFile::default();
    parse(format, text, version, &mut found)?;
    let mut found = found.with_version(format, version);
    name_tests_without_figures(&mut found);
    found.imports.retain(|import| !import.series.is_empty() || !import.missing.is_empty());
    if found.imports.iter().all(|import| import.series.is_empty()) {
        let unread: Vec<String> = found.not_read.iter().map(NotRead::sentence).collect();
        let why =
            if unread.is_empty() { "the tool printed none".to_owned() } else { unread.join("; ") };
        return Err(ImportError::nothing(format, why));
    }
    if let Some(metric) = found.imports.iter().find_map(too_large) {
        let why = format!("a value of `{metric}` is too large for a number in its base unit");
        return Err(ImportError::unsupported(format, why));
    }
    Ok(found)
}

/// Names tests of which the file has neither a figure nor a failure.
fn name_tests_without_figures(found: &mut ResultFile) {
    let mut named = Vec::new();
    for import in &mut found.imports {
        import.series.retain(|series| {
            let tells = series
                .invocations
                .iter()
                .any(|invocation| invocation.failed.is_some() || !invocation.values.is_empty());
            if !tells || series.metrics.is_empty() {
                named.push(format!("a test without figures ({})", series.workload));
            }
            tells && !series.metrics.is_empty()
        });
    }
    named.into_iter().for_each(|what| found.not_read(what, None));
}

/// Names a last line that no line feed ends, if the results are the same without it: it may be what is left of another one.
fn note_unended_line(
    formats: &[Format],
    text: &str,
    version: Option<&str>,
    found: &mut ResultFile,
) {
    let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
    if !last.chars().any(char::is_alphanumeric) {
        return;
    }
    let without = read_formats(formats, &format!("{before}\n"), version);
    if without.is_ok_and(|without| without == *found) {
        found.not_read("a last line that no line feed ends", Some(text.lines().count()));
    }
}

/// Marks values that no tool can have measured, which are kept as they are.
fn flag_impossible(import: &mut Import) {
    for invocation in import.series.iter_mut().flat_map(|series| &mut series.invocations) {
        let mut impossible = Vec::new();
        for (metric, values) in &invocation.values {
            if values.iter().any(|value| *value < 0.0) {
                impossible.push(format!("`{metric}` is negative"));
            }
            if metric == "loss" && values.iter().any(|value| *value > 1.0) {
                impossible.push("`loss` is more than 100 %".to_owned());
            }
        }
        if !impossible.is_empty() {
            let why = format!("{} in the file", impossible.join(" and "));
            invocation.flags.push(Flag::new(FlagKind::Other("impossible-value".to_owned()), why));
        }
    }
}

/// A metric with a value that is infinite or no number in SI base units, whatever the file has; or a time or a count that
/// was cut off because it does not fit, and would show as a wrong one.
fn too_large(import: &Import) -> Option<&str> {
    let invocations = import.series.iter().flat_map(|series| &series.invocations);
    let times = invocations.clone().flat_map(|invocation| &invocation.elapsed_ns);
    if times.fold(0, |sum: u64, time| sum.saturating_add(*time)) >= MOST {
        return Some("elapsed time");
    }
    if invocations.clone().any(|invocation| invocation.iterations >= MOST) {
        return Some("iterations");
    }
    for invocation in invocations {
        for (metric, values) in &invocation.values {
            if !values.iter().all(|value| value.is_finite()) {
                return Some(metric);
            }
        }
        if let Some((metric, _)) = invocation.work.iter().find(|(_, work)| !work.is_finite()) {
            return Some(metric);
        }
    }
    None
}

/// Whether a text looks like this, also when its end is missing.
fn fits(format: Format, text: &str) -> bool {
    match format {
        Format::Fio => text.contains("\"fio version\""),
        Format::Iperf3 => {
            text.contains("\"iperf 3")
                || (text.contains("\"test_start\"")
                    && (text.contains("\"intervals\"") || text.contains("\"event\"")))
        }
        Format::Hyperfine => {
            text.contains("\"results\"")
                && text.contains("\"command\"")
                && (text.contains("\"mean\"") || text.contains("\"times\""))
        }
        Format::Sysbench => has_line(text, "sysbench "),
        Format::Mbw => text.contains("\tMethod: ") && text.contains("\tElapsed: "),
        // Before the results, `+DT:` announces each test and `+R:` ends it.
        Format::Openssl => {
            ["+H:", "+F:", "+F2:", "+DT:", "+DTP:"].iter().any(|start| has_line(text, start))
        }
        Format::Bonnie => text.lines().any(bonnie::read::fits),
        Format::Hackbench => {
            has_line(text, "Each sender will pass ")
                || ((has_line(text, "Running in ") || has_line(text, "Running with "))
                    && has_line(text, "Time: "))
        }
        Format::Perf => text.lines().any(perf::fits),
        Format::Ping => text.contains(" packets transmitted, "),
        Format::CloudWatch => text.contains("\"Datapoints\"") && text.contains("\"Label\""),
        Format::Dd => text.lines().any(dd::fits),
        Format::FsMark => text.contains(fsmark::HEAD),
        Format::Cyclictest => {
            has_line(text, cyclictest::HEAD) || text.lines().any(cyclictest::is_of_thread)
        }
        Format::StressNg => has_line(text, stress_ng::HEAD),
        Format::Stream => text.lines().any(stream::fits),
        Format::Sockperf => has_line(text, sockperf::HEAD),
        Format::Ioping => text.lines().any(ioping::fits),
    }
}

/// Whether a line begins so.
fn has_line(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(start))
}

/// Reads all results of a format into `found`.
fn parse(
    format: Format,
    text: &str,
    version: Option<&str>,
    found: &mut ResultFile,
) -> Result<(), ImportError> {
    match format {
        Format::Bonnie => bonnie::read::parse(text, found),
        Format::Fio => fio::parse(text, found),
        Format::Iperf3 => iperf3::parse(text, found),
        Format::Hyperfine => hyperfine::parse(text, found),
        Format::Openssl => openssl::parse(text, version, found),
        Format::Sysbench => sysbench::parse(text, found),
        Format::Hackbench => hackbench::parse(text, found),
        Format::Perf => perf::parse(text, found),
        Format::Ping => ping::parse(text, found),
        Format::CloudWatch => cloudwatch::parse(text, found),
        Format::Dd => dd::parse(text, found),
        Format::FsMark => fsmark::parse(text, found),
        Format::Cyclictest => cyclictest::parse(text, found),
        Format::StressNg => stress_ng::parse(text, found),
        Format::Stream => stream::parse(text, found),
        Format::Sockperf => sockperf::parse(text, found),
        Format::Ioping => ioping::parse(text, found),
        Format::Mbw => mbw::parse(text, version, found),
    }
}
