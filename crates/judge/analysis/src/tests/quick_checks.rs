//! What healthy runs show, and what the run of a quick check found.

use plumb_model::{
    Compared, Decision, Goal, HealthGoal, Host, Id, Look, RunRecord, StopReason, Verdict,
};

use crate::testing::{Builder, COPY, RunsAtHand, Spec};
use crate::{QuickCheckFinding, QuickState, healthy_results};

/// A run of a host that copies at so many bytes per second.
fn run(number: u32, host: &str, rate: f64) -> RunRecord {
    let mut record = Builder::new(Some("s")).measured(&Spec { value: rate, ..COPY }).build();
    record.run = Id::from_u128(u128::from(number));
    record.started_unix_ns = i64::from(number) * 1_000_000_000;
    for target in &mut record.targets {
        target.host = host.parse::<Host>().unwrap();
    }
    record
}

#[test]
fn runs_of_one_host_all_count_and_of_many_hosts_the_newest_of_each() {
    let rates = [1.00e9, 1.01e9, 0.99e9, 1.00e9, 1.02e9, 0.98e9];
    let one: Vec<RunRecord> =
        (1..).zip(rates).map(|(number, rate)| run(number, "a", rate)).collect();
    let found = healthy_results(&RunsAtHand::of(&one).series, one[5].run);
    assert_eq!((found.runs, found.hosts, found.points.len()), (6, 1, 1));
    let (point, costs) = found.points[0];
    assert_eq!((point, costs.runs), (0, 6));
    assert!((costs.centre - -(1e9_f64.ln())).abs() < 0.02, "{costs:?}");
    assert!((0.01..0.03).contains(&costs.run_sd), "{costs:?}");

    // An old slow run of each of eight hosts does not count.
    let mut many = Vec::new();
    for (number, host) in (1..).zip(["a", "b", "c", "d", "e", "f", "g", "h"]) {
        many.push(run(number, host, 0.5e9));
        many.push(run(100 + number, host, 1e9));
    }
    let found = healthy_results(&RunsAtHand::of(&many).series, many[15].run);
    assert_eq!((found.runs, found.hosts), (8, 8));
    assert!((found.points[0].1.centre - -(1e9_f64.ln())).abs() < 0.02);
}

#[test]
fn too_few_healthy_runs_are_named() {
    let few: Vec<RunRecord> = (1..6).map(|number| run(number, "a", 1e9)).collect();
    let found = healthy_results(&RunsAtHand::of(&few).series, few[4].run);
    assert!(found.points.is_empty());
    assert_eq!(found.uncalibrated.len(), 1);
    assert_eq!(found.uncalibrated[0].1, 5);
}

/// What is found if the last decision about the point is this.
fn found(stop: Option<StopReason>, verdict: Option<Verdict>) -> QuickCheckFinding {
    let healthy: Vec<RunRecord> = (1..9).map(|number| run(number, "a", 1e9)).collect();
    let learned = healthy_results(&RunsAtHand::of(&healthy).series, healthy[7].run);
    let mut record = run(100, "a", 0.5e9);
    let healthy = learned.points.iter().map(|(_, costs)| *costs).collect();
    record.plan.goal = Goal::Health(HealthGoal { margin: 0.05, healthy });
    record.decisions = vec![Decision {
        point: 0,
        invocations: 2,
        samples: 2,
        look: Some(Look { estimate: 2.0, low: Some(1.8), high: Some(2.2), level: 0.97 }),
        stop,
        wanted: None,
        remaining_ns: None,
        compared: Some(Compared { pairs: 2, verdict, pairs_needed: None }),
        outlook: None,
    }];
    QuickCheckFinding::of(&record).unwrap()
}

#[test]
fn the_last_decision_is_the_state() {
    let slow = found(Some(StopReason::Verdict), Some(Verdict::Slower));
    assert_eq!(slow.state(), QuickState::Slow);
    assert!((slow.results[0].limit - 1.05).abs() < 1e-9, "{slow:?}");
    assert!((slow.results[0].ratio.unwrap().low - 1.8).abs() < 1e-9);
    let healthy = found(Some(StopReason::Verdict), Some(Verdict::Equivalent));
    assert_eq!(healthy.state(), QuickState::Healthy);
    assert_eq!(found(Some(StopReason::Budget), None).state(), QuickState::Undecided);
    assert_eq!(found(Some(StopReason::Failed), None).state(), QuickState::Failed);
    assert_eq!(QuickCheckFinding::of(&run(1, "a", 1e9)), None);
}
