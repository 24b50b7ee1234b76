//! How a store is: sizes, counts, what the database's own check finds.

use std::fs;
use std::path::Path;

use plumb_model::RunStatus;
use rusqlite::Connection;

use super::{open, read, schema};
use crate::answers::StoreInfo;
use crate::sqlite::db_error::DbError;

/// How the store at this path is.
pub(super) fn gather(db: &Connection, path: &Path) -> Result<StoreInfo, DbError> {
    let problems = problems(db)?;
    let runs = read::summaries(db)?;
    let with = |status| runs.iter().filter(|run| run.status == status).count();
    let folder = path.parent().unwrap_or(path);
    let filesystem = rustix::fs::statvfs(folder).map_err(std::io::Error::from)?;
    Ok(StoreInfo {
        path: path.to_owned(),
        bytes: size(path)? + size(&open::beside(path, "-wal")).unwrap_or(0),
        schema: schema::KNOWN,
        journal: db.pragma_query_value(None, "journal_mode", |row| row.get(0))?,
        complete: with(RunStatus::Complete),
        running: with(RunStatus::Running),
        interrupted: with(RunStatus::Interrupted),
        samples: runs.iter().map(|run| run.samples).sum(),
        hosts: hosts(db)?,
        oldest: runs.first().map(|run| (run.run, run.started_unix_ns)),
        newest: runs.last().map(|run| (run.run, run.started_unix_ns)),
        problems,
        free_bytes: filesystem.f_bavail * filesystem.f_frsize,
    })
}

fn hosts(db: &Connection) -> Result<Vec<(Option<String>, u64)>, DbError> {
    let mut select =
        db.prepare("SELECT host, count(*) FROM runs GROUP BY host ORDER BY count(*) DESC, host")?;
    let rows =
        select.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn size(path: &Path) -> Result<u64, DbError> {
    Ok(fs::metadata(path)?.len())
}

fn problems(db: &Connection) -> Result<Vec<String>, DbError> {
    let mut check = db.prepare("PRAGMA quick_check(10)")?;
    let rows = check.query_map([], |row| row.get::<_, String>(0))?;
    let found: Vec<_> = rows.collect::<Result<_, _>>()?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}
