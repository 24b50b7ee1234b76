//! A chart's place in a page: title, what it says, room for the drawing, and its numbers as tables.

use plumb_chart::{Along, Axis, Chart, Layer, Mark, Scale};
use plumb_text::time::date;
use plumb_text::units::plain;

use crate::html::{Html, Tag, tag, wrap};
use crate::parts::{DataTable, bare, cell, count, name};

/// Marks of one layer that stand in the table one by one; of more the ends and the middle stand there.
const MOST_ROWS: usize = 24;

/// The place of a chart.
pub(crate) fn figure(chart: &Chart) -> Html {
    let title = wrap("b", chart.title.as_str());
    let caption = wrap("figcaption", title).add(" ").add(chart.says.as_str());
    let made = tag("figure").class("chart").with("id", &local(&chart.id));
    let made = made.with("data-chart", &chart.id).add(caption).add(tag("div").class("plot"));
    let notes = chart.notes.iter().map(|note| wrap("li", note.as_str()));
    let notes = tag("ul").class("notes").add_all(notes);
    let made = if chart.notes.is_empty() { made } else { made.add(notes) };
    let tables = tables(chart);
    if tables.is_empty() {
        return made.into();
    }
    made.add(tag("details").class("data").add(wrap("summary", "Table")).add_all(tables)).into()
}

/// The address of a chart in its page.
fn local(id: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    format!("chart-{}", id.chars().map(safe).collect::<String>())
}

/// The numbers of a chart, a table for each kind of mark.
fn tables(chart: &Chart) -> Vec<Html> {
    let mut tables: Vec<(Vec<String>, DataTable)> = Vec::new();
    for layer in &chart.layers {
        let Some(columns) = columns(chart, layer) else { continue };
        let index =
            tables.iter().position(|(known, _)| *known == columns.titles).unwrap_or_else(|| {
                let table = DataTable::new(columns.titles.iter().map(String::as_str));
                tables.push((columns.titles.clone(), table));
                tables.len() - 1
            });
        let group = layer.group.and_then(|group| chart.groups.get(group));
        let group = group.map_or("", |group| group.name.as_str());
        for row in columns.rows {
            tables[index].1.row([name(group)].into_iter().chain(row));
        }
    }
    tables.into_iter().map(|(_, table)| table.plain()).collect()
}

/// What a layer says in a table: the titles, `what` first, and the cells after the group's.
struct Columns {
    titles: Vec<String>,
    rows: Vec<Vec<Tag>>,
}

/// A number on an axis.
fn shown(axis: &Axis, value: f64) -> Tag {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a band, or a date"
    )]
    match axis.scale {
        Scale::Band => cell(axis.categories.get(value.round() as usize).map_or("", String::as_str)),
        Scale::Date => cell(date((value * 1e9) as i64)),
        Scale::Linear | Scale::Log => bare(&plain(value / axis.per)),
    }
}

fn maybe(axis: &Axis, value: Option<f64>) -> Tag {
    value.map_or_else(|| cell("none"), |value| shown(axis, value))
}

/// `bandwidth (GB/s)`.
fn title(axis: &Axis) -> String {
    match (axis.label.as_str(), axis.unit.as_str()) {
        ("", "") => "value".to_owned(),
        (label, "") => label.to_owned(),
        ("", unit) => unit.to_owned(),
        (label, unit) => format!("{label} ({unit})"),
    }
}

fn columns(chart: &Chart, layer: &Layer) -> Option<Columns> {
    let axes = |along: Along| match along {
        Along::X => (&chart.x, &chart.y),
        Along::Y => (&chart.y, &chart.x),
    };
    Some(match &layer.mark {
        Mark::Boxes { along, at, low, q1, median, q3, high } => {
            let titles = ["low end", "first quartile", "median", "third quartile", "high end"];
            several(axes(*along), at, &titles, &[low, q1, median, q3, high])
        }
        Mark::Bars { along, at, from, to } => {
            several(axes(*along), at, &["from", "to"], &[from, to])
        }
        Mark::Intervals { along, at, low, estimate, high, .. } => {
            let (values, places) = axes(*along);
            let row = |i: usize| {
                let ends = [maybe(values, low[i]), maybe(values, high[i])];
                [shown(places, at[i]), shown(values, estimate[i])].into_iter().chain(ends).collect()
            };
            let estimate = format!("estimate, {}", title(values));
            let titles = [title(places), estimate, "low end".into(), "high end".into()];
            Columns { titles: titled(titles), rows: (0..at.len()).map(row).collect() }
        }
        Mark::Cells { x, y, value } => cells(chart, x, y, value),
        Mark::Dots { x, y, .. } => points(chart, x, y.iter().map(|y| Some(*y)).collect()),
        Mark::Line { x, y, .. } => points(chart, x, y.clone()),
        Mark::Rules { along, at, tips } => {
            let values = axes(*along).0;
            let row = |(at, tip): (&f64, &String)| vec![shown(values, *at), cell(tip.as_str())];
            let titles = [title(values), "what".to_owned()];
            Columns { titles: titled(titles), rows: at.iter().zip(tips).map(row).collect() }
        }
        // They go with a line, or with what stands in the text.
        Mark::Band { .. } | Mark::Spans { .. } => return None,
    })
}

fn titled(titles: impl IntoIterator<Item = String>) -> Vec<String> {
    ["of".to_owned()].into_iter().chain(titles).collect()
}

fn several(
    (values, places): (&Axis, &Axis),
    at: &[f64],
    titles: &[&str],
    columns: &[&Vec<f64>],
) -> Columns {
    let row = |i: usize| {
        let numbers = columns.iter().map(|column| shown(values, column[i]));
        [shown(places, at[i])].into_iter().chain(numbers).collect()
    };
    let unit = title(values);
    let titles = titles.iter().map(|title| format!("{title}, {unit}"));
    let titles = titled([title(places)].into_iter().chain(titles));
    Columns { titles, rows: (0..at.len()).map(row).collect() }
}

fn cells(chart: &Chart, x: &[f64], y: &[f64], value: &[f64]) -> Columns {
    let colour = chart.colour.as_ref().unwrap_or(&chart.y);
    let row =
        |i: usize| vec![shown(&chart.x, x[i]), shown(&chart.y, y[i]), shown(colour, value[i])];
    let titles = titled([title(&chart.x), title(&chart.y), title(colour)]);
    Columns { titles, rows: (0..value.len()).map(row).collect() }
}

/// Few points one by one, of many the least, middle and greatest.
fn points(chart: &Chart, x: &[f64], y: Vec<Option<f64>>) -> Columns {
    if x.len() <= MOST_ROWS {
        let row = |(x, y): (&f64, Option<f64>)| vec![shown(&chart.x, *x), maybe(&chart.y, y)];
        let titles = titled([title(&chart.x), title(&chart.y)]);
        return Columns { titles, rows: x.iter().zip(y).map(row).collect() };
    }
    let mut values: Vec<f64> = y.into_iter().flatten().collect();
    values.sort_by(f64::total_cmp);
    let at = |place: usize| maybe(&chart.y, values.get(place).copied());
    let ends = [at(0), at(values.len() / 2), at(values.len().saturating_sub(1))];
    let unit = title(&chart.y);
    let titles = ["least", "middle", "greatest"].map(|title| format!("{title}, {unit}"));
    let titles = titled(["points".to_owned()].into_iter().chain(titles));
    Columns { titles, rows: vec![[count(values.len())].into_iter().chain(ends).collect()] }
}
