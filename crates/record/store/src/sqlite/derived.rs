//! Series in runs without their samples, derived from the facts and kept in the same file.
//!
//! These rows are never the truth. They carry the rules that computed them and the state
//! ([`crate::RunEnd::state`]) of each run; if either differs, they do not count and are computed again. So
//! nothing here may fail a reader: what cannot be read is missing, and what cannot be written is computed
//! again the next time.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plumb_model::{Environment, Host, Id, Machine, MeasuredOn, RunOfSeries, SeriesInRun};
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};

use super::content::{self, ContentId, count, identity};
use super::db_error::DbError;
use super::read;
use super::schema::DERIVED;
use super::version::known;
use crate::answers::{DerivedRun, DerivedSelection, RunEnd};

/// Rises when a row is written in another form.
const FORM: u32 = 1;

/// How long to wait for another process before giving up: rows that are not kept cost time, not data.
const WRITE_TIMEOUT: Duration = Duration::from_millis(200);

/// Makes the tables if the store has none, as one of an earlier plumb.
pub(super) fn create(db: &Connection) -> Result<(), DbError> {
    if !has_tables(db)? {
        db.execute_batch(DERIVED)?;
    }
    Ok(())
}

pub(super) fn has_tables(db: &Connection) -> Result<bool, DbError> {
    let sql = "SELECT count(*) = 3 FROM sqlite_schema WHERE type = 'table' \
         AND name IN ('derived_version', 'derived_run', 'derived_series')";
    Ok(db.query_row(sql, [], |row| row.get(0))?)
}

/// The version of rows that these rules compute.
fn version(rules: &str) -> String {
    format!("{rules}/{FORM}")
}

fn is_current(db: &Connection, rules: &str) -> Result<bool, DbError> {
    if !has_tables(db)? {
        return Ok(false);
    }
    let found: Option<String> =
        db.query_row("SELECT version FROM derived_version", [], |row| row.get(0)).optional()?;
    Ok(found.is_some_and(|found| found == version(rules)))
}

/// The runs that are kept by these rules, each with its state when it was read.
fn states(db: &Connection) -> Result<HashMap<Id, String>, DbError> {
    let mut select = db.prepare_cached("SELECT run, state FROM derived_run")?;
    let rows = select.query_map([], |row| Ok((identity(row.get(0)?), row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The runs that are kept as they are now, with those of their series that are selected.
pub(super) fn read(
    db: &Connection,
    rules: &str,
    selection: DerivedSelection<'_>,
) -> Result<Vec<DerivedRun>, DbError> {
    if !is_current(db, rules)? {
        return Ok(Vec::new());
    }
    let kept = states(db)?;
    // A run that was resumed or merged since then has another state, so its rows are outdated.
    let is_kept = |end: &RunEnd| end.state.is_some() && kept.get(&end.run) == end.state.as_ref();
    let mut runs: Vec<DerivedRun> = read::ends(db)?
        .into_iter()
        .filter(is_kept)
        .filter(|end| match selection {
            DerivedSelection::Runs(wanted) => wanted.contains(&end.run),
            DerivedSelection::Series(_) | DerivedSelection::All => true,
        })
        .map(|end| DerivedRun { run: end.run, series: Vec::new() })
        .collect();
    let places: HashMap<Id, usize> =
        runs.iter().enumerate().map(|(place, kept)| (kept.run, place)).collect();
    let mut rows = Rows::new(db);
    let mut found = |row: Row| -> Result<(), DbError> {
        if let Some(place) = places.get(&row.run) {
            let series = rows.series(&row)?;
            runs[*place].series.push(series);
        }
        Ok(())
    };
    match selection {
        DerivedSelection::Series(name) => {
            each(db, "WHERE name = ? ORDER BY run, n", &[&name], &mut found)?
        }
        DerivedSelection::Runs(wanted) => {
            for run in wanted {
                each(db, "WHERE run = ? ORDER BY n", &[run.as_bytes()], &mut found)?;
            }
        }
        DerivedSelection::All => each(db, "ORDER BY run, n", &[], &mut found)?,
    }
    Ok(runs)
}

/// A row of `derived_series`.
struct Row {
    run: Id,
    environment: ContentId,
    json: String,
}

fn each(
    db: &Connection,
    which: &str,
    values: &[&dyn rusqlite::ToSql],
    found: &mut dyn FnMut(Row) -> Result<(), DbError>,
) -> Result<(), DbError> {
    let sql = format!("SELECT run, environment, json FROM derived_series {which}");
    let mut select = db.prepare_cached(&sql)?;
    let mut rows = select.query(values)?;
    while let Some(row) = rows.next()? {
        let run = identity(row.get(0)?);
        found(Row { run, environment: row.get(1)?, json: row.get(2)? })?;
    }
    Ok(())
}

/// Reads rows; what they have in common is read once.
struct Rows<'d> {
    db: &'d Connection,
    runs: HashMap<Id, Arc<RunOfSeries>>,
    machines: BTreeMap<ContentId, Arc<Machine>>,
    environments: BTreeMap<ContentId, Arc<Environment>>,
}

impl<'d> Rows<'d> {
    fn new(db: &'d Connection) -> Self {
        Self { db, runs: HashMap::new(), machines: BTreeMap::new(), environments: BTreeMap::new() }
    }

    fn series(&mut self, row: &Row) -> Result<SeriesInRun, DbError> {
        let series: SeriesInRun = serde_json::from_str(&row.json)?;
        Ok(SeriesInRun {
            run: self.run(row.run)?,
            environment: self.environment(row.environment)?,
            ..series
        })
    }

    fn run(&mut self, run: Id) -> Result<Arc<RunOfSeries>, DbError> {
        if let Some(known) = self.runs.get(&run) {
            return Ok(Arc::clone(known));
        }
        let mut select = self.db.prepare_cached(
            "SELECT json, machine, host, environment FROM derived_run WHERE run = ?",
        )?;
        let (json, machine, host, environment): (
            String,
            Option<ContentId>,
            Option<String>,
            Option<ContentId>,
        ) = select.query_row([run.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
        let place = match machine.zip(environment) {
            Some((machine, environment)) => Some(MeasuredOn {
                machine: self.machine(machine)?,
                host: Host::from(host),
                environment: self.environment(environment)?,
            }),
            None => None,
        };
        let of_series: RunOfSeries = serde_json::from_str(&json)?;
        let found = Arc::new(RunOfSeries { place, ..of_series });
        self.runs.insert(run, Arc::clone(&found));
        Ok(found)
    }

    fn machine(&mut self, id: ContentId) -> Result<Arc<Machine>, DbError> {
        if let Some(known) = self.machines.get(&id) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(content::machine(self.db, id)?);
        self.machines.insert(id, Arc::clone(&found));
        Ok(found)
    }

    fn environment(&mut self, id: ContentId) -> Result<Arc<Environment>, DbError> {
        if let Some(known) = self.environments.get(&id) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(content::environment(self.db, id)?);
        self.environments.insert(id, Arc::clone(&found));
        Ok(found)
    }
}

/// Keeps all series of runs that were in these states, in one transaction.
pub(super) fn keep(
    path: &Path,
    rules: &str,
    runs: &[(RunEnd, Vec<SeriesInRun>)],
) -> Result<(), DbError> {
    // Its own connection, so that readers of a store that was opened read-only can keep what they
    // computed if the file can be written. It makes no file.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(WRITE_TIMEOUT)?;
    known(&db)?;
    let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !is_current(&step, rules)? {
        step.execute_batch(
            "DROP TABLE IF EXISTS derived_series; DROP TABLE IF EXISTS derived_run; \
             DROP TABLE IF EXISTS derived_version;",
        )?;
        step.execute_batch(DERIVED)?;
        step.execute("INSERT INTO derived_version VALUES (?)", [version(rules)])?;
    }
    for (end, series) in runs {
        keep_run(&step, end, series)?;
    }
    Ok(step.commit()?)
}

fn keep_run(db: &Connection, end: &RunEnd, series: &[SeriesInRun]) -> Result<(), DbError> {
    let Some(state) = &end.state else { return Ok(()) };
    let run = end.run.as_bytes();
    // A resumed run has rows of its earlier state, maybe more than now.
    db.prepare_cached("DELETE FROM derived_series WHERE run = ?")?.execute([run])?;
    // The same keys as in `target` and `invocation`: facts are kept by a hash of their content.
    let of_run = series.first().map(|first| first.run.as_ref().clone()).unwrap_or_default();
    let place = of_run.place.as_ref();
    let machine = place.map(|place| content::keep_machine(db, &place.machine)).transpose()?;
    let environment =
        place.map(|place| content::keep_environment(db, &place.environment)).transpose()?;
    db.prepare_cached("INSERT OR REPLACE INTO derived_run VALUES (?, ?, ?, ?, ?, ?)")?.execute(
        params![
            run,
            state,
            machine,
            place.and_then(|place| place.host.known()),
            environment,
            serde_json::to_string(&of_run)?
        ],
    )?;
    for (n, series) in series.iter().enumerate() {
        let environment = content::keep_environment(db, &series.environment)?;
        db.prepare_cached("INSERT INTO derived_series VALUES (?, ?, ?, ?, ?)")?.execute(
            params![series.name, run, count(n), environment, serde_json::to_string(series)?],
        )?;
    }
    Ok(())
}
