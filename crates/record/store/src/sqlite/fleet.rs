//! Fleets: which machines were asked to carry out a command, and what became of them.

use std::collections::BTreeMap;

use plumb_model::{FleetMachineRecord, FleetRecord, Id, MachineEnd};
use rusqlite::{Connection, params};

use super::content::{count, from_word, identity, word};
use super::db_error::DbError;
use super::read::all;
use super::schema::FLEET;

/// Makes the tables if the store lacks them, as one of an earlier plumb does.
pub(super) fn create(db: &Connection) -> Result<(), DbError> {
    Ok(db.execute_batch(FLEET)?)
}

/// Whether the store has the tables.
pub(super) fn has_tables(db: &Connection) -> Result<bool, DbError> {
    let mut select = db.prepare_cached(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'fleet_outcome'",
    )?;
    Ok(select.exists([])?)
}

/// Keeps who was asked.
pub(super) fn begin(db: &mut Connection, fleet: &FleetRecord) -> Result<(), DbError> {
    let step = db.transaction()?;
    step.execute(
        "INSERT INTO fleet VALUES (?, ?, ?)",
        params![
            fleet.fleet.into_bytes(),
            fleet.started_unix_ns,
            serde_json::to_string(&fleet.command)?
        ],
    )?;
    for (position, machine) in fleet.machines.iter().enumerate() {
        step.execute(
            "INSERT INTO fleet_machine VALUES (?, ?, ?, ?)",
            params![
                fleet.fleet.into_bytes(),
                count(position),
                machine.name,
                machine.run.into_bytes()
            ],
        )?;
    }
    Ok(step.commit()?)
}

/// Keeps what became of a machine.
pub(super) fn end(
    db: &mut Connection,
    fleet: Id,
    position: usize,
    at_unix_ns: i64,
    end: &MachineEnd,
) -> Result<(), DbError> {
    db.execute(
        "INSERT INTO fleet_outcome VALUES (?, ?, ?, ?, ?, ?)",
        params![
            fleet.into_bytes(),
            count(position),
            at_unix_ns,
            word(&end.outcome)?,
            end.why,
            serde_json::to_string(&end.hints)?
        ],
    )?;
    Ok(())
}

/// All fleets, oldest first.
pub(super) fn fleets(db: &Connection) -> Result<Vec<FleetRecord>, DbError> {
    if !has_tables(db)? {
        return Ok(Vec::new());
    }
    let mut ends: BTreeMap<(Id, i64), MachineEnd> = BTreeMap::new();
    let sql =
        "SELECT fleet_uuid, position, outcome, why, hints FROM fleet_outcome ORDER BY at_unix_ns";
    for (key, end) in all(db, sql, &[], |row| {
        let hints: String = row.get(4)?;
        let end = MachineEnd {
            outcome: from_word(row.get(2)?)?,
            why: row.get(3)?,
            hints: serde_json::from_str(&hints)?,
        };
        Ok(((identity(row.get(0)?), row.get(1)?), end))
    })? {
        ends.insert(key, end);
    }
    let mut machines: BTreeMap<Id, Vec<FleetMachineRecord>> = BTreeMap::new();
    let sql = "SELECT fleet_uuid, position, name, run_uuid FROM fleet_machine ORDER BY position";
    for (fleet, machine) in all(db, sql, &[], |row| {
        let fleet = identity(row.get(0)?);
        let machine = FleetMachineRecord {
            name: row.get(2)?,
            run: identity(row.get(3)?),
            end: ends.remove(&(fleet, row.get(1)?)),
        };
        Ok((fleet, machine))
    })? {
        machines.entry(fleet).or_default().push(machine);
    }
    all(
        db,
        "SELECT uuid, started_unix_ns, command FROM fleet ORDER BY started_unix_ns, uuid",
        &[],
        |row| {
            let fleet = identity(row.get(0)?);
            let command: String = row.get(2)?;
            Ok(FleetRecord {
                fleet,
                started_unix_ns: row.get(1)?,
                command: serde_json::from_str(&command)?,
                machines: machines.remove(&fleet).unwrap_or_default(),
            })
        },
    )
}
