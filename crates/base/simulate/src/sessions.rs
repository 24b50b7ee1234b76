//! A comparison repeated in fresh sessions that differ by more than the pairs of one session show.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::rng::Rng;
use plumb_stats::sessions::{SessionsCompared, compare_sessions};
use plumb_stats::verdict::{Verdict, judge};

/// Standard deviation of the log ratio between sessions, and of its error within one.
const BETWEEN: f64 = 0.01;
const WITHIN: f64 = 0.003;
const EFFECT: f64 = 0.03;
const LEVEL: f64 = 0.95;
const MARGIN: f64 = 0.01;

/// A comparison and what its host knows of earlier ones.
#[derive(Debug, Clone, Copy)]
struct ManySessions {
    sessions: usize,
    /// Earlier comparisons, and the sessions of each.
    earlier: (usize, usize),
    /// Whether earlier comparisons differ in how much their sessions differ.
    unequal: bool,
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let mut settings = Vec::new();
    for sessions in [6, 8, 12] {
        settings.push(ManySessions { sessions, earlier: (0, 0), unequal: false });
    }
    for unequal in [false, true] {
        for (sessions, earlier) in [(1, (4, 3)), (3, (4, 3)), (3, (1, 6)), (1, (10, 6))] {
            settings.push(ManySessions { sessions, earlier, unequal });
        }
    }
    for setting in settings {
        // A session of its own kind of noise is unknown to the others: nothing can be promised of a single one.
        let bar = match setting {
            ManySessions { sessions: 1, unequal: true, .. } => {
                Bar::Exempt("one session does not show whether it is like the others")
            }
            _ => Bar::AtMost(0.05),
        };
        report(row("a verdict on equal sides, over sessions", setting, bar, 0.0, replications));
    }
    let alone = ManySessions { sessions: 1, earlier: (0, 0), unequal: false };
    report(ValidationRow {
        promise: "a verdict on equal sides, from the pairs of one session",
        setting: "sd 1 % between sessions, 0.3 % within".to_owned(),
        bar: Bar::Exempt("shows why sessions are the unit"),
        measured: count(replications, |rng| {
            let session = alone.ratio(BETWEEN, 0.0, rng);
            (session / WITHIN).abs() > 1.96
        }),
        note: String::new(),
    });
    let eight = ManySessions { sessions: 8, earlier: (0, 0), unequal: false };
    let three = ManySessions { sessions: 3, earlier: (10, 6), unequal: false };
    for setting in [eight, three] {
        let bar = Bar::AtLeast(0.9);
        report(row("3 % found over sessions", setting, bar, EFFECT, replications));
    }
    let five = ManySessions { sessions: 5, earlier: (0, 0), unequal: false };
    report(ValidationRow {
        promise: "no verdict from five sessions alone",
        setting: five.name(),
        bar: Bar::AtLeast(1.0),
        measured: count(replications, |rng| five.compared(0.0, rng).is_none()),
        note: String::new(),
    });
}

impl ManySessions {
    fn compared(self, effect: f64, rng: &mut Rng) -> Option<SessionsCompared> {
        let (comparisons, sessions) = self.earlier;
        let mut earlier = Vec::with_capacity(comparisons);
        for _ in 0..comparisons {
            let between = self.between(rng);
            // Earlier comparisons may have found anything.
            let other = 0.05 * rng.normal();
            earlier.push((0..sessions).map(|_| self.ratio(between, other, rng)).collect());
        }
        let between = self.between(rng);
        let own: Vec<f64> =
            (0..self.sessions).map(|_| self.ratio(between, effect.ln_1p(), rng)).collect();
        compare_sessions(&own, &earlier, LEVEL).ok()
    }

    /// How much the sessions of a comparison differ.
    fn between(self, rng: &mut Rng) -> f64 {
        let sigma = if self.unequal { 0.5 } else { 0.0 };
        BETWEEN * (sigma * rng.normal()).exp()
    }

    /// The log ratio that a session finds.
    fn ratio(self, between: f64, effect: f64, rng: &mut Rng) -> f64 {
        effect + between * rng.normal() + WITHIN * rng.normal()
    }

    fn name(self) -> String {
        let sessions = if self.sessions == 1 { "session" } else { "sessions" };
        let unequal = if self.unequal { ", unlike each other" } else { "" };
        let earlier = match self.earlier {
            (0, _) => String::new(),
            (comparisons, of) => format!(", {comparisons} earlier comparisons of {of}{unequal}"),
        };
        format!("{} {sessions}{earlier}", self.sessions)
    }
}

fn row(
    promise: &'static str,
    setting: ManySessions,
    bar: Bar,
    effect: f64,
    replications: u64,
) -> ValidationRow {
    ValidationRow {
        promise,
        setting: setting.name(),
        bar,
        measured: count(replications, |rng| {
            let found = setting.compared(effect, rng);
            found.is_some_and(|found| {
                let verdict = judge(&found.interval, 0, MARGIN).verdict;
                matches!(verdict, Verdict::Faster | Verdict::Slower)
            })
        }),
        note: String::new(),
    }
}

fn count(trials: u64, happens: impl Fn(&mut Rng) -> bool) -> BarSeries {
    let hits = (0..trials).filter(|&seed| happens(&mut Rng::new(seed))).count() as u64;
    BarSeries::Share { hits, trials }
}
