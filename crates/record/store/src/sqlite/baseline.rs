//! Baselines and audits: dated facts about named sets of runs and about machines.

use std::collections::BTreeMap;

use plumb_model::{Host, Id, Target};
use rusqlite::{Connection, params};

use super::content::{self, identity};
use super::db_error::DbError;
use super::read::all;
use crate::answers::{AuditFact, Baseline, RunSummary};

/// Notes which runs join a baseline and which leave it, now that these are its members.
pub(super) fn set(
    db: &mut Connection,
    name: &str,
    (before, runs): (&[Id], &[Id]),
    at_unix_ns: i64,
    fresh: &mut dyn FnMut() -> Id,
) -> Result<(), DbError> {
    // Changes are stored, not members: two stores in which the same baseline changed can be merged.
    let gone = before.iter().filter(|run| !runs.contains(run)).map(|run| (run, "remove"));
    let come = runs.iter().filter(|run| !before.contains(run)).map(|run| (run, "add"));
    let step = db.transaction()?;
    for (run, action) in gone.chain(come) {
        step.execute(
            "INSERT INTO baseline VALUES (?, ?, ?, ?, ?)",
            params![fresh().into_bytes(), at_unix_ns, name, run.into_bytes(), action],
        )?;
    }
    Ok(step.commit()?)
}

/// Keeps an audit of a machine.
pub(super) fn add_audit(
    db: &mut Connection,
    target: &Target,
    at_unix_ns: i64,
    json: &str,
) -> Result<(), DbError> {
    let step = db.transaction()?;
    let machine = content::keep_machine(&step, &target.machine)?;
    let environment = content::keep_environment(&step, &target.environment)?;
    step.execute(
        "INSERT INTO audit VALUES (?, ?, ?, ?, ?)",
        params![machine, environment, at_unix_ns, json, target.host.known()],
    )?;
    Ok(step.commit()?)
}

/// The audits of a machine, oldest first.
pub(super) fn audits(
    db: &Connection,
    fingerprint: &str,
    host: &Host,
) -> Result<Vec<AuditFact>, DbError> {
    let sql = "SELECT at_unix_ns, json, host FROM audit JOIN machine ON machine.id = audit.machine \
               WHERE machine.fingerprint = ? ORDER BY at_unix_ns, json";
    let of_kind = all(db, sql, &[&fingerprint], |row| {
        let of = Host::from(row.get::<_, Option<String>>(2)?);
        Ok((of, AuditFact { at_unix_ns: row.get(0)?, json: row.get(1)? }))
    })?;
    Ok(of_kind.into_iter().filter(|(of, _)| of.may_be(host)).map(|(_, audit)| audit).collect())
}

/// The last fact of each name and run, by name, runs oldest first.
pub(super) fn baselines(db: &Connection) -> Result<Vec<Baseline>, DbError> {
    // Of changes at the same moment the identity decides, so that merged stores agree.
    let sql = "SELECT name, run_uuid, action, at_unix_ns FROM baseline ORDER BY at_unix_ns, uuid";
    let mut select = db.prepare_cached(sql)?;
    let rows = select.query_map([], |row| {
        let run = identity(row.get(1)?);
        Ok((row.get::<_, String>(0)?, run, row.get::<_, String>(2)?, row.get::<_, i64>(3)?))
    })?;
    let mut found: BTreeMap<String, (BTreeMap<Id, bool>, i64)> = BTreeMap::new();
    for row in rows {
        let (name, run, action, at_unix_ns) = row?;
        let (runs, changed) = found.entry(name).or_default();
        runs.insert(run, action == "add");
        *changed = at_unix_ns;
    }
    let made = found.into_iter().map(|(name, (runs, changed_unix_ns))| {
        let runs = runs.into_iter().filter(|(_, member)| *member).map(|(run, _)| run).collect();
        Baseline { name, runs, changed_unix_ns }
    });
    Ok(made.filter(|baseline: &Baseline| !baseline.runs.is_empty()).collect())
}

/// The newest run of a baseline that is in the store.
pub(super) fn newest(baselines: &[Baseline], runs: &[RunSummary], name: &str) -> Option<Id> {
    let baseline = baselines.iter().find(|baseline| baseline.name == name)?;
    runs.iter().rev().map(|run| run.run).find(|run| baseline.runs.contains(run))
}
