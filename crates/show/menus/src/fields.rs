//! What a suite states in a line of text: its label, how it is typed, and the key of the draft behind it.

use plumb_suite::{Suite, TypedRules, UsageError, pair};

use crate::form::{Form, line};
use crate::planner::Planner;

/// A text that a menu changes in a `T`.
pub struct MenuField<T> {
    /// Its line in a menu.
    pub label: &'static str,
    /// How it is typed.
    pub help: fn() -> String,
    /// As it is typed; empty if it is left to plumb.
    pub get: fn(&T) -> String,
    /// Takes what was typed.
    pub set: fn(&mut T, &str) -> Result<(), UsageError>,
}

impl<T> MenuField<T> {
    /// Its line in a menu.
    pub fn line(&self, of: &T) -> String {
        let text = (self.get)(of);
        line(self.label, if text.is_empty() { "-" } else { &text })
    }
}

/// What a suite states in a line.
pub const SUITE: &[MenuField<Suite>] = &[
    MenuField {
        label: "Budget",
        help: || "The time of the whole run: 90s, 10m, 2h.".into(),
        get: |draft| draft.budget.clone().unwrap_or_default(),
        set: |draft, text| {
            draft.budget = stated(text);
            Ok(())
        },
    },
    MenuField {
        label: "Monitors",
        help: monitors,
        get: |draft| draft.monitors.join(" "),
        set: |draft, text| {
            draft.monitors = words(text);
            Ok(())
        },
    },
    MenuField {
        label: "In the background",
        help: || {
            "Loads, monitors of plug-ins and preparations that run at the same time: process.fork \
             memory.copy:size=1MiB. Separate them with spaces."
                .into()
        },
        get: |draft| draft.with.join(" "),
        set: |draft, text| {
            draft.with = words(text);
            Ok(())
        },
    },
    MenuField {
        label: "Knobs",
        help: || {
            "Settings of the machine, undone afterwards: thp=never drop-caches@round. Separate them with \
             spaces; plumb tune lists the knobs."
                .into()
        },
        get: |draft| draft.knobs.join(" "),
        set: |draft, text| {
            draft.knobs = words(text);
            Ok(())
        },
    },
    MenuField {
        label: "Labels",
        help: || {
            "Labels of the suite's runs: purpose=nightly, owner=me. Separate them with commas."
                .into()
        },
        get: |draft| {
            let pairs = draft.labels.iter().map(|(name, text)| format!("{name}={text}"));
            pairs.collect::<Vec<_>>().join(", ")
        },
        set: |draft, text| {
            let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
            draft.labels = pairs.map(pair).collect::<Result<_, _>>()?;
            Ok(())
        },
    },
    MenuField {
        label: "Summary",
        help: || "One line that describes the suite.".into(),
        get: |draft| draft.summary.clone(),
        set: |draft, text| {
            draft.summary = text.to_owned();
            Ok(())
        },
    },
    MenuField {
        label: "Name",
        help: || "Name of the suite's runs; the file's name if empty.".into(),
        get: |draft| draft.name.clone(),
        set: |draft, text| {
            draft.name = text.to_owned();
            Ok(())
        },
    },
];

/// When points are done.
const RULES: &[MenuField<TypedRules>] = &[
    MenuField {
        label: "Precision",
        help: || "The target half-width of the interval, as a share of the estimate: 1%.".into(),
        get: |rules| rules.precision.clone().unwrap_or_default(),
        set: |rules, text| {
            rules.precision = stated(text);
            Ok(())
        },
    },
    MenuField {
        label: "Minimum invocations",
        help: || "The minimum number of invocations per point.".into(),
        get: |rules| rules.min_invocations.map(|n| n.to_string()).unwrap_or_default(),
        set: |rules, text| {
            rules.min_invocations = count(text)?;
            Ok(())
        },
    },
    MenuField {
        label: "Maximum invocations",
        help: || "The maximum number of invocations per point.".into(),
        get: |rules| rules.max_invocations.map(|n| n.to_string()).unwrap_or_default(),
        set: |rules, text| {
            rules.max_invocations = count(text)?;
            Ok(())
        },
    },
    MenuField {
        label: "Minimum time",
        help: || "The minimum time per point: 2s, 1m.".into(),
        get: |rules| rules.min_time.clone().unwrap_or_default(),
        set: |rules, text| {
            rules.min_time = stated(text);
            Ok(())
        },
    },
    MenuField {
        label: "Maximum time",
        help: || "The maximum time per point: 30s, 5m.".into(),
        get: |rules| rules.max_time.clone().unwrap_or_default(),
        set: |rules, text| {
            rules.max_time = stated(text);
            Ok(())
        },
    },
];

/// Whose rules a menu changes.
#[derive(Debug, Clone, Copy)]
pub enum RulesOwner {
    /// Those of the suite, for all its points.
    Suite,
    /// Those of the entry at this index.
    Entry(usize),
}

impl RulesOwner {
    fn rules(self, draft: &Suite) -> TypedRules {
        match self {
            Self::Suite => draft.rules(),
            Self::Entry(index) => draft.entries[index].rules(),
        }
    }

    fn set_rules(self, draft: &mut Suite, rules: TypedRules) {
        match self {
            Self::Suite => draft.set_rules(rules),
            Self::Entry(index) => draft.entries[index].set_rules(rules),
        }
    }
}

/// The menu of stopping rules.
pub fn rules<P: Planner>(
    form: &mut Form<'_, P>,
    title: &str,
    owner: RulesOwner,
) -> Result<(), P::Error> {
    let mut at = 0;
    loop {
        let now = owner.rules(&form.draft);
        let items: Vec<String> = RULES.iter().map(|field| field.line(&now)).collect();
        let about = "A point ends when its precision and both minima are reached, or at a maximum.";
        let Some(chosen) = form.choose(title, about, &items, at)? else { return Ok(()) };
        at = chosen;
        let field = &RULES[chosen];
        let text = (field.get)(&now);
        form.change(field.label, &(field.help)(), &text, |draft, typed| {
            let mut rules = owner.rules(draft);
            (field.set)(&mut rules, typed)?;
            owner.set_rules(draft, rules);
            Ok(())
        })?;
    }
}

/// The rules that are stated, in a line.
pub fn rules_line(rules: &TypedRules) -> String {
    let mut stated = Vec::new();
    for field in RULES {
        let text = (field.get)(rules);
        if !text.is_empty() {
            stated.push(format!("{} {text}", field.label.to_lowercase()));
        }
    }
    stated.join(", ")
}

fn monitors() -> String {
    let mut lines = Vec::new();
    for monitor in plumb_monitors::ALL {
        let usual = monitor.default_hz.map_or("on request".into(), |hz| format!("{hz} Hz"));
        lines.push(format!("  {:<12} {usual:<16} {}", monitor.name, monitor.summary));
    }
    format!(
        "{}\nThe monitors that you name also run; stat=20 sets a rate; none turns off the default ones. Separate \
         names with spaces.",
        lines.join("\n")
    )
}

fn stated(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn count(text: &str) -> Result<Option<usize>, UsageError> {
    let Some(text) = stated(text) else { return Ok(None) };
    let number = text.parse();
    number
        .map(Some)
        .map_err(|_| UsageError::new(format!("`{text}` is not a number of invocations")))
}
