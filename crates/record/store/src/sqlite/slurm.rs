//! Fleets that Slurm carries out: their jobs, what Slurm answered about them, and the runs that came.

use std::collections::BTreeMap;

use plumb_model::{CollectedRun, Id, JobExit, JobFact, SlurmFleet, SlurmJob};
use rusqlite::{Connection, params};

use super::content::{count, counted, from_word, identity, word};
use super::db_error::DbError;
use super::read::all;
use super::schema::SLURM;

/// The tables, parents first.
pub(super) const TABLES: [&str; 4] = ["slurm_fleet", "slurm_job", "slurm_fact", "slurm_run"];

/// Makes the tables if the store lacks them.
pub(super) fn create(db: &Connection) -> Result<(), DbError> {
    Ok(db.execute_batch(SLURM)?)
}

/// Whether a store has the tables: `main`, or one that is attached.
pub(super) fn has_tables(db: &Connection, store: &str) -> Result<bool, DbError> {
    let sql =
        format!("SELECT 1 FROM {store}.sqlite_schema WHERE type = 'table' AND name = 'slurm_run'");
    Ok(db.prepare_cached(&sql)?.exists([])?)
}

/// Adds what is special about a fleet that is there, within a transaction.
pub(super) fn insert(step: &Connection, slurm: &SlurmFleet) -> Result<(), DbError> {
    create(step)?;
    step.execute(
        "INSERT INTO slurm_fleet VALUES (?, ?, ?, ?, ?)",
        params![
            slurm.fleet.into_bytes(),
            slurm.folder,
            serde_json::to_string(&slurm.options)?,
            slurm.is_every,
            slurm.queued.map(count)
        ],
    )?;
    Ok(())
}

/// Keeps jobs that were submitted.
pub(super) fn add_jobs(db: &mut Connection, fleet: Id, jobs: &[SlurmJob]) -> Result<(), DbError> {
    let step = db.transaction()?;
    for job in jobs {
        step.execute(
            "INSERT INTO slurm_job VALUES (?, ?, ?, ?, ?, ?)",
            params![
                fleet.into_bytes(),
                count(job.position),
                job.attempt,
                job.job.cast_signed(),
                job.task.map(u64::cast_signed),
                job.submitted_unix_ns
            ],
        )?;
    }
    Ok(step.commit()?)
}

/// Keeps what Slurm answered last about these jobs.
pub(super) fn add_facts(db: &mut Connection, fleet: Id, jobs: &[SlurmJob]) -> Result<(), DbError> {
    let step = db.transaction()?;
    for job in jobs {
        let Some((fact, at_unix_ns)) = &job.last_fact else { continue };
        step.execute(
            "INSERT OR IGNORE INTO slurm_fact VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                fleet.into_bytes(),
                count(job.position),
                job.attempt,
                at_unix_ns,
                word(&fact.state)?,
                fact.reason,
                fact.node,
                fact.exit.map(|exit| exit.code),
                fact.exit.map(|exit| exit.signal)
            ],
        )?;
    }
    Ok(step.commit()?)
}

/// Keeps that a run came, which is in the store.
pub(super) fn add_run(
    db: &mut Connection,
    fleet: Id,
    at_unix_ns: i64,
    run: &CollectedRun,
) -> Result<(), DbError> {
    db.execute(
        "INSERT OR IGNORE INTO slurm_run VALUES (?, ?, ?, ?, ?, ?)",
        params![
            fleet.into_bytes(),
            count(run.position),
            run.attempt,
            at_unix_ns,
            run.node,
            run.run.into_bytes()
        ],
    )?;
    Ok(())
}

/// All fleets that Slurm carries out.
pub(super) fn fleets(db: &Connection) -> Result<Vec<SlurmFleet>, DbError> {
    if !has_tables(db, "main")? {
        return Ok(Vec::new());
    }
    let mut jobs = jobs(db)?;
    let mut collected = collected(db)?;
    let sql = "SELECT fleet_uuid, folder, options, every, queued FROM slurm_fleet";
    all(db, sql, &[], |row| {
        let fleet = identity(row.get(0)?);
        let options: String = row.get(2)?;
        let queued: Option<i64> = row.get(4)?;
        Ok(SlurmFleet {
            fleet,
            folder: row.get(1)?,
            options: serde_json::from_str(&options)?,
            is_every: row.get(3)?,
            queued: queued.map(counted).transpose()?,
            jobs: jobs.remove(&fleet).unwrap_or_default(),
            collected: collected.remove(&fleet).unwrap_or_default(),
        })
    })
}

/// The jobs of each fleet: by machine, then by attempt.
fn jobs(db: &Connection) -> Result<BTreeMap<Id, Vec<SlurmJob>>, DbError> {
    let facts = facts(db)?;
    let mut jobs: BTreeMap<Id, Vec<SlurmJob>> = BTreeMap::new();
    let sql = "SELECT fleet_uuid, position, attempt, job, task, submitted_unix_ns FROM slurm_job \
               ORDER BY position, attempt, submitted_unix_ns";
    for (fleet, job) in all(db, sql, &[], |row| {
        let fleet = identity(row.get(0)?);
        let position = counted(row.get(1)?)?;
        let attempt: u32 = row.get(2)?;
        let job: i64 = row.get(3)?;
        let task: Option<i64> = row.get(4)?;
        let job = SlurmJob {
            position,
            attempt,
            job: job.cast_unsigned(),
            task: task.map(i64::cast_unsigned),
            submitted_unix_ns: row.get(5)?,
            last_fact: facts.get(&(fleet, position, attempt)).cloned(),
        };
        Ok((fleet, job))
    })? {
        let of_fleet = jobs.entry(fleet).or_default();
        let is_same =
            |last: &SlurmJob| (last.position, last.attempt) == (job.position, job.attempt);
        if of_fleet.last().is_some_and(is_same) {
            of_fleet.pop();
        }
        of_fleet.push(job);
    }
    Ok(jobs)
}

/// A job in every store: its fleet, its machine's position there, and the number of the try.
type JobKey = (Id, usize, u32);

/// The last fact of each job, with the time of it.
fn facts(db: &Connection) -> Result<BTreeMap<JobKey, (JobFact, i64)>, DbError> {
    let sql = "SELECT fleet_uuid, position, attempt, at_unix_ns, state, reason, node, exit_code, exit_signal \
               FROM slurm_fact ORDER BY at_unix_ns";
    let facts = all(db, sql, &[], |row| {
        let code: Option<i32> = row.get(7)?;
        let signal: Option<i32> = row.get(8)?;
        let fact = JobFact {
            state: from_word(row.get(4)?)?,
            reason: row.get(5)?,
            node: row.get(6)?,
            exit: code.zip(signal).map(|(code, signal)| JobExit { code, signal }),
        };
        let key = (identity(row.get(0)?), counted(row.get(1)?)?, row.get(2)?);
        Ok((key, (fact, row.get(3)?)))
    })?;
    Ok(facts.into_iter().collect())
}

/// The runs that came to each fleet, in the order in which they came.
pub(super) fn collected(db: &Connection) -> Result<BTreeMap<Id, Vec<CollectedRun>>, DbError> {
    let mut collected: BTreeMap<Id, Vec<CollectedRun>> = BTreeMap::new();
    let sql = "SELECT fleet_uuid, position, attempt, node, run_uuid FROM slurm_run \
               ORDER BY at_unix_ns, position, attempt";
    for (fleet, run) in all(db, sql, &[], |row| {
        let run = CollectedRun {
            position: counted(row.get(1)?)?,
            attempt: row.get(2)?,
            node: row.get(3)?,
            run: identity(row.get(4)?),
        };
        Ok((identity(row.get(0)?), run))
    })? {
        let of_fleet = collected.entry(fleet).or_default();
        if !of_fleet.iter().any(|other| other.run == run.run) {
            of_fleet.push(run);
        }
    }
    Ok(collected)
}
