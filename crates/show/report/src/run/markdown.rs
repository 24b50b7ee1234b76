//! A run as Markdown tables, for a ticket or a pull request.

use plumb_analysis::CONFIDENCE;
use plumb_units::{Figure, percent, whole_percent};

use crate::comparison::covariates::covariates_text;
use crate::comparison::levels::levels_text;
use crate::comparison::{proof_lines, verdict};
use crate::run::burst::burst_text;
use crate::run::header::{ACCEPTED_FAILURES, not_reached_heading};
use crate::run::implementation_table::ImplementationTable;
use crate::run::results_table::{best_quarter_text, energy_text, other_cpu_text};
use crate::run::right_answers::right_answers_text;
use crate::run::since_last::{self, since_last_text};
use crate::run::start_ups::in_one_line;
use crate::run::view::{
    FlagNote, ResultRow, View, baseline_text, comparison_text, encryption_text, shared_confidence,
    spread_text, unsupported_name,
};
use plumb_text::markdown::{code, escape};

/// The run as Markdown.
#[must_use]
pub fn markdown(view: &View) -> String {
    let mut out = heading(view);
    out.push_str(&results(view));
    out.extend(right_answers_text(view.finding).map(|text| format!("\n{}\n", escape(&text))));
    out.extend(view.implementations.iter().map(implementations));
    out.push_str(&list(
        "Curves and rankings",
        view.curves
            .iter()
            .map(|curve| format!("{}: {}", code(&curve.name), escape(&curve.lines.join("; ")))),
    ));
    out.push_str(&comparisons(view));
    let proof = proof_lines(view.finding.proof.as_ref());
    out.push_str(&list("Proof", proof.iter().map(|line| escape(line))));
    out.push_str(&list(
        "Start-up",
        view.finding
            .start_ups
            .iter()
            .map(|found| format!("{}: {}", code(&found.point.name), escape(&in_one_line(found)))),
    ));
    out.push_str(&list("Reasons to distrust", view.flags.iter().map(flag)));
    let finding = view.finding;
    out.push_str(&list(
        "Not supported here",
        finding.unsupported.iter().map(|u| {
            let fix =
                if u.fix.is_empty() { String::new() } else { format!("; {}", escape(&u.fix)) };
            format!("{}: {}{fix}", code(&unsupported_name(u)), escape(&u.why))
        }),
    ));
    out.push_str(&list(
        "Failed",
        finding.failed.iter().map(|f| {
            let name = code(&f.point.name);
            let why = escape(&f.why);
            format!("{name}: {why} ({} of {} invocations)", f.times, f.of)
        }),
    ));
    let accepted = finding.accepted_failures.iter();
    out.push_str(&list(
        ACCEPTED_FAILURES,
        accepted.map(|accepted| format!("{}: {}", code(&accepted.point.name), accepted.ends)),
    ));
    if let Some(title) = since_last::heading(finding) {
        out.push_str(&list(&title, since_last_text(finding).iter().map(|line| escape(line))));
    }
    let not_reached = finding.not_reached.iter().map(|point| code(&point.name));
    out.push_str(&list(&not_reached_heading(finding), not_reached));
    out
}

fn heading(view: &View) -> String {
    let header = &view.header;
    let mut out = format!("### plumb: {} ({})\n\n", escape(&header.title), header.status);
    let lines = header.places.iter().flat_map(|place| place.lines().map(str::to_owned));
    let load = header.load.iter().map(|load| format!("load: {load}"));
    let prepared = header.prepared.iter().map(|prepared| format!("prepared: {prepared}"));
    let last = [header.when.clone(), header.goal.clone(), format!("run {}", view.finding.run.id)];
    for line in lines.chain(load).chain(prepared).chain(last) {
        out.push_str(&format!("- {}\n", escape(&line)));
    }
    out
}

fn results(view: &View) -> String {
    let rows: Vec<String> =
        view.families.iter().flat_map(|family| view.shown(family, true)).map(result).collect();
    if rows.is_empty() {
        return "\nNothing was measured.\n".to_owned();
    }
    let level = percent(CONFIDENCE);
    let head =
        format!("| point | metric | median | {level} interval | unit | ± | n | CPU | flags |");
    let rule = "| :-- | :-- | --: | :-- | :-- | --: | --: | --: | :-- |";
    let note = "±: half-width of the interval; n: invocations × samples per invocation; CPU: user and system time over \
                wall time.";
    format!("\n{head}\n{rule}\n{}\n{note}\n", rows.concat())
}

fn result(row: &ResultRow) -> String {
    let finding = row.finding;
    // A Markdown cell has no lines of its own, but may hold a break.
    let levels = row.levels.as_ref().map(|levels| {
        let beside = levels.beside.as_ref().map_or_else(String::new, |text| format!("; {text}"));
        format!("<br>{}", escape(&(levels.shares() + &beside)))
    });
    let flags: Vec<String> = finding.flags.iter().map(|f| escape(f.flag.word())).collect();
    let baseline = baseline_text(finding).map(|text| format!("<br>{}", escape(&text)));
    let burst = burst_text(finding).map(|text| format!("<br>{}", escape(&text)));
    let other = other_cpu_text(finding).map(|text| format!("<br>{}", escape(&text)));
    let energy = energy_text(finding).map(|text| format!("<br>{}", escape(&text)));
    let best = best_quarter_text(finding).map(|text| format!("<br>{}", escape(&text)));
    let goal = row.goal.as_ref().map(|text| format!("<br>{}", escape(text)));
    let cells = [
        code(&finding.point.name)
            + &escape(&row.on_target())
            + &levels.unwrap_or_default()
            + &burst.unwrap_or_default()
            + &other.unwrap_or_default()
            + &energy.unwrap_or_default()
            + &best.unwrap_or_default()
            + &baseline.unwrap_or_default()
            + &goal.unwrap_or_default(),
        escape(&finding.metric),
        shown(row, |figure| figure.estimate.clone()),
        shown(row, interval),
        escape(&shown(row, |figure| figure.unit.clone())),
        half_width(row).unwrap_or_default(),
        row.counts.clone(),
        row.cpu_share().map_or_else(String::new, whole_percent),
        flags.join(", "),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// The table of implementations of the same work.
fn implementations(table: &ImplementationTable) -> String {
    let titles = table.titles();
    let head = titles.map(|title| escape(&title)).join(" | ");
    let mut out = format!("\n**{}**\n\n| {head} |\n|", escape(&table.title));
    for align in [" --: |", " :-- |"].into_iter().chain([" --: |"; 6]).chain([" :-- |"]) {
        out.push_str(align);
    }
    out.push('\n');
    for row in &table.rows {
        let cells = row.cells().map(|cell| escape(&cell));
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out + &format!("\n{}\n", escape(&table.note))
}

/// A part of a row's figure; of two levels both, if they differ.
fn shown(row: &ResultRow, of: fn(&Figure) -> String) -> String {
    row.levels.as_ref().map_or_else(|| of(&row.figure), |levels| levels.both(of))
}

/// The relative half-width of the interval that is shown; of two levels both.
fn half_width(row: &ResultRow) -> Option<String> {
    match &row.finding.levels {
        None => row.finding.shown().relative_half_width().map(percent),
        Some(levels) => {
            let halves =
                levels.by_share().map(|level| level.estimate.relative_half_width().map(percent));
            halves
                .iter()
                .any(Option::is_some)
                .then(|| halves.map(|half| half.unwrap_or_else(|| "none".to_owned())).join(" or "))
        }
    }
}

fn interval(figure: &Figure) -> String {
    match &figure.interval {
        Ok(_) => figure.brackets(),
        Err(_) if figure.missing().is_none() => figure.interval_cell(),
        Err(why) => format!("none: {}", escape(why)),
    }
}

fn comparisons(view: &View) -> String {
    let Some(first) = view.comparisons().first() else { return String::new() };
    let lines = view.comparisons().iter().map(|comparison| {
        let name = code(&comparison.name());
        let verdict = verdict(&comparison.found);
        let also_changed = covariates_text(&comparison.found.covariates)
            .map_or_else(String::new, |text| format!("; {text}"));
        let spread: String = [spread_text(comparison), encryption_text(comparison)]
            .into_iter()
            .flatten()
            .map(|text| format!("; {text}"))
            .collect();
        let above =
            view.above_text(comparison).map_or_else(String::new, |text| format!("; {text}"));
        let levels =
            levels_text(&comparison.found).map_or_else(String::new, |text| format!("; {text}"));
        let text = comparison_text(comparison) + &levels + &spread + &also_changed + &above;
        format!("{name}: **{verdict}**, {}", escape(&text))
    });
    let title = format!("Compared with {}{}", code(&first.first_name()), shared_confidence(first));
    list(&title, lines)
}

fn flag(note: &FlagNote) -> String {
    format!("**{}**: {}", escape(note.flag.word()), escape(&note.explained()))
}

fn list(title: &str, lines: impl Iterator<Item = String>) -> String {
    let lines: String = lines.map(|line| format!("- {line}\n")).collect();
    if lines.is_empty() { lines } else { format!("\n**{title}**\n\n{lines}") }
}
