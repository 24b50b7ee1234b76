//! The text of a crosscheck, for every output format.

use plumb_analysis::RunFinding;
use plumb_report::figure;
use plumb_text::counted;
use plumb_text::time::date;
use plumb_units::percent;

use crate::finding::{Agreement, Crosschecked};

/// A figure with its unit; `-` if nothing was measured.
pub(crate) fn side(checked: &Crosschecked, index: usize) -> String {
    let shown = checked.figures[index].as_ref().map(|estimate| figure(estimate, &checked.unit));
    shown.map_or_else(|| "-".to_owned(), |shown| format!("{} {}", shown.estimate, shown.unit))
}

/// The ratio with its interval; `-` without one.
pub(crate) fn ratio(checked: &Crosschecked) -> String {
    let shown = checked
        .ratio
        .as_ref()
        .filter(|ratio| ratio.interval.is_ok())
        .map(|ratio| figure(ratio, ""));
    shown.map_or_else(|| "-".to_owned(), |shown| format!("{} {}", shown.estimate, shown.brackets()))
}

/// How far the two may lie apart; `-` if they are only shown.
pub(crate) fn band(checked: &Crosschecked) -> String {
    checked.row.band.map_or_else(|| "-".to_owned(), |band| format!("±{}", percent(band)))
}

/// The remarks below a row: reason of the outcome, then the known difference.
pub(crate) fn remarks(checked: &Crosschecked) -> Vec<String> {
    let known = checked.row.known;
    let word = if checked.row.band.is_some() { "known difference" } else { "why they differ" };
    // Why two figures differ is of no use if there are no figures.
    let difference =
        (is_measured(checked) && !known.is_empty()).then(|| format!("{word}: {known}"));
    [checked.outcome.reason()]
        .into_iter()
        .filter(|text| !text.is_empty())
        .chain(difference)
        .collect()
}

/// The last line: how many of each.
pub(crate) fn closing(all: &[Crosschecked]) -> String {
    let words = [
        ("agrees", "agree"),
        ("disagrees", "disagree"),
        ("shown", "only shown"),
        ("inconclusive", "inconclusive"),
        ("unsupported", "unsupported"),
        ("failed", "failed"),
    ];
    let parts: Vec<String> = words
        .into_iter()
        .map(|(word, in_plural)| {
            (all.iter().filter(|checked| checked.outcome.word() == word).count(), in_plural)
        })
        .filter(|(count, _)| *count > 0)
        .map(|(count, in_plural)| format!("{count} {in_plural}"))
        .collect();
    format!("{}: {}", counted(all.len(), "pair", "pairs"), parts.join(", "))
}

/// When and on what a run was measured.
pub(crate) fn place(found: &RunFinding) -> String {
    format!(
        "{}, plumb {}, {} × {}, {}, Linux {}",
        date(found.run.started_unix_ns),
        found.run.plumb,
        fact(found, "cpus"),
        fact(found, "cpu"),
        fact(found, "memory"),
        fact(found, "kernel"),
    )
}

/// A fact of the machine or of its environment by name; `unknown` if it was not read.
fn fact<'f>(found: &'f RunFinding, name: &str) -> &'f str {
    let target = found.targets.first();
    target
        .and_then(|target| target.machine.facts.get(name).or(target.environment.facts.get(name)))
        .map_or("unknown", String::as_str)
}

/// Whether anything was compared at all.
pub(crate) fn is_measured(checked: &Crosschecked) -> bool {
    !matches!(checked.outcome, Agreement::Unsupported { .. })
}
