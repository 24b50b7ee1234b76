//! What `plumb report` and `plumb export` understand.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb report -o report                                 every run of the store; then open report/index.html
  plumb report last label=new -o report                  these runs, and how they compare
  plumb report --chart memory.copy/boxes                 one chart of the last run, on the terminal
  plumb report --chart memory.copy/boxes -o copy.svg     as a picture, for a blog or a ticket
  plumb report A B --chart comparison/ratios -o ab.png   of two runs, compared
  plumb report --chart memory.copy/bandwidth/history -o history.svg
  plumb report --chart memory.copy/monitor/stat.ctxt -o switches.svg    what a monitor read beside it
  plumb report --chart memory.copy/boxes -o copy.csv     its numbers

A folder opens from disk, without a server or the network: docs/report.md tells what stands in it.
The ending of a chart's file says how it is written: .svg, .png, .csv or .json. docs/charts.md tells what \
each chart shows and how to read it; a name that is none lists those that there are.")]
pub struct ReportArgs {
    /// The runs [default: all, of a chart the last one]; several are compared
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// One chart instead of the whole, by its name
    #[arg(long, value_name = "ID")]
    pub chart: Option<String>,
    /// Where to write it: a folder, or the chart's file [default: of a chart, drawn on the terminal]
    #[arg(short, long, value_name = "DIR|FILE", required_unless_present = "chart")]
    pub output: Option<PathBuf>,
    /// Write into a folder that holds something else
    #[arg(long, conflicts_with = "chart")]
    pub force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb export last --format samples-csv -o samples.csv       every sample
  plumb export A --format go-bench > a.txt                    then benchstat a.txt b.txt
  plumb export A B --format go-bench > ab.txt                 then benchstat -col run ab.txt
  plumb export A B C D --format otava -o runs.csv             then otava analyze, with these columns")]
pub struct ExportArgs {
    /// The runs [default: the last one]
    pub runs: Vec<String>,
    /// What to write
    #[arg(long, value_enum, default_value = "json")]
    pub format: ExportFormat,
    /// Where to write it [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What `export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// The document plumb.run/1, a line a run
    Json,
    /// A row a result
    Csv,
    /// A row a sample
    SamplesCsv,
    /// Go's benchmark format: a line a process, for benchstat
    GoBench,
    /// The JSON of `hyperfine --export-json`
    Hyperfine,
    /// Bencher Metric Format, one run
    Bmf,
    /// A table for Apache Otava: a row a run, a column a series
    Otava,
    /// JUnit XML: a test case a series
    Junit,
    /// OpenMetrics text, for Prometheus
    Openmetrics,
    /// A workbook with results and samples
    Xlsx,
}
