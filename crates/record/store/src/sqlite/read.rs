//! Gives records and summaries back.

use std::collections::BTreeMap;

use plumb_model::{
    Compared, Decision, FixtureRecord, Flag, FlagKind, Host, Id, Interference, InvocationEnd,
    InvocationRecord, Look, Missing, Outcome, Owner, PreparationRecord, Prepared, Ready, RunRecord,
    RunStatus, Samples, Segment, Target, Usage, Verdict, short_id,
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use super::content::{self, ContentId, WRONG_RESULT, counted, from_word, identity, unsigned};
use crate::answers::{RunEnd, RunSummary};
use crate::error::StoreError;
use crate::owner;
use crate::sqlite::db_error::DbError;
use crate::sqlite::fixture_notes::FixtureNotes;

/// All runs, oldest first.
pub(super) fn runs(db: &Connection) -> Result<Vec<Id>, DbError> {
    let mut select = db.prepare_cached("SELECT uuid FROM run ORDER BY started_unix_ns, uuid")?;
    let rows = select.query_map([], |row| Ok(identity(row.get(0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// All runs without their samples, oldest first.
pub(super) fn summaries(db: &Connection) -> Result<Vec<RunSummary>, DbError> {
    all(
        db,
        "SELECT run.id, run.uuid, run.started_unix_ns, run.command, \
           json_extract(plan.json, '$.suite'), json_array_length(plan.json, '$.points'), \
           (SELECT coalesce(sum(batch.samples), 0) \
            FROM invocation JOIN batch ON batch.invocation = invocation.id \
            WHERE invocation.run = run.id), \
           (SELECT host FROM target WHERE target.run = run.id \
            ORDER BY target, segment DESC, ordinal DESC LIMIT 1), \
           CASE WHEN run.plumb = '' \
             THEN max(run.started_unix_ns) OVER (ORDER BY run.id ROWS UNBOUNDED PRECEDING) \
             ELSE run.started_unix_ns END \
         FROM run JOIN plan ON plan.id = run.plan ORDER BY run.started_unix_ns, run.uuid",
        &[],
        |row| summary(db, row),
    )
}

/// A run with its state. Of each run that is not going on, the state differs as soon as anything more is stored of it.
const END: &str = "SELECT uuid, started_unix_ns, \
       (SELECT count(*) || '.' || max(ordinal) || '.' || max(ended_unix_ns) || '.' || \
          (SELECT count(*) FROM segment WHERE segment.run = run.id) \
        FROM run_end WHERE run_end.run = run.id AND NOT interrupted AND run_end.segment = \
          (SELECT max(segment) FROM segment WHERE segment.run = run.id)) \
     FROM run";

/// All runs, oldest first, and which are complete: as [`end`] tells it.
pub(super) fn ends(db: &Connection) -> Result<Vec<RunEnd>, DbError> {
    all(db, &format!("{END} ORDER BY started_unix_ns, uuid"), &[], run_end)
}

/// The same of these runs, in their order.
pub(super) fn ends_of(db: &Connection, runs: &[Id]) -> Result<Vec<RunEnd>, DbError> {
    let sql = format!("{END} WHERE uuid = ?");
    let mut found = Vec::new();
    for run in runs {
        found.extend(all(db, &sql, &[&run.as_bytes()], run_end)?);
    }
    Ok(found)
}

fn run_end(row: &Row<'_>) -> Result<RunEnd, DbError> {
    Ok(RunEnd { run: identity(row.get(0)?), started_unix_ns: row.get(1)?, state: row.get(2)? })
}

fn summary(db: &Connection, row: &Row<'_>) -> Result<RunSummary, DbError> {
    let key = row.get(0)?;
    let (ended_unix_ns, status) = end(db, key)?;
    Ok(RunSummary {
        run: identity(row.get(1)?),
        started_unix_ns: row.get(2)?,
        came_unix_ns: row.get(8)?,
        row: key,
        ended_unix_ns,
        status,
        suite: row.get(4)?,
        command: serde_json::from_str(&row.get::<_, String>(3)?)?,
        labels: labels(db, key)?,
        host: Host::from(row.get::<_, Option<String>>(7)?),
        points: counted(row.get(5)?)?,
        samples: unsigned(row.get(6)?),
    })
}

/// The labels of a run.
pub(super) fn labels(db: &Connection, run: i64) -> Result<BTreeMap<String, String>, DbError> {
    let mut select = db.prepare_cached("SELECT name, value FROM label WHERE run = ?")?;
    let rows = select.query_map([run], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Everything that is stored of a run.
pub(super) fn record(db: &Connection, uuid: Id) -> Result<RunRecord, DbError> {
    let mut select = db.prepare_cached(
        "SELECT id, started_unix_ns, plumb, command, plan FROM run WHERE uuid = ?",
    )?;
    let mut rows = select.query([uuid.as_bytes()])?;
    let Some(row) = rows.next()? else { return Err(no_such_run(db, uuid)?) };
    let key = row.get(0)?;
    let (ended_unix_ns, status) = end(db, key)?;
    let mut environments = Vec::new();
    let invocations = invocations(db, key, &mut environments)?;
    Ok(RunRecord {
        run: uuid,
        started_unix_ns: row.get(1)?,
        ended_unix_ns,
        status,
        plumb: row.get(2)?,
        command: serde_json::from_str(&row.get::<_, String>(3)?)?,
        plan: content::plan(db, row.get(4)?)?,
        segments: segments(db, key)?,
        targets: targets(db, key)?,
        environments: environments
            .iter()
            .map(|id| content::environment(db, *id))
            .collect::<Result<_, _>>()?,
        invocations,
        decisions: decisions(db, key)?,
        unsupported: unsupported(db, key)?,
        fixtures: fixtures(db, key)?,
        preparations: preparations(db, key)?,
        log: log(db, key)?,
    })
}

/// That no run has this id.
pub(super) fn no_such_run(db: &Connection, uuid: Id) -> Result<DbError, DbError> {
    let nearest = runs(db)?.last().map(|run| short_id(*run));
    Ok(StoreError::NoSuchRun { wanted: uuid.to_string(), nearest }.into())
}

/// The key of a run's row.
pub(super) fn key(db: &Connection, uuid: Id) -> Result<i64, DbError> {
    let mut select = db.prepare_cached("SELECT id FROM run WHERE uuid = ?")?;
    let key = select.query_row([uuid.as_bytes()], |row| row.get(0)).optional()?;
    key.map_or_else(|| Err(no_such_run(db, uuid)?), Ok)
}

/// All rows of a query, each made into a thing.
pub(super) fn all<T>(
    db: &Connection,
    sql: &str,
    of: &[&dyn ToSql],
    mut make: impl FnMut(&Row<'_>) -> Result<T, DbError>,
) -> Result<Vec<T>, DbError> {
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query(of)?;
    let mut made = Vec::new();
    while let Some(row) = rows.next()? {
        made.push(make(row)?);
    }
    Ok(made)
}

/// When a run ended, and whether it is over: only its last segment counts, because a run that was
/// interrupted may have been resumed.
pub(super) fn end(db: &Connection, run: i64) -> Result<(Option<i64>, RunStatus), DbError> {
    let segments = segments(db, run)?;
    let Some(last) = segments.last() else { return Ok((None, RunStatus::Interrupted)) };
    let found: Option<(i64, bool)> = db
        .prepare_cached(
            "SELECT ended_unix_ns, interrupted FROM run_end WHERE run = ? AND segment = ? \
             ORDER BY interrupted, ordinal DESC, ended_unix_ns DESC LIMIT 1",
        )?
        .query_row((run, last.segment), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // A killed process stores no end, so without one only the process table tells running from interrupted.
    let alive = || segments.iter().any(|s| s.segment == last.segment && owner::lives(&s.owner));
    Ok(match found {
        Some((ended, false)) => (Some(ended), RunStatus::Complete),
        Some((ended, true)) => (Some(ended), RunStatus::Interrupted),
        None if alive() => (None, RunStatus::Running),
        None => (None, RunStatus::Interrupted),
    })
}

/// The stretches of a run.
pub(super) fn segments(db: &Connection, run: i64) -> Result<Vec<Segment>, DbError> {
    // Ordered by all columns: merged stores may hold one segment twice, and the order must not depend on who merged
    // whom.
    let sql = "SELECT segment, started_unix_ns, monotonic_ns, pid, start_ticks, boot_id \
               FROM segment WHERE run = ? \
               ORDER BY segment, started_unix_ns, monotonic_ns, pid, start_ticks, boot_id";
    all(db, sql, &[&run], |row| {
        Ok(Segment {
            segment: row.get(0)?,
            started_unix_ns: row.get(1)?,
            monotonic_ns: unsigned(row.get(2)?),
            owner: Owner {
                pid: row.get(3)?,
                start_ticks: unsigned(row.get(4)?),
                boot_id: row.get(5)?,
            },
        })
    })
}

/// What was prepared. A row that was undone at some time says so of the latest one before it with this
/// name that was not.
fn preparations(db: &Connection, run: i64) -> Result<Vec<PreparationRecord>, DbError> {
    let sql = "SELECT setting, was, became, segment, at_ns, restored_at_ns FROM preparation \
               WHERE run = ? ORDER BY segment, ordinal, at_ns, setting";
    let rows = all(db, sql, &[&run], |row| {
        Ok(PreparationRecord {
            prepared: Prepared { setting: row.get(0)?, was: row.get(1)?, became: row.get(2)? },
            segment: row.get(3)?,
            at_ns: unsigned(row.get(4)?),
            restored_at_ns: row.get::<_, Option<i64>>(5)?.map(unsigned),
        })
    })?;
    let mut found: Vec<PreparationRecord> = Vec::new();
    for row in rows {
        match row.restored_at_ns {
            None => found.push(row),
            Some(at_ns) => PreparationRecord::undone(&mut found, &row.prepared.setting, at_ns),
        }
    }
    Ok(found)
}

/// Where a run was measured.
pub(super) fn targets_of(db: &Connection, uuid: Id) -> Result<Vec<Target>, DbError> {
    targets(db, key(db, uuid)?)
}

/// What the targets have become: of each the last row.
fn targets(db: &Connection, run: i64) -> Result<Vec<Target>, DbError> {
    let sql = "SELECT target, name, machine, environment, host FROM target WHERE run = ? \
               ORDER BY segment, ordinal, at_ns, name, machine, environment, host";
    let rows = all(db, sql, &[&run], |row| {
        let target = Target {
            name: row.get(1)?,
            host: Host::from(row.get::<_, Option<String>>(4)?),
            machine: content::machine(db, row.get(2)?)?,
            environment: content::environment(db, row.get(3)?)?,
        };
        Ok((row.get::<_, u32>(0)?, target))
    })?;
    // A resumed run describes its targets again; the map keeps the newest description of each.
    Ok(rows.into_iter().collect::<BTreeMap<_, _>>().into_values().collect())
}

/// The columns of a decision.
pub(super) const DECISION: &str = "point, invocations, samples, estimate, low, high, level, stop, \
     wanted, remaining_ns, pairs, verdict, pairs_needed";

fn decisions(db: &Connection, run: i64) -> Result<Vec<Decision>, DbError> {
    let sql = format!(
        "SELECT {DECISION} FROM decision WHERE run = ? ORDER BY segment, ordinal, at_ns, point"
    );
    all(db, &sql, &[&run], decision)
}

/// A decision from the columns [`DECISION`].
pub(super) fn decision(row: &Row<'_>) -> Result<Decision, DbError> {
    let level: Option<f64> = row.get(6)?;
    let estimate: Option<f64> = row.get(3)?;
    let low = row.get(4)?;
    let high = row.get(5)?;
    // SQLite keeps NaN as null.
    let look = |level| Look { estimate: estimate.unwrap_or(f64::NAN), low, high, level };
    let number = |column| row.get::<_, Option<i64>>(column)?.map(counted).transpose();
    let word = row.get::<_, Option<String>>(11)?;
    let verdict = word.as_deref().map(verdict).transpose()?;
    let pairs_needed = number(12)?;
    let compared = number(10)?.map(|pairs| Compared { pairs, verdict, pairs_needed });
    Ok(Decision {
        point: counted(row.get(0)?)?,
        invocations: counted(row.get(1)?)?,
        samples: counted(row.get(2)?)?,
        look: level.map(look),
        stop: row.get::<_, Option<String>>(7)?.map(from_word).transpose()?,
        wanted: row.get(8)?,
        remaining_ns: row.get::<_, Option<i64>>(9)?.map(unsigned),
        compared,
        outlook: None,
    })
}

fn verdict(word: &str) -> Result<Verdict, DbError> {
    Verdict::of_word(word).ok_or_else(|| DbError::Stored(format!("`{word}` is not a verdict")))
}

fn unsupported(db: &Connection, run: i64) -> Result<Vec<Missing>, DbError> {
    let sql = "SELECT point, why, fix FROM requirement WHERE run = ? AND NOT satisfied \
               ORDER BY segment, ordinal, at_ns, point, why, fix";
    all(db, sql, &[&run], |row| {
        Ok(Missing { point: counted(row.get(0)?)?, why: row.get(1)?, fix: row.get(2)? })
    })
}

fn fixtures(db: &Connection, run: i64) -> Result<Vec<FixtureRecord>, DbError> {
    let sql = "SELECT workload, key, bytes_on_disk, notes FROM fixture WHERE run = ? \
               ORDER BY segment, ordinal, at_ns, workload, key, bytes_on_disk, notes";
    all(db, sql, &[&run], |row| {
        let text: String = row.get(3)?;
        let FixtureNotes { notes, start_up } = FixtureNotes::of_text(&text)?;
        Ok(FixtureRecord {
            workload: row.get(0)?,
            key: row.get(1)?,
            bytes_on_disk: unsigned(row.get(2)?),
            notes,
            start_up,
        })
    })
}

fn log(db: &Connection, run: i64) -> Result<Vec<String>, DbError> {
    let sql = "SELECT text FROM log WHERE run = ? ORDER BY segment, ordinal, at_ns, text";
    all(db, sql, &[&run], |row| Ok(row.get(0)?))
}

/// The invocations of a run; adds the environments that they had, each once.
fn invocations(
    db: &Connection,
    run: i64,
    environments: &mut Vec<ContentId>,
) -> Result<Vec<InvocationRecord>, DbError> {
    let sql = "SELECT id, uuid, point, role, round, position, segment, target, seed, ready, \
               environment FROM invocation WHERE run = ? ORDER BY segment, ordinal, at_ns, uuid";
    all(db, sql, &[&run], |row| {
        let key = row.get(0)?;
        let (known, flags) = flags(db, key)?;
        let environment = row.get(10)?;
        if !environments.contains(&environment) {
            environments.push(environment);
        }
        Ok(InvocationRecord {
            invocation: identity(row.get(1)?),
            point: counted(row.get(2)?)?,
            role: from_word(row.get(3)?)?,
            round: row.get(4)?,
            position: row.get(5)?,
            segment: row.get(6)?,
            target: row.get(7)?,
            environment: environments.iter().position(|id| *id == environment).unwrap_or(0),
            seed: unsigned(row.get(8)?),
            ready: Ready { flags: known, ..serde_json::from_str(&row.get::<_, String>(9)?)? },
            samples: samples(db, key)?,
            usage: usage(db, key)?,
            flags,
            interference: interference(db, key)?,
            excluded_by: excluded_by(db, key)?,
            end: invocation_end(db, key)?,
        })
    })
}

/// The flags known before the first sample, and those of the batches.
pub(super) fn flags(db: &Connection, invocation: i64) -> Result<(Vec<Flag>, Vec<Flag>), DbError> {
    let sql = "SELECT batch IS NULL, flag, why FROM flag WHERE invocation = ? ORDER BY ordinal";
    let rows = all(db, sql, &[&invocation], |row| {
        let flag: FlagKind = from_word(row.get(1)?)?;
        Ok((row.get::<_, bool>(0)?, Flag { flag, why: row.get(2)? }))
    })?;
    let (known, later): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(known, _)| *known);
    let flags = |rows: Vec<(bool, Flag)>| rows.into_iter().map(|(_, flag)| flag).collect();
    Ok((flags(known), flags(later)))
}

/// Other work that ran next to an invocation.
pub(super) fn interference(db: &Connection, invocation: i64) -> Result<Vec<Interference>, DbError> {
    let sql = "SELECT rule, first, last, evidence FROM interference WHERE invocation = ? \
               ORDER BY ordinal";
    all(db, sql, &[&invocation], |row| {
        let first = counted(row.get(1)?)?;
        let last = counted(row.get(2)?)?;
        Ok(Interference { rule: row.get(0)?, first, last, evidence: row.get(3)? })
    })
}

/// The rules by which an invocation does not count.
fn excluded_by(db: &Connection, invocation: i64) -> Result<Option<String>, DbError> {
    let sql = "SELECT excluded_by FROM exclusion WHERE invocation = ?";
    Ok(db.prepare_cached(sql)?.query_row([invocation], |row| row.get(0)).optional()?)
}

fn invocation_end(db: &Connection, invocation: i64) -> Result<Option<InvocationEnd>, DbError> {
    let sql = "SELECT outcome, why, fix, steady_start, warmup, method, peak_memory_bytes, log \
               FROM invocation_end WHERE invocation = ?";
    let mut found = all(db, sql, &[&invocation], |row| {
        let outcome: String = row.get(0)?;
        Ok(InvocationEnd {
            outcome: match outcome.as_str() {
                "done" => Outcome::Done,
                "failed" if row.get::<_, String>(2)? == WRONG_RESULT => {
                    Outcome::WrongResult(row.get(1)?)
                }
                "failed" => Outcome::Failed(row.get(1)?),
                _ => Outcome::Unsupported { why: row.get(1)?, fix: row.get(2)? },
            },
            steady_start: counted(row.get(3)?)?,
            warmup: row.get(4)?,
            method: row.get(5)?,
            peak_memory_bytes: unsigned(row.get(6)?),
            log: row.get(7)?,
        })
    })?;
    Ok(found.pop())
}

fn usage(db: &Connection, invocation: i64) -> Result<Vec<Usage>, DbError> {
    let sql = "SELECT source, wall_ns, user_ns, system_ns, iowait_ns, minor_faults, major_faults, \
               voluntary_switches, involuntary_switches, device_read_bytes, device_written_bytes \
               FROM batch WHERE invocation = ? ORDER BY batch";
    all(db, sql, &[&invocation], |row| {
        let number = |column| row.get::<_, i64>(column).map(unsigned);
        let maybe = |column| row.get::<_, Option<i64>>(column).map(|n| n.map(unsigned));
        Ok(Usage {
            source: from_word(row.get(0)?)?,
            wall_ns: number(1)?,
            user_ns: number(2)?,
            system_ns: number(3)?,
            iowait_ns: number(4)?,
            minor_faults: number(5)?,
            major_faults: number(6)?,
            voluntary_switches: number(7)?,
            involuntary_switches: number(8)?,
            device_read_bytes: maybe(9)?,
            device_written_bytes: maybe(10)?,
        })
    })
}

/// The samples of an invocation.
pub(super) fn samples(db: &Connection, invocation: i64) -> Result<Samples, DbError> {
    let mut samples = Samples::default();
    let mut placed = [Vec::new(), Vec::new()];
    let mut select = db.prepare_cached(
        "SELECT batch.start_ns, sample.n - batch.first, batch.step_ns, sample.start_ns, \
           sample.elapsed_ns, batch.iterations, sample.iterations, batch.cpu + sample.cpu, \
           sample.value_1, sample.value_2 \
         FROM batch JOIN sample ON sample.sample >= (batch.invocation << 20) + batch.first \
           AND sample.sample < (batch.invocation << 20) + batch.first + batch.samples \
         WHERE batch.invocation = ? ORDER BY batch.batch, sample.sample",
    )?;
    let mut rows = select.query([invocation])?;
    while let Some(row) = rows.next()? {
        let number = |column| row.get::<_, i64>(column);
        // Unsigned numbers are stored as signed ones, so sums wrap as the differences did that were stored.
        let even_ns = number(0)?.wrapping_add(number(1)?.wrapping_mul(number(2)?));
        samples.start_ns.push(unsigned(even_ns.wrapping_add(number(3)?)));
        samples.elapsed_ns.push(unsigned(number(4)?));
        samples.iterations.push(unsigned(number(5)?.wrapping_add(number(6)?)));
        samples.cpu.push(row.get(7)?);
        for (place, column) in placed.iter_mut().enumerate() {
            column.extend(row.get::<_, Option<f64>>(8 + place)?);
        }
    }
    samples.values = columns(db, "value.value", "value", invocation, |row| Ok(row.get(1)?))?;
    for (metric, place) in places(db, invocation)? {
        let column = std::mem::take(&mut placed[place]);
        if !column.is_empty() {
            samples.values.insert(metric, column);
        }
    }
    samples.histograms = columns(db, "histogram.json", "histogram", invocation, |row| {
        Ok(serde_json::from_str(&row.get::<_, String>(1)?)?)
    })?;
    Ok(samples)
}

/// Metrics whose reported values are in `sample`, with the column, counted from 0.
fn places(db: &Connection, invocation: i64) -> Result<Vec<(String, usize)>, DbError> {
    let sql = "SELECT metric, place - 1 FROM measures JOIN series ON series.id = measures.series \
               WHERE invocation = ? AND place IS NOT NULL";
    all(db, sql, &[&invocation], |row| Ok((row.get(0)?, counted(row.get(1)?)?)))
}

/// Reported columns: metric → a thing a sample.
fn columns<T>(
    db: &Connection,
    column: &str,
    table: &str,
    invocation: i64,
    make: impl Fn(&Row<'_>) -> Result<T, DbError>,
) -> Result<BTreeMap<String, Vec<T>>, DbError> {
    let sql = format!(
        "SELECT series.metric, {column} FROM {table} JOIN series ON series.id = {table}.series \
         WHERE {table}.invocation = ? ORDER BY {table}.series, {table}.n"
    );
    let mut columns: BTreeMap<String, Vec<T>> = BTreeMap::new();
    let rows = all(db, &sql, &[&invocation], |row| Ok((row.get::<_, String>(0)?, make(row)?)))?;
    for (metric, value) in rows {
        columns.entry(metric).or_default().push(value);
    }
    Ok(columns)
}
