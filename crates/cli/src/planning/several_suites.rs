//! What several suites of one run must agree on: settings that hold for a whole run. The others (rules, loads, knobs,
//! monitors) each suite keeps to its own points.

use std::collections::BTreeMap;

use plumb_suite::{Suite, check_label, pair, time_ns};

use crate::error::{CommandError, Result};

/// The budget of the run in nanoseconds: the sum of those that its suites state, as each plans its own for its own points.
/// None if no suite states one.
///
/// # Errors
/// When a budget is not a time, or only some of several suites state one: what the points of the others may take is open.
pub fn budget_ns(suites: &[Suite]) -> Result<Option<u64>> {
    let stated: Vec<&str> = suites.iter().filter_map(|suite| suite.budget.as_deref()).collect();
    if stated.is_empty() {
        return Ok(None);
    }
    if let Some(open) = suites.iter().find(|suite| suite.budget.is_none()) {
        let error = conflict(suites, open, "no budget, but the others do");
        return Err(error.hint("or set one limit for all of them: --budget TIME"));
    }
    let mut sum_ns: u64 = 0;
    for budget in stated {
        sum_ns = sum_ns.saturating_add(time_ns(budget)?);
    }
    Ok(Some(sum_ns))
}

/// The preset that prepares the machine, if a suite names one.
///
/// # Errors
/// When suites want the machine prepared in different ways.
pub fn preset(suites: &[Suite]) -> Result<Option<&str>> {
    let Some(first) = suites.first() else { return Ok(None) };
    if let Some(other) = suites.iter().find(|suite| suite.prepare != first.prepare) {
        // One of the two names a preset; the other may leave it to plumb.
        let stating = if other.prepare.is_empty() { first } else { other };
        let preset = &stating.prepare;
        let error = conflict(suites, stating, &format!("prepare = \"{preset}\" for the whole run"));
        return Err(error.hint("or choose a preset for all of them: --prepare PRESET"));
    }
    Ok(Some(first.prepare.as_str()).filter(|preset| !preset.is_empty()))
}

/// Whether the suite wants its points compared with the first.
///
/// # Errors
/// When several suites are named, and one wants that: the points of the others would be compared, too.
pub fn against_first(suites: &[Suite]) -> Result<bool> {
    match suites.iter().find(|suite| suite.against_first) {
        None => Ok(false),
        Some(_) if suites.len() == 1 => Ok(true),
        Some(stating) => Err(conflict(suites, stating, "compare = \"first\" for the whole run")),
    }
}

/// The labels of all suites, which are labels of the run.
///
/// # Errors
/// When two suites give one label different values, and `--label` gives it none.
pub fn labels(suites: &[Suite], typed: &[String]) -> Result<BTreeMap<String, String>> {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let is_typed =
        |name: &str| typed.iter().any(|text| pair(text).is_ok_and(|(key, _)| key == name));
    for suite in suites {
        for (name, value) in &suite.labels {
            check_label(name, value)?;
            let before = labels.insert(name.clone(), value.clone());
            if before.is_some_and(|before| before != *value) && !is_typed(name) {
                let error = conflict(suites, suite, &format!("the label {name} = \"{value}\""));
                return Err(error.hint(format!("or give the label yourself: --label {name}=VALUE")));
            }
        }
    }
    Ok(labels)
}

/// Why these suites can't share a run: `stating` states what holds for a whole run.
pub fn conflict(suites: &[Suite], stating: &Suite, setting: &str) -> CommandError {
    let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
    let (last, first) = names.split_last().map_or(("", &[][..]), |(last, first)| (*last, first));
    let all = format!("{} and {last}", first.join(", "));
    let commands: Vec<String> = names.iter().map(|name| format!("plumb run {name}")).collect();
    CommandError::usage(format!(
        "the suites {all} can't be measured in one run: {} sets {setting}",
        stating.name
    ))
    .hint(format!("run them one after the other: {}", commands.join("; ")))
}
