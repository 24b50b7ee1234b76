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

/// A run that joined or left a baseline.
struct MembershipFact {
    name: String,
    run: Id,
    is_member: bool,
    at_unix_ns: i64,
}

/// All facts about baselines, oldest first.
fn facts(db: &Connection) -> Result<Vec<MembershipFact>, DbError> {
    // Of changes at the same moment the identity decides, so that merged stores agree.
    let sql = "SELECT name, run_uuid, action, at_unix_ns FROM baseline ORDER BY at_unix_ns, uuid";
    all(db, sql, &[], |row| {
        Ok(MembershipFact {
            name: row.get(0)?,
            run: identity(row.get(1)?),
            is_member: row.get::<_, String>(2)? == "add",
            at_unix_ns: row.get(3)?,
        })
    })
}

/// The last fact of each name and run, by name, runs oldest first.
pub(super) fn baselines(db: &Connection) -> Result<Vec<Baseline>, DbError> {
    let mut found: BTreeMap<String, Baseline> = BTreeMap::new();
    for fact in facts(db)? {
        let baseline =
            found.entry(fact.name.clone()).or_insert_with(|| Baseline::empty(&fact.name));
        change(baseline, &fact);
    }
    Ok(found.into_values().filter(|baseline| !baseline.runs.is_empty()).collect())
}

/// The baseline of this name as it was first set; one that was removed begins anew. None if there is none.
pub(super) fn first_baseline(db: &Connection, name: &str) -> Result<Option<Baseline>, DbError> {
    let facts: Vec<MembershipFact> =
        facts(db)?.into_iter().filter(|fact| fact.name == name).collect();
    let mut current = Baseline::empty(name);
    let mut first = None;
    // Facts of one moment are one change: what the baseline was between them was never set.
    for together in facts.chunk_by(|one, next| one.at_unix_ns == next.at_unix_ns) {
        together.iter().for_each(|fact| change(&mut current, fact));
        if current.runs.is_empty() {
            first = None;
        } else if first.is_none() {
            first = Some(current.clone());
        }
    }
    Ok(first)
}

fn change(baseline: &mut Baseline, fact: &MembershipFact) {
    baseline.changed_unix_ns = fact.at_unix_ns;
    baseline.runs.retain(|run| *run != fact.run);
    if fact.is_member {
        // Identities rise with time.
        let at = baseline.runs.partition_point(|run| *run < fact.run);
        baseline.runs.insert(at, fact.run);
    }
}

/// The newest run of a baseline that is in the store.
pub(super) fn newest(baselines: &[Baseline], runs: &[RunSummary], name: &str) -> Option<Id> {
    let baseline = baselines.iter().find(|baseline| baseline.name == name)?;
    runs.iter().rev().map(|run| run.run).find(|run| baseline.runs.contains(run))
}
