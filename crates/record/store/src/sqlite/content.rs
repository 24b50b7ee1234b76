//! How the model's types become columns, and rows that runs share by their content.

use plumb_model::{AsJson, Environment, Id, Machine, Plan};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::sqlite::db_error::DbError;

/// What the fix of an invocation says that failed because it computed wrongly: it needs none.
pub(super) const WRONG_RESULT: &str = "wrong result";

/// The key of a content-addressed row.
pub(super) type ContentId = [u8; 16];

/// The key of this content.
pub(super) fn content_id(content: &[u8]) -> ContentId {
    // The same content has the same key in every store, so merging needs no translation.
    uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, content).into_bytes()
}

/// All 64 bits as SQLite's signed integer; [`unsigned`] gives them back.
pub(super) fn signed(n: u64) -> i64 {
    n.cast_signed()
}

/// The other way of [`signed`].
pub(super) fn unsigned(n: i64) -> u64 {
    n.cast_unsigned()
}

/// A count as a column.
pub(super) fn count(n: usize) -> i64 {
    signed(n as u64)
}

/// A column as a count.
pub(super) fn counted(n: i64) -> Result<usize, DbError> {
    usize::try_from(n).map_err(|_| DbError::Stored(format!("{n} is not a count")))
}

/// A column as an identity.
pub(super) fn identity(bytes: [u8; 16]) -> Id {
    Id::from_bytes(bytes)
}

/// The word of an enumeration as it is shown.
pub(super) fn word<T: Serialize>(value: &T) -> Result<String, DbError> {
    match serde_json::to_value(value)? {
        Value::String(word) => Ok(word),
        other => Err(DbError::Invalid(format!("`{other}` is not a known word"))),
    }
}

/// The other way of [`word`].
pub(super) fn from_word<T: DeserializeOwned>(word: String) -> Result<T, DbError> {
    Ok(serde_json::from_value(Value::String(word))?)
}

/// Keeps a machine, once.
pub(super) fn keep_machine(db: &Connection, machine: &Machine) -> Result<ContentId, DbError> {
    let facts = serde_json::to_string(&machine.facts)?;
    keep_facts(db, "machine", &machine.fingerprint, &facts)
}

/// Keeps an environment, once.
pub(super) fn keep_environment(
    db: &Connection,
    environment: &Environment,
) -> Result<ContentId, DbError> {
    let facts = serde_json::to_string(&environment.facts)?;
    keep_facts(db, "environment", &environment.fingerprint, &facts)
}

fn keep_facts(
    db: &Connection,
    table: &str,
    fingerprint: &str,
    facts: &str,
) -> Result<ContentId, DbError> {
    let id = content_id(format!("{fingerprint}\n{facts}").as_bytes());
    db.prepare_cached(&format!("INSERT OR IGNORE INTO {table} VALUES (?, ?, ?)"))?
        .execute(params![id, fingerprint, facts])?;
    Ok(id)
}

/// A machine that was kept.
pub(super) fn machine(db: &Connection, id: ContentId) -> Result<Machine, DbError> {
    let (fingerprint, facts) = facts(db, "machine", id)?;
    Ok(Machine { fingerprint, facts: serde_json::from_str(&facts)? })
}

/// An environment that was kept.
pub(super) fn environment(db: &Connection, id: ContentId) -> Result<Environment, DbError> {
    let (fingerprint, facts) = facts(db, "environment", id)?;
    Ok(Environment { fingerprint, facts: serde_json::from_str(&facts)? })
}

fn facts(db: &Connection, table: &str, id: ContentId) -> Result<(String, String), DbError> {
    Ok(db
        .prepare_cached(&format!("SELECT fingerprint, facts FROM {table} WHERE id = ?"))?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Keeps a plan, its descriptions apart: they are most of it and the same in every run.
pub(super) fn keep_plan(db: &Connection, plan: &Plan) -> Result<ContentId, DbError> {
    let mut json = plan.to_json()?;
    for description in descriptions(&mut json) {
        let id = keep_text(db, "description", &description.to_string())?;
        *description = Value::String(identity(id).simple().to_string());
    }
    keep_text(db, "plan", &json.to_string())
}

/// Keeps a text under the hash of it, once.
pub(super) fn keep_text(db: &Connection, table: &str, text: &str) -> Result<ContentId, DbError> {
    let id = content_id(text.as_bytes());
    db.prepare_cached(&format!("INSERT OR IGNORE INTO {table} VALUES (?, ?)"))?
        .execute(params![id, text])?;
    Ok(id)
}

/// A plan that was kept.
pub(super) fn plan(db: &Connection, id: ContentId) -> Result<Plan, DbError> {
    let mut json: Value = serde_json::from_str(&text(db, "plan", id)?)?;
    for description in descriptions(&mut json) {
        let id: Id = serde_json::from_value(description.take())?;
        *description = serde_json::from_str(&text(db, "description", id.into_bytes())?)?;
    }
    Ok(Plan::of_json(json)?)
}

/// A text that was kept by [`keep_text`].
pub(super) fn text(db: &Connection, table: &str, id: ContentId) -> Result<String, DbError> {
    let found = db
        .prepare_cached(&format!("SELECT json FROM {table} WHERE id = ?"))?
        .query_row([id], |row| row.get(0))
        .optional()?;
    found.ok_or_else(|| DbError::Stored(format!("{table} {} is missing", identity(id))))
}

/// Where descriptions stand in a plan's JSON: in its points, and in the points of its companions.
fn descriptions(plan: &mut Value) -> impl Iterator<Item = &mut Value> {
    let Value::Object(fields) = plan else { return Vec::new().into_iter() };
    let mut found = Vec::new();
    for (name, field) in fields {
        for item in field.as_array_mut().into_iter().flatten() {
            let point = match name.as_str() {
                "points" => Some(item),
                "companions" => item.get_mut("point"),
                _ => None,
            };
            found.extend(point.and_then(|point| point.get_mut("description")));
        }
    }
    found.into_iter()
}
