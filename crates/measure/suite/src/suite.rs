//! Suites: TOML files that name points, how well they are to be known, and in how much time.

use std::collections::BTreeMap;
use std::fmt;

use plumb_model::{Settings, Value};
use serde::{Deserialize, Deserializer};

use crate::rules::TypedRules;

/// The suites that ship with plumb, by name.
pub const BUILTIN: &[(&str, &str)] = &[
    ("board", include_str!("../../../../suites/board.toml")),
    ("bonnie", include_str!("../../../../suites/bonnie.toml")),
    ("cpu", include_str!("../../../../suites/cpu.toml")),
    ("crypto", include_str!("../../../../suites/crypto.toml")),
    ("disk", include_str!("../../../../suites/disk.toml")),
    ("first-look", include_str!("../../../../suites/first-look.toml")),
    ("kernels", include_str!("../../../../suites/kernels.toml")),
    ("languages", include_str!("../../../../suites/languages.toml")),
    ("memory", include_str!("../../../../suites/memory.toml")),
    ("remote-disk", include_str!("../../../../suites/remote-disk.toml")),
    ("scheduler", include_str!("../../../../suites/scheduler.toml")),
    ("rrdtool", include_str!("../../../../suites/rrdtool.toml")),
    ("screen", include_str!("../../../../suites/screen.toml")),
    ("ssh-ciphers", include_str!("../../../../suites/ssh-ciphers.toml")),
    ("vps", include_str!("../../../../suites/vps.toml")),
];

/// The longest suite file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The most points that a suite may name.
pub const MAX_POINTS: usize = 10_000;

/// A suite, as its file states it, `plumb run` takes it and `plumb suite new` makes it. Everything is as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Suite {
    /// The name under which runs of it are stored.
    pub name: String,
    /// One line for `plumb list`; empty for none.
    #[serde(default)]
    pub summary: String,
    // The stopping rules stand here key by key, and [`Suite::rules`] has them together: serde would report no unknown
    // keys and no line of an error in a struct with flattened fields.
    /// Its stopping rule `precision`.
    pub precision: Option<String>,
    /// Its stopping rule `min-invocations`.
    pub min_invocations: Option<usize>,
    /// Its stopping rule `max-invocations`.
    pub max_invocations: Option<usize>,
    /// Its stopping rule `min-time`.
    pub min_time: Option<String>,
    /// Its stopping rule `max-time`.
    pub max_time: Option<String>,
    /// Time for the whole run.
    pub budget: Option<String>,
    /// Its entries, in order.
    #[serde(default, rename = "point")]
    pub entries: Vec<SuiteEntry>,
    /// What results should be: a series, point or workload with a figure.
    #[serde(default)]
    pub expect: BTreeMap<String, String>,
    /// The preset that prepares the machine; empty for the usual one.
    #[serde(default)]
    pub prepare: String,
    /// Knobs that it sets.
    #[serde(default, rename = "set")]
    pub knobs: Vec<String>,
    /// What runs in the background, as `--with` takes it.
    #[serde(default)]
    pub with: Vec<String>,
    /// The monitors, as `--monitor` takes them.
    #[serde(default)]
    pub monitors: Vec<String>,
    /// Labels of its runs.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Whether its points are compared with the first.
    #[serde(default, rename = "compare", deserialize_with = "is_with_first")]
    pub against_first: bool,
}

impl Suite {
    /// When its points are done.
    #[must_use]
    pub fn rules(&self) -> TypedRules {
        TypedRules {
            precision: self.precision.clone(),
            min_invocations: self.min_invocations,
            max_invocations: self.max_invocations,
            min_time: self.min_time.clone(),
            max_time: self.max_time.clone(),
        }
    }

    /// States other rules.
    pub fn set_rules(&mut self, rules: TypedRules) {
        self.precision = rules.precision;
        self.min_invocations = rules.min_invocations;
        self.max_invocations = rules.max_invocations;
        self.min_time = rules.min_time;
        self.max_time = rules.max_time;
    }

    /// Planned time of all points, in seconds; None if an entry states none.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        self.points().map(|(entry, _)| entry.seconds).sum()
    }

    /// Its points, sets of values multiplied out: the entry that each belongs to, and the point's settings.
    pub fn points(&self) -> impl Iterator<Item = (&SuiteEntry, Settings)> {
        self.entries
            .iter()
            .flat_map(|entry| entry.settings().into_iter().map(move |settings| (entry, settings)))
    }

    /// Refuses a suite without points, with too many, or with an entry whose time is no time.
    fn check(&self) -> Result<(), SuiteError> {
        let mut points = 0;
        for entry in &self.entries {
            if let Some(seconds) = entry.seconds.filter(|s| !(s.is_finite() && *s >= 0.0)) {
                let workload = &entry.workload;
                return Err(SuiteError(format!(
                    "{workload}: seconds = {seconds} is not a length of time"
                )));
            }
            // Counted before they are made: 30 sets of ten values would be 10^30 points.
            let count =
                entry.set.values().try_fold(1_usize, |n, values| n.checked_mul(values.len()));
            match count {
                Some(count) if points + count <= MAX_POINTS => points += count,
                _ => {
                    return Err(SuiteError(format!("the suite has more than {MAX_POINTS} points")));
                }
            }
        }
        if points == 0 {
            return Err(SuiteError(
                "the suite has no points: add a [[point]] with a workload".into(),
            ));
        }
        Ok(())
    }
}

/// An entry of a suite: a workload, and the values that give a point each.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "struct Entry")]
pub struct SuiteEntry {
    /// The workload's id, or a path to a plug-in.
    pub workload: String,
    /// Values and ranges by parameter.
    #[serde(default, deserialize_with = "one_or_several")]
    pub set: BTreeMap<String, Vec<Value>>,
    // The rules of its own, as in the suite.
    /// Its stopping rule `precision`.
    pub precision: Option<String>,
    /// Its stopping rule `min-invocations`.
    pub min_invocations: Option<usize>,
    /// Its stopping rule `max-invocations`.
    pub max_invocations: Option<usize>,
    /// Its stopping rule `min-time`.
    pub min_time: Option<String>,
    /// Its stopping rule `max-time`.
    pub max_time: Option<String>,
    /// Wanted length of one sample.
    pub sample: Option<String>,
    /// How long each invocation samples.
    pub invocation_time: Option<String>,
    /// Knobs that are set for its invocations alone.
    #[serde(default)]
    pub knobs: Vec<String>,
    /// What runs in the background of its invocations alone, as `--with` takes it.
    #[serde(default)]
    pub with: Vec<String>,
    /// The monitors of its invocations, as `--monitor` takes them, if they are not the suite's.
    #[serde(default)]
    pub monitors: Vec<String>,
    /// Labels of its own.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Planned time of each of its points at the suite's precision, in seconds: spawn, set-up, discard and
    /// samples of all its invocations.
    pub seconds: Option<f64>,
    /// Why a size is smaller than it should be, with both sizes.
    pub capped: Option<String>,
    /// Whether the points that show the ceilings of its points are measured, too.
    #[serde(default)]
    pub ceilings: bool,
}

impl SuiteEntry {
    /// When its points are done, if not as the suite says.
    #[must_use]
    pub fn rules(&self) -> TypedRules {
        TypedRules {
            precision: self.precision.clone(),
            min_invocations: self.min_invocations,
            max_invocations: self.max_invocations,
            min_time: self.min_time.clone(),
            max_time: self.max_time.clone(),
        }
    }

    /// States other rules.
    pub fn set_rules(&mut self, rules: TypedRules) {
        self.precision = rules.precision;
        self.min_invocations = rules.min_invocations;
        self.max_invocations = rules.max_invocations;
        self.min_time = rules.min_time;
        self.max_time = rules.max_time;
    }

    /// Every combination of its values.
    fn settings(&self) -> Vec<Settings> {
        let mut all = vec![Settings::new()];
        for (name, values) in &self.set {
            let mut extended = Vec::new();
            for settings in &all {
                for value in values {
                    let mut more = settings.clone();
                    more.insert(name.clone(), value.clone());
                    extended.push(more);
                }
            }
            all = extended;
        }
        all
    }
}

/// What points are compared with.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Compare {
    First,
}

fn is_with_first<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Compare::deserialize(deserializer).map(|compare| matches!(compare, Compare::First))
}

/// One value, or several that give a point each.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Set {
    One(Value),
    Several(Vec<Value>),
}

/// The values of each parameter, as somebody would type them: a number of TOML becomes its text, as on the command line.
fn one_or_several<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<Value>>, D::Error> {
    let mut sets = BTreeMap::new();
    for (name, set) in BTreeMap::<String, Set>::deserialize(deserializer)? {
        let mut values = match set {
            Set::One(value) => vec![value],
            Set::Several(values) => values,
        };
        for value in &mut values {
            if let Value::Integer(number) = value {
                *value = Value::Text(number.to_string());
            }
        }
        sets.insert(name, values);
    }
    Ok(sets)
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
    let suite: Suite = serde_ignored::deserialize(document, |path| unknown.push(path.to_string()))
        .map_err(|error| SuiteError(error.to_string()))?;
    // A misspelt key would be lost silently. All of them at once: one look at the file is enough.
    if !unknown.is_empty() {
        let told: Vec<String> = unknown.iter().map(|path| unknown_key(path)).collect();
        return Err(SuiteError(told.join("\n")));
    }
    suite.check()?;
    Ok(suite)
}

/// The suite that ships with plumb under this name.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// What is said of a key that no suite has.
fn unknown_key(path: &str) -> String {
    const KNOWN: [&str; 23] = [
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
        "ceilings",
        "with",
    ];
    let last = path.rsplit('.').next().unwrap_or(path);
    let known = KNOWN.map(str::to_owned);
    match crate::nearest::nearest(last, &known) {
        Some(near) => format!("unknown key `{path}`; did you mean `{near}`?"),
        None => format!("unknown key `{path}`"),
    }
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
        assert_eq!(suite.points().count(), 31);
    }

    #[test]
    fn sets_of_values_are_multiplied() {
        let suite = parse(
            "name = 'x'\n[[point]]\nworkload = 'a.b'\nset = { n = [1, 2], m = ['u', 'v'], k = true }",
        )
        .unwrap();
        let points: Vec<_> = suite.points().map(|(_, settings)| settings).collect();
        assert_eq!(points.len(), 4);
        assert_eq!(points[3]["n"], Value::Text("2".into()));
        assert_eq!(points[3]["m"], Value::Text("v".into()));
    }

    #[test]
    fn an_unknown_key_is_an_error_with_the_nearest_name() {
        let error = parse("name = 'x'\nbugdet = '2m'\n[[point]]\nworkload = 'a.b'").unwrap_err();
        assert_eq!(error.to_string(), "unknown key `bugdet`; did you mean `budget`?");
    }

    #[test]
    fn malformed_empty_and_huge_suites_say_what_is_wrong() {
        assert!(parse("name = ").unwrap_err().to_string().contains("line 1"));
        assert!(parse("name = 'x'").unwrap_err().to_string().contains("has no points"));
        let wrong = [
            ("point=[1]", "invalid type: integer `1`, expected struct Entry"),
            ("compare='last'", "unknown variant `last`, expected `first`"),
            (
                "[[point]]\nworkload='a.b'\nset={n=1.5}",
                "did not match any variant of untagged enum Set",
            ),
            ("[[point]]\nworkload=1", "line 3, column 10"),
        ];
        for (text, said) in wrong {
            let error = parse(&format!("name='x'\n{text}")).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
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
