//! Files that runs of baselines executed (`baseline set --keep`), each stored once under the hash of its content.

use std::collections::BTreeSet;

use plumb_model::Id;
use rusqlite::{Connection, params};

use super::content::{content_id, identity};
use super::db_error::DbError;
use super::read::all;
use super::schema::KEPT;
use crate::answers::KeptFile;

/// Makes the tables if the store lacks them, as one of an earlier plumb does.
pub(super) fn create(db: &Connection) -> Result<(), DbError> {
    Ok(db.execute_batch(KEPT)?)
}

/// Whether the store has the tables.
pub(super) fn has_tables(db: &Connection) -> Result<bool, DbError> {
    let mut select =
        db.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'kept'")?;
    Ok(select.exists([])?)
}

/// Keeps what these runs executed. What is kept of a run already stays as it is.
pub(super) fn keep(db: &mut Connection, runs: &[Id], files: &[KeptFile]) -> Result<(), DbError> {
    let step = db.transaction()?;
    for file in files {
        let id = content_id(&file.content);
        step.execute("INSERT OR IGNORE INTO kept_file VALUES (?, ?)", params![id, file.content])?;
        for run in runs {
            step.execute(
                "INSERT OR IGNORE INTO kept VALUES (?, ?, ?, ?, ?)",
                params![run.into_bytes(), file.word, id, file.is_executable, file.protocol],
            )?;
        }
    }
    Ok(step.commit()?)
}

/// What is kept of a run, by the words that name it.
pub(super) fn of_run(db: &Connection, run: Id) -> Result<Vec<KeptFile>, DbError> {
    if !has_tables(db)? {
        return Ok(Vec::new());
    }
    let sql = "SELECT word, content, executable, protocol FROM kept JOIN kept_file ON kept_file.id = kept.file \
               WHERE run_uuid = ? ORDER BY word";
    all(db, sql, &[&run.into_bytes()], |row| {
        Ok(KeptFile {
            word: row.get(0)?,
            content: row.get(1)?,
            is_executable: row.get(2)?,
            protocol: row.get(3)?,
        })
    })
}

/// Removes what is kept of all other runs than these.
pub(super) fn drop_except(db: &mut Connection, runs: &[Id]) -> Result<(), DbError> {
    let step = db.transaction()?;
    let kept: Vec<Id> =
        all(&step, "SELECT DISTINCT run_uuid FROM kept", &[], |row| Ok(identity(row.get(0)?)))?;
    let wanted: BTreeSet<&Id> = runs.iter().collect();
    for run in kept.iter().filter(|run| !wanted.contains(run)) {
        step.execute("DELETE FROM kept WHERE run_uuid = ?", [run.into_bytes()])?;
    }
    step.execute("DELETE FROM kept_file WHERE id NOT IN (SELECT file FROM kept)", [])?;
    Ok(step.commit()?)
}
