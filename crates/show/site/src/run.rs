//! The page of a run: its scorecard.

use plumb_analysis::{CONFIDENCE, Comparison, Failure};
use plumb_model::FlagKind;
use plumb_report::covariates::covariates_text;
use plumb_report::sketch::histogram;
use plumb_report::view::{FlagNote, Row, View, looks_text, spread_text};
use plumb_report::{charts, figure};
use plumb_text::units::{percent, whole_percent};

use crate::answer::{Lately, answer};
use crate::frame::{Kind, Page};
use crate::html::{Html, Tag, link, tag, wrap};
use crate::names::{self, Links};
use crate::parts::{
    DataTable, amount, cell, command, estimated, facts, flags, heading, list, name, nothing,
    number, paragraph, term, verdict,
};

/// Bins of the sketch of a distribution.
const BINS: usize = 10;
/// Pieces of evidence that stand beside a flag.
const MOST_EVIDENCE: usize = 12;

/// The page of a run; `lately` is how it compares with the one before.
#[must_use]
pub fn run_page(view: &View, lately: Option<&Lately>, links: &Links) -> Page {
    let run = view.finding.run.id;
    let title = format!(
        "{}, {}",
        view.header.title,
        plumb_text::time::date(view.finding.run.started_unix_ns)
    );
    let mut page = Page::new(names::run_page(run), Kind::Run, title).at_run(view, None);
    page.add(wrap("h1", view.header.title.as_str()).add(" ").add(status(view)));
    page.add(answer(view, lately, links));
    page.add(about(view));
    page.add(results(view, lately));
    page.draw(charts::of_run(view));
    for part in [comparisons(view), distrust(&view.flags), unsupported(view), failed(view)] {
        page.add(part);
    }
    page.add(not_reached(view));
    page.add(next(view));
    page
}

fn status(view: &View) -> Html {
    wrap("small", view.header.status).class("status").into()
}

/// Where, when and how it was measured.
fn about(view: &View) -> Html {
    let (header, run) = (&view.header, &view.finding.run);
    let mut pairs: Vec<(Html, Html)> = Vec::new();
    for (place, target) in header.places.iter().zip(&view.finding.targets) {
        let page = names::machine_page(&target.machine.fingerprint);
        let machine = link(&format!("{page}.html"), place.machine.as_str());
        pairs.push((term("Machine", "machine"), machine.into()));
        for (what, line) in [("System", &place.system), ("Files", &place.dir)] {
            pairs.push((what.into(), line.as_str().into()));
        }
    }
    pairs.push(("When".into(), header.when.as_str().into()));
    pairs.push((term("Goal", "precision"), header.goal.as_str().into()));
    let load = header.load.as_deref().unwrap_or_default();
    pairs.push((term("Beside", "load"), load.into()));
    let prepared = header.prepared.as_deref().unwrap_or_default();
    pairs.push((term("Prepared", "preparation"), prepared.into()));
    pairs.push(("Command".into(), command(&run.command.join(" "))));
    pairs.push((term("Run", "run"), command(&run.id.to_string())));
    pairs.retain(|(_, value)| !value.is_empty());
    facts(pairs)
}

/// The address of a row in the page.
pub(super) fn place(row: &Row) -> String {
    let metric: String = row
        .finding
        .metric
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let target =
        if row.finding.target > 0 { format!("-{}", row.finding.target) } else { String::new() };
    format!("point-{}-{metric}{target}", row.finding.point.index)
}

/// The address of a point in its workload's page.
pub(super) fn point_place(index: usize) -> String {
    format!("point-{index}")
}

/// How a row compares with the last comparable run.
pub(super) fn since<'l>(
    view: &View,
    row: &Row,
    lately: Option<&'l Lately>,
) -> Option<&'l plumb_analysis::Against> {
    let index = view.rows.iter().position(|other| std::ptr::eq(other.finding, row.finding))?;
    lately?.against.get(index)?.as_ref()
}

/// A verdict with its ratio.
pub(super) fn change(against: Option<&plumb_analysis::Against>) -> Tag {
    let Some(against) = against else { return nothing() };
    let ratio = against.ratio.as_ref().map(|ratio| figure(ratio, ""));
    let text = ratio.map_or_else(String::new, |it| format!(" {}× {}", it.estimate, it.brackets()));
    let made = cell(verdict(&against.verdict).and(text));
    match &against.ratio {
        Some(ratio) => made.with("data-value", &ratio.value.to_string()),
        None => made,
    }
}

/// The results by family.
pub(super) fn results(view: &View, lately: Option<&Lately>) -> Html {
    let mut out = heading("results", "Results");
    if view.rows.is_empty() {
        return out.and(paragraph("Nothing was measured."));
    }
    let expected = view.rows.iter().any(|row| row.finding.of_baseline.is_some());
    let mut table = DataTable::new(titles(expected, lately.is_some()));
    for family in &view.families {
        table.group(&format!("family-{}", family.name), &family.name);
        for row in view.shown(family, false) {
            table.row_at(&place(row), cells(view, row, expected, lately));
        }
    }
    out.push(table.build());
    out.and(paragraph(legend()))
}

fn legend() -> Html {
    let note = ": half-width of the interval, relative. ";
    Html::text("±").and(note).and("n: ").and(term("invocations", "invocation")).and(" × ").and(term("samples", "sample"))
        .and(" of each. CPU: user and system time over wall time. Spread: low to high, from the 1st to the 99th percentile. Every figure is a median.")
}

fn titles(expected: bool, since: bool) -> Vec<Html> {
    let level = format!("{} interval", percent(CONFIDENCE));
    let mut titles = vec![term("Point", "point"), "Median".into(), term(&level, "interval")];
    if since {
        titles.push(term("Since the last run", "verdict"));
    }
    if expected {
        titles.push(term("Of what it should be", "expectation"));
    }
    titles.extend([term("Flags", "flag"), "Spread".into(), "±".into(), "n".into(), "CPU".into()]);
    titles
}

fn cells(view: &View, row: &Row, expected: bool, lately: Option<&Lately>) -> Vec<Tag> {
    let mut cells = vec![name(point_link(view, row))];
    cells.extend(estimated(&row.finding.estimate, &row.finding.unit));
    if lately.is_some() {
        cells.push(change(since(view, row, lately)));
    }
    if expected {
        cells.push(of_baseline(row));
    }
    cells.extend([
        cell(own_flags(row)),
        cell(histogram(row.finding, BINS, true)).class("sketch"),
        reached(row),
        cell(row.counts.as_str()).class("num"),
        cpu(row),
    ]);
    cells
}

/// The label of a point, which leads to its workload's page.
fn point_link(view: &View, row: &Row) -> Html {
    let point = &row.finding.point;
    let page = names::workload_page(view.finding.run.id, &point.workload);
    let to = format!("{page}.html#{}", point_place(point.index));
    let made = link(&to, row.label.as_str()).with("title", &point.name);
    let metric = plumb_report::names::metric(row.finding);
    let metric = if metric.is_empty() { metric } else { format!(" {metric}") };
    let scaling = row.scaling.as_ref().map(|text| wrap("small", format!(" {text}")).class("note"));
    Html::from(made)
        .and(metric)
        .and(row.on_target())
        .and(scaling.map_or_else(Html::default, Html::from))
}

pub(super) fn reached(row: &Row) -> Tag {
    let Some(reached) = row.finding.reached else { return nothing() };
    let missed = row.finding.wanted.is_some_and(|wanted| reached > wanted);
    let made = number(reached, "", &percent(reached));
    if missed { made.add(tag("small").add(" wanted less").class("note")) } else { made }
}

fn cpu(row: &Row) -> Tag {
    let total = row.finding.cpu.map(|cpu| cpu.total());
    total.map_or_else(nothing, |share| number(share, "", &whole_percent(share)))
}

fn of_baseline(row: &Row) -> Tag {
    let Some(of) = &row.finding.of_baseline else { return nothing() };
    let text = plumb_report::view::baseline_text(row.finding).unwrap_or_default();
    cell(text).with("data-value", &of.share.value.to_string())
}

/// All flags of a row, those that every row has included.
pub(super) fn own_flags(row: &Row) -> Html {
    let all: Vec<&FlagKind> = row.finding.flags.iter().map(|flag| &flag.flag).collect();
    flags(all)
}

fn comparisons(view: &View) -> Html {
    let Some(first) = view.comparisons().first() else { return Html::default() };
    let titles =
        ["Side", "Verdict", "× the cost", "Interval", "Pairs", "Looks before", "What else"];
    let mut table = DataTable::new(titles);
    for it in view.comparisons() {
        table.row(side(it));
    }
    let margin = percent(first.margin);
    let title = format!("Compared with {}, margin {margin}", first.first.name);
    heading("compared", title).and(table.build())
}

fn side(it: &Comparison) -> Vec<Tag> {
    let mut cells = vec![name(it.point.name.as_str()), cell(verdict(&it.verdict))];
    match &it.ratio {
        Some(ratio) => cells.extend(estimated(ratio, "")),
        None => cells.extend([nothing(), nothing()]),
    }
    cells.push(crate::parts::count(it.pairs));
    cells.push(cell(looks_text(it).unwrap_or_default()));
    let rest = [
        Some(it.tags.join(", ")).filter(|tags| !tags.is_empty()),
        spread_text(it),
        covariates_text(&it.covariates),
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
    let mut table = DataTable::new(["Point", "What is missing", "What would mend it"]);
    for it in &view.finding.unsupported {
        table.row([name(it.point.name.as_str()), cell(it.why.as_str()), cell(it.fix.as_str())]);
    }
    heading("unsupported", "Not supported here").and(table.build())
}

fn failed(view: &View) -> Html {
    if view.finding.failed.is_empty() {
        return Html::default();
    }
    let mut table = DataTable::new(["Point", "What went wrong", "Invocations", "It said last"]);
    for it in &view.finding.failed {
        table.row(failure(it));
    }
    heading("failed", "Failed").and(table.build())
}

fn failure(it: &Failure) -> [Tag; 4] {
    let last = it.log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let times = format!("{} of {}", it.times, it.of);
    [name(it.point.name.as_str()), cell(it.why.as_str()), cell(times), cell(last)]
}

fn not_reached(view: &View) -> Html {
    let names = view.finding.not_reached.iter().map(|point| point.name.as_str());
    let names = list(names);
    if names.is_empty() { names } else { heading("not-reached", "Not reached").and(names) }
}

/// What to type to get at the numbers.
fn next(view: &View) -> Html {
    let run = &view.header.run;
    let lines = [
        (format!("plumb show {run}"), "the same on a terminal; --json as a document"),
        (format!("plumb export {run} --format samples-csv"), "every sample"),
        (format!("plumb compare OTHER {run}"), "against another run"),
    ];
    let line = |(typed, does): &(String, &str)| command(typed).and(" ").and(*does);
    heading("next", "On a terminal").and(list(lines.iter().map(line)))
}

/// Bytes of memory.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn memory(row: &Row) -> Tag {
    row.finding.peak_memory_bytes.map_or_else(nothing, |bytes| amount(bytes as f64, "B"))
}
