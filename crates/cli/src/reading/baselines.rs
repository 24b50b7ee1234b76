//! Baselines by name.

use plumb_store::{Baseline, Store};

use crate::error::{CommandError, Result};

/// The baseline of this name.
///
/// # Errors
/// When there is none; the hint names those that there are.
pub fn known(store: &Store, name: &str) -> Result<Baseline> {
    store.baseline(name)?.ok_or_else(|| {
        let error = CommandError::usage(format!("no baseline is called `{name}`"));
        let names: Vec<String> = match store.baselines() {
            Ok(all) => all.into_iter().map(|baseline| baseline.name).collect(),
            Err(_) => Vec::new(),
        };
        match names.len() {
            0 => error.hint(format!("plumb baseline set {name}    measures one")),
            _ => error.hint(format!("known baselines: {}", names.join(", "))),
        }
    })
}
