//! Comparisons of sides that other processes disturb: neighbours of both, and work that one side causes itself.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::exclusion::pairs_too_disturbed;
use plumb_stats::rng::Rng;
use plumb_stats::side_effects::{ChosenPairs, SideOfPairs, choose};
use plumb_stats::turn_order;
use plumb_stats::verdict::{Confidence, LookSchedule, MARGIN, Verdict};

/// Standard deviation of the log cost of an invocation.
const SD: f64 = 0.005;
/// The pairs that a comparison may have, excluded ones included.
const MOST_UNITS: u32 = 300;
/// A share of runs from which on the work must not be overlooked.
const OFTEN: f64 = 0.25;
/// Pairs cost little to simulate, next to processes.
const PAIRS_CHEAPER: u64 = 5;

/// What happens next to the sides.
#[derive(Debug, Clone, Copy, Default)]
struct Surroundings {
    /// The share of invocations that a neighbour disturbs, whichever side they are of.
    neighbour: f64,
    /// The share of pairs in which a neighbour disturbs exactly one side, either as often as the other.
    either: f64,
    /// The share of the second side's invocations that cause work elsewhere.
    own: f64,
    /// What a disturbance or that work adds to the cost of an invocation, relative.
    added: f64,
    /// Whether work that a side causes disturbs the next invocation as well.
    outlasts: bool,
    /// The difference of the programs themselves, relative.
    slower: f64,
}

/// How a comparison ended.
struct DisturbedEnd {
    verdict: Verdict,
    has_side_effect: bool,
    /// Whether it ended because too many pairs were excluded.
    gave_up: bool,
}

impl DisturbedEnd {
    fn inconclusive(chosen: &ChosenPairs, gave_up: bool) -> Self {
        let has_side_effect = !chosen.of_one_side.is_empty();
        Self { verdict: Verdict::Inconclusive, has_side_effect, gave_up }
    }
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let replications = PAIRS_CHEAPER * replications;
    let mut rows = Vec::new();
    for neighbour in [0.1, 0.3, 0.5] {
        let around = Surroundings { neighbour, added: 0.3, ..Surroundings::default() };
        neighbour_of_both(around, replications, &mut |row| rows.push(row));
    }
    let either = Surroundings { either: 0.95, added: 0.3, ..Surroundings::default() };
    neighbour_of_one(either, replications, &mut |row| rows.push(row));
    for outlasts in [false, true] {
        for own in [0.05, 0.1, OFTEN, 0.5, 1.0] {
            for added in [0.05, 0.2, 1.0] {
                let around = Surroundings { own, added, outlasts, ..Surroundings::default() };
                work_of_one_side(around, replications, &mut |row| rows.push(row));
            }
        }
    }
    // Rows of one promise stand together.
    let mut promises: Vec<&str> = rows.iter().map(|row| row.promise).collect();
    promises.dedup();
    rows.sort_by_key(|row| promises.iter().position(|promise| *promise == row.promise));
    rows.into_iter().for_each(report);
}

fn neighbour_of_both(
    around: Surroundings,
    replications: u64,
    report: &mut dyn FnMut(ValidationRow),
) {
    let setting = format!(
        "{} % of the invocations cost {} % more",
        100.0 * around.neighbour,
        100.0 * around.added
    );
    let equal = ends(around, replications);
    report(ValidationRow {
        promise: "a program called slower or faster than itself next to a neighbour",
        setting: setting.clone(),
        bar: Bar::AtMost(0.05),
        measured: share(&equal, |end| matches!(end.verdict, Verdict::Slower | Verdict::Faster)),
        note: equivalent_note(&equal),
    });
    report(ValidationRow {
        promise: "a neighbour taken for work of one side",
        setting: setting.clone(),
        bar: Bar::AtMost(0.02),
        measured: share(&equal, |end| end.has_side_effect),
        note: String::new(),
    });
    let slower = ends(Surroundings { slower: 0.02, ..around }, replications);
    report(ValidationRow {
        promise: "a 2 % difference found next to a neighbour",
        setting,
        bar: Bar::AtLeast(0.9),
        measured: share(&slower, |end| end.verdict == Verdict::Slower),
        note: String::new(),
    });
}

/// A neighbour that leaves hardly a pair alone, and belongs to no side: nothing can be said, and to go on is useless.
fn neighbour_of_one(
    around: Surroundings,
    replications: u64,
    report: &mut dyn FnMut(ValidationRow),
) {
    let ends = ends(around, replications);
    let setting = format!("one side of {} % of the pairs, at random", 100.0 * around.either);
    report(ValidationRow {
        promise: "a program called slower or faster than itself next to a neighbour",
        setting: setting.clone(),
        bar: Bar::AtMost(0.05),
        measured: share(&ends, |end| matches!(end.verdict, Verdict::Slower | Verdict::Faster)),
        note: equivalent_note(&ends),
    });
    report(ValidationRow {
        promise: "given up because a neighbour disturbs nearly every pair",
        setting,
        bar: Bar::AtLeast(0.9),
        measured: share(&ends, |end| end.gave_up),
        note: String::new(),
    });
}

fn work_of_one_side(
    around: Surroundings,
    replications: u64,
    report: &mut dyn FnMut(ValidationRow),
) {
    let ends = ends(around, replications);
    let setting = format!(
        "{} % of the runs cost {} % more{}",
        100.0 * around.own,
        100.0 * around.added,
        if around.outlasts { ", and the next run, too" } else { "" }
    );
    let is_promised = around.own >= OFTEN && around.own * around.added > 2.0 * MARGIN;
    report(ValidationRow {
        promise: "equivalent although one side causes work elsewhere",
        setting: setting.clone(),
        bar: if is_promised { Bar::AtMost(0.02) } else { Bar::Exempt("too rare or too small") },
        measured: share(&ends, |end| end.verdict == Verdict::Equivalent),
        note: format!("{} slower", share(&ends, |end| end.verdict == Verdict::Slower).value()),
    });
    report(ValidationRow {
        promise: "given up because of work that one side causes",
        setting: setting.clone(),
        bar: Bar::AtMost(0.02),
        measured: share(&ends, |end| end.gave_up),
        note: String::new(),
    });
    report(ValidationRow {
        promise: "work of one side reported",
        setting,
        bar: if around.own >= OFTEN && !around.outlasts {
            Bar::AtLeast(0.9)
        } else {
            Bar::Exempt("too rare, or found on both sides")
        },
        measured: share(&ends, |end| end.has_side_effect || end.verdict == Verdict::Slower),
        note: String::new(),
    });
}

fn equivalent_note(ends: &[DisturbedEnd]) -> String {
    format!("{} equivalent", share(ends, |end| end.verdict == Verdict::Equivalent).value())
}

fn share(ends: &[DisturbedEnd], counts: impl Fn(&DisturbedEnd) -> bool) -> BarSeries {
    let hits = ends.iter().filter(|end| counts(end)).count() as u64;
    BarSeries::Share { hits, trials: ends.len() as u64 }
}

fn ends(around: Surroundings, replications: u64) -> Vec<DisturbedEnd> {
    (0..replications).map(|seed| compared(around, &mut Rng::new(seed))).collect()
}

/// One comparison that looks as `plumb ab` does.
fn compared(around: Surroundings, rng: &mut Rng) -> DisturbedEnd {
    let schedule = LookSchedule::Long;
    let level = |pairs| schedule.level(Confidence::NinetyFive, pairs);
    let mut sides = [SideOfPairs::default(), SideOfPairs::default()];
    let mut left_over = false;
    let mut last_side = None;
    let mut counted = 0;
    let mut excluded = 0;
    let mut looked = 0;
    let mut chosen_at = 0;
    let mut chosen = ChosenPairs::default();
    for unit in 0..MOST_UNITS {
        let order = turn_order::pair(rng);
        let mut costs = [0.0; 2];
        let mut disturbed = [false; 2];
        // Drawn only if there is such a neighbour, so that the others keep their random numbers.
        let struck = (around.either > 0.0 && rng.uniform() < around.either)
            .then(|| usize::from(rng.uniform() < 0.5));
        for side in order {
            let causes = side == 1 && rng.uniform() < around.own;
            let by_neighbour = rng.uniform() < around.neighbour || struck == Some(side);
            disturbed[side] = by_neighbour || causes || left_over;
            left_over = causes && around.outlasts;
            let slower = if side == 1 { around.slower } else { 0.0 };
            let added = if disturbed[side] { around.added } else { 0.0 };
            sides[side].add_turn(unit, disturbed[side], last_side == Some(side));
            last_side = Some(side);
            costs[side] = (SD * rng.normal()).exp() * (1.0 + slower) * (1.0 + added);
        }
        let is_excluded = disturbed[0] != disturbed[1];
        counted += usize::from(!is_excluded);
        excluded += usize::from(is_excluded);
        for side in 0..2 {
            sides[side].add(unit, costs[side], is_excluded);
            if disturbed[side] {
                sides[side].add_rule(unit, "foreign-cpu");
            }
        }
        let all = unit as usize + 1;
        let is_due =
            |from: usize, pairs: usize| schedule.next_look(from).is_some_and(|look| pairs >= look);
        if !is_due(looked, counted) && !is_due(chosen_at, all) && unit + 1 < MOST_UNITS {
            continue;
        }
        chosen_at = all;
        chosen = choose(&sides[0], &sides[1], 1, &level);
        let pairs = chosen.judged.len();
        // The engine asks for this at every round; exclusions that turn out to belong to a side are none.
        let gives_up = pairs_too_disturbed(excluded, counted)
            && (pairs == 0 || pairs_too_disturbed(all - pairs, pairs));
        if gives_up {
            return DisturbedEnd::inconclusive(&chosen, true);
        }
        if !is_due(looked, pairs) && unit + 1 < MOST_UNITS {
            continue;
        }
        looked = pairs;
        let Ok(judged) = chosen.judge(level(pairs), MARGIN) else { continue };
        if judged.settled() {
            return DisturbedEnd {
                verdict: judged.verdict,
                ..DisturbedEnd::inconclusive(&chosen, false)
            };
        }
    }
    DisturbedEnd::inconclusive(&chosen, false)
}

#[cfg(test)]
mod tests {
    use super::{Surroundings, compared};
    use plumb_stats::rng::Rng;
    use plumb_stats::verdict::Verdict;

    #[test]
    fn work_in_every_run_of_a_side_is_judged_and_a_neighbour_in_every_pair_is_given_up() {
        let own = Surroundings { own: 1.0, added: 0.2, ..Surroundings::default() };
        let either = Surroundings { either: 1.0, added: 0.2, ..Surroundings::default() };
        for seed in 0..20 {
            // All of its pairs are excluded until the test of the sides rejects.
            let end = compared(own, &mut Rng::new(seed));
            assert!(!end.gave_up && end.verdict == Verdict::Slower, "{seed}");
        }
        let ends = (0..20).map(|seed| compared(either, &mut Rng::new(seed)));
        assert!(ends.filter(|end| end.gave_up).count() >= 18);
    }
}
