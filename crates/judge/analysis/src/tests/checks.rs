//! Runs checked against a baseline.

use std::convert::Infallible;

use plumb_model::{By, Id, RunRecord};

use crate::testing::{Builder, COPY, RunsAtHand, Spec};
use crate::{
    BaselineRuns, Caveats, CheckFinding, CheckState, CheckedAgainst, Checker, ConfirmingSessions,
    FirstBaseline, FreshRun, OtherRuns, RunReader, WhichBaseline,
};

const MINUTE_NS: i64 = 60_000_000_000;
const HOUR_NS: i64 = 60 * MINUTE_NS;
/// How far runs are from their usual level: about 1 %.
const LEVELS: [f64; 8] = [1.0, 1.01, 0.99, 1.005, 0.995, 1.0, 1.012, 0.99];

/// A run that began at this time and took so many times its usual cost.
fn run(began_ns: i64, cost: f64) -> RunRecord {
    let spec = Spec { value: 1e9 / cost, ..COPY };
    let mut record = Builder::new(Some("s")).measured(&spec).build();
    record.run = Id::from_u128(u128::try_from(began_ns).unwrap());
    record.started_unix_ns = began_ns;
    record
}

/// Eight runs, so far apart.
fn baseline(from_ns: i64, apart_ns: i64, cost: f64) -> RunsAtHand {
    let begins = (0..).map(|number| from_ns + number * apart_ns);
    let records: Vec<RunRecord> =
        begins.zip(LEVELS).map(|(began_ns, level)| run(began_ns, level * cost)).collect();
    RunsAtHand::of(&records)
}

/// A check an hour after the last run of the baseline, by one session that costs as much as the screening run.
fn checked(
    current: &RunsAtHand,
    first: Option<&RunsAtHand>,
    earlier: &RunsAtHand,
    cost: f64,
) -> CheckFinding {
    let now_ns = current.runs.last().unwrap().started_unix_ns + HOUR_NS;
    let against = CheckedAgainst {
        name: "good",
        current: BaselineRuns { runs: &current.runs, series: &current.series },
        first: first.map(|first| FirstBaseline {
            runs: BaselineRuns { runs: &first.runs, series: &first.series },
            set_unix_ns: HOUR_NS,
        }),
        earlier: OtherRuns { series: &earlier.series, by: By::Host },
    };
    let checker = Checker::new(against, 0.01, now_ns).unwrap();
    let fresh: Vec<FreshRun> =
        (0..4).map(|number| FreshRun::of(&run(now_ns + number, cost))).collect();
    let sessions =
        if checker.screen(&fresh[0]).is_empty() { vec![] } else { vec![fresh[1..].to_vec()] };
    let confirming = ConfirmingSessions { sessions, apart_s: 600.0 };
    let record = |_| -> Result<_, Infallible> { panic!("a verdict takes no record") };
    let mut reader = RunReader::new(&record);
    checker.finish(&fresh[0], &confirming, Caveats::default(), None, &mut reader).unwrap()
}

/// The state of the only first metric against the current baseline.
fn state(finding: &CheckFinding) -> CheckState {
    finding.series.iter().find(|series| series.against == WhichBaseline::Current).unwrap().state
}

#[test]
fn a_short_baseline_leaves_a_small_change_undecided_and_a_long_one_confirms_it() {
    let none = RunsAtHand::of(&[]);
    let short = baseline(HOUR_NS, MINUTE_NS, 1.0);
    let small = checked(&short, None, &none, 1.08);
    assert_eq!(state(&small), CheckState::Undecided);
    // Nothing was measured again, because that could not decide it.
    assert_eq!((small.sessions, small.runs.len()), (0, 1));
    assert!(small.is_inconclusive() && small.regressions().next().is_none());
    assert_eq!(state(&checked(&short, None, &none, 1.3)), CheckState::Confirmed);
    let long = baseline(HOUR_NS, HOUR_NS, 1.0);
    assert_eq!(state(&checked(&long, None, &none, 1.08)), CheckState::Confirmed);
    // A change for the better leaves nothing open.
    assert!(!checked(&short, None, &none, 0.93).is_inconclusive());
}

#[test]
fn earlier_runs_as_far_apart_decide_what_a_short_baseline_cannot() {
    let short = baseline(40 * HOUR_NS, MINUTE_NS, 1.0);
    let calm = baseline(HOUR_NS, HOUR_NS, 1.0);
    let found = checked(&short, None, &calm, 1.08);
    assert_eq!(state(&found), CheckState::Confirmed);
    // The same machine, whose levels of an hour differ by 6 %.
    let mut records = Vec::new();
    for (number, level) in (1..).zip([1.0, 1.06, 1.0, 1.06, 1.0, 1.06, 1.0, 1.06]) {
        records.push(run(number * HOUR_NS, level));
    }
    let switching = RunsAtHand::of(&records);
    assert_ne!(state(&checked(&short, None, &switching, 1.08)), CheckState::Confirmed);
}

#[test]
fn the_first_baseline_shows_what_small_steps_add_up_to() {
    let none = RunsAtHand::of(&[]);
    let first = baseline(HOUR_NS, HOUR_NS, 1.0);
    let current = baseline(100 * HOUR_NS, HOUR_NS, 1.12);
    let found = checked(&current, Some(&first), &none, 1.12);
    assert_eq!(state(&found), CheckState::Clean);
    let since: Vec<_> = found
        .series
        .iter()
        .filter(|series| series.against == WhichBaseline::First)
        .map(|series| series.state)
        .collect();
    assert_eq!(since, [CheckState::Confirmed]);
    assert_eq!(found.regressions().count(), 1);
    // As usual against both: one row.
    assert_eq!(checked(&first, Some(&first), &none, 1.0).series.len(), 1);
}
