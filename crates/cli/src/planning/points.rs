//! From names on the command line to points.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use plumb_keeper::Keeper;
use plumb_keeper::preparation::{KNOBS, slotted};
use plumb_model::{
    Companion, Description, PlannedPoint, Point, Preparation, PreparationSlot, Role, Sampling,
    SearchEffort, Settings, StoppingRules, Value,
};
use plumb_plugins::manifest::{self, MANIFEST};
use plumb_suite::{
    self as suite, Suite, SuiteEntry, TypedRules, expanded, nearest, pair, time_ns, values_of,
};

use crate::error::{CommandError, Result};
use crate::locate;
use crate::planning::catalogue::{self, CatalogueEntry};
use crate::planning::command;
use crate::planning::knobs;
use crate::planning::monitors::monitors;
use crate::planning::several_suites;

/// The suite that runs when nothing is named.
const DEFAULT_SUITE: &str = "first-look";

/// What the names on the command line stand for.
#[derive(Debug, Default)]
pub struct NamedPoints {
    /// The suites, in order.
    pub suites: Vec<Suite>,
    /// The points of workloads and suites, in the order of their names.
    pub points: Vec<PlannedPoint>,
    /// What runs beside single points, which name it by its index.
    pub beside: Vec<Companion>,
    /// Whether the user named a workload itself, not only suites.
    pub explicit: bool,
}

impl NamedPoints {
    /// The suite whose rules, loads, knobs and monitors hold for the whole run: the only thing that is named. Next to
    /// other names, a suite's settings are settings of its points.
    pub fn run_wide(&self) -> Option<&Suite> {
        self.suites.first().filter(|_| self.suites.len() == 1 && !self.explicit)
    }

    /// What is to run in the background of the whole run: what the suite names, then what is typed.
    pub fn with(&self, typed: &[String]) -> Vec<String> {
        let of_suite = self.run_wide().map(|suite| suite.with.as_slice()).unwrap_or_default();
        [of_suite, typed].concat()
    }
}

/// Resolves names with the parameters of `-p`; `all_threads` is what `all` stands for.
pub fn resolve(
    keeper: &mut Keeper,
    names: &[String],
    params: &[String],
    all_threads: u64,
) -> Result<NamedPoints> {
    let default = [DEFAULT_SUITE.to_owned()];
    let names = if names.is_empty() { &default[..] } else { names };
    let sets = parameter_sets(params)?;
    let mut named = NamedPoints::default();
    let mut suite_of_points = Vec::new();
    let is_alone = names.iter().all(|name| *name == names[0]);
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            continue;
        }
        if let Some(text) = suite_text(name)? {
            let suite = parsed(name, &text)?;
            named.add(keeper, suite, &sets, all_threads, is_alone)?;
            suite_of_points.resize(named.points.len(), Some(named.suites.len() - 1));
        } else {
            named.explicit = true;
            named.points.extend(workload_points(keeper, name, &sets, all_threads)?);
            suite_of_points.resize(named.points.len(), None);
        }
    }
    refuse_unknown(&sets, &named.points)?;
    refuse_namesakes(&named.points)?;
    // Before repeated points are dropped: the settings of one suite would get lost silently.
    refuse_disagreement(&named, &suite_of_points)?;
    drop_repeated(&mut named.points);
    Ok(named)
}

/// Resolves the text of a suite that is called `name` where it is wrong.
///
/// # Errors
/// When it is none, or names what is not there.
pub fn resolve_suite(
    keeper: &mut Keeper,
    name: &str,
    text: &str,
    all_threads: u64,
) -> Result<NamedPoints> {
    let mut named = NamedPoints::default();
    named.add(keeper, parsed(name, text)?, &BTreeMap::new(), all_threads, true)?;
    refuse_namesakes(&named.points)?;
    drop_repeated(&mut named.points);
    Ok(named)
}

fn parsed(name: &str, text: &str) -> Result<Suite> {
    suite::parse(text).map_err(|error| CommandError::usage(format!("suite {name}: {error}")))
}

/// The text of a suite, if the name is one: built in, or a TOML file.
fn suite_text(name: &str) -> Result<Option<String>> {
    if let Some(text) = suite::builtin(name) {
        return Ok(Some(text.to_owned()));
    }
    let path = suite_path(name);
    if !is_suite_file(&path) {
        return Ok(None);
    }
    // Asked before reading, because the name may be that of any file.
    let size = fs::metadata(&path).map(|metadata| metadata.len()).unwrap_or(0);
    if size > suite::MAX_BYTES as u64 {
        let most = suite::MAX_BYTES;
        return Err(CommandError::usage(format!(
            "suite {name} is too long: {size} bytes, the limit is {most}"
        )));
    }
    fs::read_to_string(path)
        .map(Some)
        .map_err(|error| CommandError::usage(format!("can't read the suite {name}: {error}")))
}

/// The texts of those of these names that are suites in files, by their names.
///
/// # Errors
/// When a file is too long, cannot be read, or is no suite: far ends would name their copies of it.
pub fn suites_in_files(names: &[String]) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for name in names {
        // Built-in suites are at the other end, too.
        if suite::builtin(name).is_none()
            && let Some(text) = suite_text(name)?
        {
            parsed(name, &text)?;
            texts.insert(name.clone(), text);
        }
    }
    Ok(texts)
}

/// The file of a suite: what a plug-in brings under this name, else the name as a path.
fn suite_path(name: &str) -> PathBuf {
    // A name with a slash or a dot is a path or a workload's id: the plug-ins need not be looked through.
    if !name.contains(['/', '.']) {
        for (known, path) in manifest::suites(locate::data_home().as_deref()) {
            if known == name {
                return path;
            }
        }
    }
    name.into()
}

/// Whether the name is that of a suite's file: TOML, and no plug-in's manifest.
pub fn is_suite_file(path: &Path) -> bool {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    is_toml && !path.to_string_lossy().ends_with(MANIFEST)
}

impl NamedPoints {
    /// Adds the points of a suite, with what runs beside each. Unless the suite `is_alone` in the run, its settings
    /// become settings of its points.
    fn add(
        &mut self,
        keeper: &mut Keeper,
        suite: Suite,
        sets: &BTreeMap<String, Vec<Value>>,
        all_threads: u64,
        is_alone: bool,
    ) -> Result<()> {
        let of_suite = if is_alone {
            SharedByPoints::default()
        } else {
            SharedByPoints::of(keeper, &suite, all_threads)?
        };
        let shared_beside = self.add_beside(of_suite.companions.clone());
        for (point, set) in suite.points() {
            let entry = catalogue::find(keeper, &point.workload)?;
            let own = companions(keeper, &point.with, all_threads)?;
            let own_beside = self.add_beside(own);
            let beside: Vec<usize> = shared_beside.clone().chain(own_beside.clone()).collect();
            let conditions = of_suite
                .conditions
                .iter()
                .cloned()
                .chain(self.beside[own_beside].iter().map(loaded_with))
                .chain(point.knobs.iter().map(|knob| format!("set={knob}")))
                .collect();
            let template = PointTemplate::of(&suite, point, &of_suite, beside, conditions)?;
            let known_sets: BTreeMap<String, Vec<Value>> = sets
                .iter()
                .filter(|(name, _)| entry.description.parameter(name).is_some())
                .map(|(name, values)| (name.clone(), values.clone()))
                .collect();
            for settings in products(&set, &known_sets, all_threads)? {
                let planned = template.applied_to(planned(&entry, &settings, all_threads)?);
                let ceilings = match point.ceilings {
                    true => ceilings_of(keeper, &planned, false, all_threads)?,
                    false => Vec::new(),
                };
                self.points.push(planned);
                self.points.extend(ceilings);
                few_enough(self.points.len())?;
            }
        }
        self.suites.push(suite);
        Ok(())
    }

    /// Adds what runs beside points alone; the indices by which they name it.
    fn add_beside(&mut self, companions: Vec<Companion>) -> Range<usize> {
        let first = self.beside.len();
        let of_points = companions.into_iter();
        self.beside.extend(of_points.map(|companion| Companion { of_points: true, ..companion }));
        first..self.beside.len()
    }
}

/// The condition under which a point is measured next to a companion, which tells it from the same point alone.
fn loaded_with(companion: &Companion) -> String {
    format!("with={}", companion.point.name())
}

/// What a suite states for all its points, if the run has other points, too.
#[derive(Debug, Default)]
struct SharedByPoints {
    /// Loads and preparations of plug-ins beside its points.
    companions: Vec<Companion>,
    /// Knobs, set before each invocation and undone after it.
    knobs: Vec<Preparation>,
    /// Its stopping rules, as typed.
    rules: TypedRules,
    /// Its monitors, as typed.
    monitors: Vec<String>,
    /// What tells its points from the same points of another suite.
    conditions: Vec<String>,
}

impl SharedByPoints {
    fn of(keeper: &mut Keeper, suite: &Suite, all_threads: u64) -> Result<Self> {
        let mut shared = Self {
            companions: companions(keeper, &suite.with, all_threads)?,
            rules: suite.rules(),
            monitors: suite.monitors.clone(),
            ..Self::default()
        };
        shared.conditions = shared.companions.iter().map(loaded_with).collect();
        for text in &suite.knobs {
            let slot = slotted(text).map_or(PreparationSlot::Run, |(_, slot)| slot);
            if slot == PreparationSlot::Round {
                let name = &suite.name;
                let error = format!(
                    "the suite {name} sets {text}, but this run also has points from outside the suite"
                );
                return Err(CommandError::usage(error).hint(format!(
                    "run it before or after the others, not with them: plumb run {name}"
                )));
            }
            if is_plugin(text) {
                shared.companions.push(preparing_plugin(keeper, text, all_threads)?);
            } else {
                shared.knobs.push(knobs::of_invocations(text)?);
            }
            shared.conditions.push(format!("set={text}"));
        }
        Ok(shared)
    }
}

/// What a suite says of a point besides its parameters.
struct PointTemplate {
    sample_ns: Option<u64>,
    sampling: Option<Sampling>,
    rules: Option<StoppingRules>,
    preparation: Vec<Preparation>,
    monitors: Vec<String>,
    beside: Vec<usize>,
    conditions: Vec<String>,
    capped: Option<String>,
    labels: BTreeMap<String, String>,
}

impl PointTemplate {
    fn of(
        suite: &Suite,
        point: &SuiteEntry,
        of_suite: &SharedByPoints,
        beside: Vec<usize>,
        conditions: Vec<String>,
    ) -> Result<Self> {
        let length_ns = point.invocation_time.as_deref().map(time_ns).transpose()?;
        // Without rules of its own, a point is done when the rules of the run say so.
        let none = TypedRules::default();
        let rules = if point.rules() == none && of_suite.rules == none {
            None
        } else {
            let rules_of_suite = suite.rules().applied_to(StoppingRules::default())?;
            Some(point.rules().applied_to(rules_of_suite)?)
        };
        // `none` turns off those of the suite, too.
        let words = if point.monitors.is_empty() {
            of_suite.monitors.clone()
        } else if point.monitors.iter().any(|word| word == "none") {
            point.monitors.clone()
        } else {
            [suite.monitors.as_slice(), point.monitors.as_slice()].concat()
        };
        let mut own = Vec::new();
        for text in &point.knobs {
            own.push(knobs::of_invocations(text)?);
        }
        // A point's own knob wins over the same one of its suite.
        let mut preparation = of_suite.knobs.clone();
        preparation.retain(|shared| own.iter().all(|knob| knob.knob != shared.knob));
        preparation.extend(own);
        Ok(Self {
            sample_ns: point.sample.as_deref().map(time_ns).transpose()?,
            sampling: length_ns.map(|length_ns| Sampling::Batch { length_ns }),
            rules,
            preparation,
            monitors: monitors("monitors", words)?,
            beside,
            conditions,
            capped: point.capped.clone(),
            labels: point.labels.clone(),
        })
    }

    fn applied_to(&self, planned: PlannedPoint) -> PlannedPoint {
        PlannedPoint {
            point: planned.point.clone().under(&self.conditions),
            sample_ns: self.sample_ns,
            sampling: self.sampling,
            rules: self.rules,
            capped: self.capped.clone(),
            preparation: self.preparation.clone(),
            beside: self.beside.clone(),
            monitors: self.monitors.clone(),
            labels: self.labels.clone(),
            ..planned
        }
    }
}

/// The points of `memory.copy` or `memory.copy:method=nt,size=8MiB`.
fn workload_points(
    keeper: &mut Keeper,
    name: &str,
    sets: &BTreeMap<String, Vec<Value>>,
    all_threads: u64,
) -> Result<Vec<PlannedPoint>> {
    let (id, mut own_sets) = split_points(name)?;
    let entry = catalogue::find(keeper, id)?;
    if !entry.description.can_be(Role::Workload) {
        return Err(CommandError::usage(format!(
            "`{id}` can't be measured alone, because it is not a workload"
        ))
        .hint(format!("run it in the background: plumb run WORKLOAD --with {id}")));
    }
    // What is typed with -p wins.
    own_sets.extend(sets.clone());
    products(&Settings::new(), &own_sets, all_threads)?
        .iter()
        .map(|settings| planned(&entry, settings, all_threads))
        .collect()
}

/// `memory.copy:threads=2,16,size=8MiB` taken apart: the id, and the values of each parameter as typed. A word without `=` is
/// another value of the parameter before it.
///
/// # Errors
/// When the first setting is not `name=value`.
pub fn split_points(name: &str) -> Result<(&str, BTreeMap<String, Vec<Value>>)> {
    let Some((id, rest)) = name.split_once(':') else { return Ok((name, BTreeMap::new())) };
    // A path: plug-ins have no points of their own.
    if id.contains('/') {
        return Ok((name, BTreeMap::new()));
    }
    let mut sets: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut last: Option<String> = None;
    for text in rest.split(',') {
        if text.trim().is_empty() {
            return Err(CommandError::usage(format!("`{name}` contains an empty setting"))
                .hint("settings are NAME=VALUE, with commas between: threads=2,16,size=8MiB"));
        }
        match &last {
            Some(parameter) if !text.contains('=') => {
                sets.entry(parameter.clone())
                    .or_default()
                    .push(Value::Text(text.trim().to_owned()));
            }
            _ => {
                let (parameter, value) = pair(text)?;
                // A text for now: only the workload's description, which is found by the id, says what type it has.
                sets.insert(parameter.clone(), vec![Value::Text(value)]);
                last = Some(parameter);
            }
        }
    }
    Ok((id, sets))
}

/// [`split_points`] for one point.
///
/// # Errors
/// When a setting is not `name=value`, or has several values.
fn split_point(name: &str) -> Result<(&str, Settings)> {
    let (id, sets) = split_points(name)?;
    let mut settings = Settings::new();
    for (parameter, values) in sets {
        let [value] = values.as_slice() else {
            let error =
                format!("`{name}` has several values of {parameter}; only one is possible here");
            return Err(CommandError::usage(error));
        };
        settings.insert(parameter, value.clone());
    }
    Ok((id, settings))
}

/// The point of a workload with these settings.
///
/// # Errors
/// When it takes one of them not.
pub fn planned(
    entry: &CatalogueEntry,
    settings: &Settings,
    all_threads: u64,
) -> Result<PlannedPoint> {
    let point = Point::new(&entry.description, settings, all_threads)?;
    let description = entry.description.at(&point.settings);
    if description.metrics.is_empty() && !entry.description.metrics.is_empty() {
        let error = format!("`{}` can only search for limits", point.name());
        return Err(CommandError::usage(error).hint(searching(&entry.description)));
    }
    let title = command::title(&point);
    let planned = PlannedPoint::new(point, description, entry.program.clone());
    Ok(PlannedPoint { title, ..planned })
}

/// Whether a text names a point of a workload, built in or a plug-in on the path.
pub fn is_point(keeper: &mut Keeper, text: &str) -> bool {
    let id = text.split(':').next().unwrap_or_default();
    let like_an_id = id.contains('.') && !id.contains(['/', ' ']);
    like_an_id && catalogue::find(keeper, id).is_ok()
}

/// The point with other values of these parameters; those that its workload does not have are left out.
///
/// # Errors
/// When the workload does not take one.
pub fn changed(
    keeper: &mut Keeper,
    planned_before: &PlannedPoint,
    values: &[(&str, Value)],
    all_threads: u64,
) -> Result<PlannedPoint> {
    let entry = catalogue::find(keeper, &planned_before.point.workload)?;
    let mut settings = planned_before.point.settings.clone();
    for (name, value) in values {
        if settings.contains_key(*name) {
            settings.insert((*name).to_owned(), value.clone());
        }
    }
    let changed = planned(&entry, &settings, all_threads)?;
    Ok(PlannedPoint {
        point: changed.point,
        description: changed.description,
        ..planned_before.clone()
    })
}

/// How the limits of a workload are searched.
fn searching(description: &Description) -> String {
    let searched = description.parameters.iter().find(|parameter| parameter.search.is_some());
    let name = searched.map_or("", |parameter| parameter.name.as_str());
    format!("-p {name}={} starts a search", SearchEffort::Quick.word())
}

/// The points, each followed by those that show its ceiling, and by those that measure its parts. With a far end only parts
/// that are measured there, too. A part has no parts: nobody asked for what limits it.
///
/// # Errors
/// When they are none any more, because of a fault in plumb.
pub fn with_ceilings(
    keeper: &mut Keeper,
    points: Vec<PlannedPoint>,
    has_far_end: bool,
    all_threads: u64,
) -> Result<Vec<PlannedPoint>> {
    let asked: BTreeSet<_> = points.iter().map(identity).collect();
    let mut all = Vec::new();
    for planned in points {
        let mut twins = vec![planned.clone()];
        // Nobody asked for the ceiling of a ceiling, which a suite may have named.
        if planned.is_ceiling {
            all.append(&mut twins);
            continue;
        }
        twins.append(&mut ceilings_of(keeper, &planned, has_far_end, all_threads)?);
        for possible in &planned.description.bottlenecks {
            let settings = possible.settings_for(&planned.point.settings, has_far_end);
            let Some(settings) = settings else { continue };
            let entry = catalogue::find(keeper, &possible.workload)?;
            if has_far_end && !possible.is_local && !entry.description.can_be(Role::Server) {
                continue;
            }
            let part = self::planned(&entry, &settings, all_threads)?;
            let point = part.point.clone().under(&planned.point.conditions);
            let is_local = has_far_end && possible.is_local;
            if asked.contains(&(point.workload.clone(), point.key.clone(), is_local)) {
                continue;
            }
            twins.push(PlannedPoint { point, is_local, ..part_of(&planned, part) });
        }
        all.append(&mut twins);
    }
    drop_repeated(&mut all);
    few_enough(all.len())?;
    Ok(all)
}

/// The points, and one that measures the clock, by which figures in cycles become times.
///
/// # Errors
/// When the point is none, because of a fault in plumb.
pub fn with_clock(
    keeper: &mut Keeper,
    mut points: Vec<PlannedPoint>,
    all_threads: u64,
) -> Result<Vec<PlannedPoint>> {
    if !points.iter().any(measures_clock) {
        let entry = catalogue::find(keeper, "cpu.frequency")?;
        let clock = planned(&entry, &Settings::new(), all_threads)?;
        points.push(PlannedPoint { is_ceiling: true, ..clock });
    }
    few_enough(points.len())?;
    Ok(points)
}

/// Whether a point measures the clock under the usual conditions.
pub fn measures_clock(planned: &PlannedPoint) -> bool {
    planned.point.workload == "cpu.frequency" && planned.point.conditions.is_empty()
}

/// The points that show the ceiling of this one: the same work with every other value of the parameter that its workload declares,
/// and its rungs, if both ends are on this machine.
fn ceilings_of(
    keeper: &mut Keeper,
    planned: &PlannedPoint,
    has_far_end: bool,
    all_threads: u64,
) -> Result<Vec<PlannedPoint>> {
    let mut ceilings = Vec::new();
    let declared = planned.description.ceiling.as_deref();
    if let Some(parameter) = declared.and_then(|name| planned.description.parameter(name)) {
        let own = planned.point.settings.get(&parameter.name);
        for value in parameter.allowed.iter().filter(|value| Some(*value) != own) {
            let mut settings = planned.point.settings.clone();
            settings.insert(parameter.name.clone(), value.clone());
            let point = Point::new(&planned.description, &settings, all_threads)?
                .under(&planned.point.conditions);
            ceilings.push(PlannedPoint { point, is_ceiling: true, ..planned.clone() });
        }
    }
    // A part is measured on this machine, so it says nothing of a path to another one.
    let is_far = has_far_end && planned.description.can_be(Role::Server);
    for rung in planned.description.rungs.iter().filter(|_| !is_far) {
        let settings = rung.settings_for(&planned.point.workload, &planned.point.settings);
        let Some(settings) = settings else { continue };
        // The workload of a plug-in may be missing on this machine: then there is no comparison.
        let Ok(entry) = catalogue::find(keeper, &rung.workload) else { continue };
        let part = self::planned(&entry, &settings, all_threads)?;
        let point = part.point.clone().under(&planned.point.conditions);
        // One thread is not part of one thread.
        if (&point.workload, &point.key) != (&planned.point.workload, &planned.point.key) {
            ceilings.push(PlannedPoint { point, ..part_of(planned, part) });
        }
    }
    Ok(ceilings)
}

/// A part of a point's work, measured as the point is. It has no parts: nobody asked for what limits it.
fn part_of(whole: &PlannedPoint, part: PlannedPoint) -> PlannedPoint {
    let description =
        Description { bottlenecks: Vec::new(), rungs: Vec::new(), ..part.description };
    PlannedPoint {
        point: part.point,
        description,
        program: part.program,
        title: None,
        capped: None,
        is_ceiling: true,
        ..whole.clone()
    }
}

/// `name=v,v` of all `-p` taken apart.
///
/// # Errors
/// When one is no `name=value`.
pub fn parameter_sets(params: &[String]) -> Result<BTreeMap<String, Vec<Value>>> {
    let mut sets = BTreeMap::new();
    for text in params {
        let (name, values) = pair(text)?;
        sets.insert(name, values_of(&values));
    }
    Ok(sets)
}

/// The base settings with every combination of the sets, and of the values of ranges in either.
pub fn products(
    base: &Settings,
    sets: &BTreeMap<String, Vec<Value>>,
    all_threads: u64,
) -> Result<Vec<Settings>> {
    let mut whole = BTreeMap::new();
    for (name, values) in sets {
        let values = values.iter().map(|value| ranged(value, all_threads));
        whole.insert(name.clone(), values.collect::<Result<Vec<_>>>()?.concat());
    }
    // What is typed with -p wins over the point's own setting.
    for (name, value) in base.iter().filter(|(name, _)| !sets.contains_key(*name)) {
        whole.insert(name.clone(), ranged(value, all_threads)?);
    }
    let sets = &whole;
    // Counted before they are made: the product of a few long ranges would not fit into memory.
    few_enough(sets.values().fold(1, |n: usize, values| n.saturating_mul(values.len())))?;
    let mut all = vec![base.clone()];
    for (name, values) in sets {
        all = all
            .iter()
            .flat_map(|settings| {
                values.iter().map(move |value| {
                    let mut more = settings.clone();
                    more.insert(name.clone(), value.clone());
                    more
                })
            })
            .collect();
    }
    Ok(all)
}

/// A value, or all of them where it is a range.
fn ranged(value: &Value, all_threads: u64) -> Result<Vec<Value>> {
    let range = match value {
        Value::Text(text) => expanded(text, all_threads)?,
        _ => None,
    };
    Ok(range.unwrap_or_else(|| vec![value.clone()]))
}

fn few_enough(points: usize) -> Result<()> {
    let most = suite::MAX_POINTS;
    if points <= most {
        return Ok(());
    }
    Err(CommandError::usage(format!("this run would have more than {most} points"))
        .hint("use fewer values, or split them over several runs"))
}

/// Every `-p` must mean something to some point.
fn refuse_unknown(sets: &BTreeMap<String, Vec<Value>>, points: &[PlannedPoint]) -> Result<()> {
    let known: BTreeSet<String> = points
        .iter()
        .flat_map(|planned| planned.description.parameters.iter().map(|p| p.name.clone()))
        .collect();
    let Some(name) = sets.keys().find(|name| !known.contains(*name)) else { return Ok(()) };
    let error = CommandError::usage(format!("none of these workloads has a parameter `{name}`"));
    let known: Vec<String> = known.into_iter().collect();
    Err(match nearest(name, &known) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`plumb list` shows the parameters of each"),
    })
}

/// Two plug-ins of one id would be stored as one series.
fn refuse_namesakes(points: &[PlannedPoint]) -> Result<()> {
    // Stored series are told apart by ids, so two programs under one id would look like one that changed.
    let mut programs = BTreeMap::new();
    for planned in points {
        let id = &planned.point.workload;
        let first = programs.entry(id).or_insert(&planned.program);
        if **first != planned.program {
            let one = first.argv.join(" ");
            let other = planned.program.argv.join(" ");
            let error =
                CommandError::usage(format!("two plug-ins have the id `{id}`: {one} and {other}"));
            return Err(error.hint("measure them in separate runs, or give one of them another id"));
        }
    }
    Ok(())
}

/// A point that two suites want measured differently: one of them would lose its settings. `suite_of_points` has the
/// index of each point's suite.
fn refuse_disagreement(named: &NamedPoints, suite_of_points: &[Option<usize>]) -> Result<()> {
    let mut seen: BTreeMap<(&str, &str), (usize, &PlannedPoint)> = BTreeMap::new();
    for (planned, suite) in named.points.iter().zip(suite_of_points) {
        // What only shows a ceiling gives way to the same point with other settings.
        let Some(suite) = suite.filter(|_| !planned.is_ceiling) else { continue };
        let key = (planned.point.workload.as_str(), planned.point.key.as_str());
        let (first, before) = *seen.entry(key).or_insert((suite, planned));
        let is_alike = planned.rules == before.rules
            && planned.sample_ns == before.sample_ns
            && planned.sampling == before.sampling
            && planned.monitors == before.monitors
            && planned.labels == before.labels;
        if first != suite && !is_alike {
            let pair = [named.suites[first].clone(), named.suites[suite].clone()];
            let setting = format!("different settings for {}", planned.name());
            return Err(several_suites::conflict(&pair, &pair[1], &setting));
        }
    }
    Ok(())
}

/// On one CPU `threads=1,all` names the same point twice. A point that shows a ceiling gives way to the same one that was asked for.
fn drop_repeated(points: &mut Vec<PlannedPoint>) {
    let asked: BTreeSet<_> =
        points.iter().filter(|planned| !planned.is_ceiling).map(identity).collect();
    let mut seen = BTreeSet::new();
    points.retain(|planned| {
        let identity = identity(planned);
        let gives_way = planned.is_ceiling && asked.contains(&identity);
        !gives_way && seen.insert(identity)
    });
}

/// Two points with the same identity would measure the same.
fn identity(planned: &PlannedPoint) -> (String, String, bool) {
    let Point { workload, key, .. } = planned.point.clone();
    (workload, key, planned.is_local)
}

/// What runs beside, by its names.
pub fn companions(
    keeper: &mut Keeper,
    names: &[String],
    all_threads: u64,
) -> Result<Vec<Companion>> {
    let mut found = Vec::new();
    for name in names {
        let (id, settings) = split_point(name)?;
        let entry = catalogue::find(keeper, id)?;
        let roles = [Role::Load, Role::Monitor, Role::Preparation];
        let Some(role) = roles.into_iter().find(|role| entry.description.can_be(*role)) else {
            return Err(CommandError::usage(format!("`{id}` can't run in the background"))
                .hint("it needs the role load, monitor or preparation"));
        };
        found.push(Companion {
            role,
            point: planned(&entry, &settings, all_threads)?,
            slot: PreparationSlot::Run,
            of_points: false,
        });
    }
    Ok(found)
}

/// Plug-ins have ids with a dot, or paths; so do only a few knobs.
pub fn is_plugin(text: &str) -> bool {
    let name = text.split(['=', ':', '@']).next().unwrap_or(text);
    let head = name.split('.').next().unwrap_or(name);
    name.contains(['.', '/']) && KNOBS.iter().all(|knob| knob.name != head)
}

/// A plug-in that prepares: `ID[:NAME=VALUE,…][@SLOT]`.
///
/// # Errors
/// When there is none of this id, or it does not prepare.
pub fn preparing_plugin(keeper: &mut Keeper, text: &str, all_threads: u64) -> Result<Companion> {
    let (name, slot) = slotted(text).unwrap_or((text, PreparationSlot::Run));
    let found = companions(keeper, &[name.to_owned()], all_threads)?;
    match found.into_iter().next() {
        Some(companion) if companion.point.description.can_be(Role::Preparation) => {
            Ok(Companion { role: Role::Preparation, slot, ..companion })
        }
        _ => Err(CommandError::usage(format!("`{name}` is not a preparation")).hint(
            "--set takes plug-ins with the role preparation; --with runs loads and monitors",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plumb_model::Value;

    use super::{split_point, split_points};

    #[test]
    fn a_word_without_a_name_is_another_value_of_the_parameter_before_it() {
        let text = |word: &str| Value::Text(word.to_owned());
        let expected = BTreeMap::from([
            ("size".to_owned(), vec![text("1MiB")]),
            ("threads".to_owned(), vec![text("2"), text("16")]),
        ]);
        assert_eq!(
            split_points("memory.copy:threads=2,16,size=1MiB").unwrap(),
            ("memory.copy", expected)
        );
        let nameless = split_points("memory.copy:16").unwrap_err();
        assert_eq!(nameless.to_string(), "`16` is not NAME=VALUE");
        for empty in ["cpu.integer:threads=1,", "cpu.integer:threads=1,,2"] {
            assert!(split_points(empty).unwrap_err().to_string().contains("empty setting"));
        }
        let several = split_point("cpu.integer:threads=1,2").unwrap_err();
        assert!(several.to_string().contains("several values of threads"), "{several}");
    }

    #[test]
    fn first_look_knows_every_family_of_this_machine_but_the_slow_ones_and_the_tools_of_others() {
        use std::collections::BTreeSet;
        let suite = plumb_suite::parse(plumb_suite::builtin("first-look").unwrap()).unwrap();
        let family = |id: &str| id.split('.').next().unwrap().to_owned();
        let looked: BTreeSet<_> =
            suite.entries.iter().map(|entry| family(&entry.workload)).collect();
        let all = plumb_workloads::builtin().into_iter().map(|w| family(&w.describe().id));
        let missing: BTreeSet<_> = all.filter(|family| !looked.contains(family)).collect();
        let expected = ["block", "boot", "classic", "compression", "tls"];
        assert_eq!(missing.into_iter().collect::<Vec<_>>(), expected);
    }
}
