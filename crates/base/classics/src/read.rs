//! Which format a file has, by what it contains, and who reads it.

use crate::error::ImportError;
use crate::format::Format;
use crate::import::Import;
use crate::numbers::MOST;
use crate::{
    bonnie, cloudwatch, cyclictest, dd, fio, fsmark, hackbench, hyperfine, ioping, iperf3, mbw,
    openssl, perf, ping, sockperf, stream, stress_ng, sysbench,
};

/// The results in a file; several if it holds those of several machines. Without a format it is
/// recognised by its content. `version` is the tool's, for files that do not give it.
///
/// # Errors
/// When nothing knows it, or it is damaged, or nothing was measured: then nothing of it is given.
pub fn read(
    text: &str,
    format: Option<Format>,
    version: Option<&str>,
) -> Result<Vec<Import>, ImportError> {
    let format = format
        .or_else(|| Format::ALL.into_iter().find(|format| fits(*format, text)))
        .ok_or(ImportError::Unknown)?;
    let mut imports = parse(format, text, version)?;
    for import in &mut imports {
        if import.version.is_none() {
            import.version = version.map(str::to_owned);
        }
    }
    if imports.iter().all(|import| import.series.is_empty()) {
        return Err(ImportError::nothing(format, "no results"));
    }
    if let Some(metric) = imports.iter().find_map(too_large) {
        let why = format!("a value of `{metric}` is too large for a number in its base unit");
        return Err(ImportError::damaged(format, why));
    }
    Ok(imports)
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
                || (text.contains("\"test_start\"") && text.contains("\"intervals\""))
        }
        Format::Hyperfine => {
            text.contains("\"results\"")
                && text.contains("\"command\"")
                && text.contains("\"mean\"")
        }
        Format::Sysbench => has_line(text, "sysbench "),
        Format::Mbw => text.contains("\tMethod: ") && text.contains("\tElapsed: "),
        Format::Openssl => has_line(text, "+H:") || has_line(text, "+F:") || has_line(text, "+F2:"),
        Format::Bonnie => text.lines().any(bonnie::read::fits),
        Format::Hackbench => {
            has_line(text, "Each sender will pass ")
                || (has_line(text, "Running in ") && has_line(text, "Time: "))
        }
        Format::Perf => has_line(text, perf::HEAD),
        Format::Ping => text.contains(" packets transmitted, "),
        Format::CloudWatch => text.contains("\"Datapoints\"") && text.contains("\"Label\""),
        Format::Dd => text.lines().any(dd::fits),
        Format::FsMark => text.contains(fsmark::HEAD),
        Format::Cyclictest => has_line(text, cyclictest::HEAD),
        Format::StressNg => has_line(text, stress_ng::HEAD),
        Format::Stream => has_line(text, stream::HEAD),
        Format::Sockperf => has_line(text, sockperf::HEAD),
        Format::Ioping => text.lines().any(ioping::fits),
    }
}

/// Whether a line begins so.
fn has_line(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.starts_with(start))
}

fn parse(format: Format, text: &str, version: Option<&str>) -> Result<Vec<Import>, ImportError> {
    match format {
        Format::Bonnie => bonnie::read::parse(text),
        Format::Fio => fio::parse(text),
        Format::Iperf3 => iperf3::parse(text),
        Format::Hyperfine => hyperfine::parse(text),
        Format::Mbw => mbw::parse(text, version),
        Format::Openssl => openssl::parse(text),
        Format::Sysbench => sysbench::parse(text),
        Format::Hackbench => hackbench::parse(text),
        Format::Perf => perf::parse(text),
        Format::Ping => ping::parse(text),
        Format::CloudWatch => cloudwatch::parse(text),
        Format::Dd => dd::parse(text),
        Format::FsMark => fsmark::parse(text),
        Format::Cyclictest => cyclictest::parse(text),
        Format::StressNg => stress_ng::parse(text),
        Format::Stream => stream::parse(text),
        Format::Sockperf => sockperf::parse(text),
        Format::Ioping => ioping::parse(text),
    }
}
