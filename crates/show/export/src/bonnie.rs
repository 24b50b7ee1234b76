//! The CSV of bonnie++ 2.00a (format 1.98, 50 fields), for `bon_csv2html` and `bon_csv2txt`: a line a pass.

use std::fmt::Write as _;

use plumb_model::{PlannedPoint, RunRecord, Samples, Value};

use crate::entry::{Content, Export, ExportError, Holds};

pub(super) const BONNIE: Export = Export {
    name: "bonnie",
    extension: "csv",
    summary: "The CSV of `bonnie++ -q`, with one line per pass of storage.bonnie",
    content: Content::Text,
    holds: Holds::Runs,
    write: |runs| bonnie(runs.records).map(String::into_bytes),
};

/// The workload whose passes these are.
const WORKLOAD: &str = "storage.bonnie";

/// The label of what `-m` says.
const NAME: &str = "name";

const KIB: f64 = 1024.0;
const MIB: u64 = 1 << 20;

/// What bonnie++ takes where a field is empty.
const CHUNK: u64 = 8192;

/// Files are counted in this many.
const FILES: f64 = 1024.0;

/// The phases on a file, and whether their rates count bytes.
const FILE: [(&str, bool); 6] = [
    ("write_byte", true),
    ("write_block", true),
    ("rewrite", true),
    ("read_byte", true),
    ("read_block", true),
    ("seek", false),
];

/// The phases on many files.
const METADATA: [&str; 6] = [
    "create_sequential",
    "stat_sequential",
    "delete_sequential",
    "create_random",
    "stat_random",
    "delete_random",
];

/// All passes of the runs.
///
/// # Errors
/// When there is none.
pub fn bonnie(records: &[RunRecord]) -> Result<String, ExportError> {
    let mut text = String::new();
    for record in records {
        for (index, point) in record.plan.points.iter().enumerate() {
            if point.point.workload != WORKLOAD {
                continue;
            }
            for it in record.good_invocations(index) {
                let target = record.targets.get(it.target as usize);
                let named = record.plan.labels.get(NAME).or(target.map(|target| &target.name));
                let name = named.map_or("", String::as_str);
                let passes = 0..it.samples.len();
                passes.for_each(|pass| line(&mut text, name, point, it.seed, &it.samples, pass));
            }
        }
    }
    if text.is_empty() {
        let why = format!("no run has a pass of {WORKLOAD}; `plumb run {WORKLOAD}` makes one");
        return Err(ExportError::Nothing(why));
    }
    Ok(text)
}

fn line(
    text: &mut String,
    name: &str,
    point: &PlannedPoint,
    seed: u64,
    samples: &Samples,
    pass: usize,
) {
    let number = |setting: &str| {
        point.point.settings.get(setting).and_then(Value::integer).unwrap_or_default()
    };
    let value = |metric: String| samples.values.get(&metric)?.get(pass).copied();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole bytes of a file, and a cast saturates"
    )]
    let file_size = value("file_size".to_owned()).map_or(number("size"), |bytes| bytes as u64);
    let chunk = number("chunk");
    let chunk = if chunk == CHUNK { String::new() } else { size(chunk) };
    let version = env!("CARGO_PKG_VERSION");
    let length = size(file_size);
    let seeks = number("seeks");
    let seekers = number("seekers");
    let name = name.replace(',', "_");
    let _ = write!(text, "1.98,plumb{version},{name},1,{seed},{length},{chunk},{seeks},{seekers}");
    for (phase, in_bytes) in FILE {
        let rate = value(phase.to_owned()).map(|rate| if in_bytes { rate / KIB } else { rate });
        let _ = write!(text, ",{},{}", rate_text(rate), percent(value(format!("{phase}_cpu"))));
    }
    text.push_str(&files(point));
    for phase in METADATA {
        let rate = value(phase.to_owned());
        let cpu = value(format!("{phase}_cpu"));
        let _ = write!(text, ",{},{}", rate_text(rate), percent(cpu));
    }
    for phase in FILE.iter().map(|it| it.0).chain(METADATA) {
        let _ = write!(text, ",{}", latency(value(format!("{phase}_latency"))));
    }
    text.push('\n');
}

/// The five fields of many files: their number, the largest and smallest size, folders, chunk.
fn files(point: &PlannedPoint) -> String {
    let settings = &point.point.settings;
    let number = |name: &str| settings.get(name).and_then(Value::integer).unwrap_or_default();
    let unless =
        |value: u64, usual: u64| if value == usual { String::new() } else { value.to_string() };
    #[expect(clippy::cast_precision_loss, reason = "at most some hundred thousand")]
    let files = number("files") as f64 / FILES;
    if files == 0.0 {
        return ",,,,,".to_owned();
    }
    let largest = match settings.get("links").and_then(Value::text) {
        Some("hard") => "-1".to_owned(),
        Some("symbolic") => "-2".to_owned(),
        _ => unless(number("largest"), 0),
    };
    let smallest = unless(number("smallest"), 0);
    let folders = unless(number("folders"), 1);
    format!(",{files},{largest},{smallest},{folders},")
}

/// A size as bonnie++ writes it: `2G`, `256M`, `8k`, or bytes.
fn size(bytes: u64) -> String {
    let units = [(MIB << 10, "G"), (MIB, "M"), (1 << 10, "k")];
    let unit = units.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, word)| format!("{}{word}", bytes / unit))
}

/// As many digits as bonnie++ has; empty where the phase was not run.
fn rate_text(rate: Option<f64>) -> String {
    rate.map_or_else(String::new, |rate| match rate {
        ..100.0 => format!("{rate:.3}"),
        ..10_000.0 => format!("{rate:.1}"),
        _ => format!("{rate:.0}"),
    })
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.0}", 100.0 * share))
}

/// `2630us`, `140ms` or `12s`.
fn latency(seconds: Option<f64>) -> String {
    seconds.map_or_else(String::new, |seconds| match seconds {
        ..0.1 => format!("{:.0}us", seconds * 1e6),
        ..100.0 => format!("{:.0}ms", seconds * 1e3),
        _ => format!("{seconds:.0}s"),
    })
}

#[cfg(test)]
mod tests {
    use super::{latency, percent, rate_text, size};

    #[test]
    fn figures_are_written_as_bonnie_does() {
        let sizes = [256 << 20, 2 << 30, 8192, 1000, 3 << 19].map(size);
        assert_eq!(sizes, ["256M", "2G", "8k", "1000", "1536k"]);
        assert_eq!(
            [0.5, 142.7, 1_035_785.4].map(|it| rate_text(Some(it))),
            ["0.500", "142.7", "1035785"]
        );
        assert_eq!([2.63e-3, 0.38, 120.0].map(|it| latency(Some(it))), ["2630us", "380ms", "120s"]);
        assert_eq!(
            (percent(Some(0.987)), percent(None), rate_text(None)),
            ("99".into(), String::new(), String::new())
        );
    }
}
