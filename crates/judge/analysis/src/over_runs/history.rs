//! One series over all its runs: docs/method.md, *History*.
//!
//! What is recorded to have changed (machine, environment, versions) splits the history, and nothing is
//! compared across a split. Between splits steps are looked for. What is left, each run against the
//! middle of its stretch, tells whether the time of day or the day of the week matters: where one part
//! of the day is worse, a single run at another hour says little about a change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plumb_model::{Better, By, CommandEnds, Estimate, Host, Impact, SeriesInRun};
use plumb_stats::describe::median;
use plumb_stats::history;
use plumb_stats::stored_runs::rank_sum_interval;

use plumb_units::is_same_unit;

use crate::estimate::estimate;
use crate::method::{CONFIDENCE, METHOD_VERSION};
use crate::over_runs::common_movement::CommonMovements;
use crate::over_runs::costs::run_cost;
use crate::over_runs::environment_diff::is_of_environment;

/// Fewest moments (runs of one part of one day are one) for the time of day to be tested.
const FEWEST_MOMENTS: usize = 12;
/// Fewest moments in a part of the day, or on a weekday, to stand for it.
const FEWEST_IN_PART: usize = 3;
/// Weeks before weekdays are compared.
const FEWEST_WEEKS: usize = 3;
/// Against the middle of fewer runs a single one says nothing.
const SHORTEST_STRETCH: usize = 6;

const HOUR_NS: i64 = 3_600_000_000_000;
const DAY_NS: i64 = 24 * HOUR_NS;
const PARTS_OF_DAY: [&str; 4] = ["00-06 h", "06-12 h", "12-18 h", "18-24 h"];
/// The first day of 1970 was a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// One series over its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryFinding {
    /// Version of the method that found it.
    pub method: u32,
    /// Name of the series.
    pub series: String,
    /// A name that a person gave the point.
    pub title: Option<String>,
    /// Unit of its values, an SI base unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// The kinds of machines, each once, in order of their first run.
    pub machines: Vec<String>,
    /// The host that it is of, with runs of hosts that nobody knows; unknown where hosts are mixed.
    pub host: Host,
    /// The hosts of its runs, each once, in order of their first run.
    pub hosts: Vec<Host>,
    /// Runs of other hosts, which are left out.
    pub other_hosts: OtherHosts,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// The runs, oldest first.
    pub runs: Vec<SeriesInRun>,
    /// By how much all series of each run moved together, relative in cost: taken out before steps are looked for, and
    /// not of the estimates; 0 where they did not.
    pub common: Vec<f64>,
    /// Where something is recorded to have changed.
    pub splits: Vec<RecordedChange>,
    /// Where costs changed, or why that can't be told.
    pub steps: Result<Vec<HistoryStep>, String>,
    /// Whether the time of measuring matters, where there are enough runs to ask.
    pub cycles: Vec<CycleFinding>,
    /// Runs whose values are in another unit, or better in the other direction, than the newest's.
    pub other_units: usize,
}

/// Runs of other hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OtherHosts {
    /// How many hosts.
    pub hosts: usize,
    /// How many runs.
    pub runs: usize,
}

/// Something that is recorded to have changed before a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedChange {
    /// Index of the first run after it.
    pub at: usize,
    /// Each field with its values before and after.
    pub changes: Vec<(String, String, String)>,
}

/// A step of the costs.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryStep {
    /// Index of the first run after it.
    pub at: usize,
    /// Cost over the cost before: over 1 is slower.
    pub ratio: Estimate,
    /// Whether it would be found by chance less than 1 time in 1000 and is no smaller than the margin;
    /// else 1 time in 100, and it is to be measured again in pairs.
    pub certain: bool,
}

/// The period over which the time of measuring may matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cycle {
    /// Parts of six hours of the day, in UTC.
    Day,
    /// Days of the week, in UTC.
    Week,
}

impl Cycle {
    /// The words that are shown.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Day => "time of day",
            Self::Week => "weekday",
        }
    }

    fn part(self, started_unix_ns: i64) -> usize {
        let (whole, of) = match self {
            Self::Day => (started_unix_ns.div_euclid(6 * HOUR_NS), 4),
            Self::Week => (started_unix_ns.div_euclid(DAY_NS), 7),
        };
        usize::try_from(whole.rem_euclid(of)).unwrap_or(0)
    }

    /// Runs with the same moment are one: they have the state of the machine in common.
    fn moment(self, started_unix_ns: i64) -> i64 {
        match self {
            Self::Day => started_unix_ns.div_euclid(6 * HOUR_NS),
            Self::Week => started_unix_ns.div_euclid(DAY_NS),
        }
    }

    fn name(self, part: usize) -> &'static str {
        match self {
            Self::Day => PARTS_OF_DAY[part],
            Self::Week => WEEKDAYS[part],
        }
    }
}

/// Whether the time of measuring matters.
#[derive(Debug, Clone, PartialEq)]
pub struct CycleFinding {
    /// Whether parts of the day or days of the week are compared.
    pub cycle: Cycle,
    /// The part that differs most from the others.
    pub part: &'static str,
    /// Its cost over that of the others, with an interval that allows for every part being asked.
    pub ratio: Estimate,
    /// Whether the interval excludes 1.
    pub differs: bool,
    /// Moments in that part.
    pub moments: usize,
    /// Moments in the others.
    pub others: usize,
}

/// The history of a series on this host, oldest first, with the runs of unknown hosts; of an unknown host, the history
/// of all these runs. None without runs.
#[must_use]
pub fn history(
    series: &str,
    all: &[SeriesInRun],
    host: &Host,
    margin: f64,
    common: &CommonMovements,
) -> Option<HistoryFinding> {
    let usual = all.iter().filter(|run| run.name == series && !run.is_side_of_knob);
    let (mut runs, others): (Vec<&SeriesInRun>, Vec<&SeriesInRun>) =
        usual.partition(|run| run.run.host().may_be(host));
    let of_host = runs.len();
    let newest = *runs.last()?;
    runs.retain(|run| is_same_unit(&run.unit, &newest.unit) && run.better == newest.better);
    let common: Vec<f64> = runs.iter().map(|run| common.of_run(run.run.run)).collect();
    let logs: Vec<f64> = runs
        .iter()
        .zip(&common)
        .map(|(run, common)| run_cost(run).unwrap_or(f64::NAN) - common)
        .collect();
    let splits = splits(&runs);
    let borders: Vec<usize> = splits.iter().map(|split| split.at).collect();
    let found = steps(&logs, &borders, margin);
    let mut cuts = borders;
    cuts.extend(found.iter().flatten().map(|step| step.at));
    let rest = residuals(&logs, cuts);
    let starts: Vec<i64> = runs.iter().map(|run| run.run.started_unix_ns).collect();
    let cycles = [Cycle::Day, Cycle::Week];
    Some(HistoryFinding {
        method: METHOD_VERSION,
        series: series.to_owned(),
        title: newest.point.title().map(str::to_owned),
        unit: newest.unit.clone(),
        better: newest.better,
        machines: each_once(runs.iter().map(|run| run.run.machine().to_owned())),
        host: host.clone(),
        hosts: each_once(runs.iter().map(|run| run.run.host().clone())),
        other_hosts: OtherHosts {
            hosts: each_once(others.iter().map(|run| run.run.host().clone())).len(),
            runs: others.len(),
        },
        margin,
        steps: found,
        cycles: cycles.iter().filter_map(|cycle| of_cycle(*cycle, &starts, &rest)).collect(),
        other_units: of_host - runs.len(),
        common: common.into_iter().map(f64::exp_m1).collect(),
        splits,
        runs: runs.into_iter().cloned().collect(),
    })
}

/// The first run after the last certain step, among those of the newest's machine, version and clock.
#[must_use]
pub fn first_since_step(all: &[SeriesInRun], by: By, margin: f64) -> Option<&SeriesInRun> {
    let newest = all.last()?;
    let alike = all.iter().filter(|run| {
        !run.is_side_of_knob
            && run.run.is_one_machine(&newest.run, by)
            && run.is_comparable(newest)
            && is_same_unit(&run.unit, &newest.unit)
    });
    let runs: Vec<&SeriesInRun> = alike.collect();
    let logs: Vec<f64> = runs.iter().map(|run| run_cost(run).unwrap_or(f64::NAN)).collect();
    let step = history::certain(&logs, &[], margin).ok()?.into_iter().next_back()?;
    runs.get(step.at).copied()
}

fn each_once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for value in all {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

fn steps(logs: &[f64], borders: &[usize], margin: f64) -> Result<Vec<HistoryStep>, String> {
    let found = history::suspects(logs, borders).map_err(|why| why.to_string())?;
    let certain = history::certain(logs, borders, margin).map_err(|why| why.to_string())?;
    let steps = found.iter().map(|step| HistoryStep {
        at: step.at,
        ratio: estimate(
            step.interval.map_or(step.size, |interval| interval.estimate).exp(),
            step.interval.map(|interval| interval.map(f64::exp)),
        ),
        certain: certain.iter().any(|change| change.at == step.at),
    });
    Ok(steps.collect())
}

fn splits(runs: &[&SeriesInRun]) -> Vec<RecordedChange> {
    let mut found = Vec::new();
    for (index, two) in runs.windows(2).enumerate() {
        let changes = changes(two[0], two[1]);
        if !changes.is_empty() {
            found.push(RecordedChange { at: index + 1, changes });
        }
    }
    found
}

/// Each fact that differs, by name, with its values before and after.
fn changes(before: &SeriesInRun, after: &SeriesInRun) -> Vec<(String, String, String)> {
    let was = work(before);
    let is = work(after);
    let mut changes = changed(&was, &is);
    // A crash and a success did not do the same work.
    if before.ends.differ(&after.ends) {
        changes.push(("ended".to_owned(), most_ended(&before.ends), most_ended(&after.ends)));
    }
    if !is_same_place(before, after) {
        let of_place = changed(&place(before), &place(after)).into_iter();
        changes.extend(
            of_place.filter(|(field, ..)| !was.contains_key(field) && !is.contains_key(field)),
        );
        changes.sort();
    }
    changes
}

/// How most processes ended.
fn most_ended(ends: &CommandEnds) -> String {
    ends.most_frequent().map_or_else(|| "unknown".to_owned(), |(end, _)| end.to_string())
}

/// Whether both share one machine and environment, as most neighbours read from a store do: then there are no facts to
/// compare.
fn is_same_place(one: &SeriesInRun, two: &SeriesInRun) -> bool {
    let machines = one.run.place.as_ref().zip(two.run.place.as_ref());
    Arc::ptr_eq(&one.environment, &two.environment)
        && machines.is_some_and(|(one, two)| Arc::ptr_eq(&one.machine, &two.machine))
}

fn changed(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<(String, String, String)> {
    let fields: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut found = Vec::new();
    for field in fields {
        let was = before.get(field);
        let is = after.get(field);
        // A fact of the environment that one run could not read did not change.
        let is_known = (was.is_some() && is.is_some()) || !is_of_environment(field);
        if is_known && was != is {
            found.push((field.clone(), value_or_none(was), value_or_none(is)));
        }
    }
    found
}

fn value_or_none(value: Option<&String>) -> String {
    value.map_or_else(|| "none".to_owned(), Clone::clone)
}

/// The facts of machine and environment that may move a number.
fn place(series: &SeriesInRun) -> BTreeMap<String, String> {
    let Some(place) = &series.run.place else { return BTreeMap::new() };
    let all = place.machine.facts.iter().chain(&series.environment.facts);
    all.filter(|(field, _)| Impact::of(field) > Impact::Harmless)
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}

/// The facts of the work itself that may move a number, with plumb's own version.
fn work(series: &SeriesInRun) -> BTreeMap<String, String> {
    let versions = series.versions.iter();
    let mut facts: BTreeMap<String, String> =
        versions.map(|(of, version)| (format!("{of} version"), version.clone())).collect();
    facts.insert("clock".to_owned(), series.clock.clone());
    facts.insert("plumb".to_owned(), series.run.plumb.clone());
    facts.insert("workload version".to_owned(), series.point.version.to_string());
    let loads: Vec<&str> = series.run.loads().collect();
    if !loads.is_empty() {
        facts.insert("load".to_owned(), loads.join(" / "));
    }
    facts
}

/// Each run's log cost less the middle of its stretch; None in a stretch that is too short.
fn residuals(logs: &[f64], mut cuts: Vec<usize>) -> Vec<Option<f64>> {
    cuts.extend([0, logs.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    let mut found = Vec::new();
    for ends in cuts.windows(2) {
        let stretch = &logs[ends[0]..ends[1]];
        // The middle of a short stretch follows each of its runs, so that what is left of them looks too small.
        let centre = median(stretch).filter(|_| stretch.len() >= SHORTEST_STRETCH);
        found.extend(stretch.iter().map(|log| Some(log - centre?)));
    }
    found
}

/// The part that differs most from the others, one that differs certainly before others. None where
/// there are too few moments.
fn of_cycle(cycle: Cycle, starts: &[i64], residuals: &[Option<f64>]) -> Option<CycleFinding> {
    let mut moments: BTreeMap<i64, (usize, Vec<f64>)> = BTreeMap::new();
    for (&start, residual) in starts.iter().zip(residuals) {
        // Imports may not know when they were measured.
        let Some(residual) = residual.filter(|_| start != 0) else { continue };
        let entry = moments.entry(cycle.moment(start)).or_insert((cycle.part(start), Vec::new()));
        entry.1.push(residual);
    }
    let weeks: BTreeSet<i64> = moments.keys().map(|day| day.div_euclid(7)).collect();
    if cycle == Cycle::Week && weeks.len() < FEWEST_WEEKS {
        return None;
    }
    let moments: Vec<(usize, f64)> =
        moments.into_values().filter_map(|(part, of)| Some((part, median(&of)?))).collect();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for (part, _) in &moments {
        *counts.entry(*part).or_default() += 1;
    }
    counts.retain(|_, count| *count >= FEWEST_IN_PART);
    let parts: Vec<usize> = counts.into_keys().collect();
    if moments.len() < FEWEST_MOMENTS || parts.len() < 2 {
        return None;
    }
    // Every part is asked, so that each interval pays its share of the error (Bonferroni).
    #[expect(clippy::cast_precision_loss, reason = "seven at most")]
    let level = 1.0 - (1.0 - CONFIDENCE) / parts.len() as f64;
    let against_rest = parts.iter().filter_map(|&part| part_of(cycle, part, &moments, level));
    against_rest.max_by(|a, b| a.differs.cmp(&b.differs).then_with(|| size(a).total_cmp(&size(b))))
}

/// How far a part is from the others, in either direction.
fn size(cycle: &CycleFinding) -> f64 {
    cycle.ratio.value.ln().abs()
}

/// The residuals of moments, without their parts.
fn values(moments: &[(usize, f64)]) -> Vec<f64> {
    moments.iter().map(|(_, residual)| *residual).collect()
}

/// One part against all others.
fn part_of(
    cycle: Cycle,
    part: usize,
    moments: &[(usize, f64)],
    level: f64,
) -> Option<CycleFinding> {
    let (inside, others): (Vec<_>, Vec<_>) = moments.iter().partition(|moment| moment.0 == part);
    let found = rank_sum_interval(&values(&others), &values(&inside), level).ok()?;
    Some(CycleFinding {
        cycle,
        part: cycle.name(part),
        ratio: estimate(found.estimate.exp(), Ok(found.map(f64::exp))),
        differs: !found.contains(0.0),
        moments: inside.len(),
        others: others.len(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plumb_model::{By, CommandEnd, Host, RunOfSeries, SeriesInRun};
    use plumb_stats::rng::Rng;

    use super::{CommonMovements, Cycle, HOUR_NS, HistoryFinding, first_since_step, history};
    use crate::testing::series::in_run;

    const SERIES: &str = "a.b/rate";

    /// A run every six hours from a Thursday on; `cost` is the log of its cost over the first's.
    fn run(number: u32, cost: f64, rng: &mut Rng) -> SeriesInRun {
        let middle = cost + 0.003 * rng.normal();
        let mut process = || {
            let process = middle + 0.003 * rng.normal();
            (0..5).map(|_| 100.0 * (-process - 0.003 * rng.normal()).exp()).collect()
        };
        let processes: Vec<Vec<f64>> = (0..12).map(|_| process()).collect();
        let mut series = in_run(SERIES, u128::from(number), &processes);
        of_run(&mut series).started_unix_ns = i64::from(number) * 6 * HOUR_NS + 1;
        series
    }

    fn of_run(series: &mut SeriesInRun) -> &mut RunOfSeries {
        Arc::make_mut(&mut series.run)
    }

    fn set_host(series: &mut SeriesInRun, host: &str) {
        of_run(series).place.as_mut().unwrap().host = host.parse().unwrap();
    }

    fn runs(count: u32, cost: impl Fn(u32) -> f64) -> Vec<SeriesInRun> {
        let mut rng = Rng::new(7);
        (0..count).map(|number| run(number, cost(number), &mut rng)).collect()
    }

    #[test]
    fn runs_that_crash_are_not_compared_with_runs_that_succeed() {
        let mut all = runs(20, |number| if number < 10 { 0.0 } else { -0.5 });
        for (number, run) in all.iter_mut().enumerate() {
            let end = if number < 10 { CommandEnd::Status(0) } else { CommandEnd::Signal(11) };
            run.ends.add(end, 12);
        }
        let found = of(&all);
        let splits: Vec<usize> = found.splits.iter().map(|split| split.at).collect();
        assert_eq!(splits, [10]);
        let change = ("ended".to_owned(), "exit status 0".to_owned(), "SIGSEGV".to_owned());
        assert_eq!(found.splits[0].changes, [change]);
        assert!(found.steps.iter().flatten().all(|step| step.at != 10), "{found:?}");
    }

    fn of(records: &[SeriesInRun]) -> HistoryFinding {
        history(SERIES, records, &Host::UNKNOWN, 0.01, &CommonMovements::default()).unwrap()
    }

    #[test]
    fn a_step_is_told_with_its_cost() {
        let found = of(&runs(40, |number| if number < 25 { 0.0 } else { 0.05 }));
        assert_eq!(found.runs.len(), 40);
        assert!(
            found
                .runs
                .iter()
                .all(|run| run.estimate.interval.is_ok() && run.process_medians.len() == 12)
        );
        assert_eq!((found.splits.len(), found.machines.len()), (0, 1));
        let steps = found.steps.unwrap();
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert_eq!((steps[0].at, steps[0].certain), (25, true));
        let low = steps[0].ratio.low().unwrap();
        let high = steps[0].ratio.high().unwrap();
        assert!(low < 1.0513 && 1.0513 < high && high < 1.06, "{steps:?}");
    }

    #[test]
    fn what_all_series_of_a_run_have_in_common_is_no_step_of_one() {
        let records = runs(40, |number| if number < 25 { 0.0 } else { 0.05 });
        let common = CommonMovements::known(records[25..].iter().map(|run| (run.run.run, 0.05)));
        let found = history(SERIES, &records, &Host::UNKNOWN, 0.01, &common).unwrap();
        assert_eq!(found.steps, Ok(Vec::new()));
        assert_eq!(found.common[24], 0.0);
        assert!((found.common[25] - 0.0513).abs() < 1e-3, "{:?}", found.common);
        assert!(found.runs[25].estimate.value < 0.97 * found.runs[24].estimate.value);
    }

    #[test]
    fn a_change_is_dated_on_its_machine() {
        let mut records = runs(60, |number| if number < 40 { 0.0 } else { 0.05 });
        assert_eq!(first_since_step(&records, By::Host, 0.01).unwrap().run, records[40].run);
        assert_eq!(first_since_step(&records, By::Host, 0.2), None);
        records[..40].iter_mut().for_each(|run| set_host(run, "web1"));
        assert!(
            first_since_step(&records, By::Host, 0.01).is_some(),
            "the newest's host is unknown"
        );
        records[40..].iter_mut().for_each(|run| set_host(run, "web2"));
        assert_eq!(first_since_step(&records, By::Host, 0.01), None);
        assert!(first_since_step(&records, By::Kind, 0.01).is_some());
        let none = CommonMovements::default();
        let names: Vec<String> = of(&records).hosts.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["web1", "web2"]);
        let one = history(SERIES, &records, records[0].run.host(), 0.01, &none).unwrap();
        assert_eq!((one.runs.len(), one.other_hosts.runs, one.other_hosts.hosts), (40, 20, 1));
        assert_eq!(
            of(&records).splits,
            [],
            "runs of several hosts are one history where they are mixed"
        );
        for run in &mut records[..40] {
            let place = of_run(run).place.as_mut().unwrap();
            Arc::make_mut(&mut place.machine).fingerprint = "fp1:b".into();
        }
        assert_eq!(first_since_step(&records, By::Host, 0.01), None);
    }

    #[test]
    fn what_is_recorded_to_have_changed_splits_and_makes_no_step() {
        let mut records = runs(40, |number| if number < 25 { 0.0 } else { 0.05 });
        for (number, record) in records.iter_mut().enumerate() {
            let (kernel, device, version) =
                if number < 25 { ("6.1", "sda", 1) } else { ("6.12", "sdb", 2) };
            let facts = &mut Arc::make_mut(&mut record.environment).facts;
            facts.insert("kernel".into(), kernel.into());
            facts.insert("device".into(), device.into());
            if number > 30 {
                facts.insert("caches".into(), "first read by run 31".into());
            }
            Arc::make_mut(&mut record.point).version = version;
        }
        let found = of(&records);
        assert_eq!(found.steps, Ok(Vec::new()));
        assert_eq!(found.splits.len(), 1);
        assert_eq!(found.splits[0].at, 25);
        let changed = |field: &str, before: &str, after: &str| {
            (field.to_owned(), before.to_owned(), after.to_owned())
        };
        let changes = vec![changed("kernel", "6.1", "6.12"), changed("workload version", "1", "2")];
        assert_eq!(found.splits[0].changes, changes);
    }

    #[test]
    fn the_worse_part_of_the_day_is_named() {
        let found = of(&runs(40, |number| if number % 4 == 3 { 0.03 } else { 0.0 }));
        let day = &found.cycles[0];
        assert_eq!((day.cycle, day.part, day.differs), (Cycle::Day, "18-24 h", true));
        assert!((day.ratio.value - 1.03).abs() < 0.01, "{day:?}");
        assert_eq!((day.moments, day.others), (10, 30));
        assert_eq!(found.cycles.len(), 1, "ten days are no three weeks");
    }

    #[test]
    fn runs_of_one_evening_are_one_moment() {
        let mut records = runs(40, |_| 0.0);
        for (record, minute) in records.iter_mut().zip(0..) {
            of_run(record).started_unix_ns = minute * 60_000_000_000;
        }
        assert_eq!(of(&records).cycles, []);
    }

    #[test]
    fn weekdays_are_asked_after_three_weeks() {
        let found = of(&runs(28 * 4, |number| if number / 4 % 7 == 2 { 0.02 } else { 0.0 }));
        let week = found.cycles.iter().find(|cycle| cycle.cycle == Cycle::Week).unwrap();
        assert_eq!((week.part, week.differs), ("Sat", true));
        let day = found.cycles.iter().find(|cycle| cycle.cycle == Cycle::Day).unwrap();
        assert!(!day.differs, "{day:?}");
    }

    #[test]
    fn nothing_and_nonsense() {
        let none = CommonMovements::default();
        assert_eq!(history(SERIES, &[], &Host::UNKNOWN, 0.01, &none), None);
        let mut records = runs(20, |_| 0.0);
        records[3].process_medians = vec![0.0; 12];
        assert!(of(&records).steps.is_err());
        records[5].unit = "s".into();
        let found = of(&records);
        assert_eq!((found.runs.len(), found.other_units), (19, 1));
    }

    /// docs/method.md's figures of false alarms are of the search; here the questions about the calendar.
    #[test]
    fn quiet_histories_have_no_worse_hours() {
        let mut rng = Rng::new(11);
        let mut differ = 0;
        for _ in 0..200 {
            let records: Vec<_> = (0..48).map(|number| run(number, 0.0, &mut rng)).collect();
            differ += of(&records).cycles.iter().filter(|cycle| cycle.differs).count();
        }
        assert!(differ <= 20, "{differ} of 200");
    }
}
