//! Stored runs compared with the first of them.
//!
//! Stored runs were measured at other times, so the noise between runs counts too: it is estimated from earlier runs of
//! the same series on the same machine in the same environment. If there are too few of them, there is no verdict, but
//! the noise that would explain the difference away.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{Better, By, Id, PointFacts, RunOfSeries, SeriesInRun};
use plumb_stats::Interval;
use plumb_stats::multiple::mean_log_ratio;

use crate::asked::Asked;
use crate::comparison::covariates::{Covariate, facts_that_differ};
use crate::comparison::finding::{Arm, ComparisonFinding, ForPrice, SeriesComparison};
use crate::comparison::verdict::Comparison;
use crate::estimate::{Ends, Estimate, estimate};
use crate::method::{CONFIDENCE, METHOD_VERSION};
use crate::over_runs::arms::{ArmRuns, CompareSettings, groups};
use crate::over_runs::environment_diff::{Difference, differences};
use crate::over_runs::noise::RunsNoise;
use crate::over_runs::normalise::normalise;
use crate::over_runs::rank_arms::ArmRanks;
use crate::over_runs::runs::by_runs;
use crate::over_runs::standing_out::{Candidate, StandingOut, standing_out};
use crate::run_reader::RunReader;

/// Every series of an arm by its name among those that are compared, in the runs of the arm that have it.
type SeriesOfArm<'s> = BTreeMap<String, Vec<&'s SeriesInRun>>;

/// Stored runs compared with the first of them and with the one before. `series` are those of `runs`; a run that
/// measured nothing has none, and is an arm all the same. `earlier` are the series of further runs, which show how
/// much runs differ by themselves.
///
/// # Errors
/// When `reader` cannot read a run.
pub fn compare<E>(
    runs: &[Arc<RunOfSeries>],
    series: &[SeriesInRun],
    earlier: &[SeriesInRun],
    settings: &CompareSettings,
    reader: &mut RunReader<'_, E>,
) -> Result<ComparisonFinding, E> {
    let by_run = by_run(series);
    let groups = groups(runs, settings);
    let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
    let arms: Vec<SeriesOfArm> =
        groups.iter().map(|group| series_of_arm(group, &by_run, settings)).collect();
    let noise = noise(runs, &by_run, earlier, settings);
    let order = series_in_order(&arms);
    let mut results = Vec::new();
    let mut ranks = ArmRanks::default();
    for name in order.iter().filter(|name| is_common(name, &arms)) {
        let mut result = one_series(name, &arms, &noise, settings, reader)?;
        let in_arms = in_arms(name, &arms);
        let prices: Vec<Option<(f64, String)>> =
            in_arms.iter().map(|in_runs| price_of(in_runs.first()?, settings)).collect();
        result.ranking = ranks.of(&in_arms, &prices, result.better);
        results.push(result);
    }
    let differences = differences(&runs_of(&groups));
    let machines_differ = machines_differ(runs);
    let mut standing_out = Vec::new();
    for arm in 1..names.len() {
        standing_out.push((!machines_differ).then(|| mark_standing_out(&mut results, arm, &noise)));
    }
    explain(&mut results, &arms, &differences, settings, reader)?;
    let normalised_by = settings
        .normalise_by
        .as_ref()
        .and_then(|name| normalise(&mut results, name, &in_arms(name, &arms)));
    let mut overall = Vec::new();
    for arm in 1..names.len() {
        // Several metrics of one point would count as if they knew nothing of each other.
        let is_counted = !settings.every_metric;
        overall.push(is_counted.then(|| geometric_mean(&results, arm - 1)).flatten());
    }
    Ok(ComparisonFinding {
        method: METHOD_VERSION,
        runs: runs.to_vec(),
        by: settings.by.clone(),
        margin: settings.margin,
        confidence: CONFIDENCE,
        paired: false,
        machines_differ,
        differences,
        overall,
        standing_out,
        results,
        not_in_all: not_in_all(&order, &arms, &names),
        normalised_by,
        arms: names,
    })
}

fn by_run(series: &[SeriesInRun]) -> BTreeMap<Id, Vec<&SeriesInRun>> {
    let mut found: BTreeMap<Id, Vec<&SeriesInRun>> = BTreeMap::new();
    for one in series {
        found.entry(one.run.run).or_default().push(one);
    }
    found
}

/// What earlier runs show of the noise, next to the first run that measured something.
fn noise(
    runs: &[Arc<RunOfSeries>],
    by_run: &BTreeMap<Id, Vec<&SeriesInRun>>,
    earlier: &[SeriesInRun],
    settings: &CompareSettings,
) -> RunsNoise {
    // Series of different workloads have the same name here: earlier runs of one say nothing of the other.
    if settings.across {
        return RunsNoise::default();
    }
    let first = runs.iter().find_map(|run| by_run.get(&run.run)).map_or(&[][..], Vec::as_slice);
    RunsNoise::of(first.iter().copied(), earlier, settings.one_machine())
}

fn series_of_arm<'s>(
    group: &ArmRuns,
    by_run: &BTreeMap<Id, Vec<&'s SeriesInRun>>,
    settings: &CompareSettings,
) -> SeriesOfArm<'s> {
    let mut found = SeriesOfArm::new();
    for &series in group.runs.iter().filter_map(|run| by_run.get(&run.run)).flatten() {
        if !series.primary && !settings.every_metric {
            continue;
        }
        let name = match settings.across {
            true => {
                let unit = plumb_units::stored_unit(&series.unit);
                format!("{}/{} in {unit}", series.point.name, series.metric)
            }
            false => series.comparable_name(),
        };
        found.entry(name).or_default().push(series);
    }
    found
}

/// All series: those of the first arm in the order of its points, then others.
fn series_in_order(arms: &[SeriesOfArm]) -> Vec<String> {
    let mut order: Vec<(usize, usize, String)> = Vec::new();
    for (arm, series) in arms.iter().enumerate() {
        for (name, in_runs) in series {
            if !order.iter().any(|(_, _, known)| known == name) {
                order.push((arm, in_runs[0].point.index, name.clone()));
            }
        }
    }
    order.sort();
    order.into_iter().map(|(_, _, name)| name).collect()
}

/// Whether the first arm has the series in common with another.
fn is_common(name: &str, arms: &[SeriesOfArm]) -> bool {
    let with = arms.iter().filter(|arm| arm.contains_key(name)).count();
    arms.first().is_some_and(|arm| arm.contains_key(name)) && with > 1
}

/// The series that only some arms have, with the names of these.
fn not_in_all(
    order: &[String],
    arms: &[SeriesOfArm],
    names: &[String],
) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for series in order {
        let arms_with = arms.iter().zip(names).filter(|(arm, _)| arm.contains_key(series));
        let with: Vec<String> = arms_with.map(|(_, name)| name.clone()).collect();
        if with.len() < names.len() {
            found.push((series.clone(), with));
        }
    }
    found
}

fn runs_of<'r>(groups: &[ArmRuns<'r>]) -> Vec<Vec<&'r RunOfSeries>> {
    groups.iter().map(|group| group.runs.clone()).collect()
}

fn machines_differ(runs: &[Arc<RunOfSeries>]) -> bool {
    runs.iter()
        .enumerate()
        .any(|(index, one)| runs[..index].iter().any(|other| !one.is_one_machine(other, By::Host)))
}

/// A series in each arm.
fn in_arms<'a, 's>(name: &str, arms: &'a [SeriesOfArm<'s>]) -> Vec<&'a [&'s SeriesInRun]> {
    arms.iter().map(|arm| arm.get(name).map_or(&[][..], Vec::as_slice)).collect()
}

fn one_series<E>(
    name: &str,
    arms: &[SeriesOfArm],
    noise: &RunsNoise,
    settings: &CompareSettings,
    reader: &mut RunReader<'_, E>,
) -> Result<SeriesComparison, E> {
    let in_arms = in_arms(name, arms);
    let mut given = Vec::new();
    let mut against_first = Vec::new();
    let mut against_previous = Vec::new();
    for (arm, in_runs) in in_arms.iter().enumerate() {
        given.push(arm_of(in_runs, settings, reader)?);
        if arm > 0 {
            against_first.push(against(in_arms[0], in_runs, noise, settings.margin));
        }
        // Of two arms the one before is the first.
        if arm > 0 && arms.len() > 2 {
            against_previous.push(against(in_arms[arm - 1], in_runs, noise, settings.margin));
        }
    }
    let first = in_arms.iter().find_map(|in_runs| in_runs.first());
    Ok(SeriesComparison {
        series: name.to_owned(),
        point: first.map_or_else(PointFacts::default, |series| series.point.as_ref().clone()),
        primary: first.is_some_and(|series| series.primary),
        metric: first.map_or_else(String::new, |series| series.metric.clone()),
        unit: first.map_or_else(String::new, |series| series.unit.clone()),
        better: first.map_or(Better::Neither, |series| series.better),
        against_first,
        against_previous,
        ranking: None,
        arms: given,
    })
}

/// One arm compared with another; None if either lacks the series.
fn against(
    other: &[&SeriesInRun],
    this: &[&SeriesInRun],
    noise: &RunsNoise,
    margin: f64,
) -> Option<Comparison> {
    match (other, this) {
        ([], _) | (_, []) => None,
        _ => Some(by_runs(other, this, noise, margin)),
    }
}

/// What an arm gives; None if it lacks the series.
fn arm_of<E>(
    in_runs: &[&SeriesInRun],
    settings: &CompareSettings,
    reader: &mut RunReader<'_, E>,
) -> Result<Option<Arm>, E> {
    let Some(first) = in_runs.first() else { return Ok(None) };
    let price = price_of(first, settings);
    let arm = reader.arm(in_runs)?;
    Ok(arm.map(|arm| {
        let for_price = price.map(|(price, currency)| {
            let factor = if first.better == Better::Higher { price.recip() } else { price };
            ForPrice { value: scaled(&arm.estimate, factor), currency }
        });
        Arm { for_price, ..arm }
    }))
}

/// The price of the run of a series, and its currency.
fn price_of(series: &SeriesInRun, settings: &CompareSettings) -> Option<(f64, String)> {
    price(series.run.labels.get(&settings.price)?)
}

/// An estimate times a factor above 0.
fn scaled(found: &Estimate, factor: f64) -> Estimate {
    Estimate {
        value: found.value * factor,
        interval: found
            .interval
            .clone()
            .map(|ends| Ends { low: ends.low * factor, high: ends.high * factor }),
    }
}

/// A price that can be multiplied with and divided by, and its currency: `19.95`, `19.95 USD`, `$19.95`.
fn price(text: &str) -> Option<(f64, String)> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let (before, rest) = text.split_at(text.find(is_of_number)?);
    let (number, after) = rest.split_at(rest.find(|c| !is_of_number(c)).unwrap_or(rest.len()));
    let currency = match (before.trim(), after.trim()) {
        (currency, "") | ("", currency) => currency,
        _ => return None,
    };
    let known = match currency {
        "$" => "USD",
        "€" => "EUR",
        "£" => "GBP",
        word if word.chars().all(|c| c.is_alphabetic() || c == '/') => word,
        _ => return None,
    };
    let price = number.parse().ok().filter(|price: &f64| *price > 0.0)?;
    Some((price, known.to_owned()))
}

/// Says of every arm that differs from the first what else changed, whether or not the noise between runs is known well
/// enough for a verdict.
fn explain<E>(
    results: &mut [SeriesComparison],
    arms: &[SeriesOfArm],
    differences: &[Difference],
    settings: &CompareSettings,
    reader: &mut RunReader<'_, E>,
) -> Result<(), E> {
    if !reader.asks_what_changed() {
        return Ok(());
    }
    for result in results {
        for (index, against) in result.against_first.iter_mut().enumerate() {
            let later = index + 1;
            let Some(against) = against.as_mut().filter(|against| against.differs()) else {
                continue;
            };
            let mut changed: Vec<Covariate> = facts_that_differ(differences, 0, later);
            // Different workloads take other resources whatever else changed.
            if !settings.across {
                let name = &result.series;
                changed.extend(reader.rates(&arms[0][name], &arms[later][name])?);
            }
            against.covariates = Asked::list(changed);
        }
    }
    Ok(())
}

/// Which series of an arm moved unlike the others, and the remark on each of them.
fn mark_standing_out(
    results: &mut [SeriesComparison],
    arm: usize,
    noise: &RunsNoise,
) -> StandingOut {
    let first_metrics = results.iter().enumerate().filter(|(_, result)| result.primary);
    let candidates = first_metrics.filter_map(|(place, result)| {
        let estimate = |arm: usize| Some(&result.arms.get(arm)?.as_ref()?.estimate);
        let against = result.against_first.get(arm - 1)?.as_ref()?;
        let earlier = noise.beside_common(&result.series);
        Some(Candidate { place, against, estimates: (estimate(0)?, estimate(arm)?), earlier })
    });
    let found = standing_out(candidates);
    for &place in found.places() {
        let against =
            results.get_mut(place).and_then(|result| result.against_first.get_mut(arm - 1));
        against.into_iter().flatten().for_each(Comparison::mark_standing_out);
    }
    found
}

/// The geometric mean of one arm's ratios; without an interval where one of theirs leaves the noise
/// between runs out.
fn geometric_mean(results: &[SeriesComparison], arm: usize) -> Option<Estimate> {
    let all: Vec<Interval> =
        results.iter().filter_map(|result| log_ratio_of(result, arm)).collect();
    if all.len() < 2 {
        return None;
    }
    let mean = mean_log_ratio(&all, CONFIDENCE).ok()?;
    let value = mean.estimate.exp();
    if results.iter().all(|result| is_noise_known(result, arm)) {
        return Some(estimate(value, Ok(mean.map(f64::exp))));
    }
    Some(Estimate {
        value,
        interval: Err("too little is known about the noise between runs".into()),
    })
}

/// The log of one arm's ratio with its interval.
fn log_ratio_of(result: &SeriesComparison, arm: usize) -> Option<Interval> {
    let ratio = result.against_first.get(arm)?.as_ref()?.ratio.as_ref()?;
    let ends = ratio.interval.as_ref().ok()?;
    Some(Interval { estimate: ratio.value.ln(), low: ends.low.ln(), high: ends.high.ln() })
}

/// Whether the interval of one arm's ratio, if there is a ratio, allows for the noise between runs: only then there is
/// a verdict.
fn is_noise_known(result: &SeriesComparison, arm: usize) -> bool {
    let against = result.against_first.get(arm).and_then(Option::as_ref);
    against.is_none_or(|found| found.ratio.is_none() || found.verdict.is_ok())
}
