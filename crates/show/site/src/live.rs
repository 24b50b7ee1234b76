//! The page of a run under way, and pages that only say something. Over HTTP alone.
//!
//! Without scripts the page is what was known when it was asked for, and comes again every few seconds. The
//! script takes messages (`plumb.live/1`) from what `data-live` of `main` names, and finds by `id`:
//! `live-says` (its text is the message's `says`), `live-points` (the table; a row a point with
//! `data-point`, its index, and cells with `data-cell`: `figure`, `precision`, `invocations`, `state`,
//! `flags`), `live-charts` (the figures; one for a chart that is new is added there) and `live-log` (its
//! items).

use plumb_live::{LiveDocument, LiveFlag, LiveLine, LivePoint};
use plumb_units::seconds_to;

use crate::frame::{Page, PageSubject};
use crate::html::{Html, Tag, link, tag, wrap};
use crate::names;
use crate::parts::{DataTable, cell, command, count, heading, name, paragraph, term};

/// Seconds after which a browser without scripts asks again.
const ANEW: &str = "5";

/// The page of a run under way; `live` is all that is known of it.
#[must_use]
pub fn live_page(live: &LiveDocument) -> Page {
    let of_run = format!("run-{}", live.run);
    let mut page = Page::new(format!("live-{}", live.run), PageSubject::Live, "Run in progress");
    page = page.near(&of_run, "This run");
    // A run that is over changes no more: its page needs neither messages nor reloading.
    if live.is_running {
        page.live = Some(format!("events?run={}", live.run));
        page.anew = Some(ANEW);
    }
    page.add(wrap("h1", "Run in progress"));
    page.add(wrap("section", answer(live, &of_run)).class("answer"));
    page.add(heading("points", "Points"));
    page.add(points(&live.points));
    page.add(heading("charts", "Charts"));
    page.draw_in("live-charts", live.charts.clone());
    page.add(heading("log", "Log"));
    page.add(tag("ul").with("id", "live-log").add_all(live.log.iter().map(line)));
    page
}

fn answer(live: &LiveDocument, run: &str) -> Html {
    let says = wrap("p", live.says.as_str()).with("id", "live-says").with("role", "status");
    let link = link(&format!("{run}.html"), "results so far");
    Html::all([says.into(), paragraph(Html::all([Html::from("Scorecard: "), link.into()]))])
}

fn points(points: &[LivePoint]) -> Html {
    let titles = [
        "point".into(),
        Html::all([Html::from("median and "), term("95 % interval", "interval")]),
        term("precision", "precision"),
        term("invocations", "invocation"),
        "state".into(),
        term("flags", "flag"),
    ];
    let mut table = DataTable::new(titles);
    for point in points {
        let cells: [(&str, Tag); 5] = [
            ("figure", cell(point.figure.as_str())),
            ("precision", cell(point.precision.as_str())),
            ("invocations", invocations(point)),
            ("state", state(point)),
            ("flags", cell(Html::all(point.flags.iter().map(flag)))),
        ];
        let cells = cells.into_iter().map(|(key, cell)| cell.with("data-cell", key));
        let first = name(point.name.as_str());
        table.row_of(&point.index.to_string(), [first].into_iter().chain(cells));
    }
    wrap("div", table.build()).with("id", "live-points").into()
}

fn invocations(point: &LivePoint) -> Tag {
    let counted = count(point.invocations);
    if point.excluded == 0 {
        counted
    } else {
        counted.add(format!(" ({} excluded)", point.excluded))
    }
}

fn state(point: &LivePoint) -> Tag {
    let made = cell(point.state);
    match &point.stop {
        Some(why) if !point.is_open => made.with("title", why),
        _ => made,
    }
}

fn flag(flag: &LiveFlag) -> Html {
    let made = wrap("span", flag.flag.as_str()).class("flag");
    let means = if flag.meaning.is_empty() { &flag.why } else { flag.meaning };
    Html::all([Html::from(made.with("title", means)), " ".into()])
}

fn line(line: &LiveLine) -> Tag {
    wrap("li", format!("{}  {}", seconds_to(line.at, 1), line.text))
}

/// A page that only says something: what happened, and what to try.
#[must_use]
pub fn message_page(title: &str, says: &str, hint: Option<&str>) -> Page {
    let mut page = Page::new("message".into(), PageSubject::Message, title);
    page.add(wrap("h1", title));
    page.add(paragraph(says));
    if let Some(hint) = hint {
        page.add(paragraph(Html::all([Html::from("Try: "), command(hint)])));
    }
    page.add(paragraph(link(&format!("{}.html", names::INDEX), "All runs")));
    page
}

/// The page that is gone at once: it leads a reader who came with a token to the same address without it,
/// where the browser shows it to nobody.
#[must_use]
pub fn entrance_page(to: &str) -> Page {
    let mut page = Page::new("message".into(), PageSubject::Message, "Signing in");
    page.leads_to = Some(to.to_owned());
    page.add(wrap("h1", "Signing in"));
    page.add(paragraph(link(to, "Open the report")));
    page
}
