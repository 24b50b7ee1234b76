//! Tests that failed next to others and passed alone, as recorded runs of CI saw them: one that does so again and again
//! is not unlucky but wrong, and fails the run.

use std::collections::BTreeMap;
use std::path::Path;

/// The tracked file: a line per test that needed a rerun, of the last recorded runs.
pub const FILE: &str = ".ci/reruns.tsv";
/// Runs that the file keeps.
const RUNS: usize = 20;
/// A test that needed a rerun in so many of them fails.
const TOO_OFTEN: usize = 3;
/// In the place of a test: a run in which none needed a rerun.
const NONE: &str = "-";
const HEADING: &str = "# Tests that failed next to others and passed alone: date, commit, test. `.ci/run --record` writes this.\n";

/// A recorded run of all tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRun {
    /// When it began, in UTC.
    pub date: String,
    /// What was tested.
    pub commit: String,
    /// The tests that needed a rerun.
    pub tests: Vec<String>,
}

/// The runs of a file, oldest first.
///
/// # Errors
/// With the line that is not `date<TAB>commit<TAB>test`.
fn parse(text: &str) -> Result<Vec<RecordedRun>, String> {
    let mut runs: Vec<RecordedRun> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [date, commit, test] = fields[..] else {
            return Err(format!("{FILE}: not date, commit and test between tabs: {line}"));
        };
        let is_same = runs.last().is_some_and(|run| run.date == date && run.commit == commit);
        if !is_same {
            let run =
                RecordedRun { date: date.to_owned(), commit: commit.to_owned(), tests: Vec::new() };
            runs.push(run);
        }
        if let Some(run) = runs.last_mut().filter(|_| test != NONE) {
            run.tests.push(test.to_owned());
        }
    }
    Ok(runs)
}

/// The text of the file that holds the last of these runs.
fn written(runs: &[RecordedRun]) -> String {
    let mut text = HEADING.to_owned();
    for run in &runs[runs.len().saturating_sub(RUNS)..] {
        let none = [NONE.to_owned()];
        let tests = if run.tests.is_empty() { &none[..] } else { &run.tests };
        for test in tests {
            text += &format!("{}\t{}\t{test}\n", run.date, run.commit);
        }
    }
    text
}

/// The tests that needed a rerun too often in the last runs.
fn too_often(runs: &[RecordedRun]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for run in &runs[runs.len().saturating_sub(RUNS)..] {
        let mut tests: Vec<&str> = run.tests.iter().map(String::as_str).collect();
        tests.sort_unstable();
        // A run counts once, however often it tried.
        tests.dedup();
        for test in tests {
            *counts.entry(test).or_default() += 1;
        }
    }
    counts.retain(|_, count| *count >= TOO_OFTEN);
    counts.into_keys().map(str::to_owned).collect()
}

/// Judges the recorded runs in the file below a folder, after adding this run to it if it is to be recorded.
///
/// # Errors
/// With the tests that needed a rerun too often, and what to do; or when the file cannot be read or written.
pub fn judge(folder: &Path, record: Option<RecordedRun>) -> Result<(), String> {
    let path = folder.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|error| format!("{FILE}: {error}"))?,
    };
    let mut runs = parse(&text)?;
    if let Some(run) = record {
        runs.push(run);
        std::fs::write(&path, written(&runs)).map_err(|error| format!("{FILE}: {error}"))?;
    }
    let tests = too_often(&runs);
    if tests.is_empty() {
        return Ok(());
    }
    Err(format!(
        "these tests passed only alone in {TOO_OFTEN} or more of the last {RUNS} recorded runs: {}\n  \
         mend what makes them depend on other work, then put `{NONE}` in their place in {FILE}",
        tests.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::{FILE, NONE, RUNS, RecordedRun, judge, parse, too_often, written};

    fn run(number: usize, tests: &[&str]) -> RecordedRun {
        RecordedRun {
            date: format!("2026-11-27T05:{number:02}:00Z"),
            commit: "4b503ab0".to_owned(),
            tests: tests.iter().map(|test| (*test).to_owned()).collect(),
        }
    }

    #[test]
    fn what_is_written_is_read_and_old_runs_go() {
        let runs: Vec<RecordedRun> =
            (0..RUNS + 5).map(|number| run(number, &["a b", "c"][..number % 3])).collect();
        let text = written(&runs);
        assert!(text.contains(&format!("4b503ab0\t{NONE}\n")), "runs without reruns count, too");
        assert_eq!(parse(&text).unwrap(), runs[5..]);
        assert!(parse("2026-11-27\tab").unwrap_err().contains("2026-11-27\tab"));
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn three_reruns_in_the_last_twenty_runs_are_too_many() {
        let quiet = |count: usize| (0..count).map(|number| run(number, &[]));
        let twice: Vec<RecordedRun> =
            [run(0, &["a"]), run(1, &["a", "a"])].into_iter().chain(quiet(18)).collect();
        assert!(too_often(&twice).is_empty(), "two tries in one run are one rerun");
        let thrice: Vec<RecordedRun> =
            twice[..2].iter().cloned().chain(quiet(17)).chain([run(20, &["b", "a"])]).collect();
        assert_eq!(too_often(&thrice), ["a"]);
        let later: Vec<RecordedRun> = thrice.into_iter().chain(quiet(1)).collect();
        assert!(too_often(&later).is_empty(), "the first one is 21 runs ago");
    }

    #[test]
    fn only_a_run_that_is_recorded_changes_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".ci")).unwrap();
        judge(folder.path(), None).unwrap();
        assert!(!folder.path().join(FILE).exists());
        for number in 0..2 {
            judge(folder.path(), Some(run(number, &["robust a::b"]))).unwrap();
        }
        let why = judge(folder.path(), Some(run(2, &["robust a::b"]))).unwrap_err();
        assert!(why.contains("robust a::b") && why.contains(FILE), "{why}");
        let before = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        // A later run says so, too, until somebody has seen to it.
        assert_eq!(judge(folder.path(), None).unwrap_err(), why);
        assert_eq!(std::fs::read_to_string(folder.path().join(FILE)).unwrap(), before);
        let mended = before.replacen("robust a::b", NONE, 1);
        std::fs::write(folder.path().join(FILE), mended).unwrap();
        judge(folder.path(), None).unwrap();
    }
}
