use std::path::Path;
use std::time::Duration;

use plumb_analysis::testing::first_look;
use plumb_model::{
    Compared, Counter, CounterAmount, CounterKind, Decision, EndedInvocation, Flag, FlagKind, Goal,
    Interference, Look, Missing, RunRecord, RunStatus, RunUpdate, StopReason, VerdictGoal,
};

use crate::view::{Live, MOST_LINES};

fn record() -> RunRecord {
    first_look()
}

fn nothing() -> RunUpdate {
    RunUpdate {
        status: RunStatus::Running,
        current: None,
        at_ns: 0,
        decisions: Vec::new(),
        ended: Vec::new(),
        excluded: Vec::new(),
        unsupported: Vec::new(),
        log: Vec::new(),
    }
}

fn decision(point: usize, invocations: usize, half: f64, stop: Option<StopReason>) -> Decision {
    let low = Some(100.0 * (1.0 - half));
    let high = Some(100.0 * (1.0 + half));
    Decision {
        point,
        invocations,
        samples: invocations * 30,
        look: Some(Look { estimate: 100.0, low, high, level: 0.97 }),
        stop,
        wanted: Some(0.03),
        remaining_ns: Some(4_000_000_000),
        compared: None,
        outlook: None,
    }
}

fn amount(name: &str, amount: u64) -> CounterAmount {
    let counter = Counter { name: name.into(), unit: "tick".into(), kind: CounterKind::Counter };
    CounterAmount { counter, amount, duration_ns: 500_000_000 }
}

fn ended(point: usize, at_s: u64) -> EndedInvocation {
    EndedInvocation {
        began_ns: at_s * 1_000_000_000,
        at_ns: at_s * 1_000_000_000 + 500_000_000,
        point,
        flags: vec![Flag::new(FlagKind::Cached, "0 of 1 GiB reached the device")],
        interference: vec![Interference {
            rule: "steal".into(),
            first: 0,
            last: 3,
            evidence: "4 % of the CPU time".into(),
        }],
        amounts: vec![amount("stat.user", 48), amount("stat.ctxt", 70)],
    }
}

/// A run after its first two invocations.
fn under_way() -> Live {
    let record = record();
    let mut live = Live::new(record.run, record.started_unix_ns, &record.plan);
    let first = RunUpdate {
        current: Some(1),
        decisions: vec![(2_000_000_000, decision(0, 3, 0.09, None))],
        ended: vec![ended(0, 1)],
        unsupported: vec![Missing { point: 2, why: "no <b>disk</b>".into(), fix: String::new() }],
        log: vec![(1_000_000, "began\u{1b}[31m".into())],
        ..nothing()
    };
    assert!(live.take(&first, Duration::from_secs(2)));
    let second = RunUpdate {
        current: Some(1),
        decisions: vec![(3_000_000_000, decision(0, 4, 0.02, Some(StopReason::Precision)))],
        excluded: vec![0],
        ..nothing()
    };
    assert!(live.take(&second, Duration::from_secs(3)));
    live
}

fn ids(live: &Live, seen: u64) -> Vec<String> {
    live.since(seen).charts.into_iter().map(|chart| chart.id).collect()
}

#[test]
fn a_document_is_whole_or_what_changed() {
    let live = under_way();
    let whole = live.since(0);
    assert!(whole.whole && whole.points.len() == record().plan.points.len());
    assert_eq!((whole.number, whole.status, whole.current), (3, "running", Some(1)));
    let point = &whole.points[0];
    assert_eq!((point.invocations, point.excluded, point.state), (4, 1, "done"));
    assert_eq!(point.precision, "±2 % of ±3 %");
    assert!(point.figure.starts_with("100") && point.figure.contains('['), "{}", point.figure);
    assert_eq!(point.flags[0].flag, "cached");
    assert_eq!(whole.points[2].state, "not supported here");
    assert_eq!(ids(&live, 0), ["live/precision", "live/cpu", "live/switches", "live/narrowing"]);
    let part = live.since(2);
    assert_eq!(part.points.iter().map(|point| point.index).collect::<Vec<_>>(), [0]);
    assert_eq!(ids(&live, 2), ["live/precision", "live/narrowing"], "a second look, no readings");
    assert!(part.log.is_empty() && !part.whole);
    let seen = live.since(3);
    assert!(seen.points.is_empty() && seen.charts.is_empty());
}

#[test]
fn text_from_elsewhere_is_cleaned() {
    let whole = under_way().since(0);
    let text = serde_json::to_string(&whole).unwrap();
    assert!(!text.contains('\u{1b}') && !text.contains("\\u001b"), "{text}");
    // Markup stays text: the page sets it as such.
    assert_eq!(whole.points[2].stop.as_deref(), Some("no <b>disk</b>"));
}

#[test]
fn who_has_seen_everything_hears_of_nothing_until_something_happens() {
    let mut live = under_way();
    let number = live.number();
    assert!(!live.take(&RunUpdate { current: Some(1), ..nothing() }, Duration::from_secs(4)));
    assert_eq!(live.number(), number);
    let over = RunUpdate { status: RunStatus::Complete, current: Some(1), ..nothing() };
    assert!(live.take(&over, Duration::from_secs(5)) && live.is_over());
    let last = live.since(number);
    assert_eq!((last.status, last.current), ("complete", None));
    assert!(last.says.starts_with("complete after 5 s: 2 of "), "{}", last.says);
}

#[test]
fn a_comparison_narrows_around_equality() {
    let record = record();
    let mut plan = record.plan.clone();
    plan.goal = Goal::Verdict(VerdictGoal::new("time", 0.01, 40));
    let mut live = Live::new(record.run, 0, &plan);
    let compared = Compared { pairs: 8, verdict: None, pairs_needed: Some(40) };
    let look = Look { estimate: 1.05, low: Some(1.01), high: Some(f64::INFINITY), level: 0.97 };
    let decided = Decision {
        look: Some(look),
        compared: Some(compared),
        wanted: Some(0.01),
        ..decision(1, 8, 0.1, None)
    };
    live.take(&RunUpdate { decisions: vec![(5, decided)], ..nothing() }, Duration::from_secs(1));
    let whole = live.since(0);
    let compared = whole.points[1].compared.as_ref().unwrap();
    assert_eq!((compared.ratio, compared.low, compared.high), (1.05, Some(1.01), None));
    assert_eq!((whole.points[1].estimate, whole.charts.len()), (None, 1), "{:?}", whole.charts);
    assert!(!serde_json::to_string(&whole).unwrap().contains("inf"));
}

#[test]
fn what_is_kept_is_bounded_and_points_that_are_not_there_change_nothing() {
    let mut live = under_way();
    for n in 0..2_000_u64 {
        let update = RunUpdate {
            decisions: vec![
                (n * 1_000_000_000, decision(1, 5, 1.0 / (n + 2) as f64, None)),
                (n * 1_000_000_000, decision(999, 5, 0.1, None)),
            ],
            ended: vec![ended(1, n), ended(999, n)],
            excluded: vec![999],
            unsupported: vec![Missing { point: 999, why: String::new(), fix: String::new() }],
            log: vec![(n, "x".into())],
            ..nothing()
        };
        live.take(&update, Duration::from_secs(n));
    }
    let whole = live.since(0);
    assert_eq!(whole.log.len(), MOST_LINES);
    let length = serde_json::to_string(&whole).unwrap().len();
    assert!(length < 150_000, "{length}");
    let note = "earlier ones are not drawn";
    assert!(whole.charts.iter().any(|chart| chart.notes.iter().any(|text| text.contains(note))));
}

/// With `UPDATE_SCHEMAS` set, the example is written again instead.
#[test]
fn the_committed_example_is_what_is_sent() {
    let path = "../../../docs/schemas/plumb.live-1.example.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let mut whole = under_way().since(0);
    whole.points.truncate(3);
    let text = serde_json::to_string_pretty(&whole).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "run this with UPDATE_SCHEMAS=1 and look at what changed");
}
