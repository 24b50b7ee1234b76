//! Suites: TOML files that name points, how well they are to be known, and in how much time.

use std::collections::BTreeMap;
use std::fmt;

use plumb_model::{Settings, Value};
use serde::Deserialize;

use crate::rules::TypedRules;

/// The suites that ship with plumb, by name.
pub const BUILTIN: &[(&str, &str)] = &[
    ("board", include_str!("../../../../suites/board.toml")),
    ("bonnie", include_str!("../../../../suites/bonnie.toml")),
    ("cpu", include_str!("../../../../suites/cpu.toml")),
    ("disk", include_str!("../../../../suites/disk.toml")),
    ("first-look", include_str!("../../../../suites/first-look.toml")),
    ("kernels", include_str!("../../../../suites/kernels.toml")),
    ("memory", include_str!("../../../../suites/memory.toml")),
    ("remote-disk", include_str!("../../../../suites/remote-disk.toml")),
    ("scheduler", include_str!("../../../../suites/scheduler.toml")),
    ("vps", include_str!("../../../../suites/vps.toml")),
];

/// The longest suite file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The most points that a suite may name.
pub const MAX_POINTS: usize = 10_000;

/// A suite that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The name under which runs of it are stored.
    pub name: String,
    /// One line for `plumb list`.
    pub summary: String,
    /// When its points are done, as typed.
    pub rules: TypedRules,
    /// Time for the whole run, as typed.
    pub budget: Option<String>,
    /// Its points, sets of values multiplied out.
    pub points: Vec<SuitePoint>,
    /// What results should be: a series, point or workload with a figure, as typed.
    pub expect: BTreeMap<String, String>,
    /// The preset that prepares the machine, empty for the usual one.
    pub prepare: String,
    /// Knobs that it sets, as typed.
    pub knobs: Vec<String>,
    /// What runs in the background, as `--with` takes it.
    pub with: Vec<String>,
    /// The monitors, as `--monitor` takes them.
    pub monitors: Vec<String>,
    /// Labels of its runs.
    pub labels: BTreeMap<String, String>,
    /// Whether its points are compared with the first.
    pub against_first: bool,
}

impl Suite {
    /// Planned time of all points, in seconds; None when one states none.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        self.points.iter().map(|point| point.seconds).sum()
    }
}

/// A point of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct SuitePoint {
    /// The workload's id, or a path to a plug-in.
    pub workload: String,
    /// The parameters that it sets.
    pub set: Settings,
    /// When it is done, as typed, where that is not as the suite says.
    pub rules: TypedRules,
    /// Wanted length of one sample, as typed.
    pub sample: Option<String>,
    /// How long each invocation samples, as typed.
    pub invocation_time: Option<String>,
    /// Knobs that are set for its invocations alone, as typed.
    pub knobs: Vec<String>,
    /// What runs in the background of its invocations alone, as `--with` takes it.
    pub with: Vec<String>,
    /// The monitors beside its invocations, as `--monitor` takes them, where they are not the suite's.
    pub monitors: Vec<String>,
    /// Labels of its own.
    pub labels: BTreeMap<String, String>,
    /// Planned time of the point at the suite's precision, in seconds: spawn, set-up, discard and
    /// samples of all its invocations. Where an entry gives several points, each takes as long.
    pub seconds: Option<f64>,
    /// Why a size is smaller than it should be, with both sizes.
    pub capped: Option<String>,
}

/// Why a suite can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteError(pub String);

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SuiteError {}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    name: String,
    #[serde(default)]
    summary: String,
    precision: Option<String>,
    min_invocations: Option<usize>,
    max_invocations: Option<usize>,
    min_time: Option<String>,
    max_time: Option<String>,
    budget: Option<String>,
    #[serde(default, rename = "point")]
    points: Vec<Entry>,
    #[serde(default)]
    expect: BTreeMap<String, String>,
    #[serde(default)]
    prepare: String,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    monitors: Vec<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    compare: Option<Compare>,
}

/// What points are compared with.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Compare {
    First,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry {
    workload: String,
    #[serde(default)]
    set: BTreeMap<String, Set>,
    precision: Option<String>,
    min_invocations: Option<usize>,
    max_invocations: Option<usize>,
    min_time: Option<String>,
    max_time: Option<String>,
    sample: Option<String>,
    invocation_time: Option<String>,
    #[serde(default)]
    knobs: Vec<String>,
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    monitors: Vec<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    seconds: Option<f64>,
    capped: Option<String>,
}

/// One value, or several that give a point each.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Set {
    One(Value),
    Several(Vec<Value>),
}

impl Set {
    fn values(&self) -> &[Value] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Several(values) => values,
        }
    }
}

/// Reads a suite.
///
/// # Errors
/// When it is too long, malformed, has unknown keys, names no point or too many; the message has line and column where
/// the file is malformed.
pub fn parse(text: &str) -> Result<Suite, SuiteError> {
    if text.len() > MAX_BYTES {
        return Err(SuiteError(format!(
            "the suite is too long: {} bytes, the limit is {MAX_BYTES}",
            text.len()
        )));
    }
    let mut unknown = Vec::new();
    let document = toml::Deserializer::parse(text).map_err(|e| SuiteError(e.to_string()))?;
    let file: File = serde_ignored::deserialize(document, |path| unknown.push(path.to_string()))
        .map_err(|error| SuiteError(error.to_string()))?;
    // A misspelt key would be lost silently. All of them at once: one look at the file is enough.
    if !unknown.is_empty() {
        let told: Vec<String> = unknown.iter().map(|path| unknown_key(path)).collect();
        return Err(SuiteError(told.join("\n")));
    }
    let points = multiply(&file)?;
    let rules = TypedRules {
        precision: file.precision,
        min_invocations: file.min_invocations,
        max_invocations: file.max_invocations,
        min_time: file.min_time,
        max_time: file.max_time,
    };
    Ok(Suite {
        name: file.name,
        summary: file.summary,
        rules,
        budget: file.budget,
        points,
        expect: file.expect,
        prepare: file.prepare,
        knobs: file.set,
        with: file.with,
        monitors: file.monitors,
        labels: file.labels,
        against_first: matches!(file.compare, Some(Compare::First)),
    })
}

/// The suite that ships with plumb under this name.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// What is said of a key that no suite has.
fn unknown_key(path: &str) -> String {
    const KNOWN: [&str; 22] = [
        "compare",
        "expect",
        "labels",
        "monitors",
        "name",
        "prepare",
        "summary",
        "precision",
        "min-invocations",
        "max-invocations",
        "min-time",
        "max-time",
        "budget",
        "point",
        "workload",
        "set",
        "sample",
        "invocation-time",
        "knobs",
        "seconds",
        "capped",
        "with",
    ];
    let last = path.rsplit('.').next().unwrap_or(path);
    let known = KNOWN.map(str::to_owned);
    match crate::nearest::nearest(last, &known) {
        Some(near) => format!("unknown key `{path}`; did you mean `{near}`?"),
        None => format!("unknown key `{path}`"),
    }
}

fn multiply(file: &File) -> Result<Vec<SuitePoint>, SuiteError> {
    let mut points = Vec::new();
    for entry in &file.points {
        if let Some(seconds) = entry.seconds.filter(|s| !(s.is_finite() && *s >= 0.0)) {
            let workload = &entry.workload;
            return Err(SuiteError(format!(
                "{workload}: seconds = {seconds} is not a length of time"
            )));
        }
        let count =
            entry.set.values().try_fold(1_usize, |n, set| n.checked_mul(set.values().len()));
        if count.is_none_or(|count| points.len() + count > MAX_POINTS) {
            return Err(SuiteError(format!("the suite names more than {MAX_POINTS} points")));
        }
        points.extend(entry_points(entry));
    }
    if points.is_empty() {
        return Err(SuiteError(
            "the suite names no points: add a [[point]] with a workload".into(),
        ));
    }
    Ok(points)
}

/// A value as somebody would type it: a number of TOML is what it is on the command line.
fn typed(value: &Value) -> Value {
    match value {
        Value::Integer(number) => Value::Text(number.to_string()),
        other => other.clone(),
    }
}

fn entry_points(entry: &Entry) -> Vec<SuitePoint> {
    let mut all = vec![Settings::new()];
    for (name, set) in &entry.set {
        let mut extended = Vec::new();
        for settings in &all {
            for value in set.values() {
                let mut more = settings.clone();
                more.insert(name.clone(), typed(value));
                extended.push(more);
            }
        }
        all = extended;
    }
    let rules = TypedRules {
        precision: entry.precision.clone(),
        min_invocations: entry.min_invocations,
        max_invocations: entry.max_invocations,
        min_time: entry.min_time.clone(),
        max_time: entry.max_time.clone(),
    };
    let mut points = Vec::new();
    for set in all {
        points.push(SuitePoint {
            workload: entry.workload.clone(),
            set,
            rules: rules.clone(),
            sample: entry.sample.clone(),
            invocation_time: entry.invocation_time.clone(),
            knobs: entry.knobs.clone(),
            with: entry.with.clone(),
            monitors: entry.monitors.clone(),
            labels: entry.labels.clone(),
            seconds: entry.seconds,
            capped: entry.capped.clone(),
        });
    }
    points
}

#[cfg(test)]
mod tests {
    use super::{BUILTIN, parse};
    use plumb_model::Value;

    #[test]
    fn every_suite_that_ships_is_sound() {
        for (name, text) in BUILTIN {
            let suite = parse(text).unwrap();
            assert_eq!(suite.name, *name);
        }
    }

    /// What is left of the budget goes into fixtures, reading the machine and the scorecard.
    #[test]
    fn the_sums_of_suites_fit_their_budgets() {
        for (name, text) in BUILTIN {
            let suite = parse(text).unwrap();
            let budget = crate::quantity::time_ns(suite.budget.as_ref().unwrap()).unwrap();
            // How long a pass of bonnie++ takes is for its size to say.
            let Some(sum) = suite.seconds() else {
                assert_eq!(*name, "bonnie");
                continue;
            };
            assert!(sum < budget as f64 * 1e-9 - 10.0, "{name}: {sum} s");
        }
    }

    #[test]
    fn the_suite_of_cbenchsuite_has_its_points() {
        let suite = parse(super::builtin("scheduler").unwrap()).unwrap();
        assert_eq!(suite.points.len(), 31);
    }

    #[test]
    fn sets_of_values_are_multiplied() {
        let suite = parse(
            "name = 'x'\n[[point]]\nworkload = 'a.b'\nset = { n = [1, 2], m = ['u', 'v'], k = true }",
        )
        .unwrap();
        assert_eq!(suite.points.len(), 4);
        assert_eq!(suite.points[3].set["n"], Value::Text("2".into()));
        assert_eq!(suite.points[3].set["m"], Value::Text("v".into()));
    }

    #[test]
    fn an_unknown_key_is_an_error_with_the_nearest_name() {
        let error = parse("name = 'x'\nbugdet = '2m'\n[[point]]\nworkload = 'a.b'").unwrap_err();
        assert_eq!(error.to_string(), "unknown key `bugdet`; did you mean `budget`?");
    }

    #[test]
    fn malformed_empty_and_huge_suites_say_what_is_wrong() {
        assert!(parse("name = ").unwrap_err().to_string().contains("line 1"));
        assert!(parse("name = 'x'").unwrap_err().to_string().contains("names no points"));
        for seconds in ["nan", "inf", "-1.0"] {
            let text = format!("name='x'\n[[point]]\nworkload='a.b'\nseconds={seconds}");
            assert!(parse(&text).unwrap_err().to_string().contains("is not a length of time"));
        }
        let many = format!(
            "name='x'\n[[point]]\nworkload='a'\nset={{a={0},b={0},c={0}}}",
            "[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4]"
        );
        assert!(parse(&many).unwrap_err().to_string().contains("more than 10000"));
        assert!(
            parse(&"#".repeat(super::MAX_BYTES + 1)).unwrap_err().to_string().contains("too long")
        );
    }
}
