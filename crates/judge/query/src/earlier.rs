//! Which runs tell how much runs differ by themselves.

use plumb_model::{Id, RunStatus};
use plumb_store::RunSummary;

/// Earlier runs that are read: with one a day, pairs of them are as far apart as a week.
const MOST_EARLIER: usize = 60;

/// The newest complete runs besides these, which tell how much runs differ by themselves.
#[must_use]
pub fn others(summaries: &[RunSummary], runs: &[Id]) -> Vec<Id> {
    // Runs of the same suites, so that audits and controls do not crowd them out.
    let of_these: Vec<_> = summaries
        .iter()
        .filter(|summary| runs.contains(&summary.run))
        .map(|run| &run.suite)
        .collect();
    let others = summaries.iter().rev().filter(|summary| {
        let complete = summary.status == RunStatus::Complete && !runs.contains(&summary.run);
        complete && of_these.contains(&&summary.suite)
    });
    others.take(MOST_EARLIER).map(|summary| summary.run).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plumb_model::{Host, Id, RunStatus};
    use plumb_store::RunSummary;

    use super::{MOST_EARLIER, others};

    fn run(n: u128, suite: Option<&str>, status: RunStatus) -> RunSummary {
        RunSummary {
            run: Id::from_u128(n),
            started_unix_ns: 0,
            came_unix_ns: 0,
            row: 0,
            ended_unix_ns: None,
            status,
            suite: suite.map(str::to_owned),
            command: Vec::new(),
            labels: BTreeMap::new(),
            host: Host::UNKNOWN,
            points: 1,
            samples: 1,
        }
    }

    #[test]
    fn the_noise_between_runs_is_learnt_of_the_newest_complete_ones_of_the_same_suite() {
        use RunStatus::{Complete, Interrupted, Running};
        let runs = [
            run(1, Some("a"), Complete),
            run(2, Some("a"), Interrupted),
            run(3, None, Complete),
            run(4, Some("b"), Complete),
            run(5, Some("a"), Running),
            run(6, Some("a"), Complete),
            run(7, Some("a"), Complete),
        ];
        let of = |run| others(&runs, &[Id::from_u128(run)]);
        assert_eq!(of(7), [Id::from_u128(6), Id::from_u128(1)]);
        assert!(of(3).is_empty());
        let many: Vec<_> = (0..90).map(|n| run(n, None, Complete)).collect();
        let found = others(&many, &[Id::from_u128(89)]);
        assert_eq!((found.len(), found[0]), (MOST_EARLIER, Id::from_u128(88)));
    }
}
