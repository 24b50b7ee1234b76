//! Common parts of charts in characters: signs, styles, and an axis below.

use plumb_text::{Style, Terminal, TextLine, clean, clip};
use unicode_width::UnicodeWidthStr;

use crate::chart::{Axis, Chart, MarkLayer, Tone};
use crate::ticks::{Tick, ticks};

/// Columns from one tick to the next, at least.
const TICK: usize = 10;
/// Blanks before everything.
pub(super) const INDENT: usize = 2;

/// The sign of a group: what its marks are drawn with.
pub(super) fn sign(chart: &Chart, layer: &MarkLayer) -> char {
    layer.group.map_or('●', |group| sign_of(chart, group))
}

pub(super) fn sign_of(chart: &Chart, group: usize) -> char {
    const PLAIN: [char; 8] = ['●', '■', '◆', '○', '□', '◇', '✚', '✖'];
    let plain = chart.groups.iter().take(group).filter(|group| group.tone == Tone::Plain).count();
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

pub(super) fn style(chart: &Chart, layer: &MarkLayer) -> Style {
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

/// How far along an axis of so many columns a value lies, from 0.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a column or a row of a terminal, clamped"
)]
pub(super) fn column(axis: &Axis, room: usize, value: f64) -> usize {
    let last = room.saturating_sub(1) as f64;
    (axis.share(value) * last).clamp(0.0, last).round() as usize
}

/// A line with ticks and one with what they say, in so many columns; the texts never touch.
pub(super) fn axis_below(axis: &Axis, before: usize, room: usize, terminal: &Terminal) -> String {
    // Fewer ticks until their texts keep apart; a bare line if not even two fit.
    let fitting = [room / TICK, room / TICK / 2, 2]
        .map(|most| ticks(axis, most.max(2)))
        .iter()
        .find_map(|ticks| texts(axis, room, ticks));
    let (line, texts) = fitting.unwrap_or_else(|| ("─".repeat(room), String::new()));
    let line = TextLine::new(Style::Muted, &format!("{:before$}{line}", ""));
    let texts = TextLine::new(Style::Muted, format!("{:before$}{texts}", "").trim_end());
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

/// A name that takes no more than so many columns, filled up to them.
pub(super) fn label(text: &str, columns: usize) -> String {
    let text = clip(&clean(text), columns);
    let blanks = columns.saturating_sub(text.width());
    format!("{text}{:blanks$}", "")
}
