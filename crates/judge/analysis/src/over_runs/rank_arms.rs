//! Which ranks the arms of a comparison can have, by cost and by cost times price: docs/method.md, *Ranks*.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{Better, SeriesInRun};
use plumb_stats::describe::median;
use plumb_stats::ranks::{FEWEST_VALUES, IndependentDraws, NoRanking, RankSet, Ranking};
use plumb_stats::rng::Rng;

use crate::method::CONFIDENCE;
use crate::over_runs::costs::{began_s, run_cost};

/// With two arms the verdict says which is better.
const FEWEST_ARMS: usize = 3;
/// More arms have no ranks: the draws of all their pairs would take minutes.
const MOST_ARMS: usize = 100;
/// Runs of one host that begin within so many seconds share what disturbs that host, so they count as one value.
const SESSION_S: f64 = 3600.0;
/// Seed of the simulated critical values, so that a comparison is the same whenever it is shown.
const SEED: u64 = 20_261_201;

/// The possible ranks of all arms of a series. All of them together hold with the level of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmRanking {
    /// One per arm; None if it lacks the series.
    pub arms: Vec<Option<RankedArm>>,
}

/// The possible ranks of an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedArm {
    /// By cost: rank 1 is the fastest.
    pub ranks: RankSet,
    /// By cost times price, and the place among prices; None unless all arms have a price in one currency.
    pub by_price: Option<RankedByPrice>,
}

/// An arm next to others with other prices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedByPrice {
    /// By cost times price: rank 1 gives most for its price.
    pub ranks: RankSet,
    /// Whether it is on the Pareto front.
    pub front: ParetoFront,
}

/// Whether an arm is on the Pareto front: no other arm is faster at the same price or a lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParetoFront {
    /// It is faster than all arms that cost no more.
    On,
    /// An arm that costs no more is faster.
    Off {
        /// The index of that arm.
        because_of: usize,
    },
    /// The data leave it open.
    Open,
}

/// Why the arms of a series have no ranks.
#[derive(Debug, Clone, PartialEq)]
pub enum NoArmRanking {
    /// An arm has too few values that are independent of each other.
    TooFewValues {
        /// The index of the arm.
        arm: usize,
        /// How many it has.
        have: usize,
    },
    /// There are more arms than can be ranked.
    TooManyArms,
    /// The ranking itself failed.
    Values(NoRanking),
}

impl NoArmRanking {
    /// The sentence to show, without its full stop; `arms` are the names of the arms.
    #[must_use]
    pub fn text(&self, arms: &[String]) -> String {
        match self {
            Self::TooFewValues { arm, have } => {
                let name = arms.get(*arm).map_or("an arm", String::as_str);
                format!(
                    "Ranks need runs of {FEWEST_VALUES} hosts, or of {FEWEST_VALUES} different hours on one host, of each \
                     arm; {name} has {have}"
                )
            }
            Self::TooManyArms => format!("More than {MOST_ARMS} arms have no ranks"),
            Self::Values(why) => format!("No ranks: {why}"),
        }
    }
}

/// Ranks the arms of one series after the other.
#[derive(Default)]
pub(crate) struct ArmRanks {
    /// The draws of the last series, with the number of values of each arm: most series have the same.
    draws: Option<(Vec<usize>, IndependentDraws)>,
}

impl ArmRanks {
    /// The ranks of the arms of a series, from the runs of each arm and its price with its currency. None with too few arms,
    /// and if neither direction of the metric is better.
    pub(crate) fn of(
        &mut self,
        arms: &[&[&SeriesInRun]],
        prices: &[Option<(f64, String)>],
        better: Better,
    ) -> Option<Result<ArmRanking, NoArmRanking>> {
        // Arms without the series have no rank; all others have one.
        let with: Vec<usize> = (0..arms.len()).filter(|arm| !arms[*arm].is_empty()).collect();
        let prices = one_currency(&with, prices);
        let fewest = if prices.is_some() { 2 } else { FEWEST_ARMS };
        if with.len() < fewest || better == Better::Neither {
            return None;
        }
        if with.len() > MOST_ARMS {
            return Some(Err(NoArmRanking::TooManyArms));
        }
        let values: Vec<Vec<f64>> = with.iter().map(|arm| independent_costs(arms[*arm])).collect();
        for (arm, values) in with.iter().zip(&values) {
            if values.len() < FEWEST_VALUES {
                return Some(Err(NoArmRanking::TooFewValues { arm: *arm, have: values.len() }));
            }
        }
        Some(self.ranked(arms.len(), &with, &values, prices.as_deref()))
    }

    fn ranked(
        &mut self,
        arms: usize,
        with: &[usize],
        values: &[Vec<f64>],
        prices: Option<&[f64]>,
    ) -> Result<ArmRanking, NoArmRanking> {
        let sizes: Vec<usize> = values.iter().map(Vec::len).collect();
        if self.draws.as_ref().is_none_or(|(known, _)| *known != sizes) {
            let draws = IndependentDraws::new(&sizes, &mut Rng::new(SEED));
            self.draws = Some((sizes, draws));
        }
        let by_cost = self.rank(values)?;
        let by_price = match prices {
            Some(prices) => Some(self.rank(&times_price(values, prices))?),
            None => None,
        };
        let mut ranked = vec![None; arms];
        for (item, arm) in with.iter().enumerate() {
            let found = by_price.as_ref().zip(prices).map(|(by_price, prices)| RankedByPrice {
                ranks: by_price.sets[item],
                front: front(item, with, &by_cost, prices),
            });
            ranked[*arm] = Some(RankedArm { ranks: by_cost.sets[item], by_price: found });
        }
        Ok(ArmRanking { arms: ranked })
    }

    fn rank(&self, values: &[Vec<f64>]) -> Result<Ranking, NoArmRanking> {
        let (_, draws) = self.draws.as_ref().ok_or(NoArmRanking::Values(NoRanking::OtherShape))?;
        draws.rank(values, CONFIDENCE).map_err(NoArmRanking::Values)
    }
}

/// The prices of these arms, if all have one in the same currency.
fn one_currency(with: &[usize], prices: &[Option<(f64, String)>]) -> Option<Vec<f64>> {
    let mut amounts = Vec::with_capacity(with.len());
    let mut currencies = BTreeSet::new();
    for arm in with {
        let (amount, currency) = prices[*arm].as_ref()?;
        amounts.push(*amount);
        currencies.insert(currency);
    }
    (currencies.len() == 1).then_some(amounts)
}

fn times_price(values: &[Vec<f64>], prices: &[f64]) -> Vec<Vec<f64>> {
    values
        .iter()
        .zip(prices)
        .map(|(values, price)| values.iter().map(|cost| cost + price.ln()).collect())
        .collect()
}

/// Log costs of an arm that are independent of each other: one per host, or of a single host one per session.
fn independent_costs(runs: &[&SeriesInRun]) -> Vec<f64> {
    let mut by_host: BTreeMap<String, Vec<&SeriesInRun>> = BTreeMap::new();
    for series in runs {
        by_host.entry(series.run.host().to_string()).or_default().push(series);
    }
    let groups: Vec<Vec<&SeriesInRun>> =
        if by_host.len() > 1 { by_host.into_values().collect() } else { sessions(runs) };
    groups
        .iter()
        .filter_map(|group| {
            let costs: Vec<f64> = group.iter().filter_map(|series| run_cost(series)).collect();
            median(&costs)
        })
        .collect()
}

/// The runs of one host by sessions. Runs without a date are one session, since nothing says how far apart they are.
fn sessions<'s>(runs: &[&'s SeriesInRun]) -> Vec<Vec<&'s SeriesInRun>> {
    let mut in_time = runs.to_vec();
    in_time.sort_by_key(|series| series.run.started_unix_ns);
    let mut found: Vec<(Option<f64>, Vec<&SeriesInRun>)> = Vec::new();
    for series in in_time {
        let began = began_s(&series.run);
        let continued =
            found.last_mut().filter(|(session_began, _)| match (*session_began, began) {
                (Some(session_began), Some(began)) => began - session_began < SESSION_S,
                (session_began, began) => session_began == began,
            });
        match continued {
            Some((_, session)) => session.push(series),
            None => found.push((began, vec![series])),
        }
    }
    found.into_iter().map(|(_, session)| session).collect()
}

/// Whether an item is on the Pareto front of cost and price. The simultaneous intervals of all differences hold together, so
/// what is said of all items does, too.
fn front(item: usize, with: &[usize], by_cost: &Ranking, prices: &[f64]) -> ParetoFront {
    let mut is_open = false;
    for other in (0..with.len()).filter(|other| *other != item) {
        if prices[other] > prices[item] {
            continue;
        }
        let above = by_cost.difference(other, item);
        if above.low > 0.0 {
            return ParetoFront::Off { because_of: with[other] };
        }
        is_open |= above.high >= 0.0;
    }
    if is_open { ParetoFront::Open } else { ParetoFront::On }
}
