//! Baselines and audits: dated facts about named sets of runs and about machines.

use std::collections::BTreeMap;

use plumb_model::{Id, Target};
use rusqlite::{Connection, params};

use super::content::{self, identity};
use super::{Store, at};
use crate::error::Fault;
use crate::{Error, RunSummary};

/// A named set of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// Its runs, oldest first.
    pub runs: Vec<Id>,
    /// When it was changed last, in nanoseconds since 1970.
    pub changed_unix_ns: i64,
}

/// A noise audit of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFact {
    /// When it was made, in nanoseconds since 1970.
    pub at_unix_ns: i64,
    /// What it found, as its author wrote it.
    pub json: String,
}

impl Store {
    /// Makes `runs` the members of a baseline; others leave it. Facts are only ever added: the last one
    /// of a name and run counts. `fresh` gives an identity that rises with time.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_baseline(
        &self,
        name: &str,
        runs: &[Id],
        at_unix_ns: i64,
        fresh: &mut dyn FnMut() -> Id,
    ) -> Result<(), Error> {
        let before = self.baseline(name)?.map(|baseline| baseline.runs).unwrap_or_default();
        let gone = before.iter().filter(|run| !runs.contains(run)).map(|run| (run, "remove"));
        let come = runs.iter().filter(|run| !before.contains(run)).map(|run| (run, "add"));
        let facts: Vec<(&Id, &str)> = gone.chain(come).collect();
        let mut connection = self.second()?;
        let mut write = || -> Result<(), Fault> {
            let step = connection.transaction()?;
            for (run, action) in &facts {
                step.execute(
                    "INSERT INTO baseline VALUES (?, ?, ?, ?, ?)",
                    params![fresh().into_bytes(), at_unix_ns, name, run.into_bytes(), action],
                )?;
            }
            Ok(step.commit()?)
        };
        at(self.path(), write())
    }

    /// A baseline by its name; None when it has no runs.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn baseline(&self, name: &str) -> Result<Option<Baseline>, Error> {
        Ok(self.baselines()?.into_iter().find(|baseline| baseline.name == name))
    }

    /// All baselines that have runs, by name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn baselines(&self) -> Result<Vec<Baseline>, Error> {
        self.read(baselines)
    }

    /// Keeps an audit of a machine.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn add_audit(&self, target: &Target, at_unix_ns: i64, json: &str) -> Result<(), Error> {
        let mut connection = self.second()?;
        let mut write = || -> Result<(), Fault> {
            let step = connection.transaction()?;
            let machine = content::keep_machine(&step, &target.machine)?;
            let environment = content::keep_environment(&step, &target.environment)?;
            step.execute(
                "INSERT INTO audit VALUES (?, ?, ?, ?)",
                params![machine, environment, at_unix_ns, json],
            )?;
            Ok(step.commit()?)
        };
        at(self.path(), write())
    }

    /// The audits of the machine with this fingerprint, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn audits(&self, fingerprint: &str) -> Result<Vec<AuditFact>, Error> {
        self.read(|db| {
            let sql = "SELECT at_unix_ns, json FROM audit \
                       JOIN machine ON machine.id = audit.machine \
                       WHERE machine.fingerprint = ? ORDER BY at_unix_ns, json";
            let mut select = db.prepare(sql)?;
            let rows = select.query_map([fingerprint], |row| {
                Ok(AuditFact { at_unix_ns: row.get(0)?, json: row.get(1)? })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// The last fact of each name and run, by name, runs oldest first.
pub(super) fn baselines(db: &Connection) -> Result<Vec<Baseline>, Fault> {
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
