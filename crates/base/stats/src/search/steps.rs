//! The search itself: which trial comes next, from the results of those before.

use std::collections::BTreeMap;

use super::bounds::{LoadTrial, SearchLimit, limit, relevant};
use super::goal::{GoalError, GoalStage, LoadGoal};
use super::grid::{LoadGrid, middle};

/// The range of loads that are tried, in operations per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loads {
    /// The least; above 0.
    pub least: f64,
    /// The most, which is tried first.
    pub most: f64,
}

impl Loads {
    /// The range, begun lower by a share (0 to 1) of the goal's width. Searches that draw it at random have their steps
    /// at other loads, so that a limit between two steps is not rounded the same way every time.
    #[must_use]
    pub fn shifted(self, goal: &LoadGoal, share: f64) -> Self {
        Self { least: self.least * (1.0 - goal.width * share), ..self }
    }
}

/// The next trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextTrial {
    /// Operations a second.
    pub load: f64,
    /// For how long, in nanoseconds.
    pub duration_ns: u64,
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct LoadSearch {
    goal: LoadGoal,
    grid: LoadGrid,
    stages: Vec<GoalStage>,
    /// The stage that is searched for.
    stage: usize,
    trials: BTreeMap<u32, Vec<LoadTrial>>,
    opening: Opening,
    /// The bounds of the stage before, or of the opening: positions.
    before: PositionBounds,
    /// By how much the next step out of the known interval goes.
    step: u32,
    asked: Option<LastTrial>,
    spent_ns: u64,
}

/// The first trials, which find out where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// At the largest load.
    Top,
    /// At what it let through.
    Second,
    /// Closer to the limit, as the second one shows it; the position of the second.
    Third(u32),
    Over,
}

/// Two positions, if they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PositionBounds {
    lower: Option<u32>,
    upper: Option<u32>,
}

/// The last request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LastTrial {
    position: u32,
    /// The next step doubles when the position turns out to be this bound: the search has not come out yet.
    doubles: Option<Bound>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Lower,
    Upper,
}

impl LoadSearch {
    /// A search for the goal in a range of loads.
    ///
    /// # Errors
    /// When the goal or the range has numbers that make no sense.
    pub fn new(goal: LoadGoal, loads: Loads) -> Result<Self, GoalError> {
        goal.check()?;
        Ok(Self {
            goal,
            grid: LoadGrid::new(loads.least, loads.most, goal.width)?,
            stages: goal.stages(),
            stage: 0,
            trials: BTreeMap::new(),
            opening: Opening::Top,
            before: PositionBounds::default(),
            step: 0,
            asked: None,
            spent_ns: 0,
        })
    }

    /// The next trial; None when the search is over. Asking twice changes nothing.
    pub fn next_trial(&mut self) -> Option<NextTrial> {
        if self.asked.is_none() {
            self.asked = self.choose();
        }
        let asked = self.asked?;
        let duration_ns = self.stages[self.stage].trial_ns;
        // Asked before the trial, not after: a search never exceeds its time by a whole trial.
        let is_over = self.spent_ns.saturating_add(duration_ns) > self.goal.most_ns;
        (!is_over).then(|| NextTrial { load: self.grid.load(asked.position), duration_ns })
    }

    /// Takes the result of the trial that was asked for; its load and duration are those.
    pub fn take(&mut self, trial: LoadTrial) {
        let Some(asked) = self.asked.take() else { return };
        // A trial that breaks off early still counts in full, or failing trials could go on for ever.
        self.spent_ns += trial.elapsed_ns.max(trial.duration_ns);
        self.trials.entry(asked.position).or_default().push(trial);
        if self.opening == Opening::Over {
            self.widen(asked);
        } else {
            self.open(asked.position, trial);
        }
    }

    /// The result so far; None if no load meets the goal.
    pub fn found(&self) -> Option<SearchLimit> {
        let trials: Vec<LoadTrial> = self.trials.values().flatten().copied().collect();
        limit(&self.goal, &trials)
    }

    fn choose(&mut self) -> Option<LastTrial> {
        match self.opening {
            Opening::Top => Some(LastTrial { position: self.grid.last(), doubles: None }),
            Opening::Second | Opening::Third(_) => {
                self.before.upper.map(|position| LastTrial { position, doubles: None })
            }
            Opening::Over => self.nominate(),
        }
    }

    /// The width of the stage, in steps of the grid.
    fn width(&self) -> u32 {
        1 << self.stages[self.stage].coarser
    }

    /// After a first trial: goes to the load that it let through; from there towards the limit.
    fn open(&mut self, position: u32, trial: LoadTrial) {
        let loss = trial.loss_ratio();
        // What got through, raised by the loss that the goal allows: a load at which exactly that share is lost.
        let passed_load = trial.load * (1.0 - loss) / (1.0 - self.goal.loss_ratio);
        let passed = self.grid.position(passed_load);
        match self.opening {
            Opening::Top => {
                match self.apart(passed, PositionBounds { lower: None, upper: Some(position) }) {
                    Some(second) if passed < position => {
                        self.opening = Opening::Second;
                        self.before.upper = Some(second);
                    }
                    _ => self.begin(position, position),
                }
            }
            Opening::Second => {
                let third = if loss > self.goal.loss_ratio {
                    self.apart(passed, PositionBounds { lower: None, upper: Some(position) })
                } else {
                    let around =
                        PositionBounds { lower: Some(position), upper: Some(self.grid.last()) };
                    self.apart(position + self.width(), around)
                };
                match third {
                    Some(third) => {
                        self.opening = Opening::Third(position);
                        self.before.upper = Some(third);
                    }
                    None => self.begin(position, position),
                }
            }
            Opening::Third(second) => self.begin(second.min(position), second.max(position)),
            Opening::Over => {}
        }
    }

    fn begin(&mut self, lower: u32, upper: u32) {
        self.opening = Opening::Over;
        self.enter(PositionBounds { lower: Some(lower), upper: Some(upper) });
    }

    /// Begins a stage with what is known of the one before.
    fn enter(&mut self, before: PositionBounds) {
        self.before = before;
        let apart = before.lower.zip(before.upper).map_or(0, |(lower, upper)| upper - lower);
        self.step = 2 * apart.max(self.width());
    }

    /// Doubles the step when it did not get out of the known interval.
    fn widen(&mut self, asked: LastTrial) {
        let bounds = self.bounds();
        let bound = match asked.doubles {
            Some(Bound::Lower) => bounds.lower,
            Some(Bound::Upper) => bounds.upper,
            None => None,
        };
        if bound == Some(asked.position) {
            self.step = self.step.saturating_mul(2);
        }
    }

    fn bounds(&self) -> PositionBounds {
        let found = relevant(&self.stages[self.stage], self.trials.values().map(Vec::as_slice));
        PositionBounds { lower: self.position(found.lower), upper: self.position(found.upper) }
    }

    /// The position of the load with this index among those that were tried.
    fn position(&self, index: Option<usize>) -> Option<u32> {
        self.trials.keys().nth(index?).copied()
    }

    /// The first of the ways to proceed that has something to ask; when none has, the stage is reached and the next
    /// begins.
    fn nominate(&mut self) -> Option<LastTrial> {
        loop {
            let bounds = self.bounds();
            let asked = self
                .between_the_old(bounds)
                .or_else(|| self.again(bounds, self.before.lower))
                .or_else(|| self.again(bounds, self.before.upper))
                .or_else(|| self.lower(bounds))
                .or_else(|| self.higher(bounds))
                .or_else(|| self.between(bounds));
            if asked.is_some() || self.stage + 1 >= self.stages.len() {
                return asked;
            }
            self.stage += 1;
            self.enter(bounds);
        }
    }

    /// In the middle of the old bounds, when one half will do.
    fn between_the_old(&mut self, bounds: PositionBounds) -> Option<LastTrial> {
        let (lower, upper) = self.before.lower.zip(self.before.upper)?;
        let width = self.width();
        let halves = width + 1..=2 * width;
        let one = halves.contains(&(upper - lower)).then(|| middle(lower, upper, width));
        self.again(bounds, one)
    }

    /// At this position, unless it is known to be a bound or beyond.
    fn again(&mut self, bounds: PositionBounds, position: Option<u32>) -> Option<LastTrial> {
        let position = position.filter(|&position| self.is_worth(bounds, position))?;
        self.step = 2 * self.width();
        Some(LastTrial { position, doubles: None })
    }

    /// Below an upper bound, when there is no lower one.
    fn lower(&self, bounds: PositionBounds) -> Option<LastTrial> {
        let upper = bounds.upper.filter(|&upper| bounds.lower.is_none() && upper > 0)?;
        let position = self.apart(upper.saturating_sub(self.step), bounds)?;
        Some(LastTrial { position, doubles: Some(Bound::Upper) })
    }

    /// Above a lower bound, when there is no upper one.
    fn higher(&self, bounds: PositionBounds) -> Option<LastTrial> {
        let last = self.grid.last();
        let lower = bounds.lower.filter(|&lower| bounds.upper.is_none() && lower < last)?;
        let position = self.apart(lower.saturating_add(self.step).min(last), bounds)?;
        Some(LastTrial { position, doubles: Some(Bound::Lower) })
    }

    /// Between two bounds: a step out from one of them where the old bounds lie on that side and it is the shorter way,
    /// else in the middle.
    fn between(&mut self, bounds: PositionBounds) -> Option<LastTrial> {
        let (lower, upper) = bounds.lower.zip(bounds.upper)?;
        if upper - lower <= self.width() {
            return None;
        }
        let half = middle(lower, upper, self.width());
        let down = self.before.upper.filter(|&old| half < old).and_then(|old| {
            let position = self.apart(upper.saturating_sub(self.step), bounds)?;
            (position > half && position < old).then_some((position, Bound::Upper))
        });
        let out = down.or_else(|| {
            let old = self.before.lower.filter(|&old| half > old)?;
            let position = self.apart(lower.saturating_add(self.step), bounds)?;
            (position < half && position > old).then_some((position, Bound::Lower))
        });
        if let Some((position, bound)) = out {
            return Some(LastTrial { position, doubles: Some(bound) });
        }
        self.step = 2 * (half - lower).min(upper - half).max(self.width());
        Some(LastTrial { position: half, doubles: None })
    }

    /// Whether a trial at this position can make or improve a bound.
    fn is_worth(&self, bounds: PositionBounds, position: u32) -> bool {
        let is_inside = bounds.lower.is_none_or(|lower| lower < position)
            && bounds.upper.is_none_or(|upper| position < upper);
        let is_close = bounds
            .lower
            .zip(bounds.upper)
            .is_some_and(|(lower, upper)| upper - lower <= self.width());
        is_inside && !is_close
    }

    /// A position as close to this as is worth a trial: a width away from bounds that are known, and at the end of the
    /// range rather than close to it. None when no place is left.
    fn apart(&self, position: u32, bounds: PositionBounds) -> Option<u32> {
        let lowest = bounds.lower.unwrap_or(0);
        let highest = bounds.upper.unwrap_or(self.grid.last());
        let width = self.width();
        match bounds {
            PositionBounds { upper: Some(upper), .. } if position >= upper || upper == 0 => {
                return None;
            }
            PositionBounds { lower: Some(lower), .. } if position <= lower => return None,
            _ => {}
        }
        if highest - lowest <= width {
            return match bounds {
                PositionBounds { lower: None, .. } => Some(lowest),
                PositionBounds { upper: None, .. } => Some(highest),
                _ => None,
            };
        }
        let mut from = lowest + width;
        let mut to = highest - width;
        if from > to {
            from = middle(lowest, highest, width);
            to = from;
        }
        Some(match position {
            at if at < from => bounds.lower.map_or(lowest, |_| from),
            at if at > to => bounds.upper.map_or(highest, |_| to),
            at => at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{LoadGoal, LoadSearch, LoadTrial, Loads, NextTrial, SearchLimit, limit};
    use crate::rng::Rng;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    const LOADS: Loads = Loads { least: 10.0, most: 1e6 };

    fn goal(loss_ratio: f64) -> LoadGoal {
        LoadGoal {
            loss_ratio,
            exceed_ratio: 0.5,
            width: 0.01,
            initial_trial_ns: 50_000_000,
            final_trial_ns: 50_000_000,
            duration_sum_ns: 250_000_000,
            most_ns: u64::MAX,
        }
    }

    /// Searches a system that is given by how many of so many operations it does well.
    fn search(
        goal: LoadGoal,
        mut system: impl FnMut(NextTrial, u64) -> u64,
    ) -> (Option<SearchLimit>, Vec<LoadTrial>) {
        let mut search = LoadSearch::new(goal, LOADS).unwrap();
        let mut trials = Vec::new();
        while let Some(next) = search.next_trial() {
            assert!(trials.len() < 500, "it does not end: {trials:?}");
            // So many operations that counts are no coarser than the goal.
            let offered = (next.load * next.duration_ns as f64 * 1e-9).round() as u64;
            let good = system(next, offered);
            let NextTrial { load, duration_ns } = next;
            let trial = LoadTrial { load, duration_ns, elapsed_ns: duration_ns, offered, good };
            search.take(trial);
            trials.push(trial);
        }
        (search.found(), trials)
    }

    /// A system that does no more than `capacity` a second, and loses the rest.
    fn cliff(capacity: f64) -> impl FnMut(NextTrial, u64) -> u64 {
        move |next, offered| offered.min((capacity * next.duration_ns as f64 * 1e-9) as u64)
    }

    #[test]
    fn a_cliff_is_found_within_the_width_of_the_goal() {
        for capacity in [2000.0, 33_333.0, 999_000.0] {
            let (found, trials) = search(goal(0.0), cliff(capacity));
            let found = found.unwrap();
            assert!(found.met && found.lower <= capacity * 1.01, "{found:?}");
            assert!(found.upper.unwrap() >= capacity * 0.99, "{found:?}");
            assert!((found.throughput - found.lower).abs() < 1e-6, "nothing lost: {found:?}");
            assert!(trials.len() < 40, "{}", trials.len());
        }
    }

    #[test]
    fn a_loss_that_the_goal_allows_is_taken_off_the_throughput() {
        let (found, _) = search(goal(0.1), cliff(50_000.0));
        let found = found.unwrap();
        assert!((found.lower / 55_500.0 - 1.0).abs() < 0.015, "{found:?}");
        assert!((found.throughput / 50_000.0 - 1.0).abs() < 0.015, "{found:?}");
    }

    #[test]
    fn ends_of_the_range_are_irregular() {
        let (all, trials) = search(goal(0.0), |_, offered| offered);
        let all = all.unwrap();
        assert!(all.met && all.upper.is_none() && (all.lower - LOADS.most).abs() < 1e-9);
        assert!(trials.iter().all(|trial| (trial.load - LOADS.most).abs() < 1e-9));
        let (none, trials) = search(goal(0.0), |_, _| 0);
        assert_eq!(none, None);
        assert!((trials.last().unwrap().load - LOADS.least).abs() < 1e-9);
    }

    #[test]
    fn stalls_that_the_exceed_ratio_allows_change_nothing() {
        let mut rng = Rng::new(1);
        let mut near = 0;
        for _ in 0..200 {
            let mut system = cliff(40_000.0);
            let stalled = |next, offered| {
                let good = system(next, offered);
                if rng.uniform() < 0.05 { good / 2 } else { good }
            };
            let (found, _) = search(goal(0.0), stalled);
            near += usize::from((found.unwrap().lower / 40_000.0 - 1.0).abs() < 0.02);
        }
        assert!(near > 190, "{near}");
    }

    #[test]
    fn time_ends_a_search_with_what_it_knows() {
        for budget_ms in [50, 150, 300, 450] {
            let most_ns = budget_ms * 1_000_000;
            let (found, trials) = search(LoadGoal { most_ns, ..goal(0.0) }, cliff(40_000.0));
            let spent_ns: u64 = trials.iter().map(|trial| trial.duration_ns).sum();
            assert!(spent_ns <= most_ns);
            assert!(!found.is_some_and(|found| found.met), "{budget_ms} ms: {found:?}");
            assert!(found.is_none_or(|found| found.lower < 40_400.0));
        }
    }

    #[test]
    fn goals_and_ranges_that_make_no_sense_are_refused() {
        let refused = |goal, loads| LoadSearch::new(goal, loads).is_err();
        assert!(refused(goal(1.0), LOADS) && refused(goal(-0.1), LOADS));
        assert!(refused(LoadGoal { exceed_ratio: 1.0, ..goal(0.0) }, LOADS));
        assert!(refused(LoadGoal { width: 0.0, ..goal(0.0) }, LOADS));
        assert!(refused(LoadGoal { initial_trial_ns: 0, ..goal(0.0) }, LOADS));
        assert!(refused(LoadGoal { final_trial_ns: 1, ..goal(0.0) }, LOADS));
        assert!(refused(goal(0.0), Loads { least: 0.0, most: 1.0 }));
        assert!(refused(goal(0.0), Loads { least: 2.0, most: 1.0 }));
        assert!(refused(goal(0.0), Loads { least: 1.0, most: f64::INFINITY }));
        assert!(refused(goal(f64::NAN), LOADS));
    }

    proptest! {
        /// Whatever a system answers: the search ends, stays in its range, asks what it can use, and what it found
        /// follows from the trials in any order.
        #[test]
        fn a_search_of_anything_ends(seed in any::<u64>(), loss in 0.0..0.5f64) {
            let mut answers = Rng::new(seed);
            let wild = |_, offered| ((answers.uniform() * 1.5 * offered as f64) as u64).min(offered);
            let (found, mut trials) = search(goal(loss), wild);
            prop_assert!(trials.iter().all(|trial| (LOADS.least..=LOADS.most).contains(&trial.load)));
            Rng::new(seed).shuffle(&mut trials);
            prop_assert_eq!(found, limit(&goal(loss), &trials));
            if let Some(found) = found {
                prop_assert!(found.upper.is_none_or(|upper| found.lower < upper));
                prop_assert!(found.throughput <= found.lower && found.met);
                prop_assert!(found.throughput >= found.lower * (1.0 - loss) - 1e-9);
            }
        }

        /// A system that loses more at higher loads is found wherever its limit lies.
        #[test]
        fn a_limit_is_found_anywhere(capacity in 5000.0..9e5f64) {
            let found = search(goal(0.0), cliff(capacity)).0.unwrap();
            prop_assert!(found.met && found.lower <= capacity * 1.005);
            prop_assert!(found.upper.is_some_and(|upper| upper >= capacity * 0.995));
        }
    }
}
