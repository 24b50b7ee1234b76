//! Families of builds of two programs: builds of one source differ by more than the pairs of one build show.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::Interval;
use plumb_stats::pairs::{hodges_lehmann, signed_rank_interval};
use plumb_stats::rng::Rng;
use plumb_stats::sessions::compare_sessions;
use plumb_stats::verdict::{Verdict, judge};

/// Standard deviation of the log ratio of one pair.
const PAIR_SD: f64 = 0.01;
/// Pairs that each build of one side and its partner of the other run.
const PAIRS: usize = 20;
const EFFECT: f64 = 0.05;
const LEVEL: f64 = 0.95;
const MARGIN: f64 = 0.01;

/// How many builds each side has, and how much the builds of one source differ.
#[derive(Debug, Clone, Copy)]
struct Families {
    builds: usize,
    /// Standard deviation of the log cost between builds.
    between: f64,
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let spreads = [0.0, 0.01, 0.03];
    for builds in [6, 8] {
        for between in spreads {
            let families = Families { builds, between };
            report(ValidationRow {
                promise: "a verdict on equal sources, over builds",
                setting: families.name(),
                bar: Bar::AtMost(0.05),
                measured: differ(replications, |rng| families.over_builds(0.0, rng)),
                note: String::new(),
            });
        }
    }
    for between in spreads {
        let one = Families { builds: 1, between };
        report(ValidationRow {
            promise: "a verdict on equal sources, from the pairs of builds",
            setting: format!("{}, their pairs", one.name()),
            bar: Bar::Exempt("shows why builds are the unit"),
            measured: differ(replications, |rng| one.over_pairs(rng)),
            note: String::new(),
        });
    }
    for between in spreads {
        let eight = Families { builds: 8, between };
        report(ValidationRow {
            promise: "a verdict on equal sources, from the pairs of builds",
            setting: format!("{}, all their pairs together", eight.name()),
            bar: Bar::Exempt("shows why builds are the unit"),
            measured: differ(replications, |rng| eight.over_pairs(rng)),
            note: String::new(),
        });
    }
    for between in spreads {
        let eight = Families { builds: 8, between };
        let bar = if between > 0.02 {
            Bar::Exempt("builds that differ by 3 % need more than eight")
        } else {
            Bar::AtLeast(0.9)
        };
        report(ValidationRow {
            promise: "5 % found over builds",
            setting: eight.name(),
            bar,
            measured: differ(replications, |rng| eight.over_builds(EFFECT.ln_1p(), rng)),
            note: String::new(),
        });
    }
    let five = Families { builds: 5, between: 0.01 };
    report(ValidationRow {
        promise: "no verdict from five builds",
        setting: five.name(),
        bar: Bar::AtLeast(1.0),
        measured: share(replications, |rng| five.over_builds(0.0, rng).is_none()),
        note: String::new(),
    });
}

impl Families {
    fn name(self) -> String {
        let builds = if self.builds == 1 { "build" } else { "builds" };
        format!("{} {builds} of each, sd {} % between builds", self.builds, self.between * 100.0)
    }

    /// The log ratios of the pairs of one build of each side.
    fn pairs(self, effect: f64, rng: &mut Rng) -> Vec<f64> {
        let of_builds = self.between * (rng.normal() - rng.normal());
        (0..PAIRS).map(|_| effect + of_builds + PAIR_SD * rng.normal()).collect()
    }

    fn over_builds(self, effect: f64, rng: &mut Rng) -> Option<Interval> {
        let centres: Vec<f64> =
            (0..self.builds).filter_map(|_| hodges_lehmann(&self.pairs(effect, rng))).collect();
        compare_sessions(&centres, &[], LEVEL).ok().map(|compared| compared.interval)
    }

    /// What the pairs say if builds do not count, on equal sources.
    fn over_pairs(self, rng: &mut Rng) -> Option<Interval> {
        let pairs: Vec<f64> = (0..self.builds).flat_map(|_| self.pairs(0.0, rng)).collect();
        signed_rank_interval(&pairs, LEVEL).ok()
    }
}

/// How often a comparison says faster or slower.
fn differ(trials: u64, compared: impl Fn(&mut Rng) -> Option<Interval>) -> BarSeries {
    share(trials, |rng| {
        compared(rng).is_some_and(|interval| {
            let verdict = judge(&interval, 0, MARGIN).verdict;
            matches!(verdict, Verdict::Faster | Verdict::Slower)
        })
    })
}

fn share(trials: u64, happens: impl Fn(&mut Rng) -> bool) -> BarSeries {
    let hits = (0..trials).filter(|&seed| happens(&mut Rng::new(seed))).count() as u64;
    BarSeries::Share { hits, trials }
}
