//! Formats for other programs: one file per format, named after its reader.
//!
//! All are made of the same [`View`](plumb_report::View)s as the scorecard, in SI base units. The real program reads
//! each of them in `tests/export/consumers.rs`. A new format is a file with an entry, and a line in [`EXPORTS`].

mod bmf;
mod bonnie;
mod csv;
mod entry;
mod go_bench;
mod hyperfine;
mod json;
mod junit;
mod openmetrics;
mod otava;
mod rankings;
mod tables;
mod workbook;
mod xlsx;
mod zip;

pub use bmf::bmf;
pub use bonnie::bonnie;
pub use csv::{csv, samples_csv};
pub use entry::{Export, ExportError, ExportedContent, Holds};
pub use go_bench::go_bench;
pub use hyperfine::hyperfine;
pub use junit::{check_junit, junit, machine_checks_junit};
pub use openmetrics::openmetrics;
pub use otava::otava;
pub use xlsx::xlsx;

/// All formats, in the order in which they are listed.
pub static EXPORTS: &[Export] = &[
    json::JSON,
    csv::CSV,
    csv::SAMPLES_CSV,
    csv::RANKING_CSV,
    go_bench::GO_BENCH,
    hyperfine::HYPERFINE,
    bonnie::BONNIE,
    bmf::BMF,
    otava::OTAVA,
    junit::JUNIT,
    openmetrics::OPENMETRICS,
    xlsx::XLSX,
];
