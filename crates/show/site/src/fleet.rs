//! The page of a fleet: one command on several machines.

use plumb_analysis::KindFinding;
use plumb_model::{FleetMachineRecord, FleetRecord, MachineOutcome};
use plumb_report::{charts, fastest_text, kind_title, slow_machines, slowest_text};
use plumb_text::time::date;
use plumb_text::{clean, counted};
use plumb_units::{Figure, percent};

use crate::frame::{Page, PageSubject};
use crate::html::{Html, link, wrap};
use crate::names::{self, LinkedPages};
use crate::parts::{DataTable, breakable, cell, command, heading, list, name, paragraph};

/// More machines have no row of their own: a page stays small enough to open.
const MOST_ROWS: usize = 500;

/// The page of a fleet, whose machines are of these kinds.
#[must_use]
pub fn fleet_page(fleet: &FleetRecord, kinds: &[KindFinding], links: &LinkedPages) -> Page {
    let own = names::fleet_page(fleet.fleet);
    let complete = fleet.machines.iter().filter(|machine| is_complete(machine)).count();
    let machines = counted(fleet.machines.len(), "machine", "machines");
    let title = format!("{complete} of {machines} measured");
    let mut page = Page::new(own, PageSubject::Fleet, title.clone());
    page.add(wrap("h1", title));
    let typed: Vec<&str> = fleet.command.iter().map(String::as_str).collect();
    page.add(paragraph(
        Html::text(&format!("{} · ", date(fleet.started_unix_ns)))
            .and(command(&plumb_text::command_line::typed(typed))),
    ));
    let answer: Vec<Html> = slow_machines(kinds, false).into_iter().map(Html::from).collect();
    if !answer.is_empty() {
        page.add(wrap("section", list(answer)).class("answer"));
    }
    for (number, kind) in kinds.iter().enumerate() {
        page.add(heading(&format!("kind-{}", number + 1), kind_title(kind)));
        page.draw(charts::of_kind(kind));
        page.add(results(kind));
    }
    page.add(heading("machines", "Machines"));
    page.add(outcomes(fleet, links));
    let id: String = fleet.fleet.simple().to_string().chars().take(12).collect();
    let typed = command(&format!("plumb fleet show {id}"));
    page.add(
        heading("next", "On a terminal")
            .and(paragraph(typed.and(" shows the same; add --json for a document"))),
    );
    page
}

/// A row per result: its median over the machines, their spread and range.
fn results(kind: &KindFinding) -> Html {
    let mut table = DataTable::new(["Result", "Median", "Spread", "Fastest", "Slowest"]);
    for series in &kind.series {
        let median = Figure::new(series.median, Err(""), &series.unit);
        let spread = series.usual.as_ref().map(|usual| percent(usual.spread));
        table.row([
            name(breakable(&series.point.name)),
            cell(median.quantity()),
            cell(spread.unwrap_or_default()),
            cell(fastest_text(kind, series)),
            cell(slowest_text(kind, series)),
        ]);
    }
    table.build()
}

/// The machines with links to their runs; those that are not complete come first.
fn outcomes(fleet: &FleetRecord, links: &LinkedPages) -> Html {
    let mut machines: Vec<&FleetMachineRecord> = fleet.machines.iter().collect();
    machines.sort_by_key(|machine| is_complete(machine));
    // The near end may have been killed.
    let without_end =
        if fleet.is_running { "none yet" } else { MachineOutcome::Interrupted.word() };
    let mut table = DataTable::new(["Machine", "Outcome", "Reason"]);
    for machine in machines.iter().take(MOST_ROWS) {
        let shown = clean(&machine.name);
        let page = format!("{}.html", names::run_page(machine.run));
        let end = machine.end.as_ref();
        table.row([
            if links.run(machine.run) { name(link(&page, shown)) } else { name(shown) },
            cell(end.map_or(without_end, |end| end.outcome.word())),
            cell(end.and_then(|end| end.why.as_deref()).map(clean).unwrap_or_default())
                .class("free"),
        ]);
    }
    let hidden = machines.len().saturating_sub(MOST_ROWS);
    if hidden == 0 {
        return table.build();
    }
    let complete = machines[MOST_ROWS..].iter().filter(|machine| is_complete(machine)).count();
    let text = format!("{hidden} more machines, of which {complete} have a complete run.");
    table.build().and(paragraph(text))
}

fn is_complete(machine: &FleetMachineRecord) -> bool {
    machine.end.as_ref().is_some_and(|end| end.outcome == MachineOutcome::Complete)
}
