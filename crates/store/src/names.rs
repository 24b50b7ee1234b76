//! Names of runs: what a person types, and what is shown to be typed.

use plumb_model::Id;

use crate::{Error, RunSummary};

/// Digits of an id that are shown: the time in milliseconds, which two runs hardly share.
const SHOWN: usize = 12;

/// The beginning of an id that is shown and can be typed.
#[must_use]
pub fn short(run: Id) -> String {
    let mut text = run.simple().to_string();
    text.truncate(SHOWN);
    text
}

/// The run that a person means; `runs` are in the order of their start.
pub(crate) fn resolve(runs: &[RunSummary], name: &str) -> Result<Id, Error> {
    if let Some(back) = steps_back(name) {
        return from_end(runs, name, back?);
    }
    if let Some((key, value)) = name.split_once('=') {
        let has = |run: &&RunSummary| run.labels.get(key).is_some_and(|v| v == value);
        return match runs.iter().rev().find(has) {
            Some(run) => Ok(run.run),
            None => Err(unknown(runs, name)),
        };
    }
    if name.starts_with("reference:") {
        let why = "references cannot be looked up in a store yet".to_owned();
        return Err(Error::NotARun { wanted: name.to_owned(), why });
    }
    by_prefix(runs, name)
}

/// How many runs before the last are meant; None when the name has another form.
fn steps_back(name: &str) -> Option<Result<usize, Error>> {
    let rest = name.strip_prefix("last")?;
    match (rest, rest.strip_prefix('~')) {
        ("", _) => Some(Ok(0)),
        (_, Some(digits)) => Some(digits.parse().map_err(|_| Error::NoSuchRun {
            wanted: name.to_owned(),
            nearest: Some("last~1".to_owned()),
        })),
        _ => None,
    }
}

fn from_end(runs: &[RunSummary], name: &str, back: usize) -> Result<Id, Error> {
    let nearest = || match runs.len() {
        0 => None,
        1 => Some("last".to_owned()),
        n => Some(format!("last~{}", n - 1)),
    };
    runs.iter()
        .rev()
        .nth(back)
        .map(|run| run.run)
        .ok_or_else(|| Error::NoSuchRun { wanted: name.to_owned(), nearest: nearest() })
}

fn by_prefix(runs: &[RunSummary], name: &str) -> Result<Id, Error> {
    let wanted = name.replace('-', "").to_ascii_lowercase();
    let begins = |run: &&RunSummary| run.run.simple().to_string().starts_with(&wanted);
    let found: Vec<_> = runs.iter().filter(begins).map(|run| run.run).collect();
    match found.as_slice() {
        [] => Err(unknown(runs, name)),
        _ if wanted.is_empty() => Err(unknown(runs, name)),
        [run] => Ok(*run),
        several => Err(Error::Ambiguous {
            prefix: name.to_owned(),
            matches: several.iter().map(|run| telling(*run, several)).collect(),
        }),
    }
}

/// The shortest beginning, at least the shown one, that tells a run from the others.
fn telling(run: Id, others: &[Id]) -> String {
    let text = run.simple().to_string();
    let shared = |other: &Id| {
        let other = other.simple().to_string();
        text.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
    };
    let most = others.iter().filter(|other| **other != run).map(shared).max().unwrap_or(0);
    text[..text.len().min(SHOWN.max(most + 1))].to_owned()
}

fn unknown(runs: &[RunSummary], name: &str) -> Error {
    let mut names: Vec<_> = runs.iter().rev().map(|run| short(run.run)).collect();
    names.extend(
        runs.iter().rev().flat_map(|run| run.labels.iter().map(|(k, v)| format!("{k}={v}"))),
    );
    if !names.is_empty() {
        names.push("last".to_owned());
    }
    let nearest = names.into_iter().min_by_key(|candidate| distance(name, candidate));
    Error::NoSuchRun { wanted: name.to_owned(), nearest }
}

/// Levenshtein distance: insertions, deletions and replacements between two texts.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<_> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
