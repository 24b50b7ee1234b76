//! `plumb report`: charts as files.

use std::path::Path;

use plumb_analysis::{CompareSettings, compare, summarise};
use plumb_model::{Id, MARGIN, RecordSource, RunRecord};
use plumb_report::View;
use plumb_report::chart::{Chart, of_comparison, of_history, of_run, of_workload};
use plumb_store::{Backend, Store};

use super::export::write_file;
use crate::catalogue::nearest;
use crate::cli::ReportArgs;
use crate::error::{CommandError, Exit, Result};
use crate::ui::Ui;

/// The end of the names of charts of a series over its runs.
const HISTORY: &str = "/history";

/// Writes one chart.
pub fn report(args: &ReportArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let wanted = args.chart.as_deref().unwrap_or_default();
    let form = Form::of(&args.output)?;
    let store = super::show::open(store)?;
    let chart = match wanted.strip_suffix(HISTORY) {
        Some(series) => history(&store, series)?,
        None => find(of_runs(&store, &args.runs)?, wanted)?,
    };
    write_file(&args.output, &form.write(&chart)?)?;
    ui.say(&format!("{}: {}", args.output.display(), chart.title));
    Ok(Exit::Fine)
}

/// How a chart is written.
#[derive(Debug, Clone, Copy)]
enum Form {
    Csv,
    Json,
}

impl Form {
    /// By the ending of the file's name.
    fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|it| it.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("json") => Ok(Self::Json),
            _ => Err(CommandError::usage(format!(
                "how the chart is to be written can't be told from `{}`",
                path.display()
            ))
            .hint("name a file that ends in .csv or .json")),
        }
    }

    fn write(self, chart: &Chart) -> Result<Vec<u8>> {
        match self {
            Self::Csv => Ok(chart.csv().into_bytes()),
            Self::Json => super::pretty(chart).map(|text| (text + "\n").into_bytes()),
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
    Err(ids.into_iter().fold(error, |error, id| error.hint(format!("--chart '{id}'"))))
}

/// The chart of a series over its runs.
fn history(store: &Store, series: &str) -> Result<Chart> {
    let series = super::history::meant(&store.series_names()?, series)?;
    let records = super::history::on_machine(store.series(&series)?, None)?;
    let finding = plumb_analysis::history(&series, &records, MARGIN);
    let chart = finding.and_then(|it| of_history(&it, None).into_iter().next());
    chart.ok_or_else(|| CommandError::nothing(format!("no run of {series} has a date and a value")))
}

/// The charts of one run, or of several that are compared.
fn of_runs(store: &Store, names: &[String]) -> Result<Vec<Chart>> {
    let last = ["last".to_owned()];
    let names = if names.is_empty() { &last[..] } else { names };
    let runs: Vec<Id> =
        names.iter().map(|name| store.resolve(name)).collect::<std::result::Result<_, _>>()?;
    let records: Vec<RunRecord> =
        runs.iter().map(|run| store.record(*run)).collect::<std::result::Result<_, _>>()?;
    match records.as_slice() {
        [record] => Ok(of_one(record)),
        several => {
            super::compare::refuse_twice(&runs, names)?;
            compared(store, several, &runs)
        }
    }
}

fn of_one(record: &RunRecord) -> Vec<Chart> {
    let finding = summarise(record);
    let view = View::new(&finding);
    let mut charts = of_run(&view);
    let mut workloads: Vec<&str> = Vec::new();
    for planned in &record.plan.points {
        if !workloads.contains(&planned.point.workload.as_str()) {
            workloads.push(&planned.point.workload);
        }
    }
    charts.extend(workloads.iter().flat_map(|workload| of_workload(&view, record, workload)));
    charts
}

fn compared(store: &Store, records: &[RunRecord], runs: &[Id]) -> Result<Vec<Chart>> {
    let settings = CompareSettings {
        by: None,
        margin: MARGIN,
        every_metric: false,
        price: "price".to_owned(),
    };
    let earlier = super::compare::earlier(store, runs)?;
    Ok(of_comparison(&compare(records, &earlier, &settings)))
}
