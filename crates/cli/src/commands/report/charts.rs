//! `plumb report`: pages, or one chart, as files.

use std::path::Path;

use plumb_analysis::CompareSettings;
use plumb_chart::{Chart, drawing};
use plumb_model::{Id, MARGIN, RunRecord};
use plumb_report::charts::{charts_of_monitors, charts_of_run, of_comparison, of_history};
use plumb_store::Store;

use crate::cli::ReportArgs;
use crate::commands::export::write_file;
use crate::error::{CommandError, Exit, Result};
use crate::planning::catalogue::nearest;
use crate::ui::Ui;

/// The end of the names of charts of a series over its runs.
const HISTORY: &str = "/history";
/// What stands in the names of charts of what monitors read.
const MONITOR: &str = "/monitor/";

/// Writes the pages, or one chart; draws the chart where no file is named.
pub fn report(args: &ReportArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let output = args.output.as_deref();
    match (args.chart.as_deref(), output) {
        (Some(wanted), Some(path)) => {
            let form = Form::of(path)?;
            let chart = chart(wanted, args, store)?;
            write_file(path, &form.write(&chart)?)?;
            ui.say(&format!("{}: {}", path.display(), chart.title));
        }
        (Some(wanted), None) => {
            let chart = chart(wanted, args, store)?;
            ui.out(&match ui.wants_json() {
                true => crate::commands::pretty(&chart)?,
                false => drawing(&chart, &ui.terminal()),
            });
        }
        (None, Some(folder)) => {
            return crate::commands::report::pages::site(args, folder, store, ui);
        }
        (None, None) => return Err(CommandError::usage("name a folder, or a chart")),
    }
    Ok(Exit::Fine)
}

/// The chart that is wanted, of the runs that are named.
fn chart(wanted: &str, args: &ReportArgs, store: Option<&Path>) -> Result<Chart> {
    let store = crate::commands::show::command::open(store)?;
    match wanted.strip_suffix(HISTORY) {
        Some(series) => history(&store, series),
        None => find(of_runs(&store, &args.runs, wanted.contains(MONITOR))?, wanted),
    }
}

/// How a chart is written.
#[derive(Debug, Clone, Copy)]
enum Form {
    Svg,
    Png,
    Csv,
    Json,
}

impl Form {
    /// By the ending of the file's name.
    fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|it| it.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            Some("csv") => Ok(Self::Csv),
            Some("json") => Ok(Self::Json),
            _ => Err(CommandError::usage(format!(
                "how the chart is to be written can't be told from `{}`",
                path.display()
            ))
            .hint("name a file that ends in .svg, .png, .csv or .json")),
        }
    }

    fn write(self, chart: &Chart) -> Result<Vec<u8>> {
        match self {
            Self::Svg => Ok(chart.svg().into_bytes()),
            Self::Png => chart.png().ok_or_else(|| {
                CommandError::usage("the chart is too tall for a picture of pixels")
                    .hint("name a file that ends in .svg")
            }),
            Self::Csv => Ok(chart.csv().into_bytes()),
            Self::Json => crate::commands::pretty(chart).map(|text| (text + "\n").into_bytes()),
        }
    }
}

/// The chart of this name.
fn find(charts: Vec<Chart>, wanted: &str) -> Result<Chart> {
    let ids: Vec<String> = charts.iter().map(|it| it.id.clone()).collect();
    if let Some(chart) = charts.into_iter().find(|it| it.id == wanted) {
        return Ok(chart);
    }
    let error = CommandError::usage(format!("no chart is called `{wanted}`"));
    let error = match nearest(wanted, &ids) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    };
    // Those of the same run, family, workload or point, where something is called so.
    let of = |id: &str| id.split_once('/').map_or_else(String::new, |(of, _)| of.to_owned());
    let is_near = |id: &&String| of(id) == of(wanted);
    let near: Vec<&String> = ids.iter().filter(is_near).collect();
    let listed = if near.is_empty() { ids.iter().collect() } else { near };
    Err(listed.into_iter().fold(error, |error, id| error.hint(format!("--chart '{id}'"))))
}

/// The chart of a series over its runs.
fn history(store: &Store, series: &str) -> Result<Chart> {
    let series = crate::commands::history::meant(&store.series_names()?, series)?;
    let records = crate::commands::history::on_machine(store.series(&series)?, None)?;
    let finding = plumb_analysis::history(&series, &records, MARGIN);
    let chart = finding.and_then(|it| of_history(&it, None).into_iter().next());
    chart.ok_or_else(|| CommandError::nothing(format!("no run of {series} has a date and a value")))
}

/// The charts of one run, or of several that are compared: of what monitors read, or of all else.
fn of_runs(store: &Store, names: &[String], monitors: bool) -> Result<Vec<Chart>> {
    let last = ["last".to_owned()];
    let names = if names.is_empty() { &last[..] } else { names };
    let runs: Vec<Id> =
        names.iter().map(|name| store.resolve(name)).collect::<std::result::Result<_, _>>()?;
    crate::commands::compare::refuse_twice(&runs, names)?;
    let records: Vec<RunRecord> =
        runs.iter().map(|run| store.record(*run)).collect::<std::result::Result<_, _>>()?;
    if monitors {
        return Ok(charts_of_monitors(&records, &plumb_query::traces(store, &records)?, true));
    }
    match records.as_slice() {
        [record] => Ok(charts_of_run(&plumb_query::of_run(store, record)?, record)),
        several => compared(store, several),
    }
}

fn compared(store: &Store, records: &[RunRecord]) -> Result<Vec<Chart>> {
    let settings = CompareSettings {
        by: None,
        margin: MARGIN,
        every_metric: false,
        price: "price".to_owned(),
    };
    Ok(of_comparison(&plumb_query::of_runs(store, records, &settings)?))
}
