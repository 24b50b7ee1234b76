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

use plumb_model::{
    Environment, Host, Id, Machine, MeasuredOn, PointFacts, RunCosts, RunOfSeries, SeriesInRun,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};

use super::content::{self, ContentId, count, identity};
use super::db_error::DbError;
use super::schema::DERIVED;
use super::version::known;
use crate::answers::{DerivedRun, FreshlyDerived, RunEnd};

/// Rises when a row is written in another form.
const FORM: u32 = 4;

/// The tables of `derived.sql`.
const TABLES: [&str; 5] =
    ["derived_version", "derived_run", "derived_costs", "derived_point", "derived_series"];

/// How long to wait for another process before giving up: rows that are not kept cost time, not data.
const WRITE_TIMEOUT: Duration = Duration::from_millis(200);

/// Makes the tables if the store lacks one, as one of an earlier plumb does.
pub(super) fn create(db: &Connection) -> Result<(), DbError> {
    if !has_tables(db)? {
        make_anew(db)?;
    }
    Ok(())
}

/// Drops all that was derived and makes the tables as this plumb knows them: another plumb may have left them in another
/// form, and whatever they held can be derived again.
fn make_anew(db: &Connection) -> Result<(), DbError> {
    for table in TABLES {
        db.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    Ok(db.execute_batch(DERIVED)?)
}

pub(super) fn has_tables(db: &Connection) -> Result<bool, DbError> {
    let mut exists =
        db.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")?;
    for table in TABLES {
        if !exists.exists([table])? {
            return Ok(false);
        }
    }
    Ok(true)
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

/// Whether a run is kept as it is now: one that was resumed or merged since then has another state, so its rows are
/// outdated.
fn is_kept(db: &Connection, end: &RunEnd) -> Result<bool, DbError> {
    let Some(state) = &end.state else { return Ok(false) };
    let mut select = db.prepare_cached("SELECT 1 FROM derived_run WHERE run = ? AND state = ?")?;
    Ok(select.exists(params![end.run.as_bytes(), state])?)
}

/// Those of the runs that are kept as they are now, with their series of this name, or all.
pub(super) fn read(
    db: &Connection,
    rules: &str,
    ends: &[RunEnd],
    name: Option<&str>,
) -> Result<Vec<DerivedRun>, DbError> {
    if !is_current(db, rules)? {
        return Ok(Vec::new());
    }
    let mut runs = Vec::new();
    for end in ends {
        if is_kept(db, end)? {
            runs.push(DerivedRun { run: end.run, series: Vec::new() });
        }
    }
    let places: HashMap<Id, usize> =
        runs.iter().enumerate().map(|(place, kept)| (kept.run, place)).collect();
    let mut rows = Rows::new(db);
    let mut found = |row: &Row<'_>| -> Result<(), DbError> {
        if let Some(place) = places.get(&identity(row.get(RUN)?)) {
            runs[*place].series.push(rows.series(row)?);
        }
        Ok(())
    };
    match name {
        Some(name) => {
            each(db, "WHERE series.name = ? ORDER BY series.run, series.n", &[&name], &mut found)?;
        }
        None => {
            for run in places.keys() {
                let which = "WHERE series.run = ? ORDER BY series.n";
                each(db, which, &[run.as_bytes()], &mut found)?;
            }
        }
    }
    Ok(runs)
}

/// The costs of those of the runs that are kept as they are now, and gave series.
pub(super) fn costs(
    db: &Connection,
    rules: &str,
    ends: &[RunEnd],
) -> Result<Vec<RunCosts>, DbError> {
    if !is_current(db, rules)? {
        return Ok(Vec::new());
    }
    // In the columns of `each`.
    let sql = "SELECT of_run.run, NULL, NULL, costs.json, of_run.json, machine, host, environment \
               FROM derived_run AS of_run JOIN derived_costs AS costs ON costs.run = of_run.run \
               WHERE of_run.run = ? AND state = ? AND of_run.json != 'null'";
    let mut select = db.prepare_cached(sql)?;
    let mut rows_of_runs = Rows::new(db);
    let mut found = Vec::new();
    for end in ends {
        let mut rows = select.query(params![end.run.as_bytes(), end.state])?;
        if let Some(row) = rows.next()? {
            let run = rows_of_runs.run(row)?;
            let first_metrics = serde_json::from_str(&row.get::<_, String>(SERIES)?)?;
            found.push(RunCosts { run, first_metrics });
        }
    }
    Ok(found)
}

/// The columns of [`each`]: those of the series, then those of its run.
const RUN: usize = 0;
const ENVIRONMENT: usize = 1;
const POINT: usize = 2;
const SERIES: usize = 3;
const OF_RUN: usize = 4;
const MACHINE: usize = 5;
const HOST: usize = 6;
const FIRST_ENVIRONMENT: usize = 7;

/// Every selected series with its run.
fn each(
    db: &Connection,
    which: &str,
    values: &[&dyn rusqlite::ToSql],
    found: &mut dyn FnMut(&Row<'_>) -> Result<(), DbError>,
) -> Result<(), DbError> {
    let sql = format!(
        "SELECT series.run, series.environment, series.point, series.json, of_run.json, \
           of_run.machine, of_run.host, of_run.environment \
         FROM derived_series AS series JOIN derived_run AS of_run ON of_run.run = series.run {which}"
    );
    let mut select = db.prepare_cached(&sql)?;
    let mut rows = select.query(values)?;
    while let Some(row) = rows.next()? {
        found(row)?;
    }
    Ok(())
}

/// Reads rows; what they have in common is read once.
struct Rows<'d> {
    db: &'d Connection,
    runs: HashMap<Id, Arc<RunOfSeries>>,
    machines: BTreeMap<ContentId, Arc<Machine>>,
    environments: BTreeMap<ContentId, Arc<Environment>>,
    points: BTreeMap<ContentId, Arc<PointFacts>>,
}

impl<'d> Rows<'d> {
    fn new(db: &'d Connection) -> Self {
        Self {
            db,
            runs: HashMap::new(),
            machines: BTreeMap::new(),
            environments: BTreeMap::new(),
            points: BTreeMap::new(),
        }
    }

    fn series(&mut self, row: &Row<'_>) -> Result<SeriesInRun, DbError> {
        let series: SeriesInRun = serde_json::from_str(&row.get::<_, String>(SERIES)?)?;
        Ok(SeriesInRun {
            run: self.run(row)?,
            environment: self.environment(row.get(ENVIRONMENT)?)?,
            point: self.point(row.get(POINT)?)?,
            ..series
        })
    }

    fn run(&mut self, row: &Row<'_>) -> Result<Arc<RunOfSeries>, DbError> {
        let run = identity(row.get(RUN)?);
        if let Some(known) = self.runs.get(&run) {
            return Ok(Arc::clone(known));
        }
        let machine: Option<ContentId> = row.get(MACHINE)?;
        let environment: Option<ContentId> = row.get(FIRST_ENVIRONMENT)?;
        let place = match machine.zip(environment) {
            Some((machine, environment)) => Some(MeasuredOn {
                machine: self.machine(machine)?,
                host: Host::from(row.get::<_, Option<String>>(HOST)?),
                environment: self.environment(environment)?,
            }),
            None => None,
        };
        let of_series: RunOfSeries = serde_json::from_str(&row.get::<_, String>(OF_RUN)?)?;
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

    fn point(&mut self, id: ContentId) -> Result<Arc<PointFacts>, DbError> {
        if let Some(known) = self.points.get(&id) {
            return Ok(Arc::clone(known));
        }
        let json = content::text(self.db, "derived_point", id)?;
        let found: Arc<PointFacts> = Arc::new(serde_json::from_str(&json)?);
        self.points.insert(id, Arc::clone(&found));
        Ok(found)
    }
}

/// Keeps all series of runs that were in these states, in one transaction.
pub(super) fn keep(path: &Path, rules: &str, runs: &[FreshlyDerived]) -> Result<(), DbError> {
    // Its own connection, so that readers of a store that was opened read-only can keep what they
    // computed if the file can be written. It makes no file.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(WRITE_TIMEOUT)?;
    known(&db)?;
    let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !is_current(&step, rules)? {
        make_anew(&step)?;
        step.execute("INSERT INTO derived_version VALUES (?)", [version(rules)])?;
    }
    for derived in runs {
        keep_run(&step, derived)?;
    }
    Ok(step.commit()?)
}

fn keep_run(db: &Connection, derived: &FreshlyDerived) -> Result<(), DbError> {
    let FreshlyDerived { end, series, costs } = derived;
    let Some(state) = &end.state else { return Ok(()) };
    let run = end.run.as_bytes();
    // A resumed run has rows of its earlier state, maybe more than now.
    db.prepare_cached("DELETE FROM derived_series WHERE run = ?")?.execute([run])?;
    // The same keys as in `target` and `invocation`: facts are kept by a hash of their content.
    let of_run = series.first().map(|first| first.run.as_ref());
    let place = of_run.and_then(|run| run.place.as_ref());
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
    db.prepare_cached("INSERT OR REPLACE INTO derived_costs VALUES (?, ?)")?
        .execute(params![run, serde_json::to_string(costs)?])?;
    for (n, series) in series.iter().enumerate() {
        let environment = content::keep_environment(db, &series.environment)?;
        let point =
            content::keep_text(db, "derived_point", &serde_json::to_string(&*series.point)?)?;
        let json = serde_json::to_string(series)?;
        db.prepare_cached("INSERT INTO derived_series VALUES (?, ?, ?, ?, ?, ?)")?
            .execute(params![series.name, run, count(n), environment, point, json])?;
    }
    Ok(())
}
