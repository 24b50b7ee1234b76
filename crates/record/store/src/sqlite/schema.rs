//! The tables, as a new store gets them, and whether a file has them.

use rusqlite::Connection;

use super::db_error::DbError;

/// `plmb`: tells plumb's files from other databases (and `file` can show it).
pub(super) const APPLICATION_ID: i64 = 0x706c_6d62;

/// The schema as a new store gets it.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// The tables of what is derived. They are no part of the numbered schema: a store without them gets them.
pub(super) const DERIVED: &str = include_str!("derived.sql");

/// The schema that this plumb reads and writes. Versions 1 to 3 were never released.
pub(super) const KNOWN: i64 = 4;

/// The schema's version; None when the file is empty.
pub(super) fn version(connection: &Connection) -> Result<Option<i64>, DbError> {
    // One statement, so that a store that is being made is seen before or after, not half.
    let (application, found, objects): (i64, i64, i64) = connection.query_row(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
         FROM pragma_application_id, pragma_user_version",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    match (application, found) {
        (APPLICATION_ID, KNOWN) => Ok(Some(found)),
        (APPLICATION_ID, _) => Err(DbError::Version(found)),
        (0, 0) if objects == 0 => Ok(None),
        _ => Err(DbError::Foreign("it is the database of another program")),
    }
}

/// Refuses a file that is no store of this schema.
pub(super) fn known(connection: &Connection) -> Result<(), DbError> {
    match version(connection)? {
        Some(_) => Ok(()),
        None => Err(DbError::Foreign("it is empty")),
    }
}
