//! Charts of names below each other: box plots, intervals, bars.

use plumb_text::{Style, Terminal, TextLine, clean};
use unicode_width::UnicodeWidthStr;

use super::canvas::Canvas;
use super::parts::{INDENT, axis_below, column, label, sign, style};
use crate::chart::{Along, Chart, Mark, MarkLayer};

/// What stands further than this below a name's place has its own row.
const BELOW: f64 = 0.25;

/// The fill of the bars of a group.
pub(super) fn filling(chart: &Chart, group: usize) -> char {
    const FILLINGS: [char; 3] = ['█', '▒', '░'];
    let place = chart
        .layers
        .iter()
        .filter(|layer| matches!(layer.mark, Mark::Bars { .. }))
        .take_while(|layer| layer.group != Some(group))
        .count();
    FILLINGS[place % FILLINGS.len()]
}

/// Every name with its marks on one scale.
pub(super) fn drawing(chart: &Chart, width: usize, terminal: &Terminal) -> String {
    let names = &chart.y.categories;
    let names_width =
        names.iter().map(|name| clean(name).width()).max().unwrap_or(0).min(width * 2 / 5);
    let before = INDENT + names_width + 2;
    let room = width.saturating_sub(before).max(10);
    let has_boxes = chart.layers.iter().any(|layer| matches!(layer.mark, Mark::Boxes { .. }));
    // On a picture intervals are drawn a little below their boxes. Here that takes a second row.
    let has_intervals_below = chart
        .layers
        .iter()
        .any(|layer| layer.mark.places(Along::Y).iter().any(|at| offset(*at) > BELOW));
    let each = if has_boxes && has_intervals_below { 2 } else { 1 };
    let mut canvas = Canvas::new(room, names.len() * each);
    let area = RowsArea { chart, room, each };
    for layer in &chart.layers {
        area.draw(&mut canvas, layer);
    }
    let mut out = String::new();
    for row in 0..names.len() * each {
        let name = if row.is_multiple_of(each) { names[row / each].as_str() } else { "" };
        let lead = format!("{:INDENT$}{}  ", "", label(name, names_width));
        out.push_str(&canvas.row(row, TextLine::new(Style::Name, &lead), terminal));
    }
    out + &axis_below(&chart.x, before, room, terminal)
}

/// How far below a name's place it is.
fn offset(at: f64) -> f64 {
    at - at.round()
}

struct RowsArea<'c> {
    chart: &'c Chart,
    room: usize,
    each: usize,
}

impl RowsArea<'_> {
    fn column(&self, value: f64) -> usize {
        column(&self.chart.x, self.room, value)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index of a name"
    )]
    fn row(&self, at: f64) -> usize {
        let below = usize::from(self.each > 1 && offset(at) > BELOW);
        at.round().max(0.0) as usize * self.each + below
    }

    fn draw(&self, canvas: &mut Canvas, layer: &MarkLayer) {
        let sign = sign(self.chart, layer);
        let style = style(self.chart, layer);
        match &layer.mark {
            Mark::Boxes { at, low, q1, median, q3, high, .. } => {
                for row in 0..at.len() {
                    let values = [low[row], q1[row], median[row], q3[row], high[row]];
                    self.one_box(
                        canvas,
                        self.row(at[row]),
                        values.map(|value| self.column(value)),
                        style,
                    );
                }
            }
            // The box already shows those inside its whiskers: only outliers are put, if no sign stands.
            Mark::Dots { x, y, .. } => {
                for (x, y) in x.iter().zip(y) {
                    canvas.put_behind(self.column(*x), self.row(y.round()), sign, style);
                }
            }
            Mark::Intervals { at, low, estimate, high, .. } => {
                for row in 0..at.len() {
                    let ends = [low[row], high[row]].map(|end| end.map(|end| self.column(end)));
                    let estimate = self.column(estimate[row]);
                    interval(canvas, self.row(at[row]), (ends, estimate), sign, style);
                }
            }
            Mark::Bars { at, from, to, .. } => {
                let filling = layer.group.map_or('█', |group| filling(self.chart, group));
                for row in 0..at.len() {
                    let from = self.column(from[row]);
                    let to = self.column(to[row]);
                    (from..to).for_each(|x| canvas.put(x, self.row(at[row]), filling, style));
                }
            }
            Mark::Rules { along: Along::X, at, .. } => {
                for x in at.iter().map(|at| self.column(*at)) {
                    self.all_rows(canvas, x..=x, '│', style);
                }
            }
            Mark::Spans { along: Along::X, from, to, .. } => {
                for (from, to) in from.iter().zip(to) {
                    self.all_rows(canvas, self.column(*from)..=self.column(*to), '░', style);
                }
            }
            Mark::Line { .. } | Mark::Band { .. } | Mark::Cells { .. } => {}
            Mark::Rules { .. } | Mark::Spans { .. } => {}
        }
    }

    fn all_rows(
        &self,
        canvas: &mut Canvas,
        columns: std::ops::RangeInclusive<usize>,
        sign: char,
        style: Style,
    ) {
        for x in columns {
            (0..self.chart.y.categories.len() * self.each)
                .for_each(|y| canvas.put(x, y, sign, style));
        }
    }

    /// Draws a box with its whiskers: `├───░░░┃░░───┤`.
    fn one_box(
        &self,
        canvas: &mut Canvas,
        y: usize,
        [low, q1, median, q3, high]: [usize; 5],
        style: Style,
    ) {
        (low..=high).for_each(|x| canvas.put(x, y, '─', style));
        canvas.put(low, y, '├', style);
        canvas.put(high, y, '┤', style);
        (q1..=q3).for_each(|x| canvas.put(x, y, '▒', style));
        canvas.put(median, y, '┃', Style::Estimate);
    }
}

/// Draws an estimate with its interval: `├──●─┤`; without an end there is no cap.
fn interval(
    canvas: &mut Canvas,
    y: usize,
    ([low, high], estimate): ([Option<usize>; 2], usize),
    sign: char,
    style: Style,
) {
    let from = low.unwrap_or(estimate);
    let to = high.unwrap_or(estimate);
    (from..=to).for_each(|x| canvas.put(x, y, '─', style));
    if low.is_some() {
        canvas.put(from, y, '├', style);
    }
    if high.is_some() {
        canvas.put(to, y, '┤', style);
    }
    canvas.put(estimate, y, sign, style);
}
