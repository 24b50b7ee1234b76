//! The store, opened for reading, and runs by what people call them.

use std::collections::BTreeMap;
use std::path::Path;

use plumb_model::{Id, RunRecord};
use plumb_query::NamedRuns;
use plumb_store::{Baseline, Store};

use crate::error::{CommandError, Result};
use crate::locate;

/// The store, for reading.
///
/// # Errors
/// When there is none, or it can't be read; a missing one has a next command to type.
pub fn open(store: Option<&Path>) -> Result<Store> {
    let path = locate::store(store)?;
    if !locate::holds_store(&path) {
        return Err(no_store(&path));
    }
    Ok(Store::open_read_only(&path)?)
}

/// There is no store at this place.
pub fn no_store(path: &Path) -> CommandError {
    CommandError::usage(format!("there is no store at {} yet", path.display()))
        .hint("plumb run        measures this machine and creates one")
}

/// The runs of these names.
///
/// # Errors
/// When one is unknown or ambiguous.
pub fn ids(store: &Store, names: &[String]) -> Result<Vec<Id>> {
    let ids = names.iter().map(|name| store.resolve(name));
    Ok(ids.collect::<std::result::Result<_, _>>()?)
}

/// Different runs of these names.
///
/// # Errors
/// When one is unknown, ambiguous, or named twice.
pub fn different_ids(store: &Store, names: &[String]) -> Result<Vec<Id>> {
    let runs = ids(store, names)?;
    for (index, run) in runs.iter().enumerate() {
        if let Some(other) = runs[..index].iter().position(|before| before == run) {
            return Err(same_run(&names[other], &names[index]));
        }
    }
    Ok(runs)
}

/// All runs of each label, and the run that each other name means.
///
/// # Errors
/// When one is unknown or ambiguous, or two names mean the same run.
pub fn of_labels(store: &Store, names: &[String]) -> Result<Vec<NamedRuns>> {
    let named = plumb_query::labelled(store, names)?;
    for (index, two) in named.iter().enumerate() {
        let overlaps = |one: &&NamedRuns| one.runs.iter().any(|run| two.runs.contains(run));
        if let Some(one) = named[..index].iter().find(overlaps) {
            return Err(same_run(&one.name, &two.name));
        }
    }
    Ok(named)
}

/// What the arm of each run is called, if a name means several runs; empty if each name means one.
pub fn arm_names(named: &[NamedRuns]) -> BTreeMap<Id, String> {
    if named.iter().all(|name| name.runs.len() == 1) {
        return BTreeMap::new();
    }
    let all = named.iter().flat_map(|name| name.runs.iter().map(|run| (*run, name.name.clone())));
    all.collect()
}

fn same_run(one: &str, two: &str) -> CommandError {
    CommandError::usage(format!("`{one}` and `{two}` are the same run"))
        .hint("plumb show --runs lists the runs")
}

/// What is stored of these runs.
///
/// # Errors
/// When one can't be read.
pub fn records(store: &Store, runs: &[Id]) -> Result<Vec<RunRecord>> {
    let records = runs.iter().map(|run| store.record(*run));
    Ok(records.collect::<std::result::Result<_, _>>()?)
}

/// The names that were typed; else the last run.
pub fn or_last(names: &[String]) -> Vec<String> {
    if names.is_empty() { vec!["last".to_owned()] } else { names.to_vec() }
}

/// The baseline of this name.
///
/// # Errors
/// When there is none; the hint names those that there are.
pub fn baseline(store: &Store, name: &str) -> Result<Baseline> {
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
