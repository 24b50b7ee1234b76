//! Follows a run: what was stored of it since it was last looked at.
//!
//! Rows are only ever added, and those of one run in the order of their keys, so that the last key of
//! each table is all that is remembered. What is told once an invocation has ended is looked up by its
//! key, for those that had not ended before. Samples are not read.

use std::collections::BTreeMap;

use plumb_model::{EndedInvocation, Id, Missing, RunUpdate};
use rusqlite::{Connection, OptionalExtension, Row};

use super::content::{self, counted, unsigned};
use super::counters;
use super::db_error::DbError;
use super::read::{self, all};
use crate::follow::Follow;

/// Of more invocations at once only the counters of the newest are read.
const MOST_COUNTED: usize = 256;

/// Begins to follow a run: the first updates are all that is stored of it.
pub(super) fn follow(db: &Connection, run: Id) -> Result<Follow, DbError> {
    let sql = "SELECT id, started_unix_ns, plan FROM run WHERE uuid = ?";
    let found = db
        .prepare_cached(sql)?
        .query_row([run.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((key, started_unix_ns, plan)) = found else {
        return Err(read::no_such_run(db, run)?);
    };
    let plan = content::plan(db, plan)?;
    Ok(Follow::begin(run, started_unix_ns, plan, key))
}

/// The data stored since the last time.
pub(super) fn updates(db: &Connection, follow: &mut Follow) -> Result<RunUpdate, DbError> {
    let since = SegmentOffset::of(db, follow)?;
    begun(db, follow)?;
    let ended = ended(db, follow, &since)?;
    let decisions = decisions(db, follow, &since)?;
    let log = log(db, follow, &since)?;
    // An older invocation that has no end was cut off: only the latest one can be running.
    let running = follow.open.last().filter(|key| **key == follow.latest);
    let current = running.map(|key| point(db, *key)).transpose()?;
    let times = ended
        .iter()
        .map(|end| end.at_ns)
        .chain(decisions.iter().map(|(at_ns, _)| *at_ns))
        .chain(log.iter().map(|(at_ns, _)| *at_ns));
    let (ended_unix_ns, status) = read::end(db, follow.key)?;
    let length = ended_unix_ns.map(|end| end.saturating_sub(follow.started_unix_ns).max(0));
    let at_ns = times.chain(length.map(unsigned)).max().unwrap_or(0);
    Ok(RunUpdate {
        status,
        current,
        at_ns,
        decisions,
        ended,
        excluded: excluded(db, follow)?,
        unsupported: unsupported(db, follow)?,
        log,
    })
}

/// How long after the run's start its segments began, in nanoseconds.
struct SegmentOffset(BTreeMap<u32, i64>);

impl SegmentOffset {
    fn of(db: &Connection, follow: &Follow) -> Result<Self, DbError> {
        let segments = read::segments(db, follow.key)?;
        let begins = segments.iter().map(|segment| {
            (segment.segment, segment.started_unix_ns.saturating_sub(follow.started_unix_ns))
        });
        Ok(Self(begins.collect()))
    }

    /// Time since the run's start, of a row that holds a segment and a time since its start.
    fn at(&self, row: &Row<'_>, segment: usize, at_ns: usize) -> Result<u64, DbError> {
        let begins = self.0.get(&row.get::<_, u32>(segment)?).copied().unwrap_or(0);
        let at_ns = begins.saturating_add(row.get::<_, i64>(at_ns)?.max(0));
        Ok(unsigned(at_ns.max(0)))
    }
}

/// Finds the measured invocations that have begun.
fn begun(db: &Connection, follow: &mut Follow) -> Result<(), DbError> {
    let sql = "SELECT id, role = 'workload' FROM invocation WHERE run = ? AND id > ? ORDER BY id";
    let rows = all(db, sql, &[&follow.key, &follow.last.invocation], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?))
    })?;
    follow.last.invocation = rows.last().map_or(follow.last.invocation, |(key, _)| *key);
    let measured = rows.iter().filter(|(_, measured)| *measured).map(|(key, _)| *key);
    follow.open.extend(measured);
    follow.latest = follow.latest.max(follow.open.last().copied().unwrap_or(0));
    Ok(())
}

fn point(db: &Connection, invocation: i64) -> Result<usize, DbError> {
    let sql = "SELECT point FROM invocation WHERE id = ?";
    counted(db.prepare_cached(sql)?.query_row([invocation], |row| row.get(0))?)
}

/// The invocations that have ended since.
fn ended(
    db: &Connection,
    follow: &mut Follow,
    since: &SegmentOffset,
) -> Result<Vec<EndedInvocation>, DbError> {
    let sql = "SELECT invocation.segment, invocation.at_ns, invocation_end.at_ns, point \
               FROM invocation_end JOIN invocation ON invocation.id = invocation_end.invocation \
               WHERE invocation_end.invocation = ?";
    let mut found = Vec::new();
    let mut over = Vec::new();
    for key in &follow.open {
        let rows = all(db, sql, &[key], |row| {
            let began_ns = since.at(row, 0, 1)?;
            let at_ns = since.at(row, 0, 2)?;
            Ok((began_ns, at_ns, counted(row.get(3)?)?))
        })?;
        over.extend(rows.into_iter().map(|times| (*key, times)));
    }
    let counted_from = over.len().saturating_sub(MOST_COUNTED);
    for (n, (key, (began_ns, at_ns, point))) in over.into_iter().enumerate() {
        let (mut flags, later) = read::flags(db, key)?;
        flags.extend(later);
        let counted = n >= counted_from;
        let amounts = if counted { counters::of(db, key)? } else { Vec::new() };
        let interference = read::interference(db, key)?;
        found.push(EndedInvocation { began_ns, at_ns, point, flags, interference, amounts });
        follow.open.remove(&key);
    }
    Ok(found)
}

fn decisions(
    db: &Connection,
    follow: &mut Follow,
    since: &SegmentOffset,
) -> Result<Vec<(u64, plumb_model::Decision)>, DbError> {
    let sql = format!(
        "SELECT {}, segment, at_ns, rowid FROM decision WHERE run = ? AND rowid > ? ORDER BY rowid",
        read::DECISION
    );
    let mut last = follow.last.decision;
    let found = all(db, &sql, &[&follow.key, &follow.last.decision], |row| {
        last = row.get("rowid")?;
        Ok((since.at(row, 13, 14)?, read::decision(row)?))
    })?;
    follow.last.decision = last;
    Ok(found)
}

fn excluded(db: &Connection, follow: &mut Follow) -> Result<Vec<usize>, DbError> {
    let sql = "SELECT invocation.id, point FROM exclusion \
               JOIN invocation ON invocation.id = exclusion.invocation \
               WHERE exclusion.invocation > ? AND run = ? ORDER BY exclusion.invocation";
    let mut last = follow.last.exclusion;
    let found = all(db, sql, &[&follow.last.exclusion, &follow.key], |row| {
        last = row.get(0)?;
        counted(row.get(1)?)
    })?;
    follow.last.exclusion = last;
    Ok(found)
}

fn unsupported(db: &Connection, follow: &mut Follow) -> Result<Vec<Missing>, DbError> {
    let sql = "SELECT rowid, point, why, fix FROM requirement \
               WHERE run = ? AND rowid > ? AND NOT satisfied ORDER BY rowid";
    let mut last = follow.last.requirement;
    let found = all(db, sql, &[&follow.key, &follow.last.requirement], |row| {
        last = row.get(0)?;
        Ok(Missing { point: counted(row.get(1)?)?, why: row.get(2)?, fix: row.get(3)? })
    })?;
    follow.last.requirement = last;
    Ok(found)
}

fn log(
    db: &Connection,
    follow: &mut Follow,
    since: &SegmentOffset,
) -> Result<Vec<(u64, String)>, DbError> {
    let sql =
        "SELECT rowid, segment, at_ns, text FROM log WHERE run = ? AND rowid > ? ORDER BY rowid";
    let mut last = follow.last.log;
    let found = all(db, sql, &[&follow.key, &follow.last.log], |row| {
        last = row.get(0)?;
        Ok((since.at(row, 1, 2)?, row.get(3)?))
    })?;
    follow.last.log = last;
    Ok(found)
}
