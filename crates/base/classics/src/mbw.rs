//! mbw's lines.
//!
//! Up to version 1.3 the labels MEMCPY and DUMB are swapped, and up to 1.2 MCBLOCK reads the same
//! block repeatedly. The output does not give the version, so a person has to; without it the
//! labels are only repeated. Every pass is a sample of one process. The rows of averages are left
//! out, unless they are all that a process printed (`mbw -q`): then each is its only sample. A number that does not rise begins the
//! next process.

use std::collections::BTreeMap;

use plumb_model::Better::Higher;

use crate::numbers::{MIB, figure, nanoseconds, positive, version};
use crate::result_file::ResultFile;
use crate::text::{Line, lines};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries, Ours};

/// The first version whose labels are right.
const LABELS_RIGHT: [u32; 2] = [1, 4];
/// The first version whose MCBLOCK advances its source.
const BLOCK_RIGHT: [u32; 2] = [1, 3];

/// Bytes of a block of MCBLOCK, if none were asked for.
const DEFAULT_BLOCK: &str = "262144";

/// How a row of averages begins.
const AVERAGE: &str = "AVG\t";

/// One pass, or the average of some.
struct MbwPass {
    /// Its number from 0; None if it is an average.
    number: Option<u32>,
    /// Bytes of a block of MCBLOCK, if they are not the default.
    block: String,
    label: String,
    mib: f64,
    /// Copied bytes per time, in MiB/s.
    rate: f64,
    elapsed_s: f64,
}

pub(crate) fn parse(
    text: &str,
    told: Option<&str>,
    found: &mut ResultFile,
) -> Result<(), ImportError> {
    let mut log = MbwLog::default();
    for line in lines(text) {
        log.read(line)?;
    }
    if log.processes.is_empty() {
        return Err(ImportError::nothing(Format::Mbw, "no passes and no averages"));
    }
    // In the order of labels and sizes, whatever the order of the log.
    log.processes.sort_by_key(|process| process.key.clone());
    for process in &log.processes {
        let version = process.version.clone().or(told.map(str::to_owned));
        if let Some(series) = series(&process.passes, version.as_deref()) {
            found.import(Format::Mbw, version, None, BTreeMap::new()).add(series);
        }
    }
    Ok(())
}

/// The passes of one method and size in one process of mbw.
struct MbwProcess {
    key: (String, u64),
    version: Option<String>,
    passes: Vec<MbwPass>,
}

/// A log as far as it was read.
#[derive(Default)]
struct MbwLog {
    processes: Vec<MbwProcess>,
    /// Where those of the process that prints begin.
    current: usize,
    /// The version of that process, if its help was printed before.
    version: Option<String>,
    block: String,
}

impl MbwLog {
    fn read(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        if let Some(version) = banner(line.text) {
            self.end_process();
            self.version = Some(version);
        } else if line.text.starts_with("Long uses ") && self.current < self.processes.len() {
            self.end_process();
        } else if let Some((bytes, _)) =
            line.text.strip_prefix("Using ").and_then(|rest| rest.split_once(" bytes as blocks"))
        {
            (if bytes == DEFAULT_BLOCK { "" } else { bytes }).clone_into(&mut self.block);
        } else if is_pass(line.text) || line.text.starts_with(AVERAGE) {
            let mut pass = pass(line.text).ok_or_else(|| {
                let shown: String = line.text.chars().take(80).collect();
                line.wrong(Format::Mbw, format!("`{shown}` is not a pass"))
            })?;
            pass.block.clone_from(&self.block);
            self.add(pass);
        }
        Ok(())
    }

    fn add(&mut self, pass: MbwPass) {
        let key = (pass.label.clone(), pass.mib.to_bits());
        // A process has one size.
        if self.processes[self.current..].iter().any(|process| process.key.1 != key.1) {
            self.end_process();
        }
        let known = self.processes[self.current..].iter_mut().find(|process| process.key == key);
        if let Some(known) = known {
            // Passes are numbered from 0 in each process.
            if known.passes.last().is_some_and(|last| pass.number > last.number) {
                known.passes.push(pass);
                return;
            }
            // An average repeats the passes above it.
            if pass.number.is_none() && known.passes.iter().any(|pass| pass.number.is_some()) {
                return;
            }
            self.end_process();
        }
        self.processes.push(MbwProcess { key, version: self.version.clone(), passes: vec![pass] });
    }

    /// What follows is of another process, of which nothing is known.
    fn end_process(&mut self) {
        self.current = self.processes.len();
        self.version = None;
    }
}

/// Whether a line begins with the number of a pass.
fn is_pass(line: &str) -> bool {
    line.split_once('\t').is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

/// `mbw memory benchmark v1.5, …`, which only its help prints.
fn banner(line: &str) -> Option<String> {
    let rest = line.strip_prefix("mbw memory benchmark v")?;
    Some(rest.split(',').next().unwrap_or(rest).to_owned())
}

/// An exbibyte: no array is larger.
const LARGEST_MIB: f64 = MIB * MIB;

/// `0\tMethod: MEMCPY\tElapsed: 0.00176\tMiB: 16.00000\tCopy: 9075.440 MiB/s`.
fn pass(line: &str) -> Option<MbwPass> {
    let rate = field(line, "Copy: ")?;
    Some(MbwPass {
        number: line.split('\t').next()?.parse().ok(),
        block: String::new(),
        label: field(line, "Method: ")?.to_owned(),
        // Less than a byte, or more than any memory, would be a size of 0, or of hundreds of digits.
        mib: positive(field(line, "MiB: ")?)
            .filter(|mib| (1.0 / MIB..LARGEST_MIB).contains(mib))?,
        rate: figure(rate.strip_suffix("MiB/s")?)?,
        elapsed_s: figure(field(line, "Elapsed: ")?)?,
    })
}

impl MbwPass {
    /// Its time in ns. The time is printed to 10 µs, the rate to more: mbw's clock counts microseconds.
    fn elapsed_ns(&self) -> u64 {
        if self.rate <= 0.0 {
            return nanoseconds(self.elapsed_s);
        }
        nanoseconds((self.mib / self.rate * 1e6).round().max(1.0) * 1e-6)
    }
}

/// The text after a name in the field that begins with it.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split('\t').find_map(|field| Some(field.strip_prefix(name)?.trim()))
}

/// The method of a label in a version; None if unknown.
fn method(label: &str, told: Option<&str>) -> Option<&'static str> {
    let program = version(told?);
    let labels_are_right = program.as_slice() >= &LABELS_RIGHT[..];
    let block_is_right = program.as_slice() >= &BLOCK_RIGHT[..];
    match label {
        _ if program.is_empty() => None,
        "MEMCPY" => Some(if labels_are_right { "libc" } else { "loop" }),
        "DUMB" => Some(if labels_are_right { "loop" } else { "libc" }),
        "MCBLOCK" => Some(if block_is_right { "block" } else { "same_block" }),
        _ => None,
    }
}

fn series(passes: &[MbwPass], told: Option<&str>) -> Option<ImportedSeries> {
    let first = passes.first()?;
    let bytes = first.mib * MIB;
    let method = method(&first.label, told);
    let mut series = ImportedSeries::new("mbw.copy", "copies an array; each byte counts once");
    series.set("method", method.map_or_else(|| format!("labelled_{}", first.label), str::to_owned));
    series.set("size", format!("{}MiB", first.mib));
    if first.label == "MCBLOCK" {
        series.set("block", first.block.as_str());
    }
    // memory.copy has no method that copies the same block repeatedly.
    let same = method.filter(|word| {
        *word == "libc" || *word == "loop" || (*word == "block" && first.block.is_empty())
    });
    series.ours = same.map(|word| Ours {
        workload: "memory.copy",
        settings: vec![("method", word.to_owned()), ("size", format!("{bytes:.0}"))],
    });
    series.invocations.push(ImportedInvocation {
        elapsed_ns: passes.iter().map(MbwPass::elapsed_ns).collect(),
        iterations: 1,
        work: BTreeMap::from([("bandwidth".to_owned(), bytes)]),
        ..ImportedInvocation::default()
    });
    let rates = passes.iter().map(|pass| pass.rate * MIB);
    series.measured(("bandwidth", "B/s", Higher), "bytes copied per second", rates);
    series.notes.push(note(&first.label, method, told));
    if first.number.is_none() {
        let note = "an average; the file has no individual passes, so there is no spread";
        series.notes.push(note.to_owned());
    }
    Some(series)
}

fn note(label: &str, method: Option<&str>, told: Option<&str>) -> String {
    match (method, told) {
        (Some("same_block"), Some(told)) => {
            format!("mbw {told} reads the same block repeatedly instead of copying an array")
        }
        (Some(method), Some(told)) => format!("mbw {told} labels this {label}, but it is {method}"),
        _ => format!(
            "labelled {label}; the file does not contain the version of mbw, and versions up to 1.3 swap \
             MEMCPY and DUMB: import it with --tool-version"
        ),
    }
}
