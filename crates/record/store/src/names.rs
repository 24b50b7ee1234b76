//! Names of runs: what a person types, and what is shown to be typed.

use plumb_model::{Id, SHOWN_DIGITS, short_id};

use crate::answers::RunSummary;
use crate::error::StoreError;

/// The run that a person means; `runs` are in the order of their start.
///
/// The last is the last measured, or the last imported as another tool's result, whatever date that has.
pub(crate) fn resolve(runs: &[RunSummary], name: &str) -> Result<Id, StoreError> {
    let mut runs = runs.to_vec();
    // Another tool's result has the time of the newest run before it: of equal times the one that came later is the last.
    runs.sort_by_key(|run| (run.came_unix_ns, run.row));
    let runs = runs.as_slice();
    if let Some(back) = steps_back(name) {
        return from_end(runs, name, back?);
    }
    if let Some((key, value)) = name.split_once('=') {
        let newest = runs.iter().rfind(|run| run.labels.get(key).is_some_and(|own| own == value));
        return match newest {
            Some(run) => Ok(run.run),
            None => Err(unknown(runs, name)),
        };
    }
    if name.starts_with("reference:") {
        let why = "only plumb show, compare and run --expect take a reference".to_owned();
        return Err(StoreError::NotARun { wanted: name.to_owned(), why });
    }
    by_prefix(runs, name)
}

/// How many runs before the last are meant; None when the name has another form.
fn steps_back(name: &str) -> Option<Result<usize, StoreError>> {
    let rest = name.strip_prefix("last")?;
    match (rest, rest.strip_prefix('~')) {
        ("", _) => Some(Ok(0)),
        (_, Some(digits)) => Some(digits.parse().map_err(|_| StoreError::NoSuchRun {
            wanted: name.to_owned(),
            nearest: Some("last~1".to_owned()),
        })),
        _ => None,
    }
}

fn from_end(runs: &[RunSummary], name: &str, back: usize) -> Result<Id, StoreError> {
    let nearest = || match runs.len() {
        0 => None,
        1 => Some("last".to_owned()),
        n => Some(format!("last~{}", n - 1)),
    };
    runs.iter()
        .rev()
        .nth(back)
        .map(|run| run.run)
        .ok_or_else(|| StoreError::NoSuchRun { wanted: name.to_owned(), nearest: nearest() })
}

fn by_prefix(runs: &[RunSummary], name: &str) -> Result<Id, StoreError> {
    let wanted = name.replace('-', "").to_ascii_lowercase();
    let found: Vec<_> = runs
        .iter()
        .map(|summary| summary.run)
        .filter(|run| run.simple().to_string().starts_with(&wanted))
        .collect();
    match found.as_slice() {
        [] => Err(unknown(runs, name)),
        _ if wanted.is_empty() => Err(unknown(runs, name)),
        [run] => Ok(*run),
        several => Err(StoreError::Ambiguous {
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
    text[..text.len().min(SHOWN_DIGITS.max(most + 1))].to_owned()
}

fn unknown(runs: &[RunSummary], name: &str) -> StoreError {
    let mut names: Vec<_> = runs.iter().rev().map(|run| short_id(run.run)).collect();
    names.extend(
        runs.iter().rev().flat_map(|run| run.labels.iter().map(|(k, v)| format!("{k}={v}"))),
    );
    if !names.is_empty() {
        names.push("last".to_owned());
    }
    let nearest = names.into_iter().min_by_key(|candidate| strsim::levenshtein(name, candidate));
    StoreError::NoSuchRun { wanted: name.to_owned(), nearest }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plumb_model::{Host, Id, RunStatus};

    use super::{resolve, short_id};
    use crate::{ErrorKind, RunSummary};

    fn run(id: &str, label: Option<(&str, &str)>) -> RunSummary {
        RunSummary {
            run: Id::parse_str(id).unwrap(),
            started_unix_ns: 0,
            came_unix_ns: 0,
            row: 0,
            ended_unix_ns: None,
            status: RunStatus::Complete,
            suite: None,
            command: Vec::new(),
            labels: label
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
            host: Host::default(),
            points: 0,
            samples: 0,
        }
    }

    #[test]
    fn the_last_is_the_last_measured_or_imported_as_a_result() {
        let mut runs = runs();
        for (run, at) in runs.iter_mut().zip([100, 200, 300]) {
            run.started_unix_ns = at;
            run.came_unix_ns = at;
        }
        // A result without a date, imported after the second was measured, or after the third.
        let undated = |came_unix_ns| RunSummary {
            came_unix_ns,
            row: 1,
            ..run("01940000-0000-7000-8000-000000000004", Some(("host", "b")))
        };
        let before: Vec<RunSummary> = [undated(200)].into_iter().chain(runs.clone()).collect();
        assert_eq!(resolve(&before, "last").unwrap(), runs[2].run);
        assert_eq!(resolve(&before, "last~1").unwrap(), before[0].run);
        let after: Vec<RunSummary> = [undated(300)].into_iter().chain(runs).collect();
        for name in ["last", "host=b"] {
            assert_eq!(resolve(&after, name).unwrap(), after[0].run, "{name}");
        }
    }

    /// The first two began in the same millisecond.
    fn runs() -> Vec<RunSummary> {
        vec![
            run("01930000-0000-7000-8000-000000000001", Some(("host", "a"))),
            run("01930000-0000-7000-9000-000000000002", Some(("host", "a"))),
            run("0193ffff-0000-7000-8000-000000000003", Some(("host", "b"))),
        ]
    }

    #[test]
    fn runs_are_found_by_every_name_that_people_use() {
        let runs = runs();
        for (name, index) in [
            ("last", 2),
            ("last~0", 2),
            ("last~2", 0),
            ("host=a", 1),
            ("host=b", 2),
            ("0193ff", 2),
            ("0193FFFF-0000", 2),
            ("01930000-0000-7000-9", 1),
            ("01930000000070008000000000000001", 0),
        ] {
            assert_eq!(resolve(&runs, name).unwrap(), runs[index].run, "{name}");
        }
        assert_eq!(resolve(&runs, &short_id(runs[2].run)).unwrap(), runs[2].run);
    }

    #[test]
    fn names_that_are_wrong_are_answered_with_one_that_is_right() {
        let runs = runs();
        for (name, answer) in [
            ("last~3", "no run `last~3`; did you mean `last~2`?"),
            ("last~x", "no run `last~x`; did you mean `last~1`?"),
            ("lsat", "no run `lsat`; did you mean `last`?"),
            ("hots=b", "no run `hots=b`; did you mean `host=b`?"),
            ("0193fff00000", "no run `0193fff00000`; did you mean `0193ffff0000`?"),
            ("", "no run ``; did you mean `last`?"),
            (
                "reference:x",
                "is not a run: only plumb show, compare and run --expect take a reference",
            ),
            (
                "0193",
                "`0193` matches several runs: 01930000000070008, 01930000000070009, 0193ffff0000; \
                 type more digits",
            ),
        ] {
            let error = resolve(&runs, name).unwrap_err();
            assert!(error.to_string().contains(answer), "{error}");
            assert_eq!(error.kind(), ErrorKind::Name);
        }
        let error = resolve(&[], "last").unwrap_err().to_string();
        assert_eq!(error, "no run `last`; the store has no runs yet: `plumb run` makes one");
    }
}
