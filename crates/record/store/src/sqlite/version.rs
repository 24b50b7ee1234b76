//! The version of the schema in a file, and whether this plumb knows it.

use rusqlite::Connection;

use super::db_error::DbError;
use super::schema::{APPLICATION_ID, KNOWN};

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

/// Refuses a file that is not a store of this schema.
pub(super) fn known(connection: &Connection) -> Result<(), DbError> {
    match version(connection)? {
        Some(_) => Ok(()),
        None => Err(DbError::Foreign("it is empty")),
    }
}
