//! The page of what monitors counted beside a run, and of what disturbed it.

use plumb_analysis::{CounterRate, PointRates};
use plumb_chart::Chart;
use plumb_model::OnInterference;
use plumb_report::monitors::place;
use plumb_report::run::View;
use plumb_text::counted;
use plumb_text::units::{percent, quantity};

use crate::anchors;
use crate::frame::{Kind, Page};
use crate::html::{Html, Tag, link, wrap};
use crate::names;
use crate::parts::{DataTable, command, count, heading, name, number, paragraph, term};

/// The page of a run's monitors, with their charts.
#[must_use]
pub fn monitors_page(view: &View, rates: &[PointRates], charts: Vec<Chart>) -> Page {
    let run = view.finding.run.id;
    let when = plumb_text::time::date(view.finding.run.started_unix_ns);
    let title = format!("Monitors during {}, {when}", view.header.title);
    let mut page =
        Page::new(names::monitors_page(run), Kind::Monitors, title.as_str()).at_run(view, None);
    page.add(wrap("h1", format!("Monitors during {}", view.header.title)));
    page.add(answer(view));
    page.draw(charts);
    for point in rates {
        page.add(of_point(view, point));
    }
    if rates.is_empty() {
        page.add(paragraph("No monitor ran during this run."));
    }
    let typed = command(&format!("plumb show {} --monitors --all", view.header.run));
    page.add(heading("next", "On a terminal").and(paragraph(typed)));
    page
}

/// Whether something else ran beside.
fn answer(view: &View) -> Html {
    let found = &view.finding.interference;
    let of_all = counted(found.invocations, "invocation", "invocations");
    let mut out = if found.disturbed == 0 {
        paragraph(format!("plumb saw nothing disturb any of {of_all}."))
    } else {
        #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
        let share = found.disturbed as f64 / found.invocations.max(1) as f64;
        let told = format!(
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
        paragraph(Html::text(&told).and(done))
    };
    if !found.rules.is_empty() {
        let mut table = DataTable::new([term("Rule", "interference"), "Invocations".into()]);
        for (rule, times) in &found.rules {
            table.row([name(rule.as_str()), count(*times)]);
        }
        out.push(table.build());
    }
    wrap("section", out).class("answer").into()
}

fn of_point(view: &View, point: &PointRates) -> Html {
    let of = counted(point.invocations, "invocation", "invocations");
    let page = names::workload_page(view.finding.run.id, &point.point.workload);
    let has = view.rows.iter().any(|row| row.finding.point.workload == point.point.workload);
    let title = if has {
        link(&format!("{page}.html"), point.point.name.as_str()).into()
    } else {
        Html::text(&point.point.name)
    };
    let mut shown: Vec<&CounterRate> = point.rates.iter().collect();
    shown.sort_by_key(|it| place(it));
    let titles: [Html; 4] =
        [term("Counter", "counter"), "Median".into(), "Lowest".into(), "Highest".into()];
    let mut table = DataTable::new(titles);
    for it in shown {
        table.row(row(it));
    }
    heading(&anchors::of_point(point.point.index), title.and(format!(", {of}"))).and(table.build())
}

fn row(rate: &CounterRate) -> [Tag; 4] {
    let unit = rate.counter.rate_unit();
    let value = |value: f64| number(value, &unit, &quantity(value, &unit));
    [name(rate.counter.name.as_str()), value(rate.median), value(rate.low), value(rate.high)]
}
