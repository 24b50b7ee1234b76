//! Reads bonnie++ CSV.
//!
//! `+++++` stands for a phase of less than half a second, which bonnie++ does not rate: it is not a figure, and never 0.
//! The header that `-x` prints has the names of the older form and is skipped.

use std::collections::BTreeMap;

use plumb_model::Better::{Higher, Lower};

use plumb_units::SHARE;

use super::csv::{CsvLayout, FILES_SETTINGS, V27, V48, V50};
use super::parameter::{
    BYTE_SIZE, CHUNK, CreatedLinks, DEFAULT_BYTE_SIZE, DEFAULT_SEEKS, FILES, FILES_UNIT, FOLDERS,
    LARGEST, LINKS, SEEKERS, SEEKS, SIZE, SMALLEST,
};
use super::pass::{
    FILE_SIZE, IMPORTED_PASS, ON_FILE, PHASES, Phase, Requires, WORKLOAD, WRITE_BLOCK,
    imported_phase,
};
use crate::import::BY_RATE;
use crate::numbers::{KIB, MIB, figure, size, version};
use crate::result_file::ResultFile;
use crate::text::{Line, lines};
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries, Ours};

/// What the notes of a pass say about what its line leaves open.
const PASS_NOTE: &str = "the file has rates but no times: the length of a pass is computed from the \
                         rates of its phases; it does not record -b (assumed absent) or the number of \
                         bytes moved one by one (assumed 3 MiB)";

/// Whether a line looks like one of the three forms, or like what is left of one.
pub(crate) fn fits(line: &str) -> bool {
    layout(line.trim()).is_some() || looks_cut(line.trim())
}

fn layout(line: &str) -> Option<&'static CsvLayout> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let newer = fields[0].starts_with("1.").then(|| version(fields[0]));
    match (fields.len(), newer.as_deref()) {
        // Lines of 1.03 name no version, so the number of fields alone could be that of any table.
        (27, _) if is_of_1_03(&fields) => Some(&V27),
        (48, Some([1, 96 | 97])) => Some(&V48),
        (50, Some([1, 98])) => Some(&V50),
        _ => None,
    }
}

/// Whether 27 fields are a size and a rate, or (with `-s 0`) nothing on the file and a number of small files.
fn is_of_1_03(fields: &[&str]) -> bool {
    let on_file = is_size(first_part(fields[1])) && is_rate_or_empty(fields[2]);
    on_file || is_on_many_files_only(fields)
}

/// Whether 27 fields have nothing on the large file, and a number of small files.
fn is_on_many_files_only(fields: &[&str]) -> bool {
    let files = fields[V27.files];
    fields[1..V27.files].iter().all(|field| field.is_empty())
        && is_size(files)
        && fields[V27.on_many_files..].iter().all(|field| is_rate_or_empty(field))
}

/// Whether a field is a size or a number of files, with or without a unit; 0 is one, too.
fn is_size(text: &str) -> bool {
    size(text).is_some()
        || figure(text.trim_end_matches(|c: char| c.is_ascii_alphabetic())).is_some()
}

/// The size before `:chunk`.
fn first_part(size: &str) -> &str {
    size.split(':').next().unwrap_or(size)
}

fn is_rate_or_empty(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || is_too_fast(text) || text.parse::<f64>().is_ok()
}

/// Whether a field is the `+++++` of what took less than half a second.
fn is_too_fast(text: &str) -> bool {
    text.chars().all(|c| c == '+')
}

/// The lines, with an import per machine; lines with the same settings are processes of one test.
pub(crate) fn parse(text: &str, found: &mut ResultFile) -> Result<(), ImportError> {
    // Lines of several machines or versions may stand in one file, and are never one series.
    let mut machines: BTreeMap<(String, String), Import> = BTreeMap::new();
    let lines = lines(text);
    let mut other_forms: Option<(Line<'_>, usize)> = None;
    for line in &lines {
        let Some(layout) = layout(line.text) else {
            let commas = line.text.matches(',').count();
            if looks_cut(line.text) {
                let head: String = line.text.chars().take(24).collect();
                return Err(line.wrong(Format::Bonnie, format!("fields are missing in `{head}…`")));
            }
            if commas >= LEAST_COMMAS && !is_header(line.text) {
                let what =
                    format!("a line of {} fields, which is none of the known forms", commas + 1);
                other_forms.get_or_insert((*line, commas + 1));
                found.not_read(what, Some(line.number));
            }
            continue;
        };
        let mut fields: Vec<&str> = line.text.split(',').map(str::trim).collect();
        // The last share of CPU may have lost a digit; later forms end with a unit.
        if layout.latencies.is_none() && !line.is_ended {
            fields[V27.fields - 1] = "";
            found.not_read("the last field of a line that no line feed ends", Some(line.number));
        }
        let (name, version) = match layout.latencies {
            Some(_) => (fields[2], fields[1]),
            None => (fields[0], "1.03"),
        };
        let key = (name.to_owned(), version.to_owned());
        let import = machines.entry(key).or_insert_with(|| empty_import(name, version));
        read_line(import, &BonnieLine { layout, fields })
            .map_err(|why| line.wrong(Format::Bonnie, why))?;
    }
    if machines.is_empty() {
        let why = match other_forms {
            Some((line, fields)) => {
                return Err(ImportError::unreadable(
                    Format::Bonnie,
                    line.number,
                    format!("{fields} fields are none of the forms of 1.03, 1.96 to 1.98 and 2.00"),
                ));
            }
            None => "no line has 27, 48 or 50 fields (plumb reads the CSV, not the table)",
        };
        return Err(ImportError::unsupported(Format::Bonnie, why));
    }
    found.imports.extend(machines.into_values());
    Ok(())
}

/// The least commas of a line that may be a result.
const LEAST_COMMAS: usize = 20;

/// Whether a line has names in place of figures (`-x`).
fn is_header(line: &str) -> bool {
    line.contains("file_size,") || line.contains(",putc,")
}

fn empty_import(name: &str, version: &str) -> Import {
    let mut import = Import::new(Format::Bonnie);
    import.version = Some(version.to_owned());
    if !name.is_empty() {
        import.machine.insert("name".to_owned(), name.to_owned());
    }
    import
}

/// Whether a line begins like a result of 1.96 or later and lacks fields; a header does not.
fn looks_cut(line: &str) -> bool {
    line.starts_with("1.9") && line.matches(',').count() > 5
}

fn read_line(import: &mut Import, line: &BonnieLine) -> Result<(), String> {
    debug_assert_eq!(line.fields.len(), line.layout.fields, "the layout was chosen by it");
    let mut printed = Vec::new();
    for index in 0..PHASES.len() {
        printed.push(line.phase(index)?);
    }
    // What plumb measures as one workload is imported as one: phases of a pass are not independent tests.
    if let Some(series) = whole_pass(line, &printed) {
        import.add(series);
        return Ok(());
    }
    for (index, printed) in printed.into_iter().enumerate() {
        add_phase(import, line.series(index), &printed);
    }
    Ok(())
}

/// A line of 2.00a as the whole pass that plumb measures, too. None for older forms, and if the pass lacks the figure
/// that it is mainly about.
fn whole_pass(line: &BonnieLine, printed: &[Printed]) -> Option<ImportedSeries> {
    if line.layout.fields != V50.fields
        || !matches!(printed[WRITE_BLOCK].rate, Some(Rate::Figure(_)))
    {
        return None;
    }
    let mut series =
        ImportedSeries::new(IMPORTED_PASS, "a pass of bonnie++, with all of its phases");
    line.set_file_settings(&mut series);
    line.set_files_settings(&mut series);
    series.set("concurrency", line.concurrency());
    let settings = settings(&line.fields, printed);
    // The first metric is what a series is about.
    let mut ordered: Vec<&Printed> = printed.iter().collect();
    ordered.swap(0, WRITE_BLOCK);
    let seconds = ordered.iter().map(|printed| phase_seconds(&settings, printed)).sum();
    series.invocations.push(ImportedInvocation::lasting(seconds, 1));
    for printed in ordered {
        measured(&mut series, printed);
    }
    let file_size = size(line.fields[5]);
    series.measured((FILE_SIZE, "B", Higher), "bytes of the file", file_size);
    series.notes.push(PASS_NOTE.to_owned());
    // plumb does one pass at a time.
    if line.concurrency().is_empty() {
        series.ours = Some(Ours { workload: WORKLOAD, settings });
    }
    Some(series)
}

/// Adds the metrics of a phase to a pass, with the names of plumb's workload.
fn measured(series: &mut ImportedSeries, printed: &Printed) {
    let phase = printed.phase;
    match printed.rate {
        Some(Rate::Figure(rate)) if phase.counts_bytes => {
            series.measured((phase.name, "B/s", Higher), "work per second", [rate * KIB]);
        }
        Some(Rate::Figure(rate)) => {
            series.measured((phase.name, "ops/s", Higher), "work per second", [rate]);
        }
        Some(Rate::TooFast) => series.notes.push(format!(
            "{}: bonnie++ printed +++++, i.e. the phase took less than half a second",
            phase.name
        )),
        Some(Rate::NotRun) | None => return,
    }
    series.measured((phase.cpu, SHARE, Lower), "CPU time over wall time", printed.cpu);
    let slowest = "the slowest operation";
    series.measured((phase.latency, "s", Lower), slowest, printed.latency_s);
}

/// The settings of plumb's workload that a line gives. A phase that was not run is a setting of 0.
fn settings(fields: &[&str], printed: &[Printed]) -> Vec<(&'static str, String)> {
    // The field has a number even if the phase was not run.
    let seeks = if was_run(printed, Requires::Seeks) { fields[7] } else { "" };
    let first = V50.files;
    let numbers = [
        (SIZE, fields[5], 1),
        (CHUNK, fields[6], 1),
        (SEEKERS, fields[8], 1),
        (SEEKS, seeks, 1),
        (FILES, fields[first], FILES_UNIT),
        (LARGEST, fields[first + 1], 1),
        (SMALLEST, fields[first + 2], 1),
        (FOLDERS, fields[first + 3], 1),
    ];
    let mut settings = Vec::new();
    for (name, field, unit) in numbers {
        if let Some(number) = size(field) {
            settings.push((name, format!("{:.0}", number * as_number(unit))));
        }
    }
    let left_out_by =
        [(BYTE_SIZE, Requires::Bytes), (SEEKS, Requires::Seeks), (FILES, Requires::Files)];
    for (name, requirement) in left_out_by {
        if !was_run(printed, requirement) {
            settings.push((name, "0".to_owned()));
        }
    }
    if let Some(links) = CreatedLinks::of_size(fields[first + 1]) {
        settings.push((LINKS, links.word().to_owned()));
    }
    settings
}

/// Whether the first phase with this requirement was run: all phases of one requirement are, or none.
fn was_run(printed: &[Printed], requirement: Requires) -> bool {
    let first = printed.iter().find(|printed| printed.phase.requires == requirement);
    first.is_some_and(|printed| printed.rate.is_some())
}

/// How long a phase took by its rate, in seconds; 0 if it has none.
fn phase_seconds(settings: &[(&str, String)], printed: &Printed) -> f64 {
    let Some(Rate::Figure(rate)) = printed.rate else { return 0.0 };
    let work = match printed.phase.requires {
        Requires::Bytes => as_number(DEFAULT_BYTE_SIZE) / KIB,
        Requires::Seeks => number_of(settings, SEEKS).unwrap_or(as_number(DEFAULT_SEEKS)),
        Requires::File => number_of(settings, SIZE).unwrap_or(0.0) / KIB,
        Requires::Files => number_of(settings, FILES).unwrap_or(0.0),
    };
    if rate > 0.0 { work / rate } else { 0.0 }
}

fn number_of(settings: &[(&str, String)], name: &str) -> Option<f64> {
    let (_, value) = settings.iter().find(|(known, _)| *known == name)?;
    value.parse().ok()
}

#[expect(clippy::cast_precision_loss, reason = "defaults of bonnie++ are far below 2^53")]
fn as_number(default: u64) -> f64 {
    default as f64
}

/// A line with the form that it has.
struct BonnieLine<'a> {
    layout: &'static CsvLayout,
    fields: Vec<&'a str>,
}

impl BonnieLine<'_> {
    /// The printed line of a phase.
    fn phase(&self, index: usize) -> Result<Printed, String> {
        let latency = self.layout.latency(index).map_or("", |field| self.fields[field]);
        let latency_s = if latency.is_empty() || is_too_fast(latency) {
            None
        } else {
            Some(seconds(latency).ok_or_else(|| no_figure(latency))?)
        };
        let cpu = self.fields[self.layout.cpu(index)];
        let cpu_percent = if cpu.is_empty() || is_too_fast(cpu) {
            None
        } else {
            Some(figure(cpu).ok_or_else(|| no_figure(cpu))?)
        };
        let rate = rate(self.fields[self.layout.rate(index)])?;
        // 1.03 prints 0 for what was not run; later versions print nothing.
        let is_zero = matches!(rate, Some(Rate::Figure(0.0)));
        let rate =
            if is_zero && self.layout.latencies.is_none() { Some(Rate::NotRun) } else { rate };
        Ok(Printed {
            phase: &PHASES[index],
            rate,
            cpu: cpu_percent.map(|percent| percent / 100.0),
            latency_s,
        })
    }

    /// A phase as its own test, without figures yet.
    fn series(&self, index: usize) -> ImportedSeries {
        let phase = &PHASES[index];
        // 1.03 goes through stdio, which later versions do not: another test.
        let is_stdio = self.layout.latencies.is_none() && phase.requires == Requires::Bytes;
        let name =
            if is_stdio { phase.name.replace("_byte", "_stdio") } else { phase.name.to_owned() };
        let mut series = ImportedSeries::new(imported_phase(&name), phase.imported);
        if index < ON_FILE {
            self.set_file_settings(&mut series);
        } else {
            self.set_files_settings(&mut series);
        }
        series.set("concurrency", self.concurrency());
        series
    }

    /// The number of passes at a time (`-c`); empty if it is one, or the form does not have it.
    fn concurrency(&self) -> &str {
        let concurrency = if self.layout.latencies.is_some() { self.fields[3] } else { "" };
        if concurrency == "1" { "" } else { concurrency }
    }

    /// The settings of phases on the large file.
    fn set_file_settings(&self, series: &mut ImportedSeries) {
        for (name, field) in self.layout.settings {
            series.set(name, self.fields[*field]);
        }
    }

    /// The settings of phases on many files.
    fn set_files_settings(&self, series: &mut ImportedSeries) {
        let fields = &self.fields[self.layout.files..self.layout.on_many_files];
        for (name, field) in FILES_SETTINGS.iter().zip(fields) {
            series.set(name, *field);
        }
    }
}

/// The printed line of a phase.
struct Printed {
    phase: &'static Phase,
    /// None when it was not run.
    rate: Option<Rate>,
    /// Share of one CPU, user and system.
    cpu: Option<f64>,
    latency_s: Option<f64>,
}

enum Rate {
    /// KiB or operations per second.
    Figure(f64),
    /// `+++++`: bonnie++ does not rate less than half a second.
    TooFast,
    /// The 0 of 1.03.
    NotRun,
}

fn rate(text: &str) -> Result<Option<Rate>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    if is_too_fast(text) {
        return Ok(Some(Rate::TooFast));
    }
    figure(text).map(|rate| Some(Rate::Figure(rate))).ok_or_else(|| no_figure(text))
}

fn no_figure(text: &str) -> String {
    format!("`{text}` is not a number")
}

/// `2630us`, `14ms`, `2s` in seconds.
fn seconds(text: &str) -> Option<f64> {
    // `s` ends all three, so it is tried last.
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, unit) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0).map(|n| n * unit)
}

/// Adds a phase as its own test, or says why it has no figure.
fn add_phase(import: &mut Import, mut series: ImportedSeries, printed: &Printed) {
    let rate = match printed.rate {
        None => return,
        Some(Rate::Figure(rate)) => rate,
        Some(Rate::TooFast) => {
            let why = "bonnie++ printed +++++: the phase took less than half a second";
            let fix = "measure more: a larger -s, or more files with -n";
            return add_missing(import, series, why, fix);
        }
        Some(Rate::NotRun) => {
            let why = "bonnie++ printed 0, as 1.03 does if the phase was not run";
            return add_missing(import, series, why, "run the phase");
        }
    };
    if printed.phase.counts_bytes {
        series.invocations.push(ImportedInvocation::by_rate(rate * KIB / MIB, 1.0));
        series.measured(("bandwidth", "B/s", Higher), "bytes of the file per second", [rate * KIB]);
    } else {
        series.invocations.push(ImportedInvocation::by_rate(rate, 1000.0));
        series.measured(("rate", "ops/s", Higher), "operations per second", [rate]);
    }
    series.measured(("cpu", SHARE, Lower), "user and system CPU time over wall time", printed.cpu);
    let slowest = "the slowest operation";
    series.measured(("latency_max", "s", Lower), slowest, printed.latency_s);
    series.notes.push(BY_RATE.to_owned());
    import.add(series);
}

/// Notes once that a test has no figure, however many lines lack it.
fn add_missing(import: &mut Import, series: ImportedSeries, why: &str, fix: &str) {
    if !import.missing.iter().any(|(missing, ..)| missing.is_same_test(&series)) {
        import.missing.push((series, why.to_owned(), fix.to_owned()));
    }
}
