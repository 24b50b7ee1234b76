//! Bounds of loads from trials, and the throughput at the highest load at which the goal holds.

use super::goal::{GoalStage, LoadGoal};

/// One trial: a load that was offered for a while, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadTrial {
    /// Operations a second that were to be offered.
    pub load: f64,
    /// For how long, in nanoseconds.
    pub duration_ns: u64,
    /// How long it took, with what it waited for at its end, in nanoseconds.
    pub elapsed_ns: u64,
    /// Operations that were offered.
    pub offered: u64,
    /// Operations that ended well; no more than were offered.
    pub good: u64,
}

impl LoadTrial {
    /// The share of operations that were lost. Operations that were to be offered and were not are lost, too.
    pub fn loss_ratio(&self) -> f64 {
        let intended = (self.load * self.duration_ns as f64 * 1e-9).floor();
        let all = intended.max(self.offered as f64);
        if all > 0.0 { (all - self.good as f64) / all } else { 0.0 }
    }
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchLimit {
    /// The relevant lower bound: the highest load below the upper bound at which the goal holds.
    pub lower: f64,
    /// The relevant upper bound: the lowest load at which it does not; none when it held at all loads.
    pub upper: Option<f64>,
    /// The conditional throughput: operations per second that ended well at the lower bound, by the loss ratio of the
    /// worst of the trials that count for it.
    pub throughput: f64,
    /// Whether the goal itself is met: both bounds as close as it wants, or the largest load reached. Otherwise the
    /// search ended early, and the bounds may be further apart or less sure.
    pub met: bool,
}

/// What rounding may add to the width of two bounds.
const ROUNDING: f64 = 1e-9;

/// The class of a load for a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadClass {
    Lower,
    Upper,
    Undecided,
}

/// The relevant bounds, as indices of loads that rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    pub lower: Option<usize>,
    pub upper: Option<usize>,
}

/// How long good and bad trials lasted, in nanoseconds.
#[derive(Default)]
struct Lasted {
    good_ns: f64,
    bad_ns: f64,
}

/// Of all trials of a load: whether it bears the stage's goal. RFC 9971's load classification: what short good trials
/// excuse of short bad ones is taken off, and missing trials are tried out as all good and as all bad.
fn classify(stage: &GoalStage, trials: &[LoadTrial]) -> LoadClass {
    let mut long = Lasted::default();
    let mut short = Lasted::default();
    for trial in trials {
        let sum = if trial.duration_ns >= stage.trial_ns { &mut long } else { &mut short };
        let is_bad = trial.loss_ratio() > stage.loss_ratio;
        if is_bad {
            sum.bad_ns += trial.duration_ns as f64;
        } else {
            sum.good_ns += trial.duration_ns as f64;
        }
    }
    let excused_ns = short.good_ns * stage.exceed_ratio / (1.0 - stage.exceed_ratio);
    let bad_ns = long.bad_ns + (short.bad_ns - excused_ns).max(0.0);
    let good_ns = long.good_ns;
    let all_ns = (good_ns + bad_ns).max(stage.sum_ns as f64);
    let quota_ns = all_ns * stage.exceed_ratio;
    match (bad_ns <= quota_ns, all_ns - good_ns <= quota_ns) {
        (_, true) => LoadClass::Lower,
        (false, false) => LoadClass::Upper,
        (true, false) => LoadClass::Undecided,
    }
}

/// The relevant bounds among loads that rise, each with its trials: the lowest upper bound, and the highest lower bound
/// below it.
pub fn relevant<'t>(stage: &GoalStage, loads: impl Iterator<Item = &'t [LoadTrial]>) -> Bounds {
    let mut bounds = Bounds::default();
    for (index, trials) in loads.enumerate() {
        match classify(stage, trials) {
            LoadClass::Lower => bounds.lower = Some(index),
            LoadClass::Upper => {
                bounds.upper = Some(index);
                break;
            }
            LoadClass::Undecided => {}
        }
    }
    bounds
}

/// The loss ratio of a lower bound: that of the trial which is worse than all but the share that may exceed the goal,
/// by duration; what is missing of the wanted duration counts as lost.
fn quantile_loss(stage: &GoalStage, trials: &[LoadTrial]) -> f64 {
    let mut long: Vec<(f64, f64)> = trials
        .iter()
        .filter(|trial| trial.duration_ns >= stage.trial_ns)
        .map(|trial| (trial.loss_ratio(), trial.duration_ns as f64))
        .collect();
    long.sort_by(|one, other| one.0.total_cmp(&other.0));
    let whole_ns: f64 = long.iter().map(|&(_, lasted_ns)| lasted_ns).sum();
    let mut remaining_ns = whole_ns.max(stage.sum_ns as f64) * (1.0 - stage.exceed_ratio);
    for (loss, lasted_ns) in long {
        remaining_ns -= lasted_ns;
        if remaining_ns <= 0.0 {
            return loss;
        }
    }
    1.0
}

/// What trials say of the limit: by the goal itself or, if a search was over before it had met that, by the least
/// coarse of the goals on the way that has a lower bound. None when no load bears the goal.
pub fn limit(goal: &LoadGoal, trials: &[LoadTrial]) -> Option<SearchLimit> {
    let mut sorted = trials.to_vec();
    sorted.sort_by(|one, other| one.load.total_cmp(&other.load));
    let loads: Vec<&[LoadTrial]> =
        sorted.chunk_by(|one, other| one.load.total_cmp(&other.load).is_eq()).collect();
    goal.stages().iter().rev().find_map(|stage| of_stage(goal, stage, &loads))
}

/// What trials, given load by load, say of the limit by one of the goals.
fn of_stage(goal: &LoadGoal, stage: &GoalStage, loads: &[&[LoadTrial]]) -> Option<SearchLimit> {
    let bounds = relevant(stage, loads.iter().copied());
    let trials = loads.get(bounds.lower?)?;
    let lower = trials.first()?.load;
    let upper = bounds.upper.and_then(|index| Some(loads.get(index)?.first()?.load));
    let is_top = bounds.lower == Some(loads.len() - 1);
    let is_close = upper.map_or(is_top, |upper| (upper - lower) / upper <= goal.width + ROUNDING);
    Some(SearchLimit {
        lower,
        upper,
        throughput: lower * (1.0 - quantile_loss(stage, trials)),
        met: stage.coarser == 0 && is_close,
    })
}

#[cfg(test)]
mod tests {
    use super::{LoadClass, LoadGoal, LoadTrial, classify, limit};

    /// RFC 9971's load classification at 1 s a trial, 21 s in all, half of which may be bad.
    const GOAL: LoadGoal = LoadGoal {
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        width: 0.005,
        initial_trial_ns: 1_000_000_000,
        final_trial_ns: 1_000_000_000,
        duration_sum_ns: 21_000_000_000,
        most_ns: u64::MAX,
    };

    fn trial(seconds: f64, good: u64) -> LoadTrial {
        let duration_ns = (seconds * 1e9) as u64;
        LoadTrial {
            load: 100.0 / seconds,
            duration_ns,
            elapsed_ns: duration_ns,
            offered: 100,
            good,
        }
    }

    fn class(good: usize, bad: usize, short_good: usize, short_bad: usize) -> LoadClass {
        let of = |count, trial| std::iter::repeat_n(trial, count);
        let all = of(good, trial(1.0, 100))
            .chain(of(bad, trial(1.0, 99)))
            .chain(of(short_good, trial(0.5, 100)))
            .chain(of(short_bad, trial(0.5, 99)));
        let stages = GOAL.stages();
        classify(&stages[2], &all.collect::<Vec<_>>())
    }

    #[test]
    fn a_load_is_settled_as_soon_as_missing_trials_cannot_change_it() {
        assert_eq!(class(10, 0, 0, 0), LoadClass::Undecided);
        assert_eq!(class(11, 0, 0, 0), LoadClass::Lower);
        assert_eq!(class(11, 10, 0, 0), LoadClass::Lower);
        assert_eq!(class(0, 10, 0, 0), LoadClass::Undecided);
        assert_eq!(class(0, 11, 0, 0), LoadClass::Upper);
        // More than the sum: half of what there is.
        assert_eq!(class(15, 15, 0, 0), LoadClass::Lower);
        assert_eq!(class(15, 16, 0, 0), LoadClass::Upper);
    }

    #[test]
    fn short_good_trials_only_excuse_short_bad_ones() {
        assert_eq!(class(0, 0, 100, 0), LoadClass::Undecided);
        assert_eq!(class(0, 0, 0, 22), LoadClass::Upper);
        assert_eq!(class(0, 0, 1, 22), LoadClass::Undecided);
        assert_eq!(class(0, 11, 100, 0), LoadClass::Upper);
    }

    #[test]
    fn the_throughput_is_that_of_the_worst_trial_that_counts() {
        let with = |goods: &[u64]| {
            let trials: Vec<LoadTrial> = goods.iter().map(|&good| trial(1.0, good)).collect();
            limit(&LoadGoal { loss_ratio: 0.2, ..GOAL }, &trials).unwrap().throughput
        };
        // The eleventh best of eleven; of 21 the eleventh best, too.
        assert!((with(&[100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 90]) - 90.0).abs() < 1e-9);
        let mut goods = vec![100; 11];
        goods.extend([50; 10]);
        assert!((with(&goods) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn what_was_not_offered_is_lost() {
        let half = LoadTrial { offered: 50, good: 50, ..trial(1.0, 100) };
        assert!((half.loss_ratio() - 0.5).abs() < 1e-9);
        let none = LoadTrial { load: 0.5, offered: 0, good: 0, ..trial(1.0, 100) };
        assert!(none.loss_ratio().abs() < 1e-9, "nothing was to be offered");
    }
}
