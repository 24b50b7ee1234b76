//! Searches for causes as `plumb why` makes them: how often they name a change without effect, and find one that has an effect.
//!
//! A search tries all candidates next to the work as it is, measures those that seem to help again, and repeats both for the rest
//! with the causes removed.

use super::bars::{Bar, BarSeries, ValidationRow};
use super::fixed::{PAIRS, PairNoise};
use plumb_stats::pairs::signed_rank_interval;
use plumb_stats::rng::Rng;
use plumb_stats::verdict::{Confidence, LookSchedule};

/// A candidate is a cause if the work takes this much less without it.
const LEAST_EFFECT: f64 = 0.05;
/// Once one candidate helps, the others get so many pairs.
const PAIRS_AFTER_A_CAUSE: usize = 27;
/// What a budget of three minutes holds of invocations of .1 s of several sides, and what 30 s hold without the causes.
const MOST_PAIRS: usize = 90;
const MOST_PAIRS_AFTER_CAUSES: usize = 18;
/// Candidates of a search.
const CANDIDATES: usize = 8;
/// A cause whose removal makes the work 1.3 times as fast is found this often.
const FOUND: f64 = 0.9;
/// Searches that name a candidate without effect.
const MOST_FALSE: f64 = 0.05;
/// Standard deviations of the log ratio of a pair: of quiet machines and of one that is disturbed.
const PAIR_SDS: [f64; 2] = [0.03, 0.15];

/// The log cost of the work once these candidates are removed.
type LogCost = fn(removed: &[usize]) -> f64;

/// Nothing has an effect.
fn nothing(_: &[usize]) -> f64 {
    0.0
}

/// Each candidate costs as much as one that is no cause may.
fn least_effects(removed: &[usize]) -> f64 {
    -(removed.len() as f64) * LEAST_EFFECT.ln_1p()
}

/// The first candidate is the only cause.
fn one_cause(removed: &[usize]) -> f64 {
    if removed.contains(&0) { -1.3_f64.ln() } else { 0.0 }
}

/// The first candidate limits the work to a third of its speed, the second to two thirds: the first hides the second.
fn hidden_cause(removed: &[usize]) -> f64 {
    match (removed.contains(&0), removed.contains(&1)) {
        (false, _) => 3.0_f64.ln(),
        (true, false) => 1.5_f64.ln(),
        (true, true) => 0.0,
    }
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for (truth, log_cost) in [
        ("no candidate has an effect", nothing as LogCost),
        ("each gains 5 %, the least effect", least_effects),
    ] {
        for (name, noise) in PAIRS {
            for pair_sd in PAIR_SDS {
                let search = SimulatedSearch { log_cost, noise, pair_sd };
                report(search.row(
                    "a search for causes that names a candidate without effect",
                    format!("{truth}; pairs: {name}, sd {:.0} %", 100.0 * pair_sd),
                    Bar::AtMost(MOST_FALSE),
                    replications,
                    |causes| !causes.is_empty(),
                ));
            }
        }
    }
    for pair_sd in PAIR_SDS {
        let setting = |text: &str| format!("{text}; sd of pairs {:.0} %", 100.0 * pair_sd);
        let search = SimulatedSearch { log_cost: one_cause, noise: Rng::normal, pair_sd };
        report(search.row(
            "a search for causes that names the cause and no other candidate",
            setting("one of 8 makes the work 1.3 times as slow"),
            Bar::AtLeast(FOUND),
            replications,
            |causes| causes == [0],
        ));
        let search = SimulatedSearch { log_cost: hidden_cause, ..search };
        report(search.row(
            "a search for causes that names the cause and no other candidate",
            setting("one of 8 hides another"),
            Bar::AtLeast(FOUND),
            replications,
            |causes| causes == [0, 1],
        ));
    }
}

/// A search on a simulated machine.
#[derive(Clone, Copy)]
struct SimulatedSearch {
    log_cost: LogCost,
    noise: PairNoise,
    /// Scale of the noise of the log ratio of a pair.
    pair_sd: f64,
}

/// What is known of a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tried {
    Helps,
    HasNoEffect,
    Undecided,
}

impl SimulatedSearch {
    fn row(
        self,
        promise: &'static str,
        setting: String,
        bar: Bar,
        replications: u64,
        counts: impl Fn(&[usize]) -> bool,
    ) -> ValidationRow {
        let hits = (0..replications)
            .filter(|&seed| counts(&self.causes(&mut Rng::new(seed))))
            .count() as u64;
        ValidationRow {
            promise,
            setting,
            bar,
            measured: BarSeries::Share { hits, trials: replications },
            note: String::new(),
        }
    }

    /// The candidates that a search names, in the order in which it finds them.
    fn causes(self, rng: &mut Rng) -> Vec<usize> {
        let mut causes: Vec<usize> = Vec::new();
        loop {
            let open: Vec<usize> =
                (0..CANDIDATES).filter(|candidate| !causes.contains(candidate)).collect();
            let likely = self.compared(&open, &causes, Some(PAIRS_AFTER_A_CAUSE), rng);
            let mut found = self.compared(&likely, &causes, None, rng);
            if found.is_empty() && !likely.is_empty() {
                // What seemed to help ended the trial of the others early.
                let likely = self.compared(&open, &causes, None, rng);
                found = self.compared(&likely, &causes, None, rng);
            }
            if found.is_empty() {
                return causes;
            }
            causes.extend(found);
        }
    }

    /// Those of these candidates whose removal makes the work faster by more than the least effect, with the whole interval.
    fn compared(
        self,
        candidates: &[usize],
        removed: &[usize],
        pairs_after_a_cause: Option<usize>,
        rng: &mut Rng,
    ) -> Vec<usize> {
        let schedule = LookSchedule::Long;
        let margin = LEAST_EFFECT.ln_1p();
        let before = (self.log_cost)(removed);
        let mut logs: Vec<Vec<f64>> = vec![Vec::new(); candidates.len()];
        let mut results = vec![Tried::Undecided; candidates.len()];
        let mut most = if removed.is_empty() { MOST_PAIRS } else { MOST_PAIRS_AFTER_CAUSES };
        for look in schedule.looks().into_iter().take_while(|&look| look <= MOST_PAIRS) {
            if look > most || !results.contains(&Tried::Undecided) {
                break;
            }
            let pairs_before = logs.first().map_or(0, Vec::len);
            for _ in pairs_before..look {
                // All candidates of a round are compared with the same invocation of the work as it is.
                let shared = (self.noise)(rng);
                for (logs, &candidate) in logs.iter_mut().zip(candidates) {
                    let without: Vec<usize> = removed.iter().copied().chain([candidate]).collect();
                    let effect = (self.log_cost)(&without) - before;
                    let noise = ((self.noise)(rng) - shared) / 2.0_f64.sqrt();
                    logs.push(effect + self.pair_sd * noise);
                }
            }
            let level = schedule.level_of_each(Confidence::NinetyFive, look, candidates.len());
            for (result, logs) in results.iter_mut().zip(&logs) {
                // The first looks of a high confidence have no interval yet.
                let Ok(interval) = signed_rank_interval(logs, level) else { continue };
                if *result != Tried::Undecided {
                    continue;
                }
                if interval.high < -margin {
                    *result = Tried::Helps;
                    most = most.min(pairs_after_a_cause.unwrap_or(most));
                } else if interval.low > -margin {
                    *result = Tried::HasNoEffect;
                }
            }
        }
        let tried = candidates.iter().zip(results);
        tried
            .filter(|(_, result)| *result == Tried::Helps)
            .map(|(&candidate, _)| candidate)
            .collect()
    }
}
