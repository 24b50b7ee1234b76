//! The rules that find reasons to distrust. Each looks at one thing and says what it saw.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{
    Flag, FlagKind, InvocationRecord, Metric, QuantityKind, Role, RunRecord, trials,
};
use plumb_stats::describe::{median, quantile_of_sorted};
use plumb_stats::search::{SearchLimit, limit};
use plumb_units::{percent, seconds_to};

use crate::facts::loads;
use crate::one_run::finding::Finding;
use crate::one_run::histogram;
use crate::one_run::point_data::PointData;
use crate::one_run::work_differs::work_differs;
use crate::over_runs::environment_diff::is_of_environment;

/// Reached over wanted half-width from which on a result is noisy.
const NOISY_OVER: f64 = 2.0;
/// Fewest processes in which drift is looked for.
const FEWEST_FOR_DRIFT: usize = 8;
/// More processes than this are looked at in blocks.
const MOST_FOR_DRIFT: usize = 200;
/// Standard score of Kendall's count from which on an order is no chance (two-sided 1 %).
const DRIFT_SCORE: f64 = 2.576;
/// Smallest relative drift over a run that matters.
const DRIFT_SIZE: f64 = 0.01;
/// Share of the invocations without steady state from which on the result is unsteady.
const UNSTEADY_SHARE: f64 = 0.2;
/// Cost of reading the clock over the length of a sample from which on it is said.
const OVERHEAD_SHARE: f64 = 0.001;
/// Between two looks at both clocks they may differ by this much, in seconds.
const CLOCKS_AGREE: f64 = 1.0;
/// From the last sample to the end of a run at most this much passes, in seconds.
const LONGEST_END: f64 = 120.0;

/// Reasons to distrust one metric of one point: the workers' own, then this page's.
pub(crate) fn of_result(data: &PointData, finding: &Finding) -> Vec<Flag> {
    let mut flags = worker_flags(data);
    flags.extend(interfered(data));
    let rules = [
        capped(data),
        imprecise(finding),
        drift(finding),
        short(finding),
        two_levels(finding),
        burst(finding),
        single_process(data, finding),
        unsteady(data),
        overhead(data),
        resumed(data),
        incomplete(data),
        work_differs(data),
        with_own_load(data),
        unreadable(data, finding),
    ];
    for flag in rules.into_iter().flatten() {
        add(&mut flags, flag);
    }
    flags
}

/// Reasons to distrust the whole run.
pub(crate) fn of_run(record: &RunRecord) -> Vec<Flag> {
    [suspended(record), excluded(record), with_load(record), environment_changed(record)]
        .into_iter()
        .flatten()
        .collect()
}

/// Adds a flag; a second reason of the same kind joins the first.
pub(crate) fn add(flags: &mut Vec<Flag>, flag: Flag) {
    match flags.iter_mut().find(|known| known.flag == flag.flag) {
        Some(known) if !known.why.contains(&flag.why) => {
            known.why = format!("{}; {}", known.why, flag.why);
        }
        Some(_) => {}
        None => flags.push(flag),
    }
}

/// Searches that did not find both bounds as close as their goal wants: their time was over, nothing was too much, or
/// everything was.
fn incomplete(data: &PointData) -> Option<Flag> {
    let goal = data.planned.description.searched()?;
    let found: Vec<SearchLimit> = data
        .invocations
        .iter()
        .filter_map(|invocation| {
            let trials = trials(&invocation.samples.values, &invocation.samples.elapsed_ns)?;
            limit(&goal.goal(), &trials)
        })
        .collect();
    let all = data.invocations.iter().filter(|invocation| !invocation.samples.is_empty()).count();
    let none = all - found.len();
    let early = found.iter().filter(|limit| !limit.met).count();
    let boundless = found.iter().filter(|limit| limit.met && limit.upper.is_none()).count();
    let seconds = goal.most_ns / 1_000_000_000;
    let told = [
        (early > 0).then(|| {
            let width = goal.width * 100.0;
            format!(
                "{early} of {all} searches ended after {seconds} s, before the limit was known to {width} %"
            )
        }),
        (boundless > 0).then(|| {
            format!("in {boundless} of {all} searches, the goal `{}` was met even at the highest load", goal.words)
        }),
        (none > 0).then(|| {
            let words = &goal.words;
            let from = goal.from;
            format!(
                "in {none} of {all} searches, the goal `{words}` was missed even at the lowest load ({from} per second), which is reported as the limit"
            )
        }),
    ];
    let why: Vec<String> = told.into_iter().flatten().collect();
    (!why.is_empty()).then(|| Flag::new(FlagKind::SearchIncomplete, why.join("; ")))
}

/// What the workers said, each kind once with its first evidence and how many invocations said it.
fn worker_flags(data: &PointData) -> Vec<Flag> {
    let mut flags: Vec<(Flag, usize)> = Vec::new();
    for invocation in &data.invocations {
        let mut seen: Vec<&FlagKind> = Vec::new();
        for flag in invocation.ready.flags.iter().chain(&invocation.flags) {
            if seen.contains(&&flag.flag) {
                continue;
            }
            seen.push(&flag.flag);
            match flags.iter_mut().find(|(known, _)| known.flag == flag.flag) {
                Some((_, times)) => *times += 1,
                None => flags.push((flag.clone(), 1)),
            }
        }
    }
    let all = data.invocations.len();
    flags.into_iter().map(|(flag, times)| counted(flag, times, all)).collect()
}

/// What else ran, each rule once with its first evidence and how many invocations it disturbed.
fn interfered(data: &PointData) -> Option<Flag> {
    let mut rules: Vec<(&str, &str, usize)> = Vec::new();
    for interference in data.invocations.iter().flat_map(|invocation| &invocation.interference) {
        match rules.iter_mut().find(|(rule, ..)| *rule == interference.rule) {
            Some((_, _, times)) => *times += 1,
            None => rules.push((&interference.rule, &interference.evidence, 1)),
        }
    }
    let all = data.invocations.len();
    let why: Vec<String> = rules
        .iter()
        .map(|(_, evidence, times)| {
            counted(Flag::new(FlagKind::Interference, *evidence), *times, all).why
        })
        .collect();
    (!why.is_empty()).then(|| Flag::new(FlagKind::Interference, why.join("; ")))
}

fn counted(flag: Flag, times: usize, all: usize) -> Flag {
    if times == all {
        return flag;
    }
    Flag::new(flag.flag, format!("{} ({times} of {all} invocations)", flag.why))
}

fn capped(data: &PointData) -> Option<Flag> {
    data.planned.capped.as_ref().map(|why| Flag::new(FlagKind::Capped, why.clone()))
}

fn imprecise(finding: &Finding) -> Option<Flag> {
    let reached = finding.reached?;
    let wanted = finding.wanted?;
    (reached > NOISY_OVER * wanted).then(|| {
        // The half-width of the result's row: another one of the same result would look like a contradiction.
        let of_result = match finding.shown().relative_half_width() {
            Some(shown) => format!("±{}", percent(shown)),
            None => format!("±{} in this session", percent(reached)),
        };
        Flag::new(FlagKind::Noisy, format!("{of_result}, wanted ±{}", percent(wanted)))
    })
}

/// Kendall's count over the processes in time order: does the level rise or fall as the run goes on?
fn drift(finding: &Finding) -> Option<Flag> {
    let medians = blocks(&finding.process_medians);
    if medians.len() < FEWEST_FOR_DRIFT || !finding.primary {
        return None;
    }
    let third = medians.len() / 3;
    let first = median(&medians[..third])?;
    let last = median(&medians[medians.len() - third..])?;
    let size = (last - first) / first.abs();
    let drifts = kendall_score(&medians).abs() > DRIFT_SCORE && size.abs() > DRIFT_SIZE;
    (drifts && size.is_finite()).then(|| {
        let way = if size > 0.0 { "rises" } else { "falls" };
        let why = format!(
            "{way} by {} from the first to the last third of the processes",
            percent(size.abs())
        );
        Flag::new(FlagKind::Noisy, why)
    })
}

/// The interval allows for neighbours that are alike; here it can't know for how long they are.
fn short(finding: &Finding) -> Option<Flag> {
    (!finding.resolved && finding.primary).then(|| {
        let session = match finding.session_s {
            Some(seconds) => format!(" of {}", seconds_to(seconds, 1)),
            None => String::new(),
        };
        let why = format!(
            "consecutive processes resemble each other, and the session{session} is too short to show how long that lasts; the interval holds only for this session"
        );
        Flag::new(FlagKind::Short, why)
    })
}

/// Medians of consecutive processes, so that their number stays small.
fn blocks(medians: &[f64]) -> Vec<f64> {
    let size = medians.len().div_ceil(MOST_FOR_DRIFT).max(1);
    medians.chunks(size).filter_map(median).collect()
}

/// Standard score of concordant minus discordant pairs; ties count for neither.
#[expect(clippy::cast_precision_loss, reason = "numbers of processes are small")]
fn kendall_score(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let pairs = values.iter().enumerate().flat_map(|(i, early)| {
        values[i + 1..].iter().map(move |late| match late.total_cmp(early) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
        })
    });
    let count: f64 = pairs.sum();
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    if deviation > 0.0 { (count.abs() - 1.0).max(0.0).copysign(count) / deviation } else { 0.0 }
}

/// Where there are two levels, a median describes neither.
fn two_levels(finding: &Finding) -> Option<Flag> {
    let levels = finding.levels.as_ref()?;
    let share = percent(levels.upper.share.value);
    let apart = percent(levels.apart());
    let why = format!("{share} of the {} are {apart} above the others", levels.unit());
    Some(Flag::new(FlagKind::Bimodal, why))
}

/// What comes first is not what stays.
fn burst(finding: &Finding) -> Option<Flag> {
    let burst = finding.burst.as_ref()?;
    let left = percent(burst.after.value / burst.before.value);
    let why =
        format!("after {}, it falls to {left} of its former value", seconds_to(burst.seconds, 0));
    Some(Flag::new(FlagKind::Burst, why))
}

fn single_process(data: &PointData, finding: &Finding) -> Option<Flag> {
    (finding.invocations == 1 && !data.samples_are_processes()).then(|| {
        Flag::new(
            FlagKind::SingleProcess,
            "one process: the variation between processes is unknown",
        )
    })
}

#[expect(clippy::cast_precision_loss, reason = "numbers of processes are small")]
fn unsteady(data: &PointData) -> Option<Flag> {
    let classes = data.warmups();
    let count = |class| classes.get(class).copied().unwrap_or(0);
    let unsteady = count("unsteady") + count("trend");
    let all = data.invocations.len();
    (unsteady as f64 > UNSTEADY_SHARE * all as f64).then(|| {
        let why = format!("no steady state in {unsteady} of {all} invocations");
        Flag::new(FlagKind::Unsteady, why)
    })
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of one sample")]
fn overhead(data: &PointData) -> Option<Flag> {
    let clock = data.clock().filter(|_| !data.has_supply())?;
    let elapsed: Vec<f64> = data.invocations.iter().flat_map(|i| lengths(i)).collect();
    let share = clock.overhead_ns as f64 / median(&elapsed)?;
    (share > OVERHEAD_SHARE && share.is_finite()).then(|| {
        let why = format!(
            "reading the clock takes {} ns, {} of a sample",
            clock.overhead_ns,
            percent(share)
        );
        Flag::new(FlagKind::Overhead, why)
    })
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of one sample")]
fn lengths(invocation: &InvocationRecord) -> impl Iterator<Item = f64> {
    invocation.samples.elapsed_ns.iter().skip(invocation.steady_start()).map(|&ns| ns as f64)
}

fn resumed(data: &PointData) -> Option<Flag> {
    let mut segments: Vec<u32> = data.invocations.iter().map(|i| i.segment).collect();
    segments.sort_unstable();
    segments.dedup();
    (segments.len() > 1).then(|| {
        let why =
            format!("measured in {} stretches, with interruptions in between", segments.len());
        Flag::new(FlagKind::Resumed, why)
    })
}

/// What was disturbed and replaced, which the results do not show any more; or that nothing else is left to show.
fn excluded(record: &RunRecord) -> Option<Flag> {
    let excluded = record.invocations.iter().filter(|invocation| invocation.is_disturbed()).count();
    let measured =
        record.invocations.iter().filter(|invocation| invocation.role == Role::Workload).count();
    (excluded > 0).then(|| {
        let why = match excluded < measured || record.plan.comparison().is_none() {
            true => format!("{excluded} of {measured} invocations were disturbed and excluded"),
            false => format!("all {measured} invocations were disturbed, so none is excluded"),
        };
        Flag::new(FlagKind::Interference, why)
    })
}

fn with_load(record: &RunRecord) -> Option<Flag> {
    alongside(&loads(record.plan.beside(None)))
}

/// Invocations whose distributions of a metric can't be decoded.
fn unreadable(data: &PointData, finding: &Finding) -> Option<Flag> {
    let metrics = data.planned.description.metrics.iter();
    let distributions =
        metrics.filter(|metric| metric.kind == QuantityKind::Histogram && finding.primary);
    let of = |metric: &Metric| {
        let lost = histogram::unreadable(data, metric);
        let all = data.invocations.len();
        (lost > 0).then(|| format!("{} in {lost} of {all} invocations", metric.name))
    };
    let lost: Vec<String> = distributions.filter_map(of).collect();
    (!lost.is_empty()).then(|| Flag::new(FlagKind::Unreadable, lost.join("; ")))
}

/// What ran beside this point alone; what ran beside all is a flag of the run.
fn with_own_load(data: &PointData) -> Option<Flag> {
    alongside(&loads(data.plan.beside(Some(data.planned)).filter(|load| load.of_points)))
}

fn alongside(loads: &[String]) -> Option<Flag> {
    (!loads.is_empty()).then(|| {
        Flag::new(FlagKind::WithLoad, format!("ran alongside {} on purpose", loads.join(", ")))
    })
}

/// Facts of the environment that not all invocations share.
fn environment_changed(record: &RunRecord) -> Option<Flag> {
    let mut changes: Vec<String> = Vec::new();
    for pair in record.environments.windows(2) {
        let was = &pair[0].facts;
        let is = &pair[1].facts;
        let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        let word = |facts: &BTreeMap<String, String>, name| {
            facts.get(name).map_or_else(|| "unknown".to_owned(), Clone::clone)
        };
        let changed = names.into_iter().filter(|name| {
            let is_read_twice = was.contains_key(*name) && is.contains_key(*name);
            // A fact of the environment that was read once did not change. Knobs that differ from point to point do
            // so on purpose.
            (is_read_twice || !is_of_environment(name))
                && *name != "prepared"
                && was.get(*name) != is.get(*name)
        });
        changes.extend(
            changed.map(|name| format!("{name}: {}, then {}", word(was, name), word(is, name))),
        );
    }
    (!changes.is_empty()).then(|| Flag::new(FlagKind::EnvironmentChanged, changes.join("; ")))
}

/// Wall clock and monotonic clock run apart while a machine is suspended or its clock is stepped.
fn suspended(record: &RunRecord) -> Option<Flag> {
    // Another tool's result has no times of plumb's clocks.
    if record.plumb.is_empty() {
        return None;
    }
    let between = record.segments.windows(2).find_map(|pair| {
        let [before, after] = pair else { return None };
        if before.owner.boot_id != after.owner.boot_id {
            return None;
        }
        let wall = signed_seconds(before.started_unix_ns, after.started_unix_ns);
        let gap = wall - unsigned_seconds(before.monotonic_ns, after.monotonic_ns);
        (gap.abs() > CLOCKS_AGREE).then_some(gap)
    });
    let gap = between.or_else(|| end_gap(record))?;
    let why = if gap > 0.0 {
        format!("the wall clock advanced {} more than the monotonic clock", seconds_to(gap, 0))
    } else {
        format!("the wall clock was set back by {}", seconds_to(-gap, 0))
    };
    Some(Flag::new(FlagKind::Suspended, why))
}

/// The gap between the clocks in the last segment, where only the end of the last sample tells
/// monotonic time. None when something without samples came after it.
fn end_gap(record: &RunRecord) -> Option<f64> {
    let segment = record.segments.last()?;
    let last = record.invocations.iter().rev().find(|i| i.segment == segment.segment)?;
    let virtual_clock = last.ready.clock.as_ref().is_some_and(|clock| !clock.is_monotonic());
    if last.target != 0 || virtual_clock {
        return None;
    }
    let samples = &last.samples;
    let end = samples.start_ns.last()?.saturating_add(*samples.elapsed_ns.last()?);
    let wall = signed_seconds(segment.started_unix_ns, record.ended_unix_ns?);
    let gap = wall - unsigned_seconds(segment.monotonic_ns, end);
    (!(-CLOCKS_AGREE..=LONGEST_END).contains(&gap)).then_some(gap)
}

#[expect(clippy::cast_precision_loss, reason = "gaps of seconds are looked for, not nanoseconds")]
fn signed_seconds(from: i64, to: i64) -> f64 {
    to.saturating_sub(from) as f64 * 1e-9
}

#[expect(clippy::cast_precision_loss, reason = "gaps of seconds are looked for, not nanoseconds")]
fn unsigned_seconds(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 * 1e-9
}

/// Evenly spaced quantiles, sorted; all values where they are few.
pub(crate) fn thin(values: &[f64], most: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.len() <= most || most < 2 {
        return sorted;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred quantiles")]
    let at = |i: usize| quantile_of_sorted(&sorted, i as f64 / (most - 1) as f64);
    (0..most).filter_map(at).collect()
}
