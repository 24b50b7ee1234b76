//! The pages of series over their runs.

use plumb_analysis::{HistoryFinding, HistoryStep};
use plumb_report::charts;
use plumb_report::history::{closing, events_before, label_keys, label_of, short, typed_series};
use plumb_text::counted;
use plumb_text::time::date;

use crate::frame::{Page, PageSubject};
use crate::html::{Html, link, wrap};
use crate::names::{self, HISTORY, LinkedPages};
use crate::parts::{
    DataTable, cell, command, count, estimated, heading, list, name, paragraph, term, when,
};

/// The page of a series on one machine.
#[must_use]
pub fn history_page(finding: &HistoryFinding, links: &LinkedPages) -> Page {
    let machine = finding.machines.first().map_or("", String::as_str);
    let title = format!("{} over time", shown_name(finding));
    let own = names::history_page(&finding.series, machine, &finding.host);
    let mut page =
        Page::new(own.clone(), PageSubject::History, title.as_str()).near(&own, "This series");
    page = page.near(&names::machine_page(machine, &finding.host), "Machine");
    page.add(wrap("h1", title));
    if let Some(host) = finding.host.known() {
        page.add(paragraph(Html::text("On host ").and(Html::text(host)).and(Html::text("."))));
    }
    page.add(answer(finding));
    page.draw(charts::of_history(finding, None));
    page.add(runs(finding, links));
    let typed = command(&format!("plumb history '{}'", typed_series(finding)));
    page.add(
        heading("next", "On a terminal")
            .and(paragraph(typed.and(" shows the same; add --json for a document"))),
    );
    page
}

fn answer(finding: &HistoryFinding) -> Html {
    let newest = finding.runs.last().map(|run| {
        let shown = plumb_report::figure(&run.estimate, &finding.unit);
        format!("Newest of {}: {shown}.", counted(finding.runs.len(), "run", "runs"))
    });
    let last = finding.steps.iter().flatten().next_back().map(|step| {
        let when = finding.runs.get(step.at).map_or(0, |run| run.run.started_unix_ns);
        let text = plumb_report::history::step(step, finding.better).text;
        format!("Last step, {}: {text}.", date(when))
    });
    let out = list(newest.into_iter().chain(last).chain(closing(finding)));
    wrap("section", out).class("answer").into()
}

/// The runs, newest first, with what changed between them.
fn runs(finding: &HistoryFinding, links: &LinkedPages) -> Html {
    let keys = label_keys(finding, None);
    let titles: [Html; 7] = [
        term("Run", "run"),
        "Started".into(),
        "Labels".into(),
        "Median".into(),
        term("Interval", "interval"),
        term("Processes", "invocation"),
        term("Samples", "sample"),
    ];
    let mut table = DataTable::new(titles);
    // Newest first, but a change belongs below the run that came after it.
    for (index, run) in finding.runs.iter().enumerate().rev() {
        let to = format!("{}.html", names::run_page(run.run.run));
        let id = short(run);
        let cells = [
            name(if links.run(run.run.run) { link(&to, id).into() } else { Html::text(&id) }),
            when(run.run.started_unix_ns),
            cell(label_of(run, &keys)),
        ];
        let [median, interval] = estimated(&run.estimate, &finding.unit);
        table.row(cells.into_iter().chain([
            median,
            interval,
            count(run.process_medians.len()),
            count(run.samples),
        ]));
        for event in events_before(finding, index) {
            table.across(event.text);
        }
    }
    heading("runs", "Runs, newest first").and(table.build())
}

/// The page of all series: what each came to last, and its last step.
#[must_use]
pub fn histories_page(findings: &[HistoryFinding], note: Option<&str>) -> Page {
    let mut page = Page::new(HISTORY.to_owned(), PageSubject::History, "All series over time");
    page.add(wrap("h1", "All series over time"));
    page.add(summary(findings, note));
    let titles: [Html; 7] = [
        term("Series", "series"),
        "Runs".into(),
        "Newest".into(),
        term("Interval", "interval"),
        "Last measured".into(),
        "Last step".into(),
        term("Machine", "machine"),
    ];
    let mut table = DataTable::new(titles);
    for finding in findings {
        table.row(line(finding));
    }
    page.add(table.build());
    page
}

fn summary(findings: &[HistoryFinding], note: Option<&str>) -> Html {
    let changed = findings.iter().filter(|history| certain(history).is_some()).count();
    let of_all = counted(findings.len(), "series", "series");
    let text = if findings.is_empty() {
        "No run has measured anything yet. Start with plumb run.".to_owned()
    } else {
        format!("{changed} of {of_all} have a certain step.")
    };
    let answer = paragraph(text).and(note.map_or_else(Html::default, paragraph));
    wrap("section", answer).class("answer").into()
}

fn shown_name(finding: &HistoryFinding) -> String {
    // A person's name for a point is the same for all its metrics.
    let metric = finding.series.rsplit('/').next().unwrap_or_default();
    match &finding.title {
        Some(title) => format!("{title}, {metric}"),
        None => typed_series(finding),
    }
}

/// The last step that is certain.
fn certain(finding: &HistoryFinding) -> Option<&HistoryStep> {
    finding.steps.iter().flatten().rfind(|step| step.certain)
}

fn line(finding: &HistoryFinding) -> Vec<crate::html::Tag> {
    let machine = finding.machines.first().map_or("", String::as_str);
    let page = names::history_page(&finding.series, machine, &finding.host);
    let mut cells =
        vec![name(link(&format!("{page}.html"), shown_name(finding))), count(finding.runs.len())];
    match finding.runs.last() {
        Some(run) => {
            cells.extend(estimated(&run.estimate, &finding.unit));
            cells.push(when(run.run.started_unix_ns));
        }
        None => cells.extend([cell(""), cell(""), cell("")]),
    }
    let step = certain(finding).map(|step| {
        let when = finding.runs.get(step.at).map_or(0, |run| run.run.started_unix_ns);
        format!("{}: {}", date(when), plumb_report::history::step(step, finding.better).text)
    });
    cells.push(cell(step.unwrap_or_default()));
    let page = names::machine_page(machine, &finding.host);
    let shown = finding.host.known().unwrap_or(machine);
    cells.push(cell(link(&format!("{page}.html"), shown)));
    cells
}
