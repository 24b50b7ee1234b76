//! What the starts of commands load: files, relocations and the loader's share.

use std::collections::BTreeSet;

use plumb_analysis::{PointStartUp, RunFinding};
use plumb_model::{LoaderFigures, MappedFile, RelocationCounts, StartUp};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, clean, counted};
use plumb_units::{decimal_size, percent};
use serde::Serialize;

/// The ELF files that each command maps. Of later commands, only how their files differ from the first's.
pub(super) fn start_ups(finding: &RunFinding, terminal: &Terminal) -> String {
    let Some(first) = finding.start_ups.first() else { return String::new() };
    let mut table = Table::new(vec![
        TableColumn::left("").wrapping(),
        TableColumn::right("size"),
        TableColumn::right("relative"),
        TableColumn::right("symbolic"),
        TableColumn::right("lazy"),
    ])
    .indented(2);
    for (index, found) in finding.start_ups.iter().enumerate() {
        let is_first = index == 0;
        let name = clean(&found.point.name);
        let text = match is_first {
            true => summary(&found.start_up),
            false => format!("{}; {}", summary(&found.start_up), difference(found, first)),
        };
        table.across(0, TextLine::new(Style::Name, &name), TextLine::default());
        table.across(2, TextLine::default(), TextLine::new(Style::Plain, &text));
        let shown: Vec<&MappedFile> =
            if is_first { found.start_up.files.iter().collect() } else { added(found, first) };
        for file in shown {
            table.row(file_row(file));
        }
    }
    let title = "Start-up: ELF files mapped from start to exit, with their relocations";
    terminal.lines(0, &TextLine::new(Style::Heading, title)) + &terminal.table(&table)
}

/// The summary and all files: `47 files, …: /usr/bin/perl, …`.
pub(super) fn in_one_line(found: &PointStartUp) -> String {
    let paths: Vec<&str> = found.start_up.files.iter().map(|file| file.path.as_str()).collect();
    format!("{}: {}", summary(&found.start_up), paths.join(", "))
}

/// The files that the first command does not map.
fn added<'f>(found: &'f PointStartUp, first: &PointStartUp) -> Vec<&'f MappedFile> {
    let known: BTreeSet<&str> = paths(&first.start_up);
    let files = found.start_up.files.iter();
    files.filter(|file| !known.contains(file.path.as_str())).collect()
}

fn paths(start_up: &StartUp) -> BTreeSet<&str> {
    start_up.files.iter().map(|file| file.path.as_str()).collect()
}

/// `47 files, 23 MB, 40,112 relocations; loader: 31 % of the run before main, …`.
fn summary(start_up: &StartUp) -> String {
    let files = counted(start_up.files.len(), "file", "files");
    let size = decimal_size(start_up.files.iter().map(|file| file.bytes).sum());
    let uncounted = start_up.files.iter().filter(|file| file.relocations.is_none()).count();
    let without = match uncounted {
        0 => String::new(),
        files => format!(" (without {} that could not be read)", counted(files, "file", "files")),
    };
    let relocations = start_up.relocations();
    let loader = match &start_up.loader {
        LoaderFigures::Measured { share, at_start, at_end } => format!(
            "loader: {} of the run before the program starts; relocations done: {at_start} at start, {at_end} at exit",
            percent(*share)
        ),
        LoaderFigures::Unsupported(why) => format!("loader: unsupported: {why}"),
    };
    format!("{files}, {size}, {relocations} relocations{without}; {loader}")
}

/// `43 more files than the first and 39,701 more relocations; without /usr/lib/a.so`.
fn difference(found: &PointStartUp, first: &PointStartUp) -> String {
    let more = added(found, first);
    let own = paths(&found.start_up);
    let missing: Vec<&str> =
        paths(&first.start_up).into_iter().filter(|path| !own.contains(path)).collect();
    let relocations: u64 =
        more.iter().filter_map(|file| file.relocations).map(RelocationCounts::total).sum();
    let without = match missing.as_slice() {
        [] => String::new(),
        missing => format!("; without {}", missing.join(", ")),
    };
    let files = counted(more.len(), "file", "files");
    format!("{files} with {relocations} relocations that the first does not map{without}")
}

fn file_row(file: &MappedFile) -> Vec<TextLine> {
    let counts = match file.relocations {
        Some(counts) => [counts.relative, counts.symbolic, counts.lazy].map(|n| n.to_string()),
        None => ["?", "?", "?"].map(str::to_owned),
    };
    let mut cells = vec![
        TextLine::new(Style::Name, &clean(&file.path)),
        TextLine::new(Style::Plain, &decimal_size(file.bytes)),
    ];
    cells.extend(counts.iter().map(|count| TextLine::new(Style::Plain, count)));
    cells
}

/// What the start of the command of a point loads.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StartUpPart {
    /// The name of the point for people.
    pub point: String,
    /// Every ELF file that the processes of the command mapped, in the order of its first mapping.
    pub files: Vec<MappedFilePart>,
    /// Relocations in all files that could be counted.
    pub relocations: u64,
    /// Time in glibc's loader before the programs began, relative to the wall time of the run (0 to 1); null if
    /// `no_loader` says why.
    pub loader_share: Option<f64>,
    /// Relocations that glibc's loader had done when the programs began.
    pub relocations_at_start: Option<u64>,
    /// Relocations that it had done when they ended, those of dlopen included.
    pub relocations_at_exit: Option<u64>,
    /// Why there are no figures of the loader.
    pub no_loader: Option<String>,
}

/// An ELF file that a process mapped.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MappedFilePart {
    /// The path of the file.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Relocations that only add the load address, packed ones included; null if they can't be counted.
    pub relative: Option<u64>,
    /// Others that a loader does at start; most look up a symbol.
    pub symbolic: Option<u64>,
    /// Those of the procedure linkage table, which a loader may leave until the first call.
    pub lazy: Option<u64>,
}

impl StartUpPart {
    pub(super) fn of(found: &PointStartUp) -> Self {
        let part = Self {
            point: found.point.name.clone(),
            files: found.start_up.files.iter().map(MappedFilePart::of).collect(),
            relocations: found.start_up.relocations(),
            loader_share: None,
            relocations_at_start: None,
            relocations_at_exit: None,
            no_loader: None,
        };
        match &found.start_up.loader {
            LoaderFigures::Measured { share, at_start, at_end } => Self {
                loader_share: Some(*share),
                relocations_at_start: Some(*at_start),
                relocations_at_exit: Some(*at_end),
                ..part
            },
            LoaderFigures::Unsupported(why) => Self { no_loader: Some(why.clone()), ..part },
        }
    }
}

impl MappedFilePart {
    fn of(file: &MappedFile) -> Self {
        Self {
            path: file.path.clone(),
            bytes: file.bytes,
            relative: file.relocations.map(|counts| counts.relative),
            symbolic: file.relocations.map(|counts| counts.symbolic),
            lazy: file.relocations.map(|counts| counts.lazy),
        }
    }
}
