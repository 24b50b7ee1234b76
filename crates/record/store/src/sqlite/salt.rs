//! The salt of the digests that stand for secrets.

use rusqlite::Connection;

use super::db_error::DbError;
use super::schema::SALT;
use crate::answers::SecretSalt;

/// Makes the table with a fresh salt if the store lacks it, as one of an earlier plumb does.
pub(super) fn create(db: &Connection) -> Result<(), DbError> {
    Ok(db.execute_batch(SALT)?)
}

/// Whether the store has the table.
pub(super) fn has_table(db: &Connection) -> Result<bool, DbError> {
    let mut select = db.prepare_cached(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'secret_salt'",
    )?;
    Ok(select.exists([])?)
}

/// The salt of this store.
pub(super) fn read(db: &Connection) -> Result<SecretSalt, DbError> {
    let salt = db.query_row("SELECT salt FROM secret_salt", [], |row| row.get(0))?;
    Ok(SecretSalt::new(salt))
}
