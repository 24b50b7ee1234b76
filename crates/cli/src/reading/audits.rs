//! What the last audit of this machine found: its noise floors.

use std::path::Path;

use plumb_model::{AuditClass, Host};
use plumb_store::Store;
use serde_json::Value;

use crate::error::Result;
use crate::locate;

/// What this machine shows of equal programs of this kind, by its last audit.
///
/// # Errors
/// When the store can't be read.
pub fn noise_floor(store: Option<&Path>, here: &Host, class: AuditClass) -> Result<Option<f64>> {
    let path = locate::store(store)?;
    // Opening a store to write would make an empty one.
    if !locate::holds_store(&path) {
        return Ok(None);
    }
    let store = Store::open(&path)?;
    let machine = plumb_machine::machine(&locate::root()).fingerprint;
    let mut audits = store.audits(&machine, here)?;
    // An audit of relinked copies alone says nothing of equals, and takes back no earlier one.
    audits.retain(|audit| is_of_equals(&audit.json));
    let Some(audit) = audits.pop() else { return Ok(None) };
    let floors = floors(&audit.json);
    Ok(floors.into_iter().find(|(of, _)| of == class.word()).map(|(_, floor)| floor))
}

/// How far copies of a program differ on this machine when they are linked again, by the last audit that linked enough.
///
/// # Errors
/// When the store can't be read.
pub fn layout_effect(store: Option<&Path>, here: &Host) -> Result<Option<f64>> {
    let path = locate::store(store)?;
    if !locate::holds_store(&path) {
        return Ok(None);
    }
    let store = Store::open(&path)?;
    let machine = plumb_machine::machine(&locate::root()).fingerprint;
    let audits = store.audits(&machine, here)?;
    Ok(audits.iter().rev().find_map(|audit| effect(&audit.json)))
}

fn effect(json: &str) -> Option<f64> {
    let document: Value = serde_json::from_str(json).ok()?;
    document["layout"]["effect"].as_f64()
}

/// Whether a kept audit compared kinds of work with themselves.
pub fn is_of_equals(json: &str) -> bool {
    let document: Value = serde_json::from_str(json).unwrap_or_default();
    document["classes"].as_array().is_some_and(|classes| !classes.is_empty())
}

/// The noise floor of every kind of work in a kept audit.
pub fn floors(json: &str) -> Vec<(String, f64)> {
    let document: Value = serde_json::from_str(json).unwrap_or_default();
    let classes = document["classes"].as_array().cloned().unwrap_or_default();
    let one =
        |class: &Value| Some((class["class"].as_str()?.to_owned(), class["noise_floor"].as_f64()?));
    classes.iter().filter_map(one).collect()
}
