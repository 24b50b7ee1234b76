//! `plumb report --chart`: one chart, drawn or as a file.

use std::path::Path;

use plumb_analysis::CompareSettings;
use plumb_chart::{Chart, drawing};
use plumb_model::{Id, MARGIN, RunRecord};
use plumb_query::{NamedRuns, Selection, SinceLastRun};
use plumb_report::charts::{
    OVERVIEW, charts_of_monitors, charts_of_run, of_comparison, of_history,
};
use plumb_store::Store;
use plumb_suite::nearest;

use crate::error::{CommandError, Exit, Result};
use crate::reading::output::{pretty, write_file};
use crate::reading::series::{Whose, meant, on_machine};
use crate::reading::{comparison, runs};
use crate::ui::Ui;

/// The end of the names of charts of a series over its runs.
const HISTORY: &str = "/history";
/// What stands in the names of charts of what monitors read.
const MONITOR: &str = "/monitor/";

/// Writes one chart into a file, or draws it.
///
/// # Errors
/// When there is no such chart, or it can't be written.
pub fn chart(wanted: &Wanted<'_>, output: Option<&Path>, ui: &Ui) -> Result<Exit> {
    match output {
        Some(path) => {
            let form = Form::of(path)?;
            let chart = made(wanted, ui)?;
            write_file(path, &form.write(&chart)?)?;
            ui.say(&format!("{}: {}", path.display(), chart.title));
        }
        None => {
            let chart = made(wanted, ui)?;
            ui.out(&match ui.wants_json() {
                true => pretty(&chart)?,
                false => drawing(&chart, &ui.terminal()),
            });
        }
    }
    Ok(Exit::Fine)
}

/// Which chart, of which runs.
pub struct Wanted<'w> {
    /// Its name.
    pub chart: &'w str,
    /// The runs that are named; none: the last, or the newest where they are grouped.
    pub runs: &'w [String],
    /// The label or fact by which they are grouped.
    pub by: Option<&'w str>,
    /// Where they are stored.
    pub store: Option<&'w Path>,
}

/// The chart that is wanted, of the runs that are named.
fn made(wanted: &Wanted<'_>, ui: &Ui) -> Result<Chart> {
    let store = runs::open(wanted.store)?;
    match wanted.chart.strip_suffix(HISTORY) {
        Some(series) => history(&store, series, ui),
        None => {
            let monitors = wanted.chart.contains(MONITOR);
            find(of_runs(&store, wanted, monitors)?, wanted.chart)
        }
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
                "`{}` does not end in a known format",
                path.display()
            ))
            .hint("name a file that ends in .svg, .png, .csv or .json")),
        }
    }

    fn write(self, chart: &Chart) -> Result<Vec<u8>> {
        match self {
            Self::Svg => Ok(chart.svg().into_bytes()),
            Self::Png => chart.png().ok_or_else(|| {
                CommandError::usage("the chart is too tall for PNG")
                    .hint("name a file that ends in .svg")
            }),
            Self::Csv => Ok(chart.csv().into_bytes()),
            Self::Json => pretty(chart).map(|text| (text + "\n").into_bytes()),
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
fn history(store: &Store, series: &str, ui: &Ui) -> Result<Chart> {
    let series = meant(&store.series_names()?, series)?;
    let all = plumb_query::read(store, Selection::Series(&series))?;
    let (runs, host) = on_machine(&series, all, &Whose::default(), ui)?;
    let finding = plumb_query::history_of(store, &series, &runs, &host, MARGIN)?;
    let chart = finding.and_then(|it| of_history(&it, None).into_iter().next());
    chart.ok_or_else(|| {
        CommandError::nothing(format!("no run of {series} has both a date and a value"))
    })
}

/// The charts of one run, or of several that are compared: of what monitors read, or of all else.
fn of_runs(store: &Store, wanted: &Wanted<'_>, monitors: bool) -> Result<Vec<Chart>> {
    let named = match (wanted.runs, wanted.by) {
        ([], Some(_)) => Vec::new(),
        (names @ ([] | [_]), None) => {
            let run = runs::ids(store, &runs::or_last(names))?;
            vec![NamedRuns { name: String::new(), runs: run }]
        }
        (names, _) => runs::of_labels(store, names)?,
    };
    let ids: Vec<Id> = match named.as_slice() {
        [] => newest(store)?,
        named => named.iter().flat_map(|name| name.runs.iter().copied()).collect(),
    };
    let records = runs::records(store, &ids)?;
    if monitors {
        return Ok(charts_of_monitors(&records, &plumb_query::traces(store, &records)?, true));
    }
    match (records.as_slice(), wanted.by) {
        ([record], None) => of_run(store, record, wanted.chart),
        (several, by) => compared(store, several, &named, by),
    }
}

/// The newest runs, oldest first.
fn newest(store: &Store) -> Result<Vec<Id>> {
    let all = store.runs()?;
    Ok(all[all.len().saturating_sub(plumb_query::MOST_GROUPED)..].to_vec())
}

/// The charts of one run; only the picture of the whole needs the runs before.
fn of_run(store: &Store, record: &RunRecord, chart: &str) -> Result<Vec<Chart>> {
    let since = if chart == OVERVIEW { SinceLastRun::Always } else { SinceLastRun::NotAsked };
    let finding = plumb_query::of_run(store, record, since)?;
    Ok(charts_of_run(&finding, record))
}

fn compared(
    store: &Store,
    records: &[RunRecord],
    named: &[NamedRuns],
    by: Option<&str>,
) -> Result<Vec<Chart>> {
    let settings = CompareSettings {
        by: by.map(str::to_owned),
        arm_names: runs::arm_names(named),
        ..CompareSettings::default()
    };
    let finding = plumb_query::of_runs(store, records, &settings)?;
    match by {
        Some(by) if finding.arms.len() < 2 => Err(comparison::one_group(&finding, by)),
        _ => Ok(of_comparison(&finding)),
    }
}
