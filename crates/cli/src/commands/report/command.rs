//! `plumb report`: the arguments, and the choice between pages and one chart.

use std::path::PathBuf;

use clap::Args;

use crate::commands::report::charts::{Wanted, chart};
use crate::commands::report::pages::{RunSelectionArgs, pages};
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};

/// Write web pages about runs, or one chart
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb report -o report                                 all runs; then open report/index.html
  plumb report last label=new -o report                  these runs and their comparison
  plumb report --by kernel -o report                     all runs, compared by kernel
  plumb report --chart memory.copy/boxes                 one chart of the last run, in the terminal
  plumb report --chart memory.copy/boxes -o copy.svg     a picture for a blog or ticket
  plumb report A B --chart comparison/ratios -o ab.png   a comparison of two runs
  plumb report --by kind --chart comparison/map/ssh.cipher -o map.svg    ciphers by platform
  plumb report --by kind --chart comparison/relative --normalise-by ssh.cipher:cipher=3des-cbc
  plumb report --chart memory.copy/bandwidth/history -o history.svg
  plumb report --chart memory.copy/monitor/stat.ctxt -o switches.svg    the values of a counter
  plumb report --chart memory.copy/boxes -o copy.csv     the data of a chart

The pages open in a browser without a server or network; docs/report.md describes them, and docs/charts.md the charts. \
The file extension sets the format of a chart: .svg, .png, .csv or .json.")]
pub struct ReportArgs {
    /// The runs [default: all, or the last for a chart]; several are compared
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Compare runs by a label or a fact about the machine (`kernel`, `governor`, …)
    #[arg(long, value_name = "FIELD")]
    by: Option<String>,
    /// Write only the chart with this ID; `plumb list --charts` lists them
    #[arg(long, value_name = "ID")]
    chart: Option<String>,
    /// Divide all ratios by that of this series, for the chart `comparison/relative`
    #[arg(long, value_name = "SERIES", requires = "chart")]
    normalise_by: Option<String>,
    /// Output folder, or file for a chart [default: draw the chart in the terminal]
    #[arg(short, long, value_name = "DIR|FILE", required_unless_present = "chart")]
    output: Option<PathBuf>,
    /// Write into a folder that already contains other files
    #[arg(long, conflicts_with = "chart")]
    force: bool,
}

impl Subcommand for ReportArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let store = context.store;
        let ui = context.ui;
        let output = self.output.as_deref();
        match (self.chart.as_deref(), output) {
            (Some(chart), _) => {
                let wanted = Wanted {
                    chart,
                    runs: &self.runs,
                    by: self.by.as_deref(),
                    normalise_by: self.normalise_by.as_deref(),
                    store,
                };
                self::chart(&wanted, output, ui)
            }
            (None, Some(_)) if ui.wants_json() => {
                Err(CommandError::usage("--json writes one chart, but no chart is named")
                    .hint("plumb report --chart NAME --json; `plumb list --charts` lists the names")
                    .hint("plumb show --json prints the results of a run"))
            }
            (None, Some(folder)) => {
                let named = RunSelectionArgs { runs: &self.runs, by: self.by.as_deref() };
                pages(&named, folder, self.force, store, ui)
            }
            (None, None) => Err(CommandError::usage("name a folder or a chart")
                .hint("plumb report -o FOLDER writes the pages of all runs")
                .hint("plumb report --chart NAME draws one chart; `plumb list --charts` lists the names")),
        }
    }
}
