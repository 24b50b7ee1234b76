//! The CSV of bonnie++.
//!
//! A line is one process: fields are told apart by their number. 1.03 has 27, 1.96 and 1.97 have 48,
//! 1.98 and 2.00 have 50. Rates of files are in KiB/s, others in operations a second; latencies are
//! the one slowest operation. `+++++` stands for a phase of less than half a second, which bonnie++
//! does not rate: it is no figure, and never 0. The header that `-x` prints has the names of the older
//! form and is passed over.

use std::collections::BTreeMap;

use plumb_model::Better::{Higher, Lower};

use crate::import::BY_RATE;
use crate::numbers::{KIB, MIB, positive, size, version};
use crate::{Error, Format, Import, Invocation, Ours, Series};

/// Where a form has its fields.
struct Layout {
    fields: usize,
    /// First of the six pairs of rate and CPU of the file phases.
    file: usize,
    /// Number of files; four more settings follow but in 1.03.
    files: usize,
    /// First of the six pairs of the metadata phases.
    metadata: usize,
    /// First of the twelve latencies.
    latencies: Option<usize>,
    /// Fields of settings.
    settings: &'static [(&'static str, usize)],
}

const V27: Layout = Layout {
    fields: 27,
    file: 2,
    files: 14,
    metadata: 15,
    latencies: None,
    settings: &[("size", 1)],
};
const V48: Layout = Layout {
    fields: 48,
    file: 7,
    files: 19,
    metadata: 24,
    latencies: Some(36),
    settings: &[("size", 5), ("chunk", 6)],
};
const V50: Layout = Layout {
    fields: 50,
    file: 9,
    files: 21,
    metadata: 26,
    latencies: Some(38),
    settings: &[("size", 5), ("chunk", 6), ("seeks", 7), ("seekers", 8)],
};

/// The phases on a file: id, what it does, whether its rate counts bytes.
const FILE: [(&str, &str, bool); 6] = [
    ("write_byte", "writes a file byte by byte", true),
    ("write_block", "writes a file in blocks, fsync included", true),
    ("rewrite", "reads, changes and writes each block; the size counts once", true),
    ("read_byte", "reads a file byte by byte", true),
    ("read_block", "reads a file in blocks, through the page cache", true),
    ("seek", "reads random blocks, and writes every tenth back", false),
];

/// The phases on many files.
const METADATA: [(&str, &str); 6] = [
    ("create_sequential", "creates files in order, sync(2) included"),
    ("stat_sequential", "looks at files in order"),
    ("delete_sequential", "deletes files in order, sync(2) included"),
    ("create_random", "creates files in random order, sync(2) included"),
    ("stat_random", "looks at files in random order"),
    ("delete_random", "deletes files in random order, sync(2) included"),
];

/// KiB that 2.00a moves one by one, unless it is told otherwise.
const BYTES: f64 = 3.0 * 1024.0;

/// Its seeks.
const SEEKS: f64 = 8192.0;

/// The settings of metadata phases after the number of files.
const FILES_SETTINGS: [&str; 5] = ["files", "largest", "smallest", "folders", "file_chunk"];

/// Whether a line looks like one of the three forms, or like what is left of one.
pub(crate) fn fits(line: &str) -> bool {
    layout(line).is_some() || looks_cut(line)
}

fn layout(line: &str) -> Option<&'static Layout> {
    let fields: Vec<&str> = line.split(',').collect();
    let of_form = |form: &[u32]| version(fields[0]) == form && fields[0].starts_with("1.");
    match fields.len() {
        27 if size(first_part(fields[1])).is_some() && is_cell(fields[2]) => Some(&V27),
        48 if of_form(&[1, 96]) || of_form(&[1, 97]) => Some(&V48),
        50 if of_form(&[1, 98]) => Some(&V50),
        _ => None,
    }
}

/// The size before `:chunk`.
fn first_part(size: &str) -> &str {
    size.split(':').next().unwrap_or(size)
}

fn is_cell(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text.chars().all(|c| c == '+') || text.parse::<f64>().is_ok()
}

/// The lines, an import a machine; lines with the same settings are processes of one test.
pub(crate) fn parse(text: &str) -> Result<Vec<Import>, Error> {
    let mut machines: BTreeMap<(String, String), Import> = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some(layout) = layout(line) else {
            if looks_cut(line) {
                let why = format!("`{}…` does not have all fields", head(line));
                return Err(Error::damaged(Format::Bonnie, why));
            }
            continue;
        };
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let (name, version) = match layout.latencies {
            Some(_) => (fields[2], fields[1]),
            None => (fields[0], "1.03"),
        };
        let key = (name.to_owned(), version.to_owned());
        let import = machines.entry(key).or_insert_with(|| started(name, version));
        line_into(import, layout, &fields)?;
    }
    if machines.is_empty() {
        let why = "no line has 27, 48 or 50 fields (the table for people is not read)";
        return Err(Error::damaged(Format::Bonnie, why));
    }
    Ok(machines.into_values().collect())
}

fn started(name: &str, version: &str) -> Import {
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

fn head(line: &str) -> String {
    line.chars().take(24).collect()
}

fn line_into(import: &mut Import, layout: &Layout, fields: &[&str]) -> Result<(), Error> {
    debug_assert_eq!(fields.len(), layout.fields, "the layout was chosen by it");
    if let Some(series) = pass(layout, fields)? {
        join(import, series);
        return Ok(());
    }
    for (i, (id, summary, bytes)) in FILE.iter().enumerate() {
        let cells = cells(layout, fields, layout.file, i, i)?;
        // 1.03 goes through stdio, which later versions do not: another test.
        let stdio = layout.latencies.is_none() && id.ends_with("_byte");
        let id = if stdio { id.replace("_byte", "_stdio") } else { (*id).to_owned() };
        let mut series = Series::new(format!("bonnie.{id}"), summary);
        for (name, field) in layout.settings {
            series.set(name, fields[*field]);
        }
        phase(import, series, *bytes, &cells);
    }
    for (i, (id, summary)) in METADATA.iter().enumerate() {
        let cells = cells(layout, fields, layout.metadata, i, i + FILE.len())?;
        let mut series = Series::new(format!("bonnie.{id}"), summary);
        for (name, field) in FILES_SETTINGS.iter().zip(&fields[layout.files..layout.metadata]) {
            series.set(name, *field);
        }
        phase(import, series, false, &cells);
    }
    Ok(())
}

/// A line of 2.00a as what plumb measures, too: a whole pass. None of older forms, and where the first figure of a
/// pass is missing.
fn pass(layout: &Layout, fields: &[&str]) -> Result<Option<Series>, Error> {
    if layout.fields != V50.fields {
        return Ok(None);
    }
    let mut phases = Vec::new();
    for (i, (id, _, bytes)) in FILE.iter().enumerate() {
        phases.push((*id, *bytes, cells(layout, fields, layout.file, i, i)?));
    }
    for (i, (id, _)) in METADATA.iter().enumerate() {
        phases.push((*id, false, cells(layout, fields, layout.metadata, i, i + FILE.len())?));
    }
    // First what the workload is about.
    phases.swap(0, 1);
    if !matches!(phases[0].2.rate, Some(Rate::Figure(_))) {
        return Ok(None);
    }
    let mut series = Series::new("bonnie.pass", "a pass of bonnie++, with all of its phases");
    let named = layout.settings.iter().copied();
    let of_files = FILES_SETTINGS.into_iter().zip(layout.files..);
    named.chain(of_files).for_each(|(name, field)| series.set(name, fields[field]));
    let settings = settings(fields, &phases);
    series.invocations.push(Invocation::lasting(seconds_of(&settings, &phases), 1));
    for (id, bytes, cells) in &phases {
        measured(&mut series, id, *bytes, cells);
    }
    series.measured(("file_size", "B", Higher), "bytes of the file", size(fields[5]));
    let told = "the file has rates and no lengths: a pass lasts as long as its phases by their rates; it does not tell \
                -b, which is taken as not given, nor how many bytes were moved one by one, which is taken as 3 MiB";
    series.notes.push(told.to_owned());
    series.ours = Some(Ours { workload: "storage.bonnie", settings });
    Ok(Some(series))
}

/// A phase of a pass, in the words of plumb's workload.
fn measured(series: &mut Series, id: &str, bytes: bool, cells: &Cells) {
    let (unit, factor) = if bytes { ("B/s", KIB) } else { ("ops/s", 1.0) };
    match cells.rate {
        Some(Rate::Figure(rate)) => {
            series.measured((id, unit, Higher), "work a second", [rate * factor]);
        }
        Some(Rate::TooFast) => series.notes.push(format!(
            "{id}: bonnie++ printed +++++, which stands for less than half a second"
        )),
        None => return,
    }
    series.measured((&format!("{id}_cpu"), "", Lower), "CPU time over wall time", cells.cpu);
    let slowest = "the slowest operation";
    series.measured((&format!("{id}_latency"), "s", Lower), slowest, cells.latency_s);
}

/// The settings of plumb's workload that a line tells; phases that were not run are left out.
fn settings(fields: &[&str], phases: &[(&str, bool, Cells)]) -> Vec<(&'static str, String)> {
    let ran = |id: &str| phases.iter().any(|(name, _, cells)| *name == id && cells.rate.is_some());
    let mut settings = Vec::new();
    let mut number = |name: &'static str, field: &str, unit: f64| {
        settings.extend(size(field).map(|value| (name, format!("{:.0}", value * unit))));
    };
    number("size", fields[5], 1.0);
    number("chunk", fields[6], 1.0);
    number("seekers", fields[8], 1.0);
    number("seeks", if ran("seek") { fields[7] } else { "" }, 1.0);
    number("files", fields[V50.files], 1024.0);
    number("largest", fields[V50.files + 1], 1.0);
    number("smallest", fields[V50.files + 2], 1.0);
    number("folders", fields[V50.files + 3], 1.0);
    let left_out = [
        ("byte_size", ran("write_byte")),
        ("seeks", ran("seek")),
        ("files", ran("create_sequential")),
    ];
    let zeroes = left_out.into_iter().filter(|(_, ran)| !ran);
    settings.extend(zeroes.map(|(name, _)| (name, "0".to_owned())));
    let links = [("-1", "hard"), ("-2", "symbolic")];
    let link = links.iter().find(|(size, _)| *size == fields[V50.files + 1]);
    settings.extend(link.map(|(_, kind)| ("links", (*kind).to_owned())));
    settings
}

/// How long the phases that have a rate took by it, in seconds.
fn seconds_of(settings: &[(&str, String)], phases: &[(&str, bool, Cells)]) -> f64 {
    let setting = |name: &str| {
        let found = settings.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, value)| value.parse::<f64>().ok())
    };
    let time = |(id, bytes, cells): &(&str, bool, Cells)| {
        let Some(Rate::Figure(rate)) = cells.rate else { return 0.0 };
        let work = match *id {
            "write_byte" | "read_byte" => BYTES,
            "seek" => setting("seeks").unwrap_or(SEEKS),
            _ if *bytes => setting("size").unwrap_or(0.0) / KIB,
            _ => setting("files").unwrap_or(0.0),
        };
        work / rate
    };
    phases.iter().map(time).sum()
}

/// What a phase printed.
struct Cells {
    /// None when it was not run.
    rate: Option<Rate>,
    /// Share of one CPU, user and system.
    cpu: Option<f64>,
    latency_s: Option<f64>,
}

enum Rate {
    Figure(f64),
    /// `+++++`.
    TooFast,
}

fn cells(
    layout: &Layout,
    fields: &[&str],
    first: usize,
    pair: usize,
    latency: usize,
) -> Result<Cells, Error> {
    let rate = fields[first + 2 * pair];
    let cpu = fields[first + 2 * pair + 1];
    let wrong = |text: &str| Error::damaged(Format::Bonnie, format!("`{text}` is no figure"));
    let latency = layout.latencies.map_or("", |from| fields[from + latency]);
    let latency_s = match latency {
        "" => None,
        text if text.chars().all(|c| c == '+') => None,
        text => Some(seconds(text).ok_or_else(|| wrong(text))?),
    };
    let rate = match rate {
        "" => None,
        text if text.chars().all(|c| c == '+') => Some(Rate::TooFast),
        text => match (positive(text), text.parse::<f64>()) {
            (Some(rate), _) => Some(Rate::Figure(rate)),
            (None, Ok(0.0)) => None,
            _ => return Err(wrong(text)),
        },
    };
    Ok(Cells { rate, cpu: positive(cpu).map(|percent| percent / 100.0), latency_s })
}

/// `2630us`, `14ms`, `2s` in seconds.
fn seconds(text: &str) -> Option<f64> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, unit) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0).map(|n| n * unit)
}

fn phase(import: &mut Import, mut series: Series, bytes: bool, cells: &Cells) {
    let rate = match cells.rate {
        None => return,
        Some(Rate::Figure(rate)) => rate,
        Some(Rate::TooFast) => {
            let known = |(missing, ..): &(Series, String, String)| {
                (&missing.workload, &missing.settings) == (&series.workload, &series.settings)
            };
            if !import.missing.iter().any(known) {
                let why = "bonnie++ printed +++++: the phase took less than half a second";
                let fix = "measure more: a larger -s, or more files with -n";
                import.missing.push((series, why.to_owned(), fix.to_owned()));
            }
            return;
        }
    };
    let invocation = if bytes {
        Invocation::by_rate(rate * KIB / MIB, 1.0)
    } else {
        Invocation::by_rate(rate, 1000.0)
    };
    series.invocations.push(invocation);
    if bytes {
        series.measured(("bandwidth", "B/s", Higher), "bytes of the file a second", [rate * KIB]);
    } else {
        series.measured(("rate", "ops/s", Higher), "operations a second", [rate]);
    }
    series.measured(("cpu", "", Lower), "CPU time over wall time, user and system", cells.cpu);
    let slowest = "the slowest operation";
    series.measured(("latency_max", "s", Lower), slowest, cells.latency_s);
    series.notes.push(BY_RATE.to_owned());
    join(import, series);
}

/// Adds a test; one with the same settings gets another process.
fn join(import: &mut Import, series: Series) {
    let same = |known: &&mut Series| {
        (&known.workload, &known.settings) == (&series.workload, &series.settings)
    };
    match import.series.iter_mut().find(same) {
        Some(known) => {
            let known_metric = |name: &str| known.metrics.iter().any(|m| m.name == name);
            let new: Vec<_> =
                series.metrics.into_iter().filter(|m| !known_metric(&m.name)).collect();
            known.metrics.extend(new);
            known.invocations.extend(series.invocations);
        }
        None => import.series.push(series),
    }
}
