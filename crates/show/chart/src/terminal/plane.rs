//! Charts of numbers over numbers.

use plumb_text::{Style, Terminal, TextLine, clean};
use unicode_width::UnicodeWidthStr;

use super::canvas::Canvas;
use super::parts::{INDENT, axis_below, column, sign, style};
use crate::chart::{Along, Chart, Mark, MarkLayer};
use crate::place::place;
use crate::ticks::ticks;

/// Rows of a chart of numbers over numbers.
const HEIGHT: usize = 12;

/// A chart of numbers over numbers.
pub(super) fn drawing(chart: &Chart, width: usize, terminal: &Terminal) -> String {
    let marked = ticks(&chart.y, 4);
    let widest = marked.iter().map(|tick| clean(&tick.text).width()).max().unwrap_or(0);
    let before = INDENT + widest + 2;
    let room = width.saturating_sub(before).max(10);
    let mut canvas = Canvas::new(room, HEIGHT);
    let area = PlaneArea { chart, room };
    for layer in &chart.layers {
        area.draw(&mut canvas, layer);
    }
    let mut out = String::new();
    for y in 0..HEIGHT {
        let tick = marked.iter().find(|tick| area.row(tick.at) == y);
        let text = tick.map_or_else(String::new, |tick| clean(&tick.text));
        let edge = if tick.is_some() { '┤' } else { '│' };
        let blanks = widest - text.width();
        let lead = format!("{:INDENT$}{:blanks$}{text} {edge}", "", "");
        out.push_str(&canvas.row(y, TextLine::new(Style::Muted, &lead), terminal));
    }
    out + &axis_below(&chart.x, before, room, terminal)
}

struct PlaneArea<'c> {
    chart: &'c Chart,
    room: usize,
}

impl PlaneArea<'_> {
    fn column(&self, value: f64) -> usize {
        column(&self.chart.x, self.room, value)
    }

    /// Rows count from the top.
    fn row(&self, value: f64) -> usize {
        HEIGHT - 1 - column(&self.chart.y, HEIGHT, value)
    }

    fn draw(&self, canvas: &mut Canvas, layer: &MarkLayer) {
        let sign = sign(self.chart, layer);
        let style = style(self.chart, layer);
        match &layer.mark {
            Mark::Dots { x, y, .. } => {
                for (x, y) in x.iter().zip(y) {
                    canvas.put(self.column(*x), self.row(*y), sign, style);
                }
            }
            Mark::Line { x, y, steps } => self.line(canvas, x, y, *steps, (sign, style)),
            Mark::Intervals { at, low, estimate, high, .. } => {
                for row in 0..at.len() {
                    let ends =
                        (low[row].unwrap_or(estimate[row]), high[row].unwrap_or(estimate[row]));
                    self.upright(canvas, at[row], ends, '│', style);
                    canvas.put(self.column(at[row]), self.row(estimate[row]), sign, style);
                }
            }
            Mark::Boxes { at, low, q1, median, q3, high, .. } => {
                for row in 0..at.len() {
                    self.upright(canvas, at[row], (low[row], high[row]), '│', style);
                    self.upright(canvas, at[row], (q1[row], q3[row]), '█', style);
                    canvas.put(self.column(at[row]), self.row(median[row]), '━', Style::Estimate);
                }
            }
            Mark::Rules { along: Along::X, at, .. } => {
                for x in at.iter().map(|at| self.column(*at)) {
                    // Rules and spans are context, which must not cover a measurement.
                    (0..HEIGHT).for_each(|y| canvas.put_behind(x, y, '│', style));
                }
            }
            Mark::Rules { at, .. } => {
                for y in at.iter().map(|at| self.row(*at)) {
                    (0..self.room).for_each(|x| canvas.put_behind(x, y, '─', style));
                }
            }
            Mark::Spans { along: Along::X, from, to, share, .. } => {
                for ((from, to), share) in from.iter().zip(to).zip(share) {
                    // From below; the least share is a row.
                    let top = (0..HEIGHT)
                        .take_while(|y| place(*y + 1) < place(HEIGHT) * (1.0 - share))
                        .count();
                    for x in self.column(*from)..=self.column(*to) {
                        (top..HEIGHT).for_each(|y| canvas.put_behind(x, y, '░', style));
                    }
                }
            }
            // Bands would hide what lies behind them; bars and cells stand at names.
            Mark::Band { .. } | Mark::Bars { .. } | Mark::Cells { .. } | Mark::Spans { .. } => {}
        }
    }

    fn upright(
        &self,
        canvas: &mut Canvas,
        at: f64,
        (low, high): (f64, f64),
        sign: char,
        style: Style,
    ) {
        let x = self.column(at);
        (self.row(high)..=self.row(low)).for_each(|y| canvas.put(x, y, sign, style));
    }

    /// In every column between two points, the height of the line there.
    fn line(
        &self,
        canvas: &mut Canvas,
        x: &[f64],
        y: &[Option<f64>],
        steps: bool,
        (sign, style): (char, Style),
    ) {
        let points: Vec<(f64, Option<f64>)> = x.iter().copied().zip(y.iter().copied()).collect();
        for two in points.windows(2) {
            let [(x0, Some(y0)), (x1, Some(y1))] = *two else { continue };
            let from = self.column(x0);
            let to = self.column(x1);
            for column in from..=to {
                let share = place(column - from.min(column)) / place((to - from).max(1));
                let y = if steps { y0 } else { y0 + (y1 - y0) * share };
                canvas.put(column, self.row(y), sign, style);
            }
        }
        if let [(x, Some(y))] = points.as_slice() {
            canvas.put(self.column(*x), self.row(*y), sign, style);
        }
    }
}
