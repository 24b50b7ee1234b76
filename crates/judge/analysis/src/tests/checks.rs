//! Runs checked against a baseline.

use std::convert::Infallible;

use plumb_model::{
    By, ENDED, ExtraWork, Flag, FlagKind, Id, ProofPoint, ProofRole, RunRecord, Verdict,
};

use crate::testing::{Builder, COPY, RunsAtHand, Spec};
use crate::{
    Asked, BaselineRuns, BothPrograms, CauseFinding, Caveats, CheckDoubt, CheckFinding, CheckProof,
    CheckState, CheckedAgainst, Checker, ConfirmingSessions, FirstBaseline, FreshRun, GateDoubt,
    OtherRuns, PointControls, RegressionCause, RunReader, WhichBaseline,
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
fn busy_clients_do_not_pass_a_check_as_equivalent() {
    let measured = |began_ns: i64, cost: f64, is_busy: bool| {
        let mut record = run(began_ns, cost);
        if is_busy {
            for invocation in &mut record.invocations {
                invocation.flags.push(Flag::new(FlagKind::GeneratorBusy, "busy"));
            }
        }
        record
    };
    let check = |was_busy: bool, cost: f64, is_busy: bool| {
        let records: Vec<RunRecord> =
            (1..=8).map(|number| measured(number * HOUR_NS, 1.0, was_busy)).collect();
        let baseline = RunsAtHand::of(&records);
        let fresh: Vec<FreshRun> = (0..4)
            .map(|number| FreshRun::of(&measured(9 * HOUR_NS + number, cost, is_busy)))
            .collect();
        let confirming = ConfirmingSessions { sessions: vec![fresh[1..].to_vec()], apart_s: 600.0 };
        let record = |_| -> Result<_, Infallible> { panic!("a verdict takes no record") };
        let mut reader = RunReader::new(&record);
        let finding = checker(&baseline)
            .finish(&fresh[0], &confirming, Caveats::default(), None, &mut reader)
            .unwrap();
        (finding.series[0].verdict, finding.series[0].busy_clients)
    };
    assert_eq!(check(false, 1.0, false), (Verdict::Equivalent, false));
    assert_eq!(check(false, 1.0, true), (Verdict::Inconclusive, true));
    assert_eq!(check(true, 1.0, false), (Verdict::Inconclusive, true));
    assert_eq!(check(false, 1.3, true), (Verdict::Slower, true));
}

#[test]
fn a_crash_is_not_checked_against_successes() {
    let ended = |code: f64, began_ns: i64| {
        let mut record = run(began_ns, 1.0);
        for invocation in &mut record.invocations {
            let samples = &mut invocation.samples;
            samples.values.insert(ENDED.to_owned(), vec![code; samples.len()]);
        }
        record
    };
    let records: Vec<RunRecord> = (1..=8).map(|number| ended(0.0, number * HOUR_NS)).collect();
    let baseline = RunsAtHand::of(&records);
    let checker = checker(&baseline);
    let check = |code: f64| {
        let screen = FreshRun::of(&ended(code, 9 * HOUR_NS));
        let record = |_| -> Result<_, Infallible> { panic!("a verdict takes no record") };
        let mut reader = RunReader::new(&record);
        let confirming = ConfirmingSessions::default();
        checker.finish(&screen, &confirming, Caveats::default(), None, &mut reader).unwrap()
    };
    assert_eq!((check(0.0).series.len(), check(0.0).not_measured.len()), (1, 0));
    let crashed = check(-11.0);
    let [lost] = crashed.not_measured.as_slice() else { panic!("{crashed:?}") };
    assert!(crashed.series.is_empty() && lost.failed, "{crashed:?}");
    assert!(lost.why.contains("SIGSEGV, but in the baseline all "), "{}", lost.why);
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

/// A checker of eight runs an hour apart, or a minute.
fn checker(current: &RunsAtHand) -> Checker<'_> {
    let against = CheckedAgainst {
        name: "good",
        current: BaselineRuns { runs: &current.runs, series: &current.series },
        first: None,
        earlier: OtherRuns { series: &[], by: By::Host },
    };
    let now_ns = current.runs.last().unwrap().started_unix_ns + HOUR_NS;
    Checker::new(against, 0.01, now_ns).unwrap()
}

/// A run in which the kept program and the present one cost so many times as much as in the baseline.
fn both(kept: f64, present: f64) -> RunRecord {
    let mut builder = Builder::new(None);
    for (cost, condition) in [(kept, "artefact=kept"), (present, "artefact=here")] {
        let spec = Spec { value: 1e9 / cost, processes: 20, ..COPY };
        builder = builder.measured(&spec).last_point(|planned| {
            planned.point = planned.point.clone().under(&[condition.to_owned()]);
        });
    }
    builder.with(|record| record.plan.against_first = true).build()
}

fn cause(baseline: &RunsAtHand, record: &RunRecord) -> CauseFinding {
    let none = RunsAtHand::of(&[]);
    let finding = checked(baseline, None, &none, 1.3);
    let regression = finding.regressions().next().unwrap();
    checker(baseline).cause(regression, &BothPrograms::of(record))
}

#[test]
fn the_kept_program_shows_where_a_regression_comes_from() {
    let long = baseline(HOUR_NS, HOUR_NS, 1.0);
    for (kept, present, expected) in [
        (1.0, 1.3, RegressionCause::Code),
        (1.3, 1.3, RegressionCause::Environment),
        (1.15, 1.3, RegressionCause::Both),
        (1.0, 1.0, RegressionCause::Undecided),
    ] {
        let found = cause(&long, &both(kept, present));
        assert_eq!((found.cause, &found.why), (expected, &None), "{found:?}");
        let code = found.code.unwrap();
        assert!((code.value - present / kept).abs() < 0.02, "{code:?}");
        let environment = found.environment.unwrap();
        assert!((environment.value - kept).abs() < 0.02 && environment.low().is_some());
    }
    // Since so short a baseline, time could have moved the machine by as much as the code did.
    let short = baseline(HOUR_NS, MINUTE_NS, 1.0);
    assert_eq!(cause(&short, &both(1.09, 1.09)).cause, RegressionCause::Undecided);
    assert_eq!(cause(&short, &both(1.0, 1.3)).cause, RegressionCause::Code);
}

#[test]
fn a_kept_program_that_cannot_be_measured_decides_nothing_and_says_why() {
    let long = baseline(HOUR_NS, HOUR_NS, 1.0);
    let mut record = both(1.0, 1.3);
    record.invocations.retain(|invocation| invocation.point == 1);
    let found = cause(&long, &record);
    assert_eq!(found.cause, RegressionCause::Undecided);
    assert!(found.why.is_some() && found.environment.is_none(), "{found:?}");
}

/// The proof of a check by a point that is measured again and with a fifth more work, which cost so many times as much.
fn proof(baseline: &RunsAtHand, again: f64, planted: f64) -> CheckProof {
    let roles = [(1.0, ProofRole::Side), (again, ProofRole::Again), (planted, ProofRole::Planted)];
    let mut builder = Builder::new(None);
    for (cost, role) in roles {
        let share = if role == ProofRole::Planted { 0.2 } else { 0.0 };
        let spec = Spec { value: 1e9 / cost, processes: 20, ..COPY };
        builder = builder.measured(&spec).last_point(|planned| {
            let extra_work = ExtraWork { share, loops: 0 };
            planned.proof = Some(ProofPoint { role, extra_work });
        });
    }
    let record = builder.with(|record| record.plan.against_first = true).build();
    checker(baseline).proof(&PointControls::of(&record).unwrap())
}

#[test]
fn a_check_whose_controls_are_wrong_or_that_is_too_weak_abstains() {
    let long = baseline(HOUR_NS, HOUR_NS, 1.0);
    let works = proof(&long, 1.0, 1.2);
    assert_eq!((works.doubt, works.planted), (None, 0.2));
    assert!(works.power.unwrap().low > 0.9, "{works:?}");
    for (again, planted, expected) in [
        (1.1, 1.2, GateDoubt::NullFound),
        (1.0, 1.0, GateDoubt::PlantNotFound),
        (1.0, 1.5, GateDoubt::PlantMissed),
    ] {
        let found = proof(&long, again, planted);
        assert_eq!(found.doubt, Some(CheckDoubt::Controls(expected)));
    }
    // Runs that vary by 10 % hide a fifth.
    let begins = (1..).map(|number| number * HOUR_NS);
    let records: Vec<RunRecord> = begins
        .zip(LEVELS)
        .map(|(began_ns, level)| run(began_ns, 1.0 + 12.0 * (level - 1.0)))
        .collect();
    let weak = proof(&RunsAtHand::of(&records), 1.0, 1.2);
    assert_eq!(weak.doubt, Some(CheckDoubt::TooWeak));
    assert!(weak.power.unwrap().high < 0.5, "{weak:?}");
}

#[test]
fn a_check_that_abstains_says_so_whatever_it_found() {
    let long = baseline(HOUR_NS, HOUR_NS, 1.0);
    let none = RunsAtHand::of(&[]);
    for cost in [1.0, 1.3] {
        let mut finding = checked(&long, None, &none, cost);
        assert_eq!(finding.abstains(), None);
        finding.proof = Some(proof(&long, 1.0, 1.0));
        let doubt = CheckDoubt::Controls(GateDoubt::PlantNotFound);
        assert_eq!(finding.abstains(), Some(doubt));
        let unknown = |_: &_| Ok::<_, Infallible>(Asked::NotAsked);
        assert_eq!(finding.clone().explained(unknown).unwrap(), finding);
    }
}
