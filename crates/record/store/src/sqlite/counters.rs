//! Gives back what monitors read.

use plumb_model::{Counter, CounterAmount, CounterKind, Id, Trace};
use rusqlite::{Connection, Row};

use super::content::{identity, unsigned};
use super::read::all;
use super::{chunk, content};
use crate::sqlite::db_error::DbError;

/// What the counters of a run's measured invocations came to.
pub(super) fn amounts(db: &Connection, run: Id) -> Result<Vec<(Id, Vec<CounterAmount>)>, DbError> {
    let sql = "SELECT counter.name, counter.unit, counter.kind, invocation.uuid, amount, duration_ns \
               FROM run JOIN invocation ON invocation.run = run.id \
               JOIN counter_amount ON counter_amount.invocation = invocation.id \
               JOIN counter ON counter.id = counter_amount.counter \
               WHERE run.uuid = ? AND role = 'workload' \
               ORDER BY invocation.segment, invocation.ordinal, at_ns, invocation.uuid, name, unit";
    let rows = all(db, sql, &[&run.as_bytes()], |row| {
        let amount = unsigned(row.get(4)?);
        let duration_ns = unsigned(row.get(5)?);
        let amount = CounterAmount { counter: counter(row)?, amount, duration_ns };
        Ok((identity(row.get(3)?), amount))
    })?;
    let mut grouped: Vec<(Id, Vec<CounterAmount>)> = Vec::new();
    for (invocation, amount) in rows {
        match grouped.last_mut() {
            Some((last, amounts)) if *last == invocation => amounts.push(amount),
            _ => grouped.push((invocation, vec![amount])),
        }
    }
    Ok(grouped)
}

/// What the counters of an invocation came to, by its key.
pub(super) fn of(db: &Connection, invocation: i64) -> Result<Vec<CounterAmount>, DbError> {
    let sql = "SELECT counter.name, counter.unit, counter.kind, amount, duration_ns \
               FROM counter_amount JOIN counter ON counter.id = counter_amount.counter \
               WHERE invocation = ? ORDER BY name, unit";
    all(db, sql, &[&invocation], |row| {
        let amount = unsigned(row.get(3)?);
        let duration_ns = unsigned(row.get(4)?);
        Ok(CounterAmount { counter: counter(row)?, amount, duration_ns })
    })
}

/// The readings next to an invocation.
pub(super) fn traces(db: &Connection, invocation: Id) -> Result<Vec<Trace>, DbError> {
    let sql = "SELECT counter.name, counter.unit, counter.kind, start_ns, data \
               FROM invocation JOIN monitor_chunk ON monitor_chunk.invocation = invocation.id \
               JOIN counter ON counter.id = monitor_chunk.counter \
               WHERE invocation.uuid = ? ORDER BY name, unit";
    all(db, sql, &[&invocation.as_bytes()], |row| {
        let counter = counter(row)?;
        let readings = chunk::unpack(unsigned(row.get(3)?), &row.get::<_, Vec<u8>>(4)?);
        let damaged = || DbError::Stored(format!("the readings of {} are damaged", counter.name));
        Ok(Trace { readings: readings.ok_or_else(damaged)?, counter })
    })
}

/// A counter from the first three columns.
fn counter(row: &Row<'_>) -> Result<Counter, DbError> {
    let kind: CounterKind = content::from_word(row.get(2)?)?;
    Ok(Counter { name: row.get(0)?, unit: row.get(1)?, kind })
}
