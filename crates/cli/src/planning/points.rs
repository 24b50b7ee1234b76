//! From names on the command line to points.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use plumb_keeper::Keeper;
use plumb_model::{
    Companion, Description, PlannedPoint, Point, Role, Sampling, SearchEffort, Settings, Slot,
    StoppingRules, Value,
};
use plumb_plugins::manifest::{self, MANIFEST};
use plumb_suite::{
    self as suite, Suite, SuitePoint, TypedRules, expanded, nearest, pair, time_ns, values_of,
};

use crate::error::{CommandError, Result};
use crate::locate;
use crate::planning::catalogue::{self, Entry};
use crate::planning::knobs;
use crate::planning::monitors::monitors;

/// The suite that runs when nothing is named.
const DEFAULT_SUITE: &str = "first-look";

/// What the names on the command line stand for.
#[derive(Debug, Default)]
pub struct Named {
    /// The suites, in order.
    pub suites: Vec<Suite>,
    /// The points.
    pub points: Vec<PlannedPoint>,
    /// What runs beside single points, which name it by its index.
    pub beside: Vec<Companion>,
    /// Whether the user named a workload itself, not only suites.
    pub explicit: bool,
}

impl Named {
    /// What is to run in the background: what the suite names, then what is typed.
    pub fn with(&self, typed: &[String]) -> Vec<String> {
        let of_suite = self.suites.first().map(|suite| suite.with.as_slice()).unwrap_or_default();
        [of_suite, typed].concat()
    }
}

/// Resolves names with the parameters of `-p`; `all_threads` is what `all` stands for.
pub fn resolve(
    keeper: &mut Keeper,
    names: &[String],
    params: &[String],
    all_threads: u64,
) -> Result<Named> {
    let default = [DEFAULT_SUITE.to_owned()];
    let names = if names.is_empty() { &default[..] } else { names };
    let sets = parameter_sets(params)?;
    let mut named = Named::default();
    for name in names {
        if let Some(text) = suite_text(name)? {
            let suite = parsed(name, &text)?;
            named.add(keeper, suite, &sets, all_threads)?;
        } else {
            named.explicit = true;
            named.points.extend(workload_points(keeper, name, &sets, all_threads)?);
        }
    }
    refuse_unknown(&sets, &named.points)?;
    refuse_namesakes(&named.points)?;
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
) -> Result<Named> {
    let mut named = Named::default();
    named.add(keeper, parsed(name, text)?, &BTreeMap::new(), all_threads)?;
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
    let of_plugin = || {
        manifest::suites(locate::data_home().as_deref())
            .into_iter()
            .find(|(known, _)| known == name)
    };
    let path = if name.contains(['/', '.']) { None } else { of_plugin().map(|(_, path)| path) };
    let path = path.unwrap_or_else(|| name.into());
    if !is_suite_file(&path) {
        return Ok(None);
    }
    let size = fs::metadata(&path).map(|metadata| metadata.len()).unwrap_or(0);
    if size > suite::MAX_BYTES as u64 {
        let most = suite::MAX_BYTES;
        return Err(CommandError::usage(format!(
            "suite {name}: {size} bytes are too long: the limit is {most} bytes"
        )));
    }
    fs::read_to_string(path)
        .map(Some)
        .map_err(|error| CommandError::usage(format!("can't read the suite {name}: {error}")))
}

/// Whether the name is that of a suite's file: TOML, and no plug-in's manifest.
pub fn is_suite_file(path: &Path) -> bool {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    is_toml && !path.to_string_lossy().ends_with(MANIFEST)
}

impl Named {
    /// Adds the points of a suite, with what runs beside each.
    fn add(
        &mut self,
        keeper: &mut Keeper,
        suite: Suite,
        sets: &BTreeMap<String, Vec<Value>>,
        all_threads: u64,
    ) -> Result<()> {
        for point in &suite.points {
            let entry = catalogue::find(keeper, &point.workload)?;
            let beside = self.beside.len();
            let own = companions(keeper, &point.with, all_threads)?.into_iter();
            self.beside.extend(own.map(|it| Companion { of_points: true, ..it }));
            let with_own =
                |planned| PlannedPoint { beside: (beside..self.beside.len()).collect(), ..planned };
            let template = suite_point(&suite, point, &self.beside[beside..])?;
            let known = |name: &String| entry.description.parameter(name).is_some();
            let sets: BTreeMap<_, _> = sets
                .iter()
                .filter(|(name, _)| known(name))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            for settings in products(&point.set, &sets, all_threads)? {
                few_enough(self.points.len() + 1)?;
                self.points.push(with_own(template(planned(&entry, &settings, all_threads)?)));
            }
        }
        self.suites.push(suite);
        Ok(())
    }
}

/// What a suite says of a point besides its parameters.
fn suite_point(
    suite: &Suite,
    point: &SuitePoint,
    beside: &[Companion],
) -> Result<impl Fn(PlannedPoint) -> PlannedPoint> {
    let sample_ns = point.sample.as_deref().map(time_ns).transpose()?;
    let length_ns = point.invocation_time.as_deref().map(time_ns).transpose()?;
    let sampling = length_ns.map(|length_ns| Sampling::Batch { length_ns });
    let knobs = point.knobs.iter().map(|text| knobs::of_invocations(text));
    let preparation = knobs.collect::<Result<Vec<_>>>()?;
    let of_suite = || suite.rules.applied_to(StoppingRules::default());
    let is_stated = point.rules != TypedRules::default();
    let rules = is_stated.then(|| point.rules.applied_to(of_suite()?)).transpose()?;
    let own = &point.monitors;
    let monitors = match own.iter().any(|word| word == "none") || own.is_empty() {
        true => monitors("monitors", own.clone())?,
        false => monitors("monitors", [&suite.monitors[..], own].concat())?,
    };
    let with = beside.iter().map(|it| format!("with={}", it.point.name()));
    let set = point.knobs.iter().map(|knob| format!("set={knob}"));
    let conditions: Vec<String> = with.chain(set).collect();
    let (capped, labels) = (point.capped.clone(), point.labels.clone());
    Ok(move |planned: PlannedPoint| PlannedPoint {
        point: planned.point.clone().under(&conditions),
        sample_ns,
        sampling,
        rules,
        capped: capped.clone(),
        preparation: preparation.clone(),
        monitors: monitors.clone(),
        labels: labels.clone(),
        ..planned
    })
}

/// The points of `memory.copy` or `memory.copy:method=nt,size=8MiB`.
fn workload_points(
    keeper: &mut Keeper,
    name: &str,
    sets: &BTreeMap<String, Vec<Value>>,
    all_threads: u64,
) -> Result<Vec<PlannedPoint>> {
    let (id, settings) = split_point(name)?;
    let entry = catalogue::find(keeper, id)?;
    if !entry.description.can_be(Role::Workload) {
        return Err(CommandError::usage(format!(
            "`{id}` can't be measured by itself: it is not a workload"
        ))
        .hint(format!("run it in the background: plumb run WORKLOAD --with {id}")));
    }
    products(&settings, sets, all_threads)?
        .iter()
        .map(|s| planned(&entry, s, all_threads))
        .collect()
}

/// `memory.copy:method=nt,size=8MiB` taken apart: the id, and its settings as typed.
///
/// # Errors
/// When a setting is no `name=value`.
pub fn split_point(name: &str) -> Result<(&str, Settings)> {
    let Some((id, rest)) = name.split_once(':') else { return Ok((name, Settings::new())) };
    // A path: plug-ins have no points of their own.
    if id.contains('/') {
        return Ok((name, Settings::new()));
    }
    let settings = rest.split(',').map(|text| {
        let (key, value) = pair(text)?;
        Ok((key, Value::Text(value)))
    });
    Ok((id, settings.collect::<Result<Settings>>()?))
}

/// The point of a workload with these settings.
///
/// # Errors
/// When it takes one of them not.
pub fn planned(entry: &Entry, settings: &Settings, all_threads: u64) -> Result<PlannedPoint> {
    let point = Point::new(&entry.description, settings, all_threads)?;
    let description = entry.description.at(&point.settings);
    if description.metrics.is_empty() && !entry.description.metrics.is_empty() {
        let error = format!("`{}` measures nothing but limits", point.name());
        return Err(CommandError::usage(error).hint(searching(&entry.description)));
    }
    Ok(PlannedPoint::new(point, description, entry.program.clone()))
}

/// How the limits of a workload are searched.
fn searching(description: &Description) -> String {
    let searched = description.parameters.iter().find(|parameter| parameter.search.is_some());
    let name = searched.map_or("", |parameter| parameter.name.as_str());
    format!("-p {name}={} searches them", SearchEffort::Quick.word())
}

/// The points, each followed by those that show its ceiling.
///
/// # Errors
/// When they are none any more, because of a fault in plumb.
pub fn with_ceilings(points: Vec<PlannedPoint>, all_threads: u64) -> Result<Vec<PlannedPoint>> {
    let mut all = Vec::new();
    for planned in points {
        let ceiling = planned.description.ceiling.as_deref();
        let parameter = ceiling.and_then(|name| planned.description.parameter(name));
        let mut twins = vec![planned.clone()];
        for (parameter, value) in
            parameter.iter().flat_map(|it| it.allowed.iter().map(move |value| (it, value)))
        {
            let mut settings = planned.point.settings.clone();
            settings.insert(parameter.name.clone(), value.clone());
            let point = Point::new(&planned.description, &settings, all_threads)?;
            let point = point.under(&planned.point.conditions);
            twins.push(PlannedPoint { point, ..planned.clone() });
        }
        all.append(&mut twins);
    }
    drop_repeated(&mut all);
    Ok(all)
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
    for (name, value) in base.iter().filter(|(name, _)| !sets.contains_key(*name)) {
        whole.insert(name.clone(), ranged(value, all_threads)?);
    }
    let sets = &whole;
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
    let mut programs = BTreeMap::new();
    for planned in points {
        let id = &planned.point.workload;
        let first = programs.entry(id).or_insert(&planned.program);
        if **first != planned.program {
            let (one, other) = (first.argv.join(" "), planned.program.argv.join(" "));
            let error = CommandError::usage(format!(
                "two plug-ins call themselves `{id}`: {one} and {other}"
            ));
            return Err(error.hint("measure them in separate runs, or give one of them another id"));
        }
    }
    Ok(())
}

/// On one CPU `threads=1,all` names the same point twice.
fn drop_repeated(points: &mut Vec<PlannedPoint>) {
    let mut seen = BTreeSet::new();
    points
        .retain(|planned| seen.insert((planned.point.workload.clone(), planned.point.key.clone())));
}

/// What runs beside, by its names.
pub fn companions(
    keeper: &mut Keeper,
    names: &[String],
    all_threads: u64,
) -> Result<Vec<Companion>> {
    let one = |name: &String| {
        let (id, settings) = split_point(name)?;
        let entry = catalogue::find(keeper, id)?;
        let roles = [Role::Load, Role::Monitor, Role::Preparation];
        let Some(role) = roles.into_iter().find(|role| entry.description.can_be(*role)) else {
            return Err(CommandError::usage(format!("`{id}` can't run in the background"))
                .hint("it needs the role load, monitor or preparation"));
        };
        Ok(Companion {
            role,
            point: planned(&entry, &settings, all_threads)?,
            slot: Slot::Run,
            of_points: false,
        })
    };
    names.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn first_look_knows_every_family_of_this_machine_but_the_slow_one_and_the_tools_of_others() {
        use std::collections::BTreeSet;
        let suite = plumb_suite::parse(plumb_suite::builtin("first-look").unwrap()).unwrap();
        let family = |id: &str| id.split('.').next().unwrap().to_owned();
        let looked: BTreeSet<_> = suite.points.iter().map(|p| family(&p.workload)).collect();
        let all = plumb_workloads::builtin().into_iter().map(|w| family(&w.describe().id));
        let missing: BTreeSet<_> = all.filter(|family| !looked.contains(family)).collect();
        assert_eq!(missing.into_iter().collect::<Vec<_>>(), ["block", "classic", "compression"]);
    }
}
