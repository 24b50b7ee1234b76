//! The page of a run: its scorecard.

use plumb_analysis::{FailedInvocations, PointComparison};
use plumb_chart::Chart;
use plumb_report::charts;
use plumb_report::comparison::{covariates_text, proof_lines};
use plumb_report::run::{
    ACCEPTED_FAILURES, FlagNote, ImplementationTable, View, encryption_text, looks_text,
    not_reached_heading, spread_text, unsupported_name,
};
use plumb_units::percent;

use crate::answer::answer;
use crate::curves::curves;
use crate::frame::{Page, PageSubject};
use crate::html::{Html, Tag, link, wrap};
use crate::names::{self, LinkedPages};
use crate::parts::{
    DataTable, cell, command, estimated, facts, heading, list, name, nothing, paragraph, term,
    verdict,
};
use crate::results::results;

/// Pieces of evidence that stand next to a flag.
const MOST_EVIDENCE: usize = 12;

/// The page of a run; `sides` are the charts of its sides.
#[must_use]
pub fn run_page(view: &View, sides: Vec<Chart>, links: &LinkedPages) -> Page {
    let run = view.finding.run.id;
    let title = format!(
        "{}, {}",
        view.header.title,
        plumb_text::time::date(view.finding.run.started_unix_ns)
    );
    let mut page = Page::new(names::run_page(run), PageSubject::Run, title).at_run(view, None);
    page.add(wrap("h1", view.header.title.as_str()).add(" ").add(status(view)));
    page.add(answer(view, links));
    // Only the chart of the whole run stands above the table, which answers more than the others do.
    let (whole, rest): (Vec<_>, Vec<_>) =
        charts::of_run(view).into_iter().partition(|chart| chart.id == charts::OVERVIEW);
    page.draw(whole.into_iter().chain(sides).collect());
    page.add(about(view));
    page.add(results(view));
    page.add(implementations(view));
    page.add(curves(view, None));
    page.draw(rest);
    let parts = [
        comparisons(view),
        proof(view),
        distrust(&view.flags),
        unsupported(view),
        failed(view),
        accepted(view),
    ];
    for part in parts {
        page.add(part);
    }
    page.add(not_reached(view));
    page.add(next(view));
    page
}

/// Whether the comparison works here (`ab --prove`).
fn proof(view: &View) -> Html {
    let lines = proof_lines(view.finding.proof.as_ref());
    let text = list(lines.iter().map(String::as_str));
    if text.is_empty() { text } else { heading("proof", "Proof").and(text) }
}

fn status(view: &View) -> Html {
    wrap("small", view.header.status).class("status").into()
}

/// Where, when and how it was measured.
fn about(view: &View) -> Html {
    let header = &view.header;
    let run = &view.finding.run;
    let mut pairs: Vec<(Html, Html)> = Vec::new();
    for (place, target) in header.places.iter().zip(&view.finding.targets) {
        let page = names::machine_page(&target.machine.fingerprint, &target.host);
        let machine = link(&format!("{page}.html"), place.machine.as_str());
        pairs.push((term("Machine", "machine"), machine.into()));
        for (what, line) in [("System", &place.system), ("Files", &place.dir)] {
            pairs.push((what.into(), line.as_str().into()));
        }
    }
    pairs.push(("When".into(), header.when.as_str().into()));
    pairs.push((term("Goal", "precision"), header.goal.as_str().into()));
    let load = header.load.as_deref().unwrap_or_default();
    pairs.push((term("Load", "load"), load.into()));
    let prepared = header.prepared.as_deref().unwrap_or_default();
    pairs.push((term("Prepared", "preparation"), prepared.into()));
    pairs.push(("Command".into(), command(&run.command.join(" "))));
    pairs.push((term("Run", "run"), command(&run.id.to_string())));
    // Most runs have no load and no preparation, and results of other tools have no command.
    pairs.retain(|(_, value)| !value.is_empty());
    facts(pairs)
}

/// The tables of implementations of the same work, such as languages.
fn implementations(view: &View) -> Html {
    let mut all = Html::default();
    for (index, shown) in view.implementations.iter().enumerate() {
        let mut table = DataTable::new(shown.titles());
        for row in &shown.rows {
            // Ranks, times and percentages line up; the implementation names its row.
            let cells = row.cells().into_iter().enumerate().map(|(column, text)| match column {
                1 => name(text),
                column if column + 1 == ImplementationTable::COLUMNS => cell(text),
                _ => cell(text).class("num"),
            });
            table.row(cells);
        }
        let id = format!("implementations-{}", index + 1);
        all = all.and(heading(&id, shown.title.as_str()).and(table.build()));
        all.push(paragraph(shown.note.as_str()));
    }
    all
}

fn comparisons(view: &View) -> Html {
    let Some(first) = view.comparisons().first() else { return Html::default() };
    let margin = percent(first.margin);
    let title = format!("Compared with {}, margin {margin}", first.first_name());
    let with_first = heading("compared", title).and(sides(view.comparisons(), false));
    if view.above().is_empty() {
        return with_first;
    }
    let title = format!("Compared with the row above, margin {margin}");
    with_first.and(heading("compared-above", title)).and(sides(view.above(), true))
}

/// A row a comparison; what each is compared with if that is not always the same.
fn sides(all: &[PointComparison], above: bool) -> Html {
    let other = if above { "Above" } else { "" };
    let titles = [
        "Side",
        other,
        "Verdict",
        "× the cost",
        "Interval",
        "Difference",
        "Its interval",
        "Pairs",
        "Earlier looks",
        "Also changed",
    ];
    let mut table = DataTable::new(titles.into_iter().filter(|title| !title.is_empty()));
    for comparison in all {
        table.row(side(comparison, above));
    }
    table.build()
}

fn side(comparison: &PointComparison, above: bool) -> Vec<Tag> {
    let mut cells = vec![name(comparison.name().as_str())];
    cells.extend(above.then(|| cell(comparison.first_name().as_str())));
    cells.push(cell(verdict(&comparison.found.verdict)));
    for (estimate, unit) in
        [(&comparison.found.ratio, ""), (&comparison.difference, comparison.unit.as_str())]
    {
        match estimate {
            Some(estimate) => cells.extend(estimated(estimate, unit)),
            None => cells.extend([nothing(), nothing()]),
        }
    }
    let pairs = comparison.found.by_pairs().map_or(0, |pairs| pairs.pairs);
    cells.push(crate::parts::count(pairs));
    cells.push(cell(looks_text(&comparison.found).unwrap_or_default()));
    let remarks: Vec<&str> = comparison.found.remarks.iter().map(|remark| remark.words()).collect();
    let rest = [
        Some(remarks.join(", ")).filter(|remarks| !remarks.is_empty()),
        spread_text(comparison),
        encryption_text(comparison),
        covariates_text(&comparison.found.covariates),
    ];
    cells.push(cell(list(rest.into_iter().flatten())));
    cells
}

fn distrust(notes: &[FlagNote]) -> Html {
    if notes.is_empty() {
        return Html::default();
    }
    let mut table = DataTable::new(["Flag", "What it means", "Where and why"]);
    for note in notes {
        let everywhere = note.everywhere.then(|| "everywhere".to_owned());
        let rest = note.evidence.len().saturating_sub(MOST_EVIDENCE);
        let evidence =
            note.evidence.iter().take(MOST_EVIDENCE).map(|(point, why)| format!("{point}: {why}"));
        let more = (rest > 0).then(|| format!("and {rest} more"));
        let lines = everywhere.into_iter().chain(evidence).chain(more);
        table.row([name(crate::parts::flag(&note.flag)), cell(note.meaning), cell(list(lines))]);
    }
    heading("distrust", "Reasons to distrust").and(table.build())
}

fn unsupported(view: &View) -> Html {
    if view.finding.unsupported.is_empty() {
        return Html::default();
    }
    let mut table = DataTable::new(["Point", "What is missing", "How to fix it"]);
    for unsupported in &view.finding.unsupported {
        table.row([
            name(unsupported_name(unsupported).as_str()),
            cell(unsupported.why.as_str()),
            cell(unsupported.fix.as_str()),
        ]);
    }
    heading("unsupported", "Not supported here").and(table.build())
}

fn failed(view: &View) -> Html {
    if view.finding.failed.is_empty() {
        return Html::default();
    }
    let mut table = DataTable::new(["Point", "What went wrong", "Invocations", "Last message"]);
    for failed in &view.finding.failed {
        table.row(failure(failed));
    }
    heading("failed", "Failed").and(table.build())
}

fn accepted(view: &View) -> Html {
    if view.finding.accepted_failures.is_empty() {
        return Html::default();
    }
    let mut table = DataTable::new(["Point", "How its runs ended"]);
    for accepted in &view.finding.accepted_failures {
        table.row([name(accepted.point.name.as_str()), cell(accepted.ends.to_string())]);
    }
    heading("accepted-failures", ACCEPTED_FAILURES).and(table.build())
}

fn failure(failed: &FailedInvocations) -> [Tag; 4] {
    let last = failed.log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let times = format!("{} of {}", failed.times, failed.of);
    [name(failed.point.name.as_str()), cell(failed.why.as_str()), cell(times), cell(last)]
}

fn not_reached(view: &View) -> Html {
    let names = list(view.finding.not_reached.iter().map(|point| point.name.as_str()));
    if names.is_empty() {
        names
    } else {
        heading("not-reached", not_reached_heading(view.finding)).and(names)
    }
}

/// The commands that show the numbers.
fn next(view: &View) -> Html {
    let run = &view.header.run;
    let lines = [
        (format!("plumb show {run}"), "shows this run on a terminal; add --json for a document"),
        (format!("plumb export {run} --format samples-csv"), "writes every sample"),
        (format!("plumb compare OTHER {run}"), "compares it with another run"),
    ];
    heading("next", "On a terminal")
        .and(list(lines.iter().map(|(typed, does)| command(typed).and(" ").and(*does))))
}
