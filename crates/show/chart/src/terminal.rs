//! A chart in characters, for a terminal.

mod canvas;
mod parts;
mod plane;
mod rows;

use plumb_text::{Column, Line, Style, Table, Terminal, clean, hanging};

use self::parts::{INDENT, sign_of};
use crate::chart::{Along, Axis, Chart, Mark, Scale};
use crate::ticks::{brief, title};

/// Narrower than this nothing is drawn well.
const NARROWEST: usize = 40;
/// The chart in lines of the terminal's width, with its title, legend, axes and notes. What it says of
/// itself is left to the help.
#[must_use]
pub fn drawing(chart: &Chart, terminal: &Terminal) -> String {
    let width = terminal.width.max(NARROWEST);
    let axis = if chart.y.scale == Scale::Band { &chart.x } else { &chart.y };
    let axis = chart.colour.as_ref().unwrap_or(axis);
    let named = chart.title.contains(&axis.label) && !axis.unit.is_empty();
    let quantity = if named { axis.unit.clone() } else { title(axis) };
    let heading = [clean(&chart.title), clean(&quantity)];
    let heading: Vec<&str> =
        heading.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    let heading = heading.join(" · ");
    let line = |indent: usize, style, text: &str| {
        hanging(indent, &Line::default(), &Line::new(style, text), width, terminal.colour)
    };
    let mut out = line(0, Style::Heading, &heading);
    let has_cells = chart.layers.iter().any(|it| matches!(it.mark, Mark::Cells { .. }));
    if has_cells {
        out.push_str(&cells(chart, width, terminal));
    } else if chart.y.scale == Scale::Band {
        out.push_str(&rows::drawing(chart, width, terminal));
    } else {
        out.push_str(&plane::drawing(chart, width, terminal));
    }
    let legend = legend(chart);
    if !legend.is_empty() {
        out.push_str(&line(INDENT, Style::Muted, &legend));
    }
    for note in chart.notes.iter().chain(&rules(chart)) {
        out.push_str(&line(INDENT, Style::Muted, &clean(note)));
    }
    terminal.signs(out)
}

/// What lines across an axis of dates stand for, in order.
fn rules(chart: &Chart) -> Vec<String> {
    let is_date = chart.x.scale == Scale::Date;
    let tips = chart.layers.iter().filter(|_| is_date).flat_map(|layer| match &layer.mark {
        Mark::Rules { along: Along::X, tips, .. } => tips.as_slice(),
        _ => &[],
    });
    tips.cloned().collect()
}

/// Signs with the names of their groups; one group needs none.
fn legend(chart: &Chart) -> String {
    let name = |(index, group): (usize, &crate::chart::Group)| {
        let of_it = || chart.layers.iter().filter(|it| it.group == Some(index));
        let is = |test: fn(&Mark) -> bool| of_it().any(|it| test(&it.mark));
        let sign = if is(|it| matches!(it, Mark::Spans { .. })) {
            '░'
        } else if is(|it| matches!(it, Mark::Bars { .. })) {
            rows::filling(chart, index)
        } else {
            sign_of(chart, index)
        };
        format!("{sign} {}", clean(&group.name))
    };
    chart.groups.iter().enumerate().map(name).collect::<Vec<_>>().join(" · ")
}

/// Cells as a table.
fn cells(chart: &Chart, width: usize, terminal: &Terminal) -> String {
    let names = |axis: &Axis| axis.categories.iter().map(|it| clean(it)).collect::<Vec<_>>();
    let mut columns = vec![Column::left("")];
    columns.extend(names(&chart.x).iter().map(|it| Column::right(it)));
    let mut table = Table::new(columns).indented(INDENT);
    for (row, name) in names(&chart.y).iter().enumerate() {
        let mut line = vec![Line::new(Style::Name, name)];
        for column in 0..chart.x.categories.len() {
            let text = cell(chart, [column, row]).unwrap_or_else(|| "–".to_owned());
            line.push(Line::new(Style::Estimate, &text));
        }
        table.row(line);
    }
    table.render(width, terminal.colour)
}

fn cell(chart: &Chart, [column, row]: [usize; 2]) -> Option<String> {
    let (at, axis) =
        ((crate::place::place(column), crate::place::place(row)), chart.colour.as_ref()?);
    chart.layers.iter().find_map(|layer| {
        let Mark::Cells { x, y, value } = &layer.mark else { return None };
        let mut all = x.iter().zip(y).zip(value);
        all.find(|((x, y), _)| (**x, **y) == at).map(|(_, value)| brief(axis, *value))
    })
}

#[cfg(test)]
mod tests;
