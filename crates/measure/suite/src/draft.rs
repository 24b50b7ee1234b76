//! A suite before it is a file, and the TOML that it becomes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plumb_model::Value;

use crate::rules::TypedRules;

/// A suite that is being written; everything as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// What runs of it are called.
    pub name: String,
    /// One line for people, empty for none.
    pub summary: String,
    /// When its points are done.
    pub rules: TypedRules,
    /// Time for the whole run.
    pub budget: Option<String>,
    /// What runs in the background.
    pub with: Vec<String>,
    /// The monitors and their rates.
    pub monitors: Vec<String>,
    /// The preset that prepares the machine, empty for the usual one.
    pub prepare: String,
    /// Knobs that it sets.
    pub knobs: Vec<String>,
    /// Labels of its runs.
    pub labels: BTreeMap<String, String>,
    /// Whether its points are compared with the first.
    pub against_first: bool,
    /// Its entries, in order.
    pub entries: Vec<DraftEntry>,
}

/// An entry of a suite: a workload, and the values that give a point each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DraftEntry {
    /// The workload's id, or the path of a plug-in.
    pub workload: String,
    /// Values and ranges by parameter.
    pub set: BTreeMap<String, Vec<Value>>,
    /// When its points are done, where that is not as the suite says.
    pub rules: TypedRules,
}

impl Draft {
    /// The TOML text, which `parse` reads.
    #[must_use]
    pub fn toml(&self) -> String {
        let mut lines = vec![format!("name = {}", quoted(&self.name))];
        let compare = self.against_first.then_some("first");
        let texts = [
            ("summary", stated(&self.summary)),
            ("budget", self.budget.as_deref()),
            ("prepare", stated(&self.prepare)),
            ("compare", compare),
        ];
        for (key, text) in texts {
            lines.extend(text.map(|text| format!("{key} = {}", quoted(text))));
        }
        lines.extend(rules(&self.rules).map(|(key, value)| format!("{key} = {value}")));
        for (key, words) in
            [("set", &self.knobs), ("with", &self.with), ("monitors", &self.monitors)]
        {
            if !words.is_empty() {
                lines.push(format!("{key} = {}", listed(words.iter().map(|word| quoted(word)))));
            }
        }
        if !self.labels.is_empty() {
            let pairs = self.labels.iter().map(|(name, text)| (key(name), quoted(text)));
            lines.push(format!("labels = {}", inline(pairs)));
        }
        // Tables come last: TOML takes a key after one for a key of the table.
        lines.extend(self.entries.iter().map(DraftEntry::toml));
        lines.join("\n") + "\n"
    }
}

impl DraftEntry {
    fn toml(&self) -> String {
        let workload = quoted(&self.workload);
        let mut lines = vec![format!("\n[[point]]\nworkload = {workload}")];
        if !self.set.is_empty() {
            let pairs = self.set.iter().map(|(name, values)| match values.as_slice() {
                [value] => (key(name), written(value)),
                values => (key(name), listed(values.iter().map(written))),
            });
            lines.push(format!("set = {}", inline(pairs)));
        }
        lines.extend(rules(&self.rules).map(|(key, value)| format!("{key} = {value}")));
        lines.join("\n")
    }
}

/// A text that is not empty.
fn stated(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// The keys of the rules that are stated.
fn rules(rules: &TypedRules) -> impl Iterator<Item = (&'static str, String)> {
    let keys = [
        ("precision", rules.precision.as_deref().map(quoted)),
        ("min-time", rules.min_time.as_deref().map(quoted)),
        ("max-time", rules.max_time.as_deref().map(quoted)),
        ("min-invocations", rules.min_invocations.map(|count| count.to_string())),
        ("max-invocations", rules.max_invocations.map(|count| count.to_string())),
    ];
    keys.into_iter().filter_map(|(key, value)| Some((key, value?)))
}

/// An inline table.
fn inline(pairs: impl Iterator<Item = (String, String)>) -> String {
    let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn listed(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn written(value: &Value) -> String {
    match value {
        Value::Switch(on) => on.to_string(),
        Value::Integer(n) => n.to_string(),
        Value::Text(text) => quoted(text),
    }
}

/// A bare key where the name is one.
fn key(name: &str) -> String {
    let is_bare = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if is_bare && !name.is_empty() { name.to_owned() } else { quoted(name) }
}

/// A basic string of TOML 1.0.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plumb_model::Value;

    use super::{Draft, DraftEntry};
    use crate::{TypedRules, parse};

    #[test]
    fn a_draft_is_read_back_as_it_was_meant() {
        let text = |text: &str| Value::Text(text.to_owned());
        let set = BTreeMap::from([
            ("limit".to_owned(), vec![text("10"), text("20..40"), Value::Switch(true)]),
            ("a b".to_owned(), vec![text("it's \"x\"")]),
        ]);
        let own = TypedRules { min_invocations: Some(7), ..TypedRules::default() };
        let draft = Draft {
            name: "odd \\ \u{7f}\n name".to_owned(),
            summary: "\"two\"\ttabs ±".to_owned(),
            rules: TypedRules {
                precision: Some("2%".to_owned()),
                min_invocations: Some(3),
                max_invocations: Some(9),
                min_time: Some("1s".to_owned()),
                max_time: Some("2s".to_owned()),
            },
            budget: Some("5m".to_owned()),
            with: vec!["process.fork".to_owned()],
            monitors: vec!["stat=10".to_owned(), "vmstat".to_owned()],
            prepare: "quiet".to_owned(),
            knobs: vec!["nice=0".to_owned(), "thp=never@round".to_owned()],
            labels: BTreeMap::from([("a b".to_owned(), "x = \"y\"".to_owned())]),
            against_first: true,
            entries: vec![
                DraftEntry { workload: "cpu.sieve".to_owned(), set, rules: own.clone() },
                DraftEntry { workload: "./my plug-in".to_owned(), ..DraftEntry::default() },
            ],
        };
        let suite = parse(&draft.toml()).unwrap();
        let Draft { name, summary, rules, budget, with, monitors, .. } = draft.clone();
        let read = (suite.name, suite.summary, suite.rules, suite.budget);
        assert_eq!(read, (name, summary, rules, budget));
        assert_eq!((suite.with, suite.monitors), (with, monitors));
        assert_eq!((suite.prepare, suite.knobs), (draft.prepare, draft.knobs));
        assert_eq!((suite.labels, suite.against_first), (draft.labels, true));
        let points: Vec<_> = suite.points.iter().map(|point| point.workload.as_str()).collect();
        assert_eq!(points, ["cpu.sieve", "cpu.sieve", "cpu.sieve", "./my plug-in"]);
        let limits: Vec<_> =
            suite.points[..3].iter().map(|point| point.set["limit"].clone()).collect();
        assert_eq!(limits, [text("10"), text("20..40"), Value::Switch(true)]);
        assert_eq!(suite.points[2].set["a b"], text("it's \"x\""));
        assert!(suite.points[3].set.is_empty());
        assert_eq!(
            (&suite.points[2].rules, &suite.points[3].rules),
            (&own, &TypedRules::default())
        );
    }

    #[test]
    fn what_is_not_stated_is_not_written() {
        let entry = DraftEntry { workload: "cpu.sieve".to_owned(), ..DraftEntry::default() };
        let draft = Draft { name: "short".to_owned(), entries: vec![entry], ..Draft::default() };
        assert_eq!(draft.toml(), "name = \"short\"\n\n[[point]]\nworkload = \"cpu.sieve\"\n");
    }
}
