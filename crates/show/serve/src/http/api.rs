//! What is read from the store for an answer: pages, and documents for programs.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_analysis::CompareSettings;
use plumb_model::{Host, Id, MARGIN, RunRecord, RunStatus};
use plumb_query::{Selection, SinceLastRun};
use plumb_report::charts::charts_of_run;
use plumb_report::{View, comparison_json, history_json, json};
use plumb_site::{Rendered, live_page};
use plumb_store::{RunSummary, Store};
use serde::Serialize;

use super::request::HttpRequest;
use super::shared::Shared;
use crate::follow::so_far;
use crate::refusal::ServeRefusal;

/// Runs that are compared in one document.
const MOST_RUNS: usize = 16;

/// A page of the contract, or the page of a run under way.
pub(super) fn page(shared: &Shared, name: &str) -> Result<Arc<Rendered>, ServeRefusal> {
    let cache = &shared.page_cache;
    match name.strip_prefix("live-").and_then(|run| Id::parse_str(run).ok()) {
        // What goes on changes every second.
        Some(run) => cache.read(|store| {
            let (_, live) = so_far(store, run)?;
            Ok(Arc::new(live_page(&live.since(0)).render()))
        }),
        None => cache.page(name),
    }
}

/// A document, by its path below `api/`.
pub(super) fn document(
    shared: &Shared,
    path: &str,
    request: &HttpRequest,
) -> Result<String, ServeRefusal> {
    let steps: Vec<&str> = path.split('/').collect();
    if steps == ["runs"] {
        return written(&ListedRuns::of(&shared.page_cache.all_runs()?));
    }
    shared.page_cache.read(|store| match steps.as_slice() {
        ["runs", run] => run_document(&store.record(known(store, run)?)?, store),
        ["runs", run, "charts"] => {
            let record = store.record(known(store, run)?)?;
            let finding = plumb_query::of_run(store, &record, SinceLastRun::NotAsked)?;
            written(&charts_of_run(&finding, &record))
        }
        ["compare"] => compared(store, request.asked("runs").unwrap_or_default()),
        ["history"] => history(store, request.asked("series").unwrap_or_default()),
        _ => Err(ServeRefusal::unknown(format!("no such document: api/{path}"))
            .hint("api/runs, api/runs/ID, api/runs/ID/charts, api/compare?runs=ID,ID, api/history?series=NAME")),
    })
}

/// The run that a name means, as on the command line.
fn known(store: &Store, name: &str) -> Result<Id, ServeRefusal> {
    match Id::parse_str(name) {
        // Without a search through all runs.
        Ok(run) => Ok(run),
        Err(_) => Ok(store.resolve(name)?),
    }
}

/// The same document as that of `plumb show --json`.
fn run_document(record: &RunRecord, store: &Store) -> Result<String, ServeRefusal> {
    let finding = plumb_query::of_run(store, record, SinceLastRun::IfItTells)?;
    json(&View::new(&finding)).map_err(unwritten)
}

fn compared(store: &Store, names: &str) -> Result<String, ServeRefusal> {
    let names: Vec<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
    if !(2..=MOST_RUNS).contains(&names.len()) {
        let what = format!("2 to {MOST_RUNS} runs can be compared, not {}", names.len());
        return Err(ServeRefusal::unknown(what).hint("api/compare?runs=ID,ID"));
    }
    let mut runs: Vec<Id> = Vec::new();
    for name in names {
        let run = known(store, name)?;
        if runs.contains(&run) {
            return Err(ServeRefusal::unknown(format!("{name} is given twice")));
        }
        runs.push(run);
    }
    let settings = CompareSettings::default();
    comparison_json(&plumb_query::of_runs(store, &runs, &settings)?).map_err(unwritten)
}

/// The history of a series on the machine that measured it last.
fn history(store: &Store, series: &str) -> Result<String, ServeRefusal> {
    let runs = plumb_query::read(store, Selection::Series(series))?;
    let (runs, host) = plumb_query::on_host(runs, &Host::UNKNOWN);
    let finding = plumb_query::history_of(store, series, &runs, &host, MARGIN)?;
    let none = || ServeRefusal::unknown(format!("no run has measured the series {series}"));
    history_json(&finding.ok_or_else(none)?).map_err(unwritten)
}

/// The runs of a store.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.runs/1"))]
struct ListedRuns {
    /// Name of the schema: `plumb.runs/1`.
    #[cfg_attr(test, schemars(extend("const" = "plumb.runs/1")))]
    schema: &'static str,
    /// All runs, newest first.
    runs: Vec<ListedRun>,
}

/// A run without its results.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ListedRun {
    /// Identity of the run, a UUIDv7.
    id: String,
    /// Wall-clock start (RFC 3339).
    started: String,
    /// Wall-clock end; null while there is none.
    ended: Option<String>,
    /// Whether it is over.
    #[cfg_attr(test, schemars(with = "String",
        extend("enum" = ["complete", "running", "interrupted"])))]
    status: RunStatus,
    /// The suite's name; null when it came from none.
    suite: Option<String>,
    /// Labels that the user gave the run, value by name.
    labels: BTreeMap<String, String>,
    /// The command line.
    command: Vec<String>,
    /// Number of planned points.
    points: usize,
    /// Number of stored samples, warm-up included.
    samples: u64,
}

impl ListedRuns {
    fn of(runs: &[RunSummary]) -> Self {
        let rfc3339 = plumb_text::time::rfc3339;
        let run = |run: &RunSummary| ListedRun {
            id: run.run.to_string(),
            started: rfc3339(run.started_unix_ns),
            ended: run.ended_unix_ns.map(rfc3339),
            status: run.status,
            suite: run.suite.clone(),
            labels: run.labels.clone(),
            command: run.command.clone(),
            points: run.points,
            samples: run.samples,
        };
        Self { schema: "plumb.runs/1", runs: runs.iter().rev().map(run).collect() }
    }
}

fn written(document: &impl Serialize) -> Result<String, ServeRefusal> {
    serde_json::to_string(document).map_err(unwritten)
}

fn unwritten(error: serde_json::Error) -> ServeRefusal {
    ServeRefusal::Bug(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::generate::SchemaSettings;
    use serde_json::Value;

    use super::ListedRuns;

    /// With `UPDATE_SCHEMAS` set, the committed schema is written again instead.
    #[test]
    fn the_committed_schema_is_that_of_the_document() {
        let file = "../../../docs/schemas/plumb.runs-1.json";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<ListedRuns>().to_value();
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&file, serde_json::to_string_pretty(&schema).unwrap() + "\n").unwrap();
        }
        let committed: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert!(committed == schema, "run this with UPDATE_SCHEMAS=1 and look at what changed");
    }
}
