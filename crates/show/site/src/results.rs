//! The table of a run's results, and the cells that the page of a workload shows too.

use plumb_analysis::{BaselineSource, CONFIDENCE};
use plumb_model::FlagKind;
use plumb_report::run::{ResultRow, View, without_baseline};
use plumb_text::sparkline::histogram;
use plumb_units::{Figure, percent, whole_percent};

use crate::anchors;
use crate::html::{Html, Tag, link, tag, wrap};
use crate::names;
use crate::parts::{
    DataTable, amount, breakable, cell, either, estimated, flags, heading, name, nine_digits,
    nothing, number, paragraph, term,
};
use crate::previous_run::{change, since};

/// Bins of the sketch of a distribution.
const BINS: usize = 10;

/// The results by family.
pub(crate) fn results(view: &View) -> Html {
    let mut out = heading("results", "Results");
    if view.rows.is_empty() {
        return out.and(paragraph("Nothing was measured."));
    }
    let expected = view.rows.iter().any(has_baseline);
    let mut table = DataTable::new(titles(expected, view.finding.since_last.found().is_some()));
    for family in &view.families {
        table.group(&format!("family-{}", family.name), &family.name);
        for row in view.shown(family, false) {
            table.row_at(&anchors::of_result(row), cells(view, row, expected));
        }
    }
    out.push(table.build());
    out.push(paragraph(legend()));
    for (why, names) in without_baseline(view) {
        out.push(paragraph(format!("No baseline ({why}): {}.", names.join(", ")).as_str()));
    }
    out
}

fn legend() -> Html {
    let note = ": relative half-width of the interval (of this machine over ten minutes if the session is long \
                enough). ";
    Html::text("±").and(note).and("n: ").and(term("invocations", "invocation")).and(" × ").and(term("samples", "sample"))
        .and(" per invocation. CPU: user and system time over wall time. Spread: a histogram from the 1st to the 99th percentile. Every figure is a median.")
}

fn titles(expected: bool, since: bool) -> Vec<Html> {
    let level = format!("{} interval", percent(CONFIDENCE));
    let mut titles = vec![term("Point", "point"), "Median".into(), term(&level, "interval")];
    if since {
        titles.push(term("Since the last run", "verdict"));
    }
    if expected {
        titles.push(term("Of the expected value", "expectation"));
    }
    titles.extend([term("Flags", "flag"), "Spread".into(), "±".into(), "n".into(), "CPU".into()]);
    titles
}

fn cells(view: &View, row: &ResultRow, expected: bool) -> Vec<Tag> {
    let mut cells = vec![name(point_link(view, row))];
    cells.extend(result(row));
    if view.finding.since_last.found().is_some() {
        cells.push(change(since(view, row)));
    }
    if expected {
        cells.push(of_baseline(row));
    }
    cells.extend([
        cell(own_flags(row)),
        cell(histogram(&row.finding.distribution, BINS, true)).class("sketch"),
        reached(row),
        cell(row.counts.as_str()).class("num"),
        cpu(row),
    ]);
    cells
}

/// Two cells: the estimate and its interval, or both levels and theirs.
pub(crate) fn result(row: &ResultRow) -> [Tag; 2] {
    let Some(levels) = &row.levels else {
        // The interval that ± and every other output show.
        return estimated(&row.finding.shown(), &row.finding.unit);
    };
    let values = either(&levels.first.quantity(), &levels.second.quantity());
    let values = wrap("td", values).class("num levels");
    let value = row.finding.estimate.value.to_string();
    // Two levels have no median of their own to sort by; the estimate lies between them.
    let values = values.with("title", &levels.shares()).with("data-value", &value);
    [
        values,
        wrap("td", either(&brackets(&levels.first), &brackets(&levels.second)))
            .class("interval levels"),
    ]
}

fn brackets(figure: &Figure) -> String {
    figure.interval_cell()
}

/// The label of a point, which leads to its workload's page.
fn point_link(view: &View, row: &ResultRow) -> Html {
    let point = &row.finding.point;
    let page = names::workload_page(view.finding.run.id, &point.workload);
    let to = format!("{page}.html#{}", anchors::of_point(point.index));
    let made = link(&to, row.label.as_str()).with("title", &point.name);
    let metric = match plumb_report::run::metric(row.finding).as_str() {
        "" => String::new(),
        metric => format!(" {metric}"),
    };
    Html::from(made).and(metric).and(row.on_target())
}

pub(crate) fn reached(row: &ResultRow) -> Tag {
    if let Some(levels) = &row.finding.levels {
        let halves = levels.by_share().map(|level| level.estimate.relative_half_width());
        let Some(widest) = halves.iter().copied().flatten().reduce(f64::max) else {
            return nothing();
        };
        let [first, second] = halves.map(|half| half.map_or_else(|| "none".to_owned(), percent));
        return wrap("td", either(&first, &second))
            .class("num levels")
            .with("title", &nine_digits(widest));
    }
    let (Some(reached), Some(shown)) =
        (row.finding.reached, row.finding.shown().relative_half_width())
    else {
        return nothing();
    };
    let missed = row.finding.wanted.is_some_and(|wanted| reached > wanted);
    let made = number(shown, "", &percent(shown));
    if missed { made.add(tag("small").add(" above target").class("note")) } else { made }
}

fn cpu(row: &ResultRow) -> Tag {
    row.cpu_share().map_or_else(nothing, |share| number(share, "", &whole_percent(share)))
}

/// Whether a row has a baseline that the page shows: that of earlier runs only if the result is outside their range, because
/// most rows of most runs are inside.
fn has_baseline(row: &ResultRow) -> bool {
    match &row.finding.of_baseline {
        Ok(of) => !matches!(of.source, BaselineSource::EarlierRuns { is_outside: false, .. }),
        Err(_) => false,
    }
}

fn of_baseline(row: &ResultRow) -> Tag {
    if row.finding.of_baseline.is_ok() && !has_baseline(row) {
        return nothing();
    }
    let Some(text) = plumb_report::run::baseline_text(row.finding) else { return nothing() };
    let cell = cell(breakable(&text));
    match &row.finding.of_baseline {
        Ok(of) => cell.with("data-value", &of.share.value.to_string()),
        Err(_) => cell,
    }
}

/// All flags of a row, those that every row has included.
pub(crate) fn own_flags(row: &ResultRow) -> Html {
    let all: Vec<&FlagKind> = row.finding.flags.iter().map(|flag| &flag.flag).collect();
    flags(all)
}

/// A cell with the peak of a worker's resident memory.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn memory(row: &ResultRow) -> Tag {
    row.finding.peak_memory_bytes.map_or_else(nothing, |bytes| amount(bytes as f64, "B"))
}
