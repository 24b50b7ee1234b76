//! What a crosscheck says, for every form that shows it.

use plumb_analysis::RunFinding;
use plumb_report::figure;
use plumb_text::counted;
use plumb_text::time::date;
use plumb_units::percent;

use crate::finding::{Crosschecked, Outcome};

/// A figure with its unit; `-` where nothing was measured.
pub(crate) fn side(checked: &Crosschecked, index: usize) -> String {
    let shown = checked.figures[index].as_ref().map(|it| figure(it, &checked.unit));
    shown.map_or_else(|| "-".to_owned(), |shown| format!("{} {}", shown.estimate, shown.unit))
}

/// The ratio with its interval; `-` without one.
pub(crate) fn ratio(checked: &Crosschecked) -> String {
    let ratio = checked.ratio.as_ref().filter(|it| it.interval.is_ok());
    let shown = ratio.map(|it| figure(it, ""));
    shown.map_or_else(|| "-".to_owned(), |shown| format!("{} {}", shown.estimate, shown.brackets()))
}

/// How far the two may lie apart; `-` where they are only shown.
pub(crate) fn band(checked: &Crosschecked) -> String {
    checked.row.band.map_or_else(|| "-".to_owned(), |band| format!("±{}", percent(band)))
}

/// What stands below a row: reason of the outcome, then the known difference.
pub(crate) fn remarks(checked: &Crosschecked) -> Vec<String> {
    let known = checked.row.known;
    let word = if checked.row.band.is_some() { "known difference" } else { "why they differ" };
    let known = (is_measured(checked) && !known.is_empty()).then(|| format!("{word}: {known}"));
    [checked.outcome.reason()].into_iter().filter(|it| !it.is_empty()).chain(known).collect()
}

/// The last line: how many of each.
pub(crate) fn closing(all: &[Crosschecked]) -> String {
    let count = |word: &str| all.iter().filter(|it| it.outcome.word() == word).count();
    let words = ["agrees", "disagrees", "shown", "inconclusive", "unsupported", "failed"];
    let told = ["agree", "disagree", "only shown", "inconclusive", "unsupported", "failed"];
    let parts = words.into_iter().zip(told).filter(|(word, _)| count(word) > 0);
    let parts: Vec<String> = parts.map(|(word, told)| format!("{} {told}", count(word))).collect();
    format!("{}: {}", counted(all.len(), "pair", "pairs"), parts.join(", "))
}

/// When and on what a run was measured.
pub(crate) fn place(found: &RunFinding) -> String {
    let target = found.targets.first();
    let fact = |name: &str| {
        let facts = target.map(|it| [&it.machine.facts, &it.environment.facts]);
        let value = facts.and_then(|all| all.into_iter().find_map(|facts| facts.get(name)));
        value.map_or("unknown", String::as_str).to_owned()
    };
    format!(
        "{}, plumb {}, {} × {}, {}, Linux {}",
        date(found.run.started_unix_ns),
        found.run.plumb,
        fact("cpus"),
        fact("cpu"),
        fact("memory"),
        fact("kernel"),
    )
}

/// Whether anything was compared at all.
pub(crate) fn is_measured(checked: &Crosschecked) -> bool {
    !matches!(checked.outcome, Outcome::Unsupported { .. })
}
