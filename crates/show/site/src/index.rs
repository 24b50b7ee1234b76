//! The page of all runs: the newest with its answer, then each in a row.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{FleetRecord, Id, RunStatus};
use plumb_report::charts;
use plumb_report::run::View;
use plumb_text::counted;
use plumb_text::time::{between, date};
use plumb_units::length;

use crate::answer::answer;
use crate::frame::{Page, PageSubject};
use crate::html::{Html, link, wrap};
use crate::names::{self, INDEX, LinkedPages};
use crate::parts::{DataTable, cell, command, count, heading, list, name, paragraph, term, when};
use crate::results::results;

/// Older fleets are not listed.
const MOST_FLEETS: usize = 20;

/// A run in the list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// The run's identity, which names its page.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Its wall-clock end, when it has one.
    pub ended_unix_ns: Option<i64>,
    /// Whether it is complete, running or interrupted.
    pub status: RunStatus,
    /// The suite's name, or the command line.
    pub what: String,
    /// The run's labels, by name.
    pub labels: BTreeMap<String, String>,
    /// Number of planned points.
    pub points: usize,
    /// Number of stored samples, warm-up included.
    pub samples: u64,
    /// How its points compare with the last comparable run; None if that is not known.
    pub changed: Option<VerdictCounts>,
}

/// How many points came to which verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerdictCounts {
    /// Points with the verdict *slower*.
    pub slower: usize,
    /// Points with the verdict *faster*.
    pub faster: usize,
    /// Points with the verdict *equivalent*.
    pub equivalent: usize,
    /// Inconclusive, or without a verdict.
    pub open: usize,
    /// Those that stand out, if that can be told.
    pub stand_out: Option<usize>,
}

impl VerdictCounts {
    /// `▼ 2 slower, ▲ 1 faster`, else what else there is to say.
    fn text(self) -> String {
        let mut news = some([(self.slower, "▼", "slower"), (self.faster, "▲", "faster")]);
        news.extend(self.stand_out.filter(|count| *count > 0).map(|count| match count {
            1 => "! 1 stands out".to_owned(),
            count => format!("! {count} stand out"),
        }));
        match self.stand_out {
            _ if !news.is_empty() => news.join(", "),
            Some(_) => "no series stands out".to_owned(),
            None => some([(self.equivalent, "=", "equivalent"), (self.open, "?", "undecided")])
                .join(", "),
        }
    }
}

/// Each count that is not 0, with its sign and word.
fn some(counts: [(usize, &str, &str); 2]) -> Vec<String> {
    counts
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, sign, word)| format!("{sign} {count} {word}"))
        .collect()
}

/// The page of all runs, which stand in `lines` newest first; `newest` is the newest of them. `fleets` are oldest first.
#[must_use]
pub fn index_page(
    newest: Option<&View>,
    lines: &[RunLine],
    fleets: &[FleetRecord],
    links: &LinkedPages,
) -> Page {
    let mut page = Page::new(INDEX.to_owned(), PageSubject::Index, "Runs");
    match newest {
        Some(view) => {
            let when = date(view.finding.run.started_unix_ns);
            let title = format!("{}, {when}", view.header.title);
            page.add(wrap("h1", title));
            page.add(answer(view, links));
            page.draw_now(
                charts::of_run(view)
                    .into_iter()
                    .filter(|chart| chart.id == charts::OVERVIEW)
                    .collect(),
            );
            let run =
                link(&format!("{}.html", names::run_page(view.finding.run.id)), "The newest run");
            let places: Vec<String> = view
                .header
                .places
                .iter()
                .flat_map(|place| place.lines().map(str::to_owned))
                .collect();
            page.add(paragraph(Html::from(run).and(" · ").and(places.join(" · "))));
            page.add(results(view));
        }
        None => {
            page.add(wrap("h1", "Runs"));
            let text =
                Html::text("There are no runs yet. Start with ").and(command("plumb run")).and(".");
            page.add(wrap("section", paragraph(text)).class("answer"));
        }
    }
    page.add(groups(lines, links));
    page.add(fleet_links(fleets));
    page.add(heading("runs", "All runs, newest first"));
    page.add(table(lines));
    page
}

/// Links to the pages that compare all runs by a label or a fact.
fn groups(lines: &[RunLine], links: &LinkedPages) -> Html {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (key, value) in lines.iter().flat_map(|line| &line.labels) {
        values.entry(key).or_default().insert(value);
    }
    // A label with one value in all runs compares nothing.
    let differ = values.iter().filter(|(_, values)| values.len() > 1).map(|(key, _)| *key);
    let pages = links.groups(&differ.collect());
    let compared: Vec<Html> = pages
        .iter()
        .map(|(page, by)| Html::from(link(&format!("{page}.html"), format!("by {by}"))))
        .collect();
    if compared.is_empty() {
        return Html::default();
    }
    heading("compared", "Runs compared").and(list(compared))
}

/// Links to the pages of commands that ran on several machines, newest first.
fn fleet_links(fleets: &[FleetRecord]) -> Html {
    if fleets.is_empty() {
        return Html::default();
    }
    let line = |fleet: &FleetRecord| {
        let page = format!("{}.html", names::fleet_page(fleet.fleet));
        let machines = counted(fleet.machines.len(), "machine", "machines");
        let text = format!("{machines}, {}", date(fleet.started_unix_ns));
        let typed = plumb_text::command_line::typed(fleet.command.iter().map(String::as_str));
        Html::from(link(&page, text)).and(" · ").and(command(&typed))
    };
    let lines: Vec<Html> = fleets.iter().rev().take(MOST_FLEETS).map(line).collect();
    heading("fleets", "Commands on several machines").and(list(lines))
}

fn table(lines: &[RunLine]) -> Html {
    let titles: [Html; 9] = [
        term("Run", "run"),
        "Started".into(),
        "Took".into(),
        "Status".into(),
        term("Suite", "suite"),
        term("Labels", "run"),
        term("Points", "point"),
        term("Samples", "sample"),
        "Since the last comparable run".into(),
    ];
    let mut table = DataTable::new(titles);
    for line in lines {
        let page = format!("{}.html", names::run_page(line.run));
        let id: String = line.run.simple().to_string().chars().take(12).collect();
        let labels: Vec<String> =
            line.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let took = between(line.started_unix_ns, line.ended_unix_ns);
        let changed = line.changed.map(VerdictCounts::text);
        table.row([
            name(link(&page, id)),
            when(line.started_unix_ns),
            took.map_or_else(crate::parts::nothing, |took| {
                crate::parts::number(took, "s", &length(took))
            }),
            cell(line.status.word()),
            cell(line.what.as_str()).class("free"),
            cell(labels.join(" ")).class("free"),
            count(line.points),
            count(usize::try_from(line.samples).unwrap_or(usize::MAX)),
            cell(changed.unwrap_or_default()),
        ]);
    }
    table.build()
}
