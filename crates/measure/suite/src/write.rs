//! The TOML text of a suite.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plumb_model::Value;

use crate::rules::TypedRules;
use crate::suite::{Suite, SuiteEntry};

impl Suite {
    /// The TOML text, which `parse` reads. It has only the keys that are stated.
    #[must_use]
    pub fn toml(&self) -> String {
        let mut lines = vec![format!("name = {}", quoted(&self.name))];
        lines.extend(text("summary", Some(self.summary.as_str()).filter(|text| !text.is_empty())));
        lines.extend(text("budget", self.budget.as_deref()));
        lines.extend(text("prepare", Some(self.prepare.as_str()).filter(|text| !text.is_empty())));
        lines.extend(text("compare", self.against_first.then_some("first")));
        lines.extend(rules(&self.rules()));
        lines.extend(list("set", &self.knobs));
        lines.extend(list("with", &self.with));
        lines.extend(list("monitors", &self.monitors));
        lines.extend(table("labels", &self.labels));
        lines.extend(table("expect", &self.expect));
        // Tables come last: TOML takes a key after one for a key of the table.
        lines.extend(self.entries.iter().map(SuiteEntry::toml));
        lines.join("\n") + "\n"
    }
}

impl SuiteEntry {
    fn toml(&self) -> String {
        let workload = quoted(&self.workload);
        let mut lines = vec![format!("\n[[point]]\nworkload = {workload}")];
        if !self.set.is_empty() {
            let sets = self.set.iter().map(|(name, values)| match values.as_slice() {
                [value] => (key(name), written(value)),
                values => (key(name), listed(values.iter().map(written))),
            });
            lines.push(format!("set = {}", inline(sets)));
        }
        lines.extend(rules(&self.rules()));
        lines.extend(text("sample", self.sample.as_deref()));
        lines.extend(text("invocation-time", self.invocation_time.as_deref()));
        lines.extend(list("knobs", &self.knobs));
        lines.extend(list("with", &self.with));
        lines.extend(list("monitors", &self.monitors));
        lines.extend(table("labels", &self.labels));
        // With its point, as `3.0`: TOML takes `3` for an integer, which does not read as a float.
        lines.extend(self.seconds.map(|seconds| format!("seconds = {seconds:?}")));
        lines.extend(text("capped", self.capped.as_deref()));
        lines.extend(self.ceilings.then(|| "ceilings = true".to_owned()));
        lines.join("\n")
    }
}

/// A key with a text, if one is stated.
fn text(key: &str, text: Option<&str>) -> Option<String> {
    text.map(|text| format!("{key} = {}", quoted(text)))
}

/// A key with a list of texts, if there are any.
fn list(key: &str, words: &[String]) -> Option<String> {
    let items = words.iter().map(|word| quoted(word));
    (!words.is_empty()).then(|| format!("{key} = {}", listed(items)))
}

/// A key with an inline table of texts, if there are any.
fn table(name: &str, texts: &BTreeMap<String, String>) -> Option<String> {
    let pairs = texts.iter().map(|(name, text)| (key(name), quoted(text)));
    (!texts.is_empty()).then(|| format!("{name} = {}", inline(pairs)))
}

/// The rules that are stated, a line each.
fn rules(rules: &TypedRules) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(text("precision", rules.precision.as_deref()));
    lines.extend(text("min-time", rules.min_time.as_deref()));
    lines.extend(text("max-time", rules.max_time.as_deref()));
    lines.extend(rules.min_invocations.map(|count| format!("min-invocations = {count}")));
    lines.extend(rules.max_invocations.map(|count| format!("max-invocations = {count}")));
    lines
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

/// A bare key if the name is one.
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

    use crate::{Suite, SuiteEntry, TypedRules, parse};

    fn value(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_suite_is_read_back_as_it_was_meant() {
        let set = BTreeMap::from([
            ("limit".to_owned(), vec![value("10"), value("20..40"), Value::Switch(true)]),
            ("a b".to_owned(), vec![value("it's \"x\"")]),
        ]);
        let mut entry = SuiteEntry {
            workload: "cpu.sieve".to_owned(),
            set,
            sample: Some("2ms".to_owned()),
            invocation_time: Some("1s".to_owned()),
            knobs: words(&["nice=1"]),
            with: words(&["scheduler.yield"]),
            monitors: words(&["none"]),
            labels: BTreeMap::from([("row".to_owned(), "loaded".to_owned())]),
            seconds: Some(3.0),
            capped: Some("1 GiB instead of 2".to_owned()),
            ceilings: true,
            ..SuiteEntry::default()
        };
        let own = TypedRules { min_invocations: Some(7), ..TypedRules::default() };
        entry.set_rules(own.clone());
        let plain = SuiteEntry { workload: "./my plug-in".to_owned(), ..SuiteEntry::default() };
        let mut suite = Suite {
            name: "odd \\ \u{7f}\n name".to_owned(),
            summary: "\"two\"\ttabs ±".to_owned(),
            budget: Some("5m".to_owned()),
            expect: BTreeMap::from([("cpu.sieve".to_owned(), "5kops/s".to_owned())]),
            with: words(&["process.fork"]),
            monitors: words(&["stat=10", "vmstat"]),
            prepare: "quiet".to_owned(),
            knobs: words(&["nice=0", "thp=never@round"]),
            labels: BTreeMap::from([("a b".to_owned(), "x = \"y\"".to_owned())]),
            against_first: true,
            entries: vec![entry, plain],
            ..Suite::default()
        };
        suite.set_rules(TypedRules {
            precision: Some("2%".to_owned()),
            min_invocations: Some(3),
            max_invocations: Some(9),
            min_time: Some("1s".to_owned()),
            max_time: Some("2s".to_owned()),
        });
        let read = parse(&suite.toml()).unwrap();
        assert_eq!(read, suite);
        let points: Vec<_> = read.points().collect();
        let workloads: Vec<_> = points.iter().map(|(entry, _)| entry.workload.as_str()).collect();
        assert_eq!(workloads, ["cpu.sieve", "cpu.sieve", "cpu.sieve", "./my plug-in"]);
        let limits: Vec<_> = points[..3].iter().map(|(_, set)| set["limit"].clone()).collect();
        assert_eq!(limits, [value("10"), value("20..40"), Value::Switch(true)]);
        assert_eq!(points[2].1["a b"], value("it's \"x\""));
        assert!(points[3].1.is_empty());
        assert_eq!(points[2].0.rules(), own);
        assert_eq!(points[3].0.rules(), TypedRules::default());
    }

    #[test]
    fn every_suite_that_ships_is_written_as_it_was_read() {
        for (name, text) in crate::BUILTIN {
            let suite = parse(text).unwrap();
            assert_eq!(parse(&suite.toml()), Ok(suite), "{name}");
        }
    }

    #[test]
    fn what_is_not_stated_is_not_written() {
        let entry = SuiteEntry { workload: "cpu.sieve".to_owned(), ..SuiteEntry::default() };
        let suite = Suite { name: "short".to_owned(), entries: vec![entry], ..Suite::default() };
        assert_eq!(suite.toml(), "name = \"short\"\n\n[[point]]\nworkload = \"cpu.sieve\"\n");
    }
}
