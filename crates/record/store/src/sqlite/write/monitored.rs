//! What was read next to an invocation, and what follows from it.

use std::collections::HashMap;

use plumb_model::{Counter, Id, Interference, Readings};
use rusqlite::{Connection, params};

use crate::sqlite::chunk;
use crate::sqlite::content::{count, signed, word};
use crate::sqlite::db_error::DbError;

/// Keys of the counters that a run has written.
pub(super) type CounterKeys = HashMap<Counter, i64>;

/// A counter that was read so often says no more than its amount does.
const NO_CHUNK: usize = 2;

/// Keeps the amounts of all counters, and the readings of those that were read on the way.
pub(super) fn readings(
    db: &Connection,
    invocation: i64,
    known: &mut CounterKeys,
    readings: &Readings,
) -> Result<(), DbError> {
    let mut amount =
        db.prepare_cached("INSERT OR IGNORE INTO counter_amount VALUES (?, ?, ?, ?)")?;
    let mut chunk =
        db.prepare_cached("INSERT OR IGNORE INTO monitor_chunk VALUES (?, ?, ?, ?, ?)")?;
    for trace in &readings.traces {
        let Some(first) = trace.readings.first() else { continue };
        let counter = keep(db, known, &trace.counter)?;
        let came_to = signed(trace.amount());
        let lasted_ns = signed(trace.duration_ns());
        amount.execute((invocation, counter, came_to, lasted_ns))?;
        if trace.readings.len() > NO_CHUNK {
            let data = chunk::pack(&trace.readings);
            let readings = count(trace.readings.len());
            chunk.execute((invocation, counter, signed(first.at_ns), readings, data))?;
        }
    }
    Ok(())
}

/// Keeps a counter, once; its key.
fn keep(db: &Connection, known: &mut CounterKeys, counter: &Counter) -> Result<i64, DbError> {
    if let Some(key) = known.get(counter) {
        return Ok(*key);
    }
    let of = params![counter.name, counter.unit, word(&counter.kind)?];
    db.prepare_cached("INSERT OR IGNORE INTO counter (name, unit, kind) VALUES (?, ?, ?)")?
        .execute(of)?;
    let key = db
        .prepare_cached("SELECT id FROM counter WHERE name = ? AND unit = ? AND kind = ?")?
        .query_row(of, |row| row.get(0))?;
    known.insert(counter.clone(), key);
    Ok(key)
}

/// Keeps what disturbed an invocation.
pub(super) fn interference(
    db: &Connection,
    invocation: i64,
    found: &[Interference],
) -> Result<(), DbError> {
    let mut insert = db.prepare_cached("INSERT INTO interference VALUES (?, ?, ?, ?, ?, ?)")?;
    for (ordinal, interference) in found.iter().enumerate() {
        let samples = (count(interference.first), count(interference.last));
        insert.execute((
            invocation,
            count(ordinal),
            &interference.rule,
            samples.0,
            samples.1,
            &interference.evidence,
        ))?;
    }
    Ok(())
}

/// Marks an invocation that has ended as one that does not count.
pub(super) fn exclude(db: &Connection, invocation: Id, by: &str) -> Result<(), DbError> {
    let marked = db
        .prepare_cached("INSERT INTO exclusion SELECT id, ? FROM invocation WHERE uuid = ?")?
        .execute((by, invocation.as_bytes()))?;
    match marked {
        1 => Ok(()),
        _ => Err(DbError::Invalid(format!(
            "invocation {invocation} is excluded but was never started"
        ))),
    }
}
