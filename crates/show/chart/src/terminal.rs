//! A chart in characters, for a terminal.

mod canvas;
mod rows;

use plumb_text::{Column, Line, Style, Table, Terminal, clean, clip, hanging};
use unicode_width::UnicodeWidthStr;

use self::canvas::Canvas;
use crate::chart::{Along, Axis, Chart, Layer, Mark, Scale, Tone};
use crate::ticks::{Tick, brief, ticks, title};

/// Narrower than this nothing is drawn well.
const NARROWEST: usize = 40;
/// Rows of a chart of numbers over numbers.
const HEIGHT: usize = 12;
/// Columns from one tick to the next, at least.
const TICK: usize = 10;
/// Blanks before everything.
const INDENT: usize = 2;

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
        out.push_str(&canvas::drawing(chart, width, terminal));
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

/// The sign of a group: what its marks are drawn with.
fn sign(chart: &Chart, layer: &Layer) -> char {
    layer.group.map_or('●', |group| sign_of(chart, group))
}

fn sign_of(chart: &Chart, group: usize) -> char {
    const PLAIN: [char; 8] = ['●', '■', '◆', '○', '□', '◇', '✚', '✖'];
    let plain = chart.groups.iter().take(group).filter(|it| it.tone == Tone::Plain).count();
    match chart.groups[group].tone {
        Tone::Plain => PLAIN[plain % PLAIN.len()],
        Tone::Steady => '•',
        Tone::Warmup | Tone::Inconclusive => '○',
        Tone::Excluded => '✖',
        Tone::Faster => '▲',
        Tone::Slower => '▼',
        Tone::Equivalent => '■',
        Tone::Baseline => '│',
        Tone::Interference => '░',
    }
}

fn style(chart: &Chart, layer: &Layer) -> Style {
    match layer.group.map(|group| chart.groups[group].tone) {
        Some(Tone::Slower) => Style::Bad,
        Some(Tone::Faster) => Style::Good,
        Some(Tone::Inconclusive | Tone::Excluded | Tone::Interference | Tone::Warmup) => {
            Style::Flag
        }
        Some(Tone::Baseline | Tone::Equivalent) => Style::Interval,
        Some(Tone::Plain) => Style::Estimate,
        Some(Tone::Steady) | None => Style::Sketch,
    }
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

/// How far along an axis of so many columns a value lies, from 0.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a column or a row of a terminal, clamped"
)]
fn column(axis: &Axis, room: usize, value: f64) -> usize {
    let last = room.saturating_sub(1) as f64;
    (axis.share(value) * last).clamp(0.0, last).round() as usize
}

/// A line with ticks and one with what they say, in so many columns; the texts never touch.
fn axis_below(axis: &Axis, before: usize, room: usize, terminal: &Terminal) -> String {
    let found = [room / TICK, room / TICK / 2, 2].map(|most| ticks(axis, most.max(2)));
    let fitting = found.iter().find_map(|ticks| texts(axis, room, ticks));
    let (line, texts) = fitting.unwrap_or_else(|| ("─".repeat(room), String::new()));
    let line = Line::new(Style::Muted, &format!("{:before$}{line}", ""));
    let texts = Line::new(Style::Muted, format!("{:before$}{texts}", "").trim_end());
    format!("{}\n{}\n", line.render(terminal.colour), texts.render(terminal.colour))
}

fn texts(axis: &Axis, room: usize, ticks: &[Tick]) -> Option<(String, String)> {
    let mut line = vec!['─'; room];
    let mut text = String::new();
    for tick in ticks {
        let at = column(axis, room, tick.at);
        line[at] = '┴';
        let shown = clean(&tick.text);
        let from = at.saturating_sub(shown.width() / 2).min(room.saturating_sub(shown.width()));
        let taken = text.width();
        if taken > 0 && from < taken + 2 {
            return None;
        }
        text.push_str(&" ".repeat(from.saturating_sub(taken)));
        text.push_str(&shown);
    }
    Some((line.into_iter().collect(), text))
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

/// A name that takes no more than so many columns, filled up to them.
fn label(text: &str, columns: usize) -> String {
    let text = clip(&clean(text), columns);
    let blanks = columns.saturating_sub(text.width());
    format!("{text}{:blanks$}", "")
}

#[cfg(test)]
mod tests;
