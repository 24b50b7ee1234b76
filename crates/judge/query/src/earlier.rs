//! Which runs tell how much runs differ by themselves.

use plumb_model::{By, Id, RunStatus};
use plumb_store::RunSummary;

/// Earlier runs that are read: with one a day, pairs of them are as far apart as a week.
const MOST_EARLIER: usize = 60;

/// The newest complete runs besides these, which tell how much runs differ by themselves: of the hosts of these runs, or of all.
#[must_use]
pub fn others(summaries: &[RunSummary], runs: &[Id], by: By) -> Vec<Id> {
    let these: Vec<&RunSummary> =
        summaries.iter().filter(|summary| runs.contains(&summary.run)).collect();
    // Runs of the same suites and hosts, so that audits, controls and other machines do not crowd them out.
    let is_like_these = |summary: &RunSummary| {
        these.iter().any(|run| run.suite == summary.suite && by.mixes(&run.host, &summary.host))
    };
    let others = summaries.iter().rev().filter(|summary| {
        let complete = summary.status == RunStatus::Complete && !runs.contains(&summary.run);
        complete && is_like_these(summary)
    });
    others.take(MOST_EARLIER).map(|summary| summary.run).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plumb_model::{By, Host, Id, RunStatus};
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
        let of = |run| others(&runs, &[Id::from_u128(run)], By::Host);
        assert_eq!(of(7), [Id::from_u128(6), Id::from_u128(1)]);
        assert!(of(3).is_empty());
        let many: Vec<_> = (0..90).map(|n| run(n, None, Complete)).collect();
        let found = others(&many, &[Id::from_u128(89)], By::Host);
        assert_eq!((found.len(), found[0]), (MOST_EARLIER, Id::from_u128(88)));
    }

    #[test]
    fn other_hosts_do_not_crowd_out_the_own_one() {
        let mut runs: Vec<_> = (0..90).map(|n| run(n, None, RunStatus::Complete)).collect();
        for (number, run) in runs.iter_mut().enumerate() {
            // The own host has the oldest run and the newest one.
            let name = if number % 89 == 0 { "own" } else { "other" };
            run.host = name.parse().unwrap();
        }
        let newest = [Id::from_u128(89)];
        assert_eq!(others(&runs, &newest, By::Host), [Id::from_u128(0)]);
        assert_eq!(others(&runs, &newest, By::Kind).len(), MOST_EARLIER);
    }
}
