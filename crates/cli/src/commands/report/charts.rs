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
use crate::reading::output::{self, pretty, write_file};
use crate::reading::runs;
use crate::reading::series::{Whose, divisor, meant, not_in_common, on_machine};
use crate::ui::Ui;

/// The end of the names of charts that show a series over its runs.
const HISTORY: &str = "/history";
/// A part of the names of charts of monitors' counters.
const MONITOR: &str = "/monitor/";

/// Writes one chart into a file, or draws it.
///
/// # Errors
/// When there is no such chart, or it can't be written.
pub fn chart(wanted: &Wanted<'_>, output: Option<&Path>, ui: &Ui) -> Result<Exit> {
    match output {
        Some(path) => {
            // A wrong ending is reported before anything is read.
            let format = FileFormat::of(path)?;
            let chart = made(wanted, ui)?;
            write_file(path, &format.write(&chart)?)?;
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

/// The chart that the user asks for, and the runs that it shows.
pub struct Wanted<'w> {
    /// The chart's name, such as `memory.copy/boxes`.
    pub chart: &'w str,
    /// The runs as the user names them. Empty means the last run, or the newest runs if they are grouped.
    pub runs: &'w [String],
    /// The label or fact by which they are grouped.
    pub by: Option<&'w str>,
    /// The series that the ratios of a comparison are divided by.
    pub normalise_by: Option<&'w str>,
    /// The store that the user names.
    pub store: Option<&'w Path>,
}

/// Makes the chart of the runs that the user names.
fn made(wanted: &Wanted<'_>, ui: &Ui) -> Result<Chart> {
    let monitors = wanted.chart.contains(MONITOR);
    let history_of = wanted.chart.strip_suffix(HISTORY);
    if wanted.normalise_by.is_some() && (monitors || history_of.is_some()) {
        return Err(CommandError::usage("--normalise-by does not apply to this chart")
            .hint("use it with --chart comparison/relative"));
    }
    let store = runs::open(wanted.store)?;
    match history_of {
        Some(series) => history(&store, series, ui),
        None => find(of_runs(&store, wanted, monitors)?, wanted.chart),
    }
}

/// The format of a chart's file.
#[derive(Debug, Clone, Copy)]
enum FileFormat {
    Svg,
    Png,
    Csv,
    Json,
}

impl FileFormat {
    /// The format that the ending of the file's name asks for.
    fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            Some("csv") => Ok(Self::Csv),
            Some("json") => Ok(Self::Json),
            _ => Err(CommandError::usage(format!(
                "`{}` has no known file extension",
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
    let ids: Vec<String> = charts.iter().map(|chart| chart.id.clone()).collect();
    if let Some(chart) = charts.into_iter().find(|chart| chart.id == wanted) {
        return Ok(chart);
    }
    let mut error = CommandError::usage(format!("no chart is called `{wanted}`"));
    if let Some(near) = nearest(wanted, &ids) {
        error = error.hint(format!("did you mean `{near}`?"));
    }
    // Charts of the same family, workload or point are likely to be meant. Without any, list all of them.
    let near: Vec<&String> = ids.iter().filter(|id| subject(id) == subject(wanted)).collect();
    let listed = if near.is_empty() { ids.iter().collect() } else { near };
    Err(listed.into_iter().fold(error, |error, id| error.hint(format!("--chart '{id}'"))))
}

/// The run, family, workload or point of a chart's name: the part before the first slash.
fn subject(id: &str) -> &str {
    id.split_once('/').map_or("", |(subject, _)| subject)
}

/// The chart of a series over its runs.
fn history(store: &Store, series: &str, ui: &Ui) -> Result<Chart> {
    let series = meant(&store.series_names()?, series)?;
    let all = plumb_query::read(store, Selection::Series(&series))?;
    let (runs, host) = on_machine(&series, all, &Whose::default(), ui)?;
    let finding = plumb_query::history_of(store, &series, &runs, &host, MARGIN)?;
    let chart = finding.and_then(|finding| of_history(&finding, None).into_iter().next());
    chart.ok_or_else(|| {
        CommandError::nothing(format!("no run of {series} has both a date and a value"))
    })
}

/// The charts of one run, or of several that are compared; either those of monitors or all others.
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
        ([record], None) if wanted.normalise_by.is_none() => of_run(store, record, wanted.chart),
        (several, _) => compared(store, several, &named, &ids, wanted),
    }
}

/// The newest runs, oldest first, as many as a page of grouped runs shows.
fn newest(store: &Store) -> Result<Vec<Id>> {
    let all = store.runs()?;
    Ok(all[all.len().saturating_sub(plumb_query::MOST_GROUPED)..].to_vec())
}

/// All charts of one run, those of monitors last.
///
/// # Errors
/// When the store can't be read.
pub fn all_of_run(store: &Store, record: &RunRecord) -> Result<Vec<Chart>> {
    let mut charts = of_run(store, record, OVERVIEW)?;
    let traces = plumb_query::traces(store, std::slice::from_ref(record))?;
    charts.extend(charts_of_monitors(std::slice::from_ref(record), &traces, true));
    Ok(charts)
}

/// The charts of one run, without those of monitors.
fn of_run(store: &Store, record: &RunRecord, chart: &str) -> Result<Vec<Chart>> {
    let since = if chart == OVERVIEW { SinceLastRun::Always } else { SinceLastRun::NotAsked };
    let finding = plumb_query::of_run(store, record, since)?;
    Ok(charts_of_run(&finding, record))
}

fn compared(
    store: &Store,
    records: &[RunRecord],
    named: &[NamedRuns],
    ids: &[Id],
    wanted: &Wanted<'_>,
) -> Result<Vec<Chart>> {
    let settings = CompareSettings {
        by: wanted.by.map(str::to_owned),
        arm_names: runs::arm_names(named),
        normalise_by: match wanted.normalise_by {
            Some(name) => Some(divisor(store, ids, name)?),
            None => None,
        },
        ..CompareSettings::default()
    };
    let finding = plumb_query::of_records(store, records, &settings)?;
    match (wanted.by, wanted.normalise_by) {
        (Some(by), _) if finding.arms.len() < 2 => Err(output::one_group(&finding, by)),
        (_, Some(name)) if finding.normalised_by.is_none() => Err(not_in_common(name)),
        _ => Ok(of_comparison(&finding)),
    }
}
