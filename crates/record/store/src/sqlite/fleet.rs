//! Fleets: which machines were asked to carry out a command, and what became of them.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{CollectedRun, FleetMachineRecord, FleetRecord, Id, MachineEnd, Owner};
use rusqlite::{Connection, params};

use super::content::{count, counted, from_word, identity, signed, unsigned, word};
use super::db_error::DbError;
use super::read::all;
use super::schema::FLEET;
use super::slurm;
use crate::owner;

/// The tables, parents first.
pub(super) const TABLES: [&str; 3] = ["fleet", "fleet_machine", "fleet_outcome"];

/// Makes the tables if the store lacks them. Most stores have no fleet, and need no room for them.
pub(super) fn create(db: &Connection) -> Result<(), DbError> {
    Ok(db.execute_batch(FLEET)?)
}

/// Whether a store has the tables: `main`, or one that is attached.
pub(super) fn has_tables(db: &Connection, store: &str) -> Result<bool, DbError> {
    let sql = format!(
        "SELECT 1 FROM {store}.sqlite_schema WHERE type = 'table' AND name = 'fleet_outcome'"
    );
    Ok(db.prepare_cached(&sql)?.exists([])?)
}

/// Keeps who was asked.
pub(super) fn begin(
    db: &mut Connection,
    fleet: &FleetRecord,
    owner: &Owner,
) -> Result<(), DbError> {
    let step = db.transaction()?;
    insert(&step, fleet, owner)?;
    Ok(step.commit()?)
}

/// Adds a fleet with its machines, within a transaction.
pub(super) fn insert(step: &Connection, fleet: &FleetRecord, owner: &Owner) -> Result<(), DbError> {
    create(step)?;
    step.execute(
        "INSERT INTO fleet VALUES (?, ?, ?, ?, ?, ?)",
        params![
            fleet.fleet.into_bytes(),
            fleet.started_unix_ns,
            serde_json::to_string(&fleet.command)?,
            owner.pid,
            signed(owner.start_ticks),
            owner.boot_id
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
    Ok(())
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
    if !has_tables(db, "main")? {
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
    // Of a fleet that Slurm carries out, only what came says which node and which run it is.
    let mut collected: BTreeMap<(Id, usize), CollectedRun> = BTreeMap::new();
    let mut of_slurm: BTreeSet<Id> = BTreeSet::new();
    if slurm::has_tables(db, "main")? {
        of_slurm = slurm::fleets(db)?.into_iter().map(|fleet| fleet.fleet).collect();
        for (fleet, runs) in slurm::collected(db)? {
            for run in runs {
                collected.entry((fleet, run.position)).or_insert(run);
            }
        }
    }
    let mut machines: BTreeMap<Id, Vec<FleetMachineRecord>> = BTreeMap::new();
    let sql = "SELECT fleet_uuid, position, name, run_uuid FROM fleet_machine ORDER BY position";
    for (fleet, machine) in all(db, sql, &[], |row| {
        let fleet = identity(row.get(0)?);
        let position: i64 = row.get(1)?;
        let mut machine = FleetMachineRecord {
            name: row.get(2)?,
            run: identity(row.get(3)?),
            end: ends.remove(&(fleet, position)),
        };
        if let Some(came) = collected.remove(&(fleet, counted(position)?)) {
            machine.name = came.node;
            machine.run = came.run;
        }
        Ok((fleet, machine))
    })? {
        machines.entry(fleet).or_default().push(machine);
    }
    let sql = "SELECT uuid, started_unix_ns, command, pid, start_ticks, boot_id FROM fleet \
               ORDER BY started_unix_ns, uuid";
    all(db, sql, &[], |row| {
        let fleet = identity(row.get(0)?);
        let command: String = row.get(2)?;
        let owner =
            Owner { pid: row.get(3)?, start_ticks: unsigned(row.get(4)?), boot_id: row.get(5)? };
        let machines = machines.remove(&fleet).unwrap_or_default();
        // Slurm needs no process of plumb while it works.
        let is_expected =
            of_slurm.contains(&fleet) && machines.iter().any(|machine| machine.end.is_none());
        Ok(FleetRecord {
            fleet,
            started_unix_ns: row.get(1)?,
            command: serde_json::from_str(&command)?,
            is_running: is_expected || owner::lives(&owner),
            machines,
        })
    })
}
