//! A run in sentences, to be read aloud or put into a letter.

use plumb_text::clean;
use plumb_units::without_interval;

use crate::comparison::levels::levels_text;
use crate::comparison::verdict;
use crate::run::header::ACCEPTED_FAILURES;
use crate::run::importance::by_importance;
use crate::run::labels;
use crate::run::phrases::subject;
use crate::run::results_table::{best_quarter_text, energy_text, other_cpu_text};
use crate::run::right_answers::right_answers_text;
use crate::run::since_last::{self, since_last_text};
use crate::run::view::{ResultRow, View, baseline_text, comparison_text};

/// One sentence per point, with its figure and interval: `Sequential reads of 1 MiB (O_DIRECT, depth 8): 1.9 GB/s
/// [1.4, 2.4].` Then what curves and comparisons say.
#[must_use]
pub fn in_words(view: &View) -> Vec<String> {
    let mut lines: Vec<String> = view
        .rows
        .iter()
        .filter(|row| row.finding.primary)
        .map(|row| clean(&sentence(row)))
        .collect();
    lines.extend(right_answers_text(view.finding));
    let curves = view.curves.iter();
    lines.extend(curves.map(|curve| clean(&format!("{}: {}", curve.name, curve.lines.join("; ")))));
    lines.extend(view.comparisons().iter().chain(view.above()).map(|comparison| {
        let name = comparison.name();
        let first = comparison.first_name();
        let verdict = verdict(&comparison.found);
        let figures = comparison_text(comparison);
        let levels =
            levels_text(&comparison.found).map_or_else(String::new, |text| format!("; {text}"));
        clean(&format!("{name} against {first}: {verdict}; {figures}{levels}"))
    }));
    let accepted = view.finding.accepted_failures.iter();
    lines.extend(accepted.map(|accepted| {
        clean(&format!("{ACCEPTED_FAILURES}: {}: {}.", accepted.point.name, accepted.ends))
    }));
    if let Some(title) = since_last::heading(view.finding) {
        // Every sentence is complete: it may be read alone.
        let all = since_last_text(view.finding);
        lines.extend(all.iter().map(|line| clean(&format!("{title}: {line}"))));
    }
    lines
}

fn sentence(row: &ResultRow) -> String {
    let finding = row.finding;
    let figure = &row.figure;
    let interval = match &figure.interval {
        Ok(_) => format!(" {}", figure.brackets()),
        Err(why) => format!(" {}", without_interval(why)),
    };
    let metric = match labels::metric(finding).as_str() {
        "" => String::new(),
        metric => format!(" {metric}"),
    };
    let words: Vec<&str> = by_importance(finding.flags.iter().map(|flag| &flag.flag))
        .iter()
        .map(|flag| flag.word())
        .collect();
    let flags =
        if words.is_empty() { String::new() } else { format!(" Flagged: {}.", words.join(", ")) };
    let name = subject(finding) + &row.on_target();
    let quantity = match &row.levels {
        Some(levels) => levels.whole(),
        None => format!("{}{interval}", figure.quantity()),
    };
    let beside = row
        .levels
        .as_ref()
        .and_then(|levels| levels.beside.clone())
        .map_or_else(String::new, |text| format!("; {text}"));
    let other = other_cpu_text(finding).map_or_else(String::new, |text| format!("; {text}"));
    let energy = energy_text(finding).map_or_else(String::new, |text| format!("; {text}"));
    let best = best_quarter_text(finding).map_or_else(String::new, |text| format!("; {text}"));
    let goal = row.goal.as_ref().map_or_else(String::new, |text| format!("; {text}"));
    let baseline = baseline_text(finding).map_or_else(String::new, |text| format!("; {text}"));
    format!("{name}: {quantity}{metric}{beside}{other}{energy}{best}{baseline}{goal}.{flags}")
}
