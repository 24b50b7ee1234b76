//! The page of what monitors counted next to a run, and of what disturbed it.

use plumb_analysis::{CounterRate, PointRates};
use plumb_chart::Chart;
use plumb_model::OnInterference;
use plumb_report::monitors::{matters, place};
use plumb_report::run::View;
use plumb_text::counted;
use plumb_units::{percent, quantity};

use crate::anchors;
use crate::frame::{Page, PageSubject};
use crate::html::{Html, link, wrap};
use crate::names;
use crate::parts::{
    DataTable, breakable, cell, command, count, heading, name, nothing, paragraph, term,
};

/// Points of a table: with more columns it would be wider than a page.
const POINTS_OF_TABLE: usize = 5;

/// The page of a run's monitors, with their charts.
#[must_use]
pub fn monitors_page(view: &View, rates: &[PointRates], charts: Vec<Chart>) -> Page {
    let run = view.finding.run.id;
    let when = plumb_text::time::date(view.finding.run.started_unix_ns);
    let title = format!("Monitors during {}, {when}", view.header.title);
    let mut page = Page::new(names::monitors_page(run), PageSubject::Monitors, title.as_str())
        .at_run(view, None);
    page.add(wrap("h1", format!("Monitors during {}", view.header.title)));
    page.add(answer(view));
    page.draw(charts);
    for workload in rates.chunk_by(|a, b| a.point.workload == b.point.workload) {
        page.add(of_workload(view, workload));
    }
    if rates.is_empty() {
        page.add(paragraph("No monitor ran during this run."));
    }
    let next = command(&format!("plumb show {} --monitors --all", view.header.run)).and(
        " shows every counter with its lowest and highest rate; this page has the most important ones \
         that moved.",
    );
    page.add(heading("next", "On a terminal").and(paragraph(next)));
    page
}

/// Whether something else ran next to it.
fn answer(view: &View) -> Html {
    let found = &view.finding.interference;
    let of_all = counted(found.invocations, "invocation", "invocations");
    let mut out = if found.disturbed == 0 {
        paragraph(format!("plumb detected no disturbance in {of_all}."))
    } else {
        #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
        let share = found.disturbed as f64 / found.invocations.max(1) as f64;
        let disturbed = format!(
            "Other activity disturbed {} of {of_all} ({}). ",
            found.disturbed,
            percent(share)
        );
        let done = match found.on_interference {
            OnInterference::Keep => "They still count.".to_owned(),
            OnInterference::Retry => {
                format!("{} of them are excluded and were measured again.", found.excluded)
            }
        };
        paragraph(Html::text(&disturbed).and(done))
    };
    // Rules speak even if no invocation is excluded: `keep` counts them all.
    if !found.rules.is_empty() {
        let mut table = DataTable::new([term("Rule", "interference"), "Invocations".into()]);
        for (rule, times) in &found.rules {
            table.row([name(rule.as_str()), count(*times)]);
        }
        out.push(table.build());
    }
    wrap("section", out).class("answer").into()
}

/// The counters of a workload's points, in as many tables as they need.
fn of_workload(view: &View, points: &[PointRates]) -> Html {
    let Some(first) = points.first() else { return Html::default() };
    let workload = first.point.workload.as_str();
    let page = names::workload_page(view.finding.run.id, workload);
    let has = view.rows.iter().any(|row| row.finding.point.workload == workload);
    let title =
        if has { link(&format!("{page}.html"), workload).into() } else { Html::text(workload) };
    let id = format!("counters-{}", first.point.index);
    let tables = points.chunks(POINTS_OF_TABLE).map(counters);
    heading(&id, title).and(Html::all(tables))
}

/// The counters of points, a column each.
fn counters(points: &[PointRates]) -> Html {
    let titles = std::iter::once(term("Counter", "counter")).chain(points.iter().map(|point| {
        let of = counted(point.invocations, "invocation", "invocations");
        let name = wrap("span", breakable(&point.point.name))
            .with("id", &anchors::of_point(point.point.index));
        Html::from(name).and(format!(", median of {of}"))
    }));
    let mut table = DataTable::new(titles);
    let mut shown: Vec<&CounterRate> = Vec::new();
    for rate in
        points.iter().flat_map(|point| &point.rates).filter(|rate| matters(rate) && moved(rate))
    {
        // One row per counter, even if it moved at only one of the points.
        if !shown.iter().any(|known| known.counter == rate.counter) {
            shown.push(rate);
        }
    }
    shown.sort_by_key(|rate| place(rate));
    for rate in shown {
        let unit = rate.counter.rate_unit();
        table.row([name(rate.counter.name.as_str())].into_iter().chain(points.iter().map(
            |point| {
                let own = point.rates.iter().find(|own| own.counter == rate.counter);
                own.map_or_else(nothing, |own| cell(quantity(own.median, &unit)).class("num"))
            },
        )));
    }
    table.build()
}

fn moved(rate: &CounterRate) -> bool {
    rate.high != 0.0 || rate.low != 0.0
}
