//! What a third party's workload may say of itself. plumb refuses a plug-in that breaks a rule, because
//! its numbers would be stored under names and units that mean nothing.

use std::collections::BTreeSet;

use plumb_model::{
    Better, Description, Metric, MetricSource, ParameterType, Point, QuantityKind, Role,
    SearchEffort, Settings,
};
use plumb_protocol::LONGEST_TIMEOUT_S;

/// The longest name of a workload, parameter or metric.
const LONGEST_NAME: usize = 64;
/// The longest unit.
const LONGEST_UNIT: usize = 32;

/// Units that are no SI base units, with what stands for them.
const PREFIXED: &[(&str, &str)] = &[
    ("ns", "s"),
    ("us", "s"),
    ("µs", "s"),
    ("ms", "s"),
    ("sec", "s"),
    ("seconds", "s"),
    ("min", "s"),
    ("h", "s"),
    ("bytes", "B"),
    ("kB", "B"),
    ("KB", "B"),
    ("MB", "B"),
    ("GB", "B"),
    ("TB", "B"),
    ("KiB", "B"),
    ("MiB", "B"),
    ("GiB", "B"),
    ("TiB", "B"),
    ("bit", "B"),
    ("kbit", "B"),
    ("Mbit", "B"),
    ("Gbit", "B"),
    ("mJ", "J"),
    ("kJ", "J"),
    ("Wh", "J"),
    ("kWh", "J"),
    ("mW", "W"),
    ("kHz", "Hz"),
    ("MHz", "Hz"),
    ("GHz", "Hz"),
    ("%", "share, as a fraction of 1"),
];

/// One rule, and how a description stands to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRule {
    /// A word for it.
    pub name: &'static str,
    /// The result; an error names the defect and the right form.
    pub verdict: Result<String, String>,
}

/// All rules, in the order in which they are shown; `is_builtin` shows whether a built-in workload has its id.
#[must_use]
pub fn judge(description: &Description, is_builtin: bool) -> Vec<CheckRule> {
    vec![
        rule("id", id(description)),
        rule("built-in", shadowing(description, is_builtin)),
        rule("version", version(description)),
        rule("roles", roles(description)),
        rule("parameters", parameters(description)),
        rule("curves", curves(description)),
        rule("metrics", metrics(description)),
        rule("units", units(description)),
        rule("search", search(description)),
        rule("fixture", fixture(description)),
        rule("ceiling", ceiling(description)),
        rule("link", link(description)),
        rule("bottlenecks", bottlenecks(description)),
        rule("rungs", rungs(description)),
        rule("timeout", timeout(description)),
    ]
}

fn rule(name: &'static str, verdict: Result<String, String>) -> CheckRule {
    CheckRule { name, verdict }
}

fn id(description: &Description) -> Result<String, String> {
    let id = &description.id;
    match id.split_once('.') {
        Some((family, name)) if is_name(family) && is_name(name) && id.len() <= LONGEST_NAME => {
            Ok(id.clone())
        }
        _ => Err(format!(
            "`{id}` is not a `family.name`: two words of lower-case letters, digits, `_` and `-`, each \
             beginning with a letter, at most {LONGEST_NAME} characters"
        )),
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-'))
        && text.len() <= LONGEST_NAME
}

fn shadowing(description: &Description, is_builtin: bool) -> Result<String, String> {
    let id = &description.id;
    if is_builtin {
        return Err(format!("`{id}` is built in; give the plug-in another id"));
    }
    Ok("not the id of a built-in workload".into())
}

fn version(description: &Description) -> Result<String, String> {
    match description.version {
        0 => {
            Err("versions begin at 1 and increase when old and new numbers can't be compared"
                .into())
        }
        version => Ok(version.to_string()),
    }
}

fn roles(description: &Description) -> Result<String, String> {
    let words: Vec<String> =
        description.roles.iter().map(|role| format!("{role:?}").to_lowercase()).collect();
    match words.is_empty() {
        true => Err("it has no role (workload, server, preparation, monitor or load)".into()),
        false => Ok(words.join(", ")),
    }
}

fn parameters(description: &Description) -> Result<String, String> {
    let names: Vec<&str> = description.parameters.iter().map(|p| p.name.as_str()).collect();
    distinct("parameter", &names)?;
    match Point::new(description, &Settings::new(), 1) {
        Ok(_) if names.is_empty() => Ok("none".into()),
        Ok(_) => Ok(format!("{}; all defaults are allowed", names.join(", "))),
        Err(error) => Err(format!("the default of `{}`: {}", error.parameter, error.why)),
    }
}

fn curves(description: &Description) -> Result<String, String> {
    let mut declared = Vec::new();
    for parameter in &description.parameters {
        let Some(curve) = parameter.curve else { continue };
        if !parameter.kind.is_number() {
            return Err(format!(
                "`{}` has the curve `{}` but is not a number; curves need the type `integer`, \
                 `bytes`, `threads`, `rate` or `time`",
                parameter.name,
                curve.word()
            ));
        }
        declared.push(format!("{}: {}", parameter.name, curve.word()));
    }
    Ok(if declared.is_empty() { "none".into() } else { declared.join(", ") })
}

fn distinct(what: &str, names: &[&str]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !is_name(name) {
            return Err(format!(
                "{what} `{name}`: names consist of lower-case letters, digits and `_`, and begin with a letter"
            ));
        }
        if !seen.insert(name) {
            return Err(format!("{what} `{name}` is declared twice"));
        }
    }
    Ok(())
}

/// Whether it reports samples in one of its roles.
#[must_use]
pub fn is_sampled(description: &Description) -> bool {
    [Role::Workload, Role::Monitor, Role::Load].into_iter().any(|role| description.can_be(role))
}

fn metrics(description: &Description) -> Result<String, String> {
    let names: Vec<&str> = description.metrics.iter().map(|m| m.name.as_str()).collect();
    distinct("metric", &names)?;
    match description.primary() {
        None if is_sampled(description) => {
            Err("it declares no metric; precision and scorecards use the first one".into())
        }
        None => Ok(()),
        Some(first) if first.kind == QuantityKind::Histogram => Err(format!(
            "the first metric, `{}`, is a histogram; it must be one number per sample",
            first.name
        )),
        Some(_) => Ok(()),
    }?;
    let mut metrics = description.metrics.iter();
    match metrics.find(|metric| metric.headline && metric.kind == QuantityKind::Histogram) {
        Some(metric) => Err(format!(
            "`{}` is a headline and a histogram; a headline needs one number per sample",
            metric.name
        )),
        None if names.is_empty() => Ok("none".into()),
        None => Ok(names.join(", ")),
    }
}

fn units(description: &Description) -> Result<String, String> {
    for metric in &description.metrics {
        unit(metric)?;
    }
    Ok("SI base units".into())
}

fn unit(metric: &Metric) -> Result<(), String> {
    let Metric { name, unit, .. } = metric;
    if unit.chars().count() > LONGEST_UNIT || unit.chars().any(char::is_control) {
        return Err(format!(
            "`{name}`: a unit may be at most {LONGEST_UNIT} printable characters long"
        ));
    }
    let counted = unit.strip_suffix("/s");
    match metric.source {
        MetricSource::Time if unit != "s" => {
            return Err(format!(
                "`{name}` has the source `time`, so its unit must be `s`, not `{unit}`"
            ));
        }
        MetricSource::Rate if counted.is_none() => {
            return Err(format!(
                "`{name}` has the source `rate`, so its unit must end with `/s` (`B/s`, `ops/s`), unlike `{unit}`"
            ));
        }
        MetricSource::Time | MetricSource::Rate | MetricSource::Value | MetricSource::Search => {}
    }
    match metric.bounds {
        Some(_) if metric.kind != QuantityKind::Histogram => {
            return Err(format!("`{name}` has bounds but is not a histogram"));
        }
        Some((low, high)) if low >= high => {
            return Err(format!(
                "`{name}`: the bounds {low} to {high} are reversed; the lower one comes first"
            ));
        }
        Some(_) | None => {}
    }
    let bare = counted.unwrap_or(unit);
    match PREFIXED.iter().find(|(prefixed, _)| *prefixed == bare) {
        Some((_, base)) => Err(format!(
            "`{name}` is in `{unit}`; plumb converts units for display, so report {base}, not {bare}"
        )),
        None => Ok(()),
    }
}

/// A limit has a parameter whose loads are searched, and the other way round.
fn search(description: &Description) -> Result<String, String> {
    let mut searched = description.parameters.iter().filter(|parameter| parameter.search.is_some());
    let mut limits =
        description.metrics.iter().filter(|metric| metric.source == MetricSource::Search);
    let (parameter, limit) = match (searched.next(), limits.next()) {
        (None, None) => return Ok("none".into()),
        (Some(parameter), None) => {
            return Err(format!(
                "`{}` is searched, but no metric has the source `search`",
                parameter.name
            ));
        }
        (None, Some(limit)) => {
            return Err(format!("`{}` is a limit, but no parameter has a `search`", limit.name));
        }
        (Some(parameter), Some(limit)) => (parameter, limit),
    };
    if let Some(second) = searched.next() {
        return Err(format!(
            "`{}` and `{}` are searched; only one can be",
            parameter.name, second.name
        ));
    }
    if let Some(second) = limits.next() {
        return Err(format!(
            "`{}` and `{}` are limits; a search finds only one",
            limit.name, second.name
        ));
    }
    if limit.unit.strip_suffix("/s").is_none() || limit.better != Better::Higher {
        return Err(format!(
            "`{}` is a limit, so its unit must end with `/s`, and `better` must be `higher`",
            limit.name
        ));
    }
    let of =
        parameter.search.as_ref().map(|search| search.by(SearchEffort::Quick, search.goal.clone()));
    let goal = of.ok_or("it has no metric with the source `search`")?;
    goal.check().map_err(|error| format!("`{}` can't be searched: {error}", parameter.name))?;
    Ok(format!("{} with {}, from {} to {}", limit.name, goal.words, goal.from, goal.to))
}

fn fixture(description: &Description) -> Result<String, String> {
    let Some(keys) = &description.fixture else { return Ok("none".into()) };
    match keys.iter().find(|key| description.parameter(key).is_none()) {
        Some(key) => Err(format!("it depends on `{key}`, which is not a parameter")),
        None if keys.is_empty() => Ok("one for all points".into()),
        None => Ok(format!("one for each setting of {}", keys.join(", "))),
    }
}

fn ceiling(description: &Description) -> Result<String, String> {
    let Some(name) = &description.ceiling else { return Ok("none".into()) };
    match description.parameter(name) {
        None => Err(format!("its ceiling is `{name}`, which is not a parameter")),
        Some(parameter) if parameter.allowed.is_empty() => {
            Err(format!("its ceiling is `{name}`, which has no list of allowed values"))
        }
        Some(_) => Ok(format!("the best value of {name}")),
    }
}

fn bottlenecks(description: &Description) -> Result<String, String> {
    let all = &description.bottlenecks;
    let parts = all.iter().map(|part| (part.name.as_str(), part.parameters().collect()));
    references("bottleneck", description, parts.collect())
}

fn rungs(description: &Description) -> Result<String, String> {
    for rung in &description.rungs {
        let Some(times) = &rung.times else { continue };
        let kind = description.parameter(times).map(|parameter| parameter.kind);
        if !matches!(kind, None | Some(ParameterType::Integer | ParameterType::Threads)) {
            return Err(format!(
                "the rung `{}` is multiplied by `{times}`, which is not a count",
                rung.name
            ));
        }
        if description.primary().is_some_and(|first| first.better != Better::Higher) {
            return Err(format!(
                "the rung `{}` has `times`, but the first metric is not better if it is higher",
                rung.name
            ));
        }
    }
    let all = &description.rungs;
    let parts = all.iter().map(|part| (part.name.as_str(), part.parameters().collect()));
    references("rung", description, parts.collect())
}

/// The names of parts of the work. Each has the names of the workload's parameters to which it refers.
fn references(
    kind: &str,
    description: &Description,
    parts: Vec<(&str, Vec<&str>)>,
) -> Result<String, String> {
    let mut names = Vec::new();
    for (name, parameters) in parts {
        if name.is_empty() || names.contains(&name) {
            return Err(format!("two {kind}s are called `{name}`, or one has no name"));
        }
        if let Some(unknown) =
            parameters.into_iter().find(|own| description.parameter(own).is_none())
        {
            return Err(format!(
                "the {kind} `{name}` refers to `{unknown}`, which is not a parameter"
            ));
        }
        names.push(name);
    }
    Ok(if names.is_empty() { "none".into() } else { names.join(", ") })
}

fn link(description: &Description) -> Result<String, String> {
    let Some(terms) = &description.link else { return Ok("none".into()) };
    for direction in &terms.directions {
        linked_parameter(description, &direction.bandwidth, ParameterType::Rate)?;
        linked_metric(description, &direction.bytes)?;
    }
    linked_parameter(description, &terms.round_trip, ParameterType::Time)?;
    if let Some(name) = &terms.scale {
        linked_parameter(description, name, ParameterType::Integer)?;
    }
    for name in &terms.operations {
        linked_metric(description, name)?;
    }
    Ok(terms.parameters().collect::<Vec<_>>().join(", "))
}

/// A name in a link's terms is that of a parameter of this type.
fn linked_parameter(
    description: &Description,
    name: &str,
    kind: ParameterType,
) -> Result<(), String> {
    if description.parameter(name).is_some_and(|parameter| parameter.kind == kind) {
        return Ok(());
    }
    let kind = format!("{kind:?}").to_lowercase();
    Err(format!("its link names `{name}`, which is not a parameter of the type `{kind}`"))
}

/// A name in a link's terms is that of a metric.
fn linked_metric(description: &Description, name: &str) -> Result<(), String> {
    match description.metric(name) {
        Some(_) => Ok(()),
        None => Err(format!("its link names `{name}`, which is not a metric")),
    }
}

fn timeout(description: &Description) -> Result<String, String> {
    match description.timeout_s {
        None => {
            Ok(format!("{} s per message (the default)", plumb_launch::DEFAULT_TIMEOUT.as_secs()))
        }
        Some(seconds @ 1..=LONGEST_TIMEOUT_S) => Ok(format!("{seconds} s per message")),
        Some(seconds) => {
            Err(format!("timeout_s is {seconds}; it must be from 1 to {LONGEST_TIMEOUT_S}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CheckRule, judge};
    use plumb_model::Description;

    fn broken(text: &str) -> Vec<&'static str> {
        let description: Description = serde_json::from_str(text).unwrap();
        judge(&description, description.id == "memory.copy")
            .iter()
            .filter(|r| r.verdict.is_err())
            .map(|r| r.name)
            .collect()
    }

    fn with(change: &str) -> String {
        let sound = r#""id":"a.b","version":1,"summary":"","roles":["workload"],"metrics":[{"name":"t","unit":"s","better":"lower","source":"time"}]"#;
        let mut document: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&format!("{{{sound}}}")).unwrap();
        let change: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&format!("{{{change}}}")).unwrap();
        document.extend(change);
        serde_json::to_string(&document).unwrap()
    }

    #[test]
    fn a_sound_description_breaks_no_rule() {
        assert!(broken(&with(r#""summary":"fine""#)).is_empty());
    }

    #[test]
    fn each_rule_finds_its_own_fault() {
        let metric = |rest: &str| format!(r#""metrics":[{{"name":"m","better":"lower",{rest}}}]"#);
        let faults = [
            (r#""id":"nodot""#.to_owned(), "id"),
            (r#""id":"A.b""#.to_owned(), "id"),
            (r#""id":"a.b/c""#.to_owned(), "id"),
            (r#""id":"memory.copy""#.to_owned(), "built-in"),
            (r#""version":0"#.to_owned(), "version"),
            (r#""roles":[]"#.to_owned(), "roles"),
            (r#""metrics":[]"#.to_owned(), "metrics"),
            (metric(r#""unit":"s","kind":"histogram""#), "metrics"),
            (metric(r#""unit":"ms""#), "units"),
            (metric(r#""unit":"MB/s""#), "units"),
            (metric(r#""unit":"\u001b[31mops/s""#), "units"),
            (metric(r#""unit":"s","source":"rate""#), "units"),
            (metric(r#""unit":"B/s","source":"time""#), "units"),
            (
                r#""metrics":[{"name":"t","unit":"s","better":"lower","bounds":[1,9]}]"#.to_owned(),
                "units",
            ),
            (
                r#""metrics":[{"name":"t","unit":"s","better":"lower"},{"name":"l","unit":"s","better":"lower","kind":"histogram","bounds":[9,9]}]"#
                    .to_owned(),
                "units",
            ),
            (r#""fixture":["size"]"#.to_owned(), "fixture"),
            (r#""ceiling":"method""#.to_owned(), "ceiling"),
            (r#""link":{"directions":[],"round_trip":"rtt"}"#.to_owned(), "link"),
            (
                r#""parameters":[{"name":"rtt","type":"time","default":0}],"link":{"directions":[],"round_trip":"rtt","operations":["n"]}"#
                    .to_owned(),
                "link",
            ),
            (
                r#""bottlenecks":[{"name":"path","workload":"network.tcp","metric":"throughput","settings":{"rtt":"$rtt"}}]"#
                    .to_owned(),
                "bottlenecks",
            ),
            (
                r#""bottlenecks":[{"name":"a","workload":"x.y","metric":"m"},{"name":"a","workload":"x.z","metric":"m"}]"#
                    .to_owned(),
                "bottlenecks",
            ),
            (
                r#""rungs":[{"name":"one thread","workload":"x.y","metric":"m","times":"threads"}]"#
                    .to_owned(),
                "rungs",
            ),
            (
                r#""parameters":[{"name":"way","type":"text","default":""}],"rungs":[{"name":"a","workload":"x.y","metric":"m","times":"way"}]"#
                    .to_owned(),
                "rungs",
            ),
            (r#""timeout_s":0"#.to_owned(), "timeout"),
            (r#""timeout_s":18446744073709551615"#.to_owned(), "timeout"),
            (
                r#""parameters":[{"name":"n","type":"choice","default":"x","allowed":["a"]}]"#
                    .to_owned(),
                "parameters",
            ),
            (
                r#""parameters":[{"name":"n","type":"integer","default":1},{"name":"n","type":"integer","default":1}]"#
                    .to_owned(),
                "parameters",
            ),
            (
                r#""parameters":[{"name":"n","type":"text","default":"1","curve":"line"}]"#.to_owned(),
                "curves",
            ),
            (
                r#""parameters":[{"name":"n","type":"switch","default":false,"curve":"knee"}]"#
                    .to_owned(),
                "curves",
            ),
        ];
        for (change, rule) in faults {
            assert_eq!(broken(&with(&change)), [rule], "{change}");
        }
    }

    #[test]
    fn what_is_right_says_what_it_saw() {
        let description: Description = serde_json::from_str(&with(r#""timeout_s":5"#)).unwrap();
        let last = judge(&description, false).pop().unwrap();
        assert_eq!(last, CheckRule { name: "timeout", verdict: Ok("5 s per message".into()) });
    }
}
