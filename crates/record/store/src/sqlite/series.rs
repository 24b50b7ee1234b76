//! One series in all runs, without their records: an index leads from the series to its invocations, and
//! the columns of their samples are all that is read.

use std::collections::BTreeMap;

use plumb_model::{
    Better, Description, Host, Id, Machine, MetricSource, Ready, Role, SeriesName, SeriesRecord,
};
use rusqlite::Connection;

use super::content::{self, ContentId, from_word, identity};
use super::read::{self, all, labels};
use crate::sqlite::db_error::DbError;

/// All series by name.
pub(super) fn names(db: &Connection) -> Result<Vec<SeriesName>, DbError> {
    let sql = "WITH first AS MATERIALIZED ( \
           SELECT DISTINCT json ->> '$.id' AS workload, json ->> '$.metrics[0].name' AS metric \
           FROM description), \
         titled AS MATERIALIZED ( \
           SELECT point.value ->> '$.point.workload' AS workload, \
             point.value ->> '$.point.key' AS point, max(point.value ->> '$.title') AS title \
           FROM plan, json_each(plan.json, '$.points') AS point \
           WHERE point.value -> '$.preparation' IS NULL GROUP BY 1, 2) \
         SELECT DISTINCT series.name, series.workload, series.point, \
           (series.workload, series.metric) IN first, titled.title \
         FROM series LEFT JOIN titled USING (workload, point) \
         WHERE series.kind = 'value' ORDER BY 1";
    all(db, sql, &[], |row| {
        Ok(SeriesName {
            name: row.get(0)?,
            workload: row.get(1)?,
            point: row.get(2)?,
            primary: row.get(3)?,
            title: row.get(4)?,
        })
    })
}

/// The names of all series, without those of points.
pub(super) fn names_alone(db: &Connection) -> Result<Vec<String>, DbError> {
    let sql = "SELECT DISTINCT name FROM series WHERE kind = 'value' ORDER BY 1";
    all(db, sql, &[], |row| Ok(row.get(0)?))
}

/// What every run, or one alone, measured of the series of this name, oldest first.
pub(super) fn series(
    db: &Connection,
    name: &str,
    of: Option<Id>,
) -> Result<Vec<SeriesRecord>, DbError> {
    let of = of.map(|run| read::key(db, run)).transpose()?;
    let sql = "SELECT id, machine, version, clock, unit, better, source, metric FROM series WHERE name = ?";
    let mut found = Vec::new();
    let kinds = all(db, sql, &[&name], |row| {
        Ok(SeriesKey {
            series: row.get(0)?,
            machine: content::machine(db, row.get(1)?)?,
            version: row.get(2)?,
            clock: row.get(3)?,
            unit: row.get(4)?,
            better: from_word(row.get(5)?)?,
            source: from_word(row.get(6)?)?,
            metric: row.get(7)?,
        })
    })?;
    for kind in kinds {
        let values = match kind.source {
            MetricSource::Search => limits(db, &kind, of)?,
            _ => values(db, kind.series, of)?,
        };
        for invocations in values.into_values() {
            found.extend(in_run(db, &kind, invocations)?);
        }
    }
    found.sort_by_key(|it| (it.started_unix_ns, it.run));
    Ok(found)
}

/// A row of `series`: names alone do not tell machines, versions and clocks apart.
struct SeriesKey {
    series: i64,
    machine: Machine,
    version: u32,
    clock: String,
    unit: String,
    better: Better,
    source: MetricSource,
    metric: String,
}

/// run → invocation → values.
type Values = BTreeMap<i64, BTreeMap<i64, Vec<f64>>>;

/// The limits of a series, computed from the trials of its invocations.
fn limits(db: &Connection, kind: &SeriesKey, of: Option<i64>) -> Result<Values, DbError> {
    let sql = "SELECT invocation.run, invocation.id, description.json \
         FROM measures JOIN invocation ON invocation.id = measures.invocation \
         JOIN invocation_end ON invocation_end.invocation = invocation.id \
         JOIN run ON run.id = invocation.run JOIN plan ON plan.id = run.plan \
         JOIN json_each(plan.json, '$.points') AS planned ON planned.key = invocation.point \
         JOIN description ON description.id = unhex(planned.value ->> '$.description') \
         WHERE measures.series = ?1 AND invocation.role = 'workload' AND outcome = 'done' \
           AND invocation.id NOT IN (SELECT invocation FROM exclusion) \
           AND (?2 IS NULL OR invocation.run = ?2)";
    let rows = all(db, sql, &[&kind.series, &of], |row| {
        let description: String = row.get(2)?;
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, description))
    })?;
    let mut runs = Values::new();
    for (run, invocation, description) in rows {
        let description: Description = serde_json::from_str(&description)?;
        let Some(metric) = description.metric(&kind.metric) else { continue };
        if let Some(limit) = read::samples(db, invocation)?.metric(metric, 1.0) {
            runs.entry(run).or_default().insert(invocation, limit);
        }
    }
    Ok(runs)
}

/// The steady values of a series.
///
/// A `+` keeps the planner from an index: from walking all invocations for the sake of the order, and where
/// one run is asked for, those of all others.
fn values(db: &Connection, series: i64, of: Option<i64>) -> Result<Values, DbError> {
    let which =
        if of.is_some() { "+series = ?1 AND run = ?2" } else { "series = ?1 AND ?2 IS NULL" };
    let mut select = db.prepare_cached(&format!(
        "SELECT run, invocation, value FROM measured WHERE {which} AND role = 'workload' \
           AND outcome = 'done' AND phase = 'steady' AND value IS NOT NULL \
         ORDER BY +invocation, n",
    ))?;
    let mut rows = select.query((series, of))?;
    let mut runs = Values::new();
    while let Some(row) = rows.next()? {
        let invocations = runs.entry(row.get(0)?).or_default();
        invocations.entry(row.get(1)?).or_default().push(row.get(2)?);
    }
    Ok(runs)
}

/// These values with what is known of their run and of the surroundings of the first invocation; nothing
/// for runs that compare values of a knob, whose sides are no part of a history; the values are no conditions of
/// their points.
fn in_run(
    db: &Connection,
    kind: &SeriesKey,
    invocations: BTreeMap<i64, Vec<f64>>,
) -> Result<Vec<SeriesRecord>, DbError> {
    let sql = "SELECT run.id, run.uuid, run.started_unix_ns, run.plumb, run.plan, \
           json_array_length(plan.json, '$.companions') > 0, invocation.environment, \
           invocation.ready, planned.value ->> '$.title', description.json ->> '$.sample_is', \
           (SELECT host FROM target WHERE target.run = run.id AND target.target = invocation.target \
            ORDER BY segment DESC, ordinal DESC LIMIT 1), planned.value ->> '$.labels' \
         FROM invocation JOIN run ON run.id = invocation.run JOIN plan ON plan.id = run.plan \
         JOIN json_each(plan.json, '$.points') AS planned ON planned.key = invocation.point \
         JOIN description ON description.id = unhex(planned.value ->> '$.description') \
         WHERE invocation.id = ? AND (planned.value -> '$.preparation' IS NULL \
           OR planned.value -> '$.point.conditions' IS NOT NULL)";
    let first = invocations.first_key_value().map(|(first, _)| *first);
    let invocations: Vec<Vec<f64>> = invocations.into_values().collect();
    all(db, sql, &[&first], |row| {
        let ready: Ready = serde_json::from_str(&row.get::<_, String>(7)?)?;
        let own = row.get::<_, Option<String>>(11)?;
        let own: Option<BTreeMap<_, _>> = own.map(|it| serde_json::from_str(&it)).transpose()?;
        Ok(SeriesRecord {
            run: identity(row.get(1)?),
            started_unix_ns: row.get(2)?,
            plumb: row.get(3)?,
            labels: labels(db, row.get(0)?)?.into_iter().chain(own.unwrap_or_default()).collect(),
            machine: kind.machine.clone(),
            host: Host::from(row.get::<_, Option<String>>(10)?),
            environment: content::environment(db, row.get(6)?)?,
            versions: ready.versions,
            loads: if row.get(5)? { loads(db, row.get(4)?)? } else { Vec::new() },
            version: kind.version,
            clock: kind.clock.clone(),
            unit: kind.unit.clone(),
            better: kind.better,
            sample_is: from_word(row.get(9)?)?,
            title: row.get(8)?,
            invocations: invocations.clone(),
        })
    })
}

/// What ran beside everything.
fn loads(db: &Connection, plan: ContentId) -> Result<Vec<String>, DbError> {
    let plan = content::plan(db, plan)?;
    let loads = plan.beside(None).filter(|it| it.role == Role::Load);
    Ok(loads.map(|it| it.point.name()).collect())
}
