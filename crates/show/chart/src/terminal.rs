//! A chart in characters, for a terminal.

mod canvas;
mod parts;
mod plane;
mod rows;

use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, clean, hanging};

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
    // The heading names what is measured: the axis of values, which with names below each other is the horizontal
    // one, and on a heat map the colours.
    let values_axis = if chart.y.scale == Scale::Band { &chart.x } else { &chart.y };
    let axis = chart.colour.as_ref().unwrap_or(values_axis);
    let is_named = chart.title.contains(&axis.label) && !axis.unit.is_empty();
    let quantity = if is_named { axis.unit.clone() } else { title(axis) };
    let heading = [clean(&chart.title), clean(&quantity)]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<String>>()
        .join(" · ");
    let mut out = paragraph(0, Style::Heading, &heading, width, terminal);
    let has_cells = chart.layers.iter().any(|layer| matches!(layer.mark, Mark::Cells { .. }));
    if has_cells {
        out.push_str(&cells(chart, width, terminal));
    } else if chart.y.scale == Scale::Band {
        out.push_str(&rows::drawing(chart, width, terminal));
    } else {
        out.push_str(&plane::drawing(chart, width, terminal));
    }
    let legend = legend(chart);
    if !legend.is_empty() {
        out.push_str(&paragraph(INDENT, Style::Muted, &legend, width, terminal));
    }
    for note in chart.notes.iter().chain(&rules(chart)) {
        out.push_str(&paragraph(INDENT, Style::Muted, &clean(note), width, terminal));
    }
    terminal.signs(out)
}

fn paragraph(indent: usize, style: Style, text: &str, width: usize, terminal: &Terminal) -> String {
    hanging(indent, &TextLine::default(), &TextLine::new(style, text), width, terminal.colour)
}

/// The meaning of lines across an axis of dates, in order.
fn rules(chart: &Chart) -> Vec<String> {
    let is_date = chart.x.scale == Scale::Date;
    chart
        .layers
        .iter()
        .filter(|_| is_date)
        .flat_map(|layer| match &layer.mark {
            Mark::Rules { along: Along::X, tips, .. } => tips.as_slice(),
            _ => &[],
        })
        .cloned()
        .collect()
}

/// Signs with the names of their groups; one group needs none.
fn legend(chart: &Chart) -> String {
    chart
        .groups
        .iter()
        .enumerate()
        .map(|(index, group)| {
            let own = chart.layers.iter().filter(|layer| layer.group == Some(index));
            let marks: Vec<&Mark> = own.map(|layer| &layer.mark).collect();
            let sign = if marks.iter().any(|mark| matches!(mark, Mark::Spans { .. })) {
                '░'
            } else if marks.iter().any(|mark| matches!(mark, Mark::Bars { .. })) {
                rows::filling(chart, index)
            } else {
                sign_of(chart, index)
            };
            format!("{sign} {}", clean(&group.name))
        })
        .collect::<Vec<_>>()
        .join(" · ")
}

/// Cells as a table.
fn cells(chart: &Chart, width: usize, terminal: &Terminal) -> String {
    let mut columns = vec![TableColumn::left("")];
    columns.extend(names(&chart.x).iter().map(|name| TableColumn::right(name)));
    let mut table = Table::new(columns).indented(INDENT);
    for (row, name) in names(&chart.y).iter().enumerate() {
        let mut line = vec![TextLine::new(Style::Name, name)];
        for column in 0..chart.x.categories.len() {
            let text = cell(chart, [column, row]).unwrap_or_else(|| "–".to_owned());
            line.push(TextLine::new(Style::Estimate, &text));
        }
        table.row(line);
    }
    table.render(width, terminal.colour)
}

fn names(axis: &Axis) -> Vec<String> {
    axis.categories.iter().map(|category| clean(category)).collect()
}

fn cell(chart: &Chart, [column, row]: [usize; 2]) -> Option<String> {
    let at = (crate::place::place(column), crate::place::place(row));
    let axis = chart.colour.as_ref()?;
    chart.layers.iter().find_map(|layer| {
        let Mark::Cells { x, y, value } = &layer.mark else { return None };
        let mut all = x.iter().zip(y).zip(value);
        all.find(|((x, y), _)| (**x, **y) == at).map(|(_, value)| brief(axis, *value))
    })
}

#[cfg(test)]
mod tests;
