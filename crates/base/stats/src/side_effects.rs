//! Work that a side of a comparison causes elsewhere: docs/method.md, *Order*.
//!
//! Pairs in which other activity disturbed one side do not count. That is fair only if the activity does not depend on the
//! side. A fair coin orders each pair, so of the pairs in which exactly one side met a rule of interference, each side then
//! has half: a sign test. If it rejects, the activity belongs to a side (a daemon that it asks, threads of the kernel), and
//! nothing is excluded by that rule.
//!
//! Not rejected is not proved. So a verdict that rests on chosen pairs must agree with all pairs, the excluded ones put
//! back. And *equivalent* needs a sign that the other activity is a neighbour's: it must disturb a side that follows itself,
//! too. Work that a side causes, even if it lasts until the next run, does not.

use std::collections::{BTreeMap, BTreeSet};

use crate::describe::{mean_of, variance_of};
use crate::distribution::{binomial_cdf, two_sided_t};
use crate::pairs::{hodges_lehmann, log_ratios_in_units};
use crate::verdict::{Judgement, Verdict, judge_pairs};
use crate::{Interval, NoInterval};

/// The share of a look's error that the sign tests of all rules may spend.
const SHARE_OF_LOOK: f64 = 0.2;

/// A neighbour disturbs the other side at least this often, as a share of how often it disturbs one.
const ALIKE: f64 = 0.5;
/// *Equivalent* needs so many pairs: a slowdown of every fourth run is absent from fewer in over 2 of 100 comparisons.
const FEWEST_FOR_EQUIVALENT: usize = 14;
/// The same of pairs in which the other side was not disturbed, if disturbances may be a side's own work: half of the work
/// that lasts until the next run is hidden by the disturbance of that run.
const FEWEST_CALM: usize = 27;

/// One side of a comparison, excluded invocations included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SideOfPairs {
    /// Unit and cost of each invocation, units rising.
    costs: Vec<(u32, f64)>,
    /// Units in which an invocation of this side is excluded.
    excluded: BTreeSet<u32>,
    /// Costs that are excluded.
    excluded_costs: usize,
    /// The rules of interference that the side met in a unit.
    rules: BTreeMap<u32, BTreeSet<String>>,
    /// Every invocation, in order.
    turns: Vec<Turn>,
}

/// One invocation of a side.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Turn {
    unit: u32,
    is_disturbed: bool,
    follows_itself: bool,
}

impl SideOfPairs {
    /// Adds an invocation of a unit, which is not before the last one.
    pub fn add(&mut self, unit: u32, cost: f64, is_excluded: bool) {
        self.costs.push((unit, cost));
        if is_excluded {
            self.excluded.insert(unit);
            self.excluded_costs += 1;
        }
    }

    /// Adds a rule of interference that the side met in a unit, whether that unit counts or not.
    pub fn add_rule(&mut self, unit: u32, rule: &str) {
        self.rules.entry(unit).or_default().insert(rule.to_owned());
    }

    /// Adds whether other activity disturbed an invocation, and whether the invocation before it was of the same side.
    pub fn add_turn(&mut self, unit: u32, is_disturbed: bool, follows_itself: bool) {
        self.turns.push(Turn { unit, is_disturbed, follows_itself });
    }

    /// Invocations that were measured, and those of them that are excluded.
    pub fn counts(&self) -> (usize, usize) {
        (self.costs.len(), self.excluded_costs)
    }

    /// The side as it was after this unit.
    #[must_use]
    pub fn up_to(&self, unit: u32) -> Self {
        let end = self.costs.partition_point(|&(other, _)| other <= unit);
        let turns = self.turns.iter().filter(|turn| turn.unit <= unit).copied().collect();
        Self { costs: self.costs[..end].to_vec(), turns, ..self.clone() }
    }

    /// The share of invocations that were disturbed; of those alone that followed one of the same side if asked.
    fn disturbed_share(&self, only_after_itself: bool) -> f64 {
        let all = self.turns.iter().filter(|turn| turn.follows_itself || !only_after_itself);
        let disturbed = all.clone().filter(|turn| turn.is_disturbed).count();
        disturbed as f64 / all.count().max(1) as f64
    }

    fn rules_in(&self, unit: u32) -> BTreeSet<&str> {
        let met = self.rules.get(&unit);
        met.into_iter().flatten().map(String::as_str).collect()
    }
}

/// A rule of interference that one side meets more often than chance allows.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleOfOneSide {
    /// The name of the rule (`foreign-cpu`).
    pub rule: String,
    /// Units in which only the first side met it.
    pub first: usize,
    /// Units in which only the later side met it.
    pub later: usize,
    /// Units in which both sides were measured.
    pub units: usize,
}

/// The pairs of a comparison, those that count and those that do not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChosenPairs {
    /// The units that are judged.
    pub units: Vec<u32>,
    /// The log ratios that are judged, in the order of their units.
    pub judged: Vec<f64>,
    /// The log ratios of all units, excluded ones included.
    pub all: Vec<f64>,
    /// Rules that belong to a side: no pair is excluded by them.
    pub of_one_side: Vec<RuleOfOneSide>,
    /// The sides whose disturbances may be their own work, each with the log ratios of the units in which the other side
    /// was not disturbed.
    perhaps_own: Vec<Vec<f64>>,
}

/// One unit in which both sides are complete.
struct Unit<'a> {
    unit: u32,
    log_ratio: f64,
    is_excluded: bool,
    first: BTreeSet<&'a str>,
    later: BTreeSet<&'a str>,
}

/// Chooses the pairs to judge at a look. `level` gives the level of the interval of a number of pairs.
///
/// `in_unit` is the number of invocations of each side in a unit: 1, or 2 for ABBA.
pub fn choose(
    first: &SideOfPairs,
    later: &SideOfPairs,
    in_unit: usize,
    level: &dyn Fn(usize) -> f64,
) -> ChosenPairs {
    let units = units(first, later, in_unit);
    let counted = units.iter().filter(|unit| !unit.is_excluded).count();
    let all: Vec<f64> = units.iter().map(|unit| unit.log_ratio).collect();
    if units.iter().all(|unit| unit.first.is_empty() && unit.later.is_empty() && !unit.is_excluded)
    {
        let units = units.iter().map(|unit| unit.unit).collect();
        return ChosenPairs { units, ..ChosenPairs::without_exclusions(all) };
    }
    let of_one_side = rules_of_one_side(&units, level(counted));
    let belongs: BTreeSet<&str> = of_one_side.iter().map(|found| found.rule.as_str()).collect();
    let mut judged_units = Vec::new();
    let mut judged = Vec::new();
    for unit in &units {
        if !unit.is_excluded || is_put_back(unit, &belongs) {
            judged_units.push(unit.unit);
            judged.push(unit.log_ratio);
        }
    }
    let mut perhaps_own = Vec::new();
    if !is_neighbour(later, first) {
        let calm = units.iter().filter(|unit| unit.first.is_empty());
        perhaps_own.push(calm.map(|unit| unit.log_ratio).collect());
    }
    if !is_neighbour(first, later) {
        let calm = units.iter().filter(|unit| unit.later.is_empty());
        perhaps_own.push(calm.map(|unit| unit.log_ratio).collect());
    }
    ChosenPairs { units: judged_units, judged, all, of_one_side, perhaps_own }
}

/// Whether what disturbs a side disturbs the other side as well, when nothing of this side ran just before.
fn is_neighbour(side: &SideOfPairs, other: &SideOfPairs) -> bool {
    other.disturbed_share(true) >= ALIKE * side.disturbed_share(false)
}

/// Whether an excluded unit counts again: without the rules that belong to a side, both sides are alike.
fn is_put_back(unit: &Unit<'_>, belongs: &BTreeSet<&str>) -> bool {
    if belongs.is_empty() {
        return false;
    }
    unit.first.is_subset(belongs) == unit.later.is_subset(belongs)
}

fn units<'a>(first: &'a SideOfPairs, later: &'a SideOfPairs, in_unit: usize) -> Vec<Unit<'a>> {
    log_ratios_in_units(&first.costs, &later.costs, in_unit)
        .into_iter()
        .map(|(unit, log_ratio)| Unit {
            unit,
            log_ratio,
            is_excluded: first.excluded.contains(&unit) || later.excluded.contains(&unit),
            first: first.rules_in(unit),
            later: later.rules_in(unit),
        })
        .collect()
}

/// The rules of which the sign test says that they belong to a side; Bonferroni over the rules that were met.
fn rules_of_one_side(units: &[Unit<'_>], level: f64) -> Vec<RuleOfOneSide> {
    let met: BTreeSet<&str> = units
        .iter()
        .flat_map(|unit| unit.first.symmetric_difference(&unit.later))
        .copied()
        .collect();
    let alpha = SHARE_OF_LOOK * (1.0 - level) / met.len().max(1) as f64;
    let mut found = Vec::new();
    for rule in met {
        let first = units
            .iter()
            .filter(|unit| unit.first.contains(rule) && !unit.later.contains(rule))
            .count();
        let later = units
            .iter()
            .filter(|unit| unit.later.contains(rule) && !unit.first.contains(rule))
            .count();
        if sign_test(first, later) <= alpha {
            let rule = rule.to_owned();
            found.push(RuleOfOneSide { rule, first, later, units: units.len() });
        }
    }
    found
}

/// The two-sided chance of so unequal counts if each side is equally likely.
fn sign_test(first: usize, later: usize) -> f64 {
    let fewer = first.min(later) as u64;
    let all = (first + later) as u64;
    (2.0 * binomial_cdf(fewer, all, 0.5)).min(1.0)
}

impl ChosenPairs {
    /// All of these log ratios count; their units are not known.
    pub fn without_exclusions(log_ratios: Vec<f64>) -> Self {
        Self { judged: log_ratios.clone(), all: log_ratios, ..Self::default() }
    }

    /// Whether other activity was chosen around, or may be work of a side.
    fn is_doubtful(&self) -> bool {
        let has_excluded = self.judged.len() < self.all.len();
        has_excluded || !self.of_one_side.is_empty() || !self.perhaps_own.is_empty()
    }

    /// Judges the pairs that count, as [`judge_pairs`] does, and holds the verdict against all pairs. A verdict that does
    /// not agree with them is inconclusive, and [`Judgement::contradicted`].
    ///
    /// *Faster* and *slower* agree if the estimate of all pairs is on the same side of 0. *Equivalent* agrees if the
    /// interval of all pairs is inside the margin. If disturbances may be a side's own work, the mean of the pairs in which
    /// the other side was not disturbed must be inside, too: a median does not show work that comes with few of the runs.
    /// *Equivalent* also needs 14 pairs.
    ///
    /// # Errors
    /// Those of [`judge_pairs`].
    pub fn judge(&self, level: f64, margin: f64) -> Result<Judgement, NoInterval> {
        let judged = judge_pairs(&self.judged, level, margin)?;
        let is_equivalent = judged.verdict == Verdict::Equivalent;
        if is_equivalent && self.judged.len() < FEWEST_FOR_EQUIVALENT {
            return Ok(Judgement::open(FEWEST_FOR_EQUIVALENT));
        }
        if !self.is_doubtful() || self.agrees(judged.verdict, level, margin) {
            return Ok(judged);
        }
        Ok(Judgement::contradicted_by_excluded())
    }

    fn agrees(&self, verdict: Verdict, level: f64, margin: f64) -> bool {
        let estimate = hodges_lehmann(&self.all).unwrap_or(f64::NAN);
        match verdict {
            Verdict::Inconclusive => true,
            Verdict::Slower => estimate > 0.0,
            Verdict::Faster => estimate < 0.0,
            Verdict::Equivalent => {
                let of_all = judge_pairs(&self.all, level, margin);
                of_all.is_ok_and(|judged| judged.verdict == Verdict::Equivalent)
                    && self
                        .perhaps_own
                        .iter()
                        .all(|pairs| mean_is_inside(pairs, level, margin.ln_1p()))
            }
        }
    }
}

/// Whether the mean of enough pairs lies inside the margin, with its interval.
fn mean_is_inside(log_ratios: &[f64], level: f64, margin: f64) -> bool {
    if log_ratios.len() < FEWEST_CALM {
        return false;
    }
    let mean = mean_interval(log_ratios, level);
    -margin < mean.low && mean.high < margin
}

/// The mean with Student's interval; of at least two values.
fn mean_interval(values: &[f64], level: f64) -> Interval {
    let count = values.len() as f64;
    let estimate = mean_of(values);
    let half = two_sided_t(level, count - 1.0) * (variance_of(values) / count).sqrt();
    Interval { estimate, low: estimate - half, high: estimate + half }
}

#[cfg(test)]
mod tests {
    use super::{ChosenPairs, SideOfPairs, choose, sign_test};
    use crate::verdict::Verdict;

    const LEVEL: f64 = 0.99;
    const MARGIN: f64 = 0.01;

    /// Rounds of two sides with equal costs but for what `later_costs` adds; a rule met in these rounds, by one side,
    /// excludes them.
    fn chosen(rounds: u32, by_first: &[u32], by_later: &[u32], added: f64) -> ChosenPairs {
        let mut first = SideOfPairs::default();
        let mut later = SideOfPairs::default();
        for round in 0..rounds {
            let is_excluded = by_first.contains(&round) != by_later.contains(&round);
            let noise = 0.001 * f64::from(round * 7 % 11) - 0.005;
            let extra = if by_later.contains(&round) { added } else { 0.0 };
            first.add(round, 1.0, is_excluded);
            later.add(round, (noise + extra).exp(), is_excluded);
            // The sides take turns in who is first.
            first.add_turn(round, by_first.contains(&round), round % 2 == 0);
            later.add_turn(round, by_later.contains(&round), round % 2 == 1);
            if by_first.contains(&round) {
                first.add_rule(round, "foreign-cpu");
            }
            if by_later.contains(&round) {
                later.add_rule(round, "foreign-cpu");
            }
        }
        choose(&first, &later, 1, &|_| LEVEL)
    }

    fn verdict(chosen: &ChosenPairs) -> Verdict {
        chosen.judge(LEVEL, MARGIN).unwrap().verdict
    }

    #[test]
    fn without_exclusions_all_pairs_are_judged() {
        let found = chosen(30, &[], &[], 0.0);
        assert!(!found.is_doubtful() && found.judged.len() == 30 && found.judged == found.all);
        assert_eq!(verdict(&found), Verdict::Equivalent);
    }

    #[test]
    fn a_rule_that_follows_a_side_excludes_nothing() {
        let of_later: Vec<u32> = (0..40).filter(|round| round % 2 == 0).collect();
        let found = chosen(40, &[], &of_later, 0.3);
        assert_eq!(found.judged.len(), 40);
        let [rule] = &found.of_one_side[..] else { panic!("{found:?}") };
        assert_eq!(
            (rule.rule.as_str(), rule.first, rule.later, rule.units),
            ("foreign-cpu", 0, 20, 40)
        );
        assert_ne!(verdict(&found), Verdict::Equivalent);
    }

    #[test]
    fn a_neighbour_of_both_sides_stays_excluded() {
        let found = chosen(60, &[1, 9, 20, 31, 44], &[3, 12, 26, 37, 50, 55], 0.004);
        assert_eq!((found.judged.len(), found.all.len()), (49, 60));
        assert!(found.of_one_side.is_empty());
        assert_eq!(verdict(&found), Verdict::Equivalent);
    }

    #[test]
    fn equivalent_needs_all_pairs_to_agree() {
        // Too few for the sign test, but the mean of all pairs is 5 % and more.
        let found = chosen(40, &[], &[4, 11, 23, 30], 0.8);
        assert!(found.of_one_side.is_empty() && found.judged.len() == 36);
        let judged = found.judge(LEVEL, MARGIN).unwrap();
        assert!(judged.verdict == Verdict::Inconclusive && judged.contradicted, "{judged:?}");
        let small = chosen(40, &[], &[4, 11, 23, 30], 0.002);
        assert_eq!(verdict(&small), Verdict::Equivalent);
    }

    #[test]
    fn a_part_of_a_run_is_chosen_as_it_was_then() {
        let mut side = SideOfPairs::default();
        for unit in 0..5 {
            side.add(unit, 1.0, unit == 3);
        }
        assert_eq!(side.counts(), (5, 1));
        assert_eq!(side.up_to(2).costs, [(0, 1.0), (1, 1.0), (2, 1.0)]);
    }

    #[test]
    fn the_sign_test_is_two_sided() {
        assert!((sign_test(0, 10) - 2.0_f64.powi(-9)).abs() < 1e-15);
        assert!((sign_test(10, 0) - sign_test(0, 10)).abs() < 1e-15);
        assert!((sign_test(0, 0) - 1.0).abs() < 1e-15 && (sign_test(3, 3) - 1.0).abs() < 1e-15);
    }
}
