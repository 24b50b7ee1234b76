//! Covariates: what else changed with a difference. The rates and facts that changed between two arms, the
//! farthest apart first.
//!
//! A covariate need not be the cause of the difference, but a cause that anything here sees is among them.
//! There is one value an invocation: what an iteration of the work took of every resource, and what the
//! monitors beside it counted a second. Their effect is Cliff's delta, which knows no unit; those that equal
//! arms might show by chance are left out by Benjamini and Hochberg's rule over all rates.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{
    Counter, CounterAmount, CounterKind, Id, Impact, InvocationRecord, TICKS_PER_S, Usage,
};
use plumb_stats::describe::{mean, median};
use plumb_stats::effect::{RankEffect, rank_effect};
use plumb_stats::multiple::{benjamini_hochberg, crashes_differ};
use plumb_stats::standing_out::FALSE_SHARE;

use crate::over_runs::environment_diff::Difference;

/// What monitors' counters came to beside each invocation.
pub type CounterMeans = BTreeMap<Id, Vec<CounterAmount>>;

/// A rate that moved less than this, relative, explains nothing.
const LEAST_CHANGE: f64 = 0.01;
/// Events an invocation by which a count must change to be told.
const FEWEST_EVENTS: f64 = 5.0;

/// The rate of CPU time that neither plumb nor anything that it started used.
pub(crate) const FOREIGN_CPU: &str = "CPU time of other processes per invocation";

/// One part in so many of an invocation may pass without a reading of plumb's own processes.
const MOST_UNREAD: u64 = 10;

/// The smallest difference of two shares that is told.
const LEAST_OF_SHARES: f64 = 0.3;

/// Something that changed between two arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Covariate {
    /// What: a counter, a rate of resource use, or a fact of machine or environment.
    pub what: String,
    /// How it moved.
    pub how: CovariateChange,
    /// From -1 (all of it below) by way of 0 to 1 (all of it above): Cliff's delta; 1 for a fact.
    pub effect: f64,
}

/// How something changed.
#[derive(Debug, Clone, PartialEq)]
pub enum CovariateChange {
    /// A rate: the medians over invocations.
    Rate {
        /// In the first arm.
        from: f64,
        /// In the later one.
        to: f64,
        /// The unit of both.
        unit: String,
    },
    /// A fact of the machine or the run: its values.
    Fact {
        /// In the first arm.
        from: String,
        /// In the later one.
        to: String,
        /// How bad such a difference is.
        impact: Impact,
    },
}

/// Facts that differ and matter, the worst first.
pub(crate) fn facts_that_differ(
    differences: &[Difference],
    first: usize,
    later: usize,
) -> Vec<Covariate> {
    let moved = |difference: &Difference| {
        let from = difference.values.get(first)?;
        let to = difference.values.get(later)?;
        let impact = difference.impact;
        let how = CovariateChange::Fact { from: from.clone(), to: to.clone(), impact };
        let told = from != to && impact != Impact::Harmless;
        told.then(|| Covariate { what: difference.field.clone(), how, effect: 1.0 })
    };
    differences.iter().filter_map(moved).collect()
}

/// Rates that lie apart in two groups of invocations, the farthest first.
pub(crate) fn rates_that_differ(
    from: &[&InvocationRecord],
    to: &[&InvocationRecord],
    counters: &CounterMeans,
) -> Vec<Covariate> {
    let before = ArmRates::of(from, counters);
    let after = ArmRates::of(to, counters);
    let names: BTreeSet<&String> = before.rates.keys().chain(after.rates.keys()).collect();
    let compared: Vec<(&String, RankEffect, Rates, Rates)> = names
        .into_iter()
        .filter_map(|name| {
            let like = before.rates.get(name).or(after.rates.get(name))?;
            let one = before.rates(name, like);
            let other = after.rates(name, like);
            let effect = rank_effect(&one.values, &other.values).ok()?;
            Some((name, effect, one, other))
        })
        .collect();
    let p_values: Vec<f64> = compared.iter().map(|(_, effect, ..)| effect.p).collect();
    let told = benjamini_hochberg(&p_values, FALSE_SHARE);
    let mut moved: Vec<(f64, Covariate)> = compared
        .into_iter()
        .zip(told)
        .filter(|(_, told)| *told)
        .filter_map(|((name, effect, one, other), _)| {
            let change = change(&one, &other)?;
            let from = median(&one.values)?;
            let to = median(&other.values)?;
            let how = CovariateChange::Rate { from, to, unit: one.unit };
            Some((change, Covariate { what: name.clone(), how, effect: effect.delta }))
        })
        .collect();
    // To a tenth of the effect, what changed by more goes first.
    let tenths = |found: &(f64, Covariate)| (found.1.effect.abs() * 10.0).round();
    moved.sort_by(|one, other| {
        tenths(other).total_cmp(&tenths(one)).then(other.0.total_cmp(&one.0))
    });
    moved.into_iter().map(|(_, moved)| moved).collect()
}

/// What holds of other shares of two groups, the farthest apart first; each of a group has the names of all that holds
/// of it.
///
/// Neighbours in time are alike, so that chance moves shares by more than where each knows nothing of the others: only
/// large differences are told.
pub(crate) fn shares_that_differ(
    from: &[BTreeSet<String>],
    to: &[BTreeSet<String>],
) -> Vec<Covariate> {
    let names: BTreeSet<&String> = from.iter().chain(to).flatten().collect();
    let count = |group: &[BTreeSet<String>], name: &String| {
        (group.iter().filter(|seen| seen.contains(name)).count() as u64, group.len() as u64)
    };
    let moved = |name: &&String| {
        let one = count(from, name);
        let other = count(to, name);
        #[expect(clippy::cast_precision_loss, reason = "counts of samples")]
        let percent = |(own, all): (u64, u64)| 100.0 * own as f64 / all as f64;
        let was = percent(one);
        let is = percent(other);
        let effect = (is - was) / 100.0;
        let how = CovariateChange::Rate { from: was, to: is, unit: "%".to_owned() };
        let chance = crashes_differ(one, other);
        let told = effect.abs() >= LEAST_OF_SHARES && chance < FALSE_SHARE / names.len() as f64;
        told.then(|| Covariate { what: (*name).clone(), how, effect })
    };
    let mut moved: Vec<Covariate> = names.iter().filter_map(moved).collect();
    moved.sort_by(|one, other| other.effect.abs().total_cmp(&one.effect.abs()));
    moved
}

/// By how much a rate changed, as the absolute log of a ratio; None when that is too little to matter.
fn change(one: &Rates, other: &Rates) -> Option<f64> {
    let from = mean(&one.values)?;
    let to = mean(&other.values)?;
    let over = mean(&one.counted_over)?.max(mean(&other.counted_over)?);
    let grain = if one.is_count { 1.0 / over } else { 0.0 };
    if one.is_count && (to - from).abs() * over < FEWEST_EVENTS {
        return None;
    }
    let change = ((to + grain) / (from + grain)).ln().abs();
    // From nothing to something is the largest change of all.
    let change = if change.is_nan() { 0.0 } else { change.min(f64::MAX) };
    (change >= LEAST_CHANGE).then_some(change)
}

/// The CPU time of other processes in each of the invocations of which it is known, in seconds.
pub(crate) fn foreign_cpu_s(
    invocations: &[&InvocationRecord],
    counters: &CounterMeans,
) -> Vec<f64> {
    let mut arm = ArmRates::of(invocations, counters);
    arm.rates.remove(FOREIGN_CPU).map_or_else(Vec::new, |rates| rates.values)
}

/// A rate in the invocations of an arm.
#[derive(Debug, Clone, Default)]
struct Rates {
    unit: String,
    /// Whether it counts events, whose number has a grain.
    is_count: bool,
    /// Whether it is a level, not something that grows.
    is_level: bool,
    values: Vec<f64>,
    /// The seconds, or the iterations, that each was counted over.
    counted_over: Vec<f64>,
}

/// The invocations of an arm, by their rates.
struct ArmRates {
    rates: BTreeMap<String, Rates>,
    /// How long the monitors read beside each of the monitored invocations.
    monitored: Vec<f64>,
}

/// Devices whose numbers say only which were free when they were made, such as plumb's own media.
const NUMBERED_DEVICES: [&str; 4] = ["loop", "ram", "zram", "dm-"];

/// The amounts with those of all devices of such a kind together: the media of two sides have different numbers, which is no
/// difference.
fn over_numbered_devices(amounts: &[CounterAmount]) -> Vec<CounterAmount> {
    let mut pooled: Vec<CounterAmount> = Vec::with_capacity(amounts.len());
    for amount in amounts {
        let Some(name) = without_number(&amount.counter.name) else {
            pooled.push(amount.clone());
            continue;
        };
        if let Some(sum) = pooled.iter_mut().find(|other| other.counter.name == name) {
            sum.amount += amount.amount;
            sum.duration_ns = sum.duration_ns.max(amount.duration_ns);
        } else {
            let counter = Counter { name, ..amount.counter.clone() };
            pooled.push(CounterAmount { counter, ..amount.clone() });
        }
    }
    pooled
}

/// `diskstats.loop.busy` of `diskstats.loop3.busy`; None of counters of anything else.
fn without_number(name: &str) -> Option<String> {
    let (device, rest) = name.strip_prefix("diskstats.")?.split_once('.')?;
    let kind = NUMBERED_DEVICES.iter().find(|kind| {
        let number = device.strip_prefix(**kind).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })?;
    Some(format!("diskstats.{kind}.{rest}"))
}

impl ArmRates {
    fn of(invocations: &[&InvocationRecord], counters: &CounterMeans) -> Self {
        let mut arm = Self { rates: BTreeMap::new(), monitored: Vec::new() };
        for invocation in invocations {
            arm.add_own(invocation);
            let Some(amounts) = counters.get(&invocation.invocation) else { continue };
            let amounts = &over_numbered_devices(amounts);
            let longest = amounts.iter().map(|amount| amount.duration_ns).max().unwrap_or(0);
            arm.monitored.push(seconds(longest));
            amounts.iter().for_each(|amount| arm.add(amount));
            arm.add_foreign_cpu(amounts);
        }
        arm
    }

    /// The rates of this name. Where a counter is missing beside an invocation that was monitored, it did not
    /// move.
    fn rates(&self, name: &str, like: &Rates) -> Rates {
        let mut rates = self.rates.get(name).cloned().unwrap_or_else(|| Rates {
            values: Vec::new(),
            counted_over: Vec::new(),
            ..like.clone()
        });
        if !rates.is_level {
            for missing in rates.values.len()..self.monitored.len() {
                rates.values.push(0.0);
                rates.counted_over.push(self.monitored[missing]);
            }
        }
        rates
    }

    /// CPU time of the machine that is not plumb's and of nothing that plumb started, in seconds. Not if the time of plumb's
    /// own processes is not known up to the end.
    fn add_foreign_cpu(&mut self, amounts: &[CounterAmount]) {
        let named = |name: &str| amounts.iter().find(|amount| amount.counter.name == name);
        // Counters that did not move are not among the amounts; the number of processes is, whenever they are read.
        if named("tree.processes").is_none() {
            return;
        }
        let all = [named("stat.user"), named("stat.nice"), named("stat.system")];
        let own = [named("tree.user"), named("tree.system")];
        let all_ns = all.iter().flatten().map(|amount| amount.duration_ns).max().unwrap_or(0);
        let own_ns = own.iter().flatten().map(|amount| amount.duration_ns).max();
        if own_ns.is_some_and(|own_ns| own_ns < all_ns - all_ns / MOST_UNREAD) {
            return;
        }
        let all_ticks: u64 = all.iter().flatten().map(|amount| amount.amount).sum();
        let own_ticks: u64 = own.iter().flatten().map(|amount| amount.amount).sum();
        // A level: where it is missing it is not known, and not zero.
        let rates = self.rates.entry(FOREIGN_CPU.to_owned()).or_insert_with(|| Rates {
            unit: "s".to_owned(),
            is_level: true,
            ..Rates::default()
        });
        #[expect(clippy::cast_precision_loss, reason = "ticks of one invocation")]
        rates.values.push(all_ticks.saturating_sub(own_ticks) as f64 / TICKS_PER_S);
        rates.counted_over.push(1.0);
    }

    fn add(&mut self, amount: &CounterAmount) {
        let Some(rate) = amount.rate() else { return };
        let counter = &amount.counter;
        let is_level = counter.kind == CounterKind::Gauge;
        let rates = self.rates.entry(counter.name.clone()).or_insert_with(|| Rates {
            unit: counter.rate_unit(),
            is_count: !is_level && counter.unit.is_empty(),
            is_level,
            ..Rates::default()
        });
        rates.values.push(rate);
        rates.counted_over.push(seconds(amount.duration_ns));
    }

    /// What an iteration of the work itself took, over all batches of an invocation.
    fn add_own(&mut self, invocation: &InvocationRecord) {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let iterations = invocation.samples.iterations.iter().sum::<u64>() as f64;
        if iterations <= 0.0 || invocation.usage.is_empty() {
            return;
        }
        for (name, unit, of) in OWN {
            let amount: u64 = invocation.usage.iter().map(of).sum();
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            let amount = if unit == "s" { seconds(amount) } else { amount as f64 };
            let rates = self.rates.entry(name.to_owned()).or_insert_with(|| Rates {
                unit: unit.to_owned(),
                is_count: unit.is_empty(),
                ..Rates::default()
            });
            rates.values.push(amount / iterations);
            rates.counted_over.push(iterations);
        }
    }
}

/// What resource use tells of an iteration: name, unit, amount.
type Own = (&'static str, &'static str, fn(&Usage) -> u64);

const OWN: [Own; 9] = [
    ("user time per iteration", "s", |usage| usage.user_ns),
    ("system time per iteration", "s", |usage| usage.system_ns),
    ("time off CPU per iteration", "s", |usage| {
        usage.wall_ns.saturating_sub(usage.user_ns + usage.system_ns)
    }),
    ("minor faults per iteration", "", |usage| usage.minor_faults),
    ("major faults per iteration", "", |usage| usage.major_faults),
    ("voluntary switches per iteration", "", |usage| usage.voluntary_switches),
    ("involuntary switches per iteration", "", |usage| usage.involuntary_switches),
    ("device reads per iteration", "B", |usage| usage.device_read_bytes.unwrap_or(0)),
    ("device writes per iteration", "B", |usage| usage.device_written_bytes.unwrap_or(0)),
];

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of one invocation")]
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
