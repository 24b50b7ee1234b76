//! The page of a machine: its facts by themes with the impact of a difference, and what changed on it.

use plumb_analysis::target_diff;
use plumb_model::{FACTS, FOR_ROOT, FactKind, Id, Target};
use plumb_report::machine::shown;
use plumb_text::counted;
use plumb_text::time::date;

use crate::frame::{Page, PageSubject};
use crate::html::{Html, link, tag, wrap};
use crate::names::{self, LinkedPages};
use crate::parts::{DataTable, cell, facts, heading, name, paragraph, term, when};

/// A machine as a run found it.
#[derive(Debug, Clone)]
pub struct MachineAtRun {
    /// The run that found the machine so.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// The machine and its environment.
    pub target: Target,
}

/// Changes that are listed.
const MOST_CHANGES: usize = 50;

/// The page of a machine; `found` are its runs in the order of time, one for each time that its environment
/// changed. None without any.
#[must_use]
pub fn machine_page(found: &[MachineAtRun], links: &LinkedPages) -> Option<Page> {
    let newest = found.last()?;
    let machine = &newest.target.machine;
    let own = names::machine_page(&machine.fingerprint, &newest.target.host);
    let cpu = machine.facts.get("cpu").map_or("Machine", String::as_str);
    let mut page = Page::new(own.clone(), PageSubject::Machine, cpu).near(&own, "Machine");
    page.add(wrap("h1", cpu));
    page.add(about(newest, found.len()));
    for theme in themes(newest) {
        page.add(theme);
    }
    page.add(changes(found, links));
    Some(page)
}

fn about(newest: &MachineAtRun, environments: usize) -> Html {
    let target = &newest.target;
    let pairs = [
        (term("Host", "host"), Html::text(&target.host.to_string())),
        (term("Machine", "machine"), Html::text(&target.machine.fingerprint)),
        (term("Environment", "environment"), Html::text(&target.environment.fingerprint)),
        ("Last seen".into(), Html::text(&date(newest.started_unix_ns))),
        ("Environments seen".into(), Html::text(&environments.to_string())),
    ];
    facts(pairs)
}

/// A table for each theme.
fn themes(newest: &MachineAtRun) -> Vec<Html> {
    let stable = &newest.target.machine.facts;
    let changing = &newest.target.environment.facts;
    let mut tables: Vec<(&str, DataTable)> = Vec::new();
    for fact in FACTS {
        let unread = FOR_ROOT.contains(&fact.name).then_some("not read (needs root and DMI)");
        let value = stable.get(fact.name).or_else(|| changing.get(fact.name)).map(String::as_str);
        let Some(value) = value.or(unread) else { continue };
        let theme = fact.theme.word();
        // Facts are listed theme by theme, so another theme begins another table.
        if tables.last().is_none_or(|(last, _)| *last != theme) {
            let titles = [
                Html::text("Fact"),
                "Value".into(),
                term("Impact of a difference", "impact"),
                "What it can affect".into(),
            ];
            tables.push((theme, DataTable::new(titles)));
        }
        let Some((_, table)) = tables.last_mut() else { continue };
        let parts = value.split("; ").map(|part| wrap("div", part));
        table.row([
            name(shown(fact.name)),
            cell(Html::all(parts)),
            cell(impact(fact)),
            cell(fact.why),
        ]);
    }
    tables
        .into_iter()
        .map(|(theme, table)| heading(&theme.replace(' ', "-"), theme).and(table.build()))
        .collect()
}

fn impact(fact: &FactKind) -> Html {
    let word = plumb_model::Impact::of(fact.name).word();
    tag("span").class(&format!("impact {word}")).add(word).into()
}

/// Changes from one environment to the next, newest first.
fn changes(found: &[MachineAtRun], links: &LinkedPages) -> Html {
    let head = heading("changes", "What changed on this machine");
    if found.len() < 2 {
        return head.and(paragraph("The environment was the same in all runs."));
    }
    let titles = ["Run", "Started", "Fact", "Impact", "Before", "After"];
    let mut table = DataTable::new(titles);
    for two in found.windows(2).rev().take(MOST_CHANGES) {
        let [before, after] = two else { continue };
        let id: String = after.run.simple().to_string().chars().take(12).collect();
        let to = format!("{}.html", names::run_page(after.run));
        let run = if links.run(after.run) { link(&to, id).into() } else { Html::text(&id) };
        for difference in target_diff(&[&before.target, &after.target]) {
            let impact = tag("span")
                .class(&format!("impact {}", difference.impact.word()))
                .add(difference.impact.word());
            let values = difference.values.iter().map(|value| cell(value.as_str()));
            let lead = [
                name(run.clone()),
                when(after.started_unix_ns),
                cell(shown(&difference.field)),
                cell(impact),
            ];
            table.row(lead.into_iter().chain(values));
        }
    }
    let rest = match found.len().saturating_sub(MOST_CHANGES + 1) {
        0 => String::new(),
        left_out => {
            format!("; {} left out", counted(left_out, "earlier change", "earlier changes"))
        }
    };
    head.and(paragraph(format!("Newest first{rest}."))).and(table.build())
}
