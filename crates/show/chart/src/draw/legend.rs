//! The legend: of every group its symbol, line or filling, and its name.

use super::frame::{EDGE, LEADING, TEXT, WIDTH};
use super::symbol::{filled, shade, symbol};
use crate::appearance::Appearance;
use crate::chart::{Chart, Mark};
use crate::font::Font;
use crate::picture::{Anchor, INK, Picture, SOFT, paint, stroke};
use crate::ticks::{brief, title};

/// Width of a swatch with the blank after it.
const SWATCH: f64 = 26.0;
/// Between two entries.
const GAP: f64 = 18.0;
/// Room for the bar of colours next to the marks.
const BAR: f64 = 90.0;

/// Draws it at this height; gives back where what follows may begin.
pub(super) fn legend(
    picture: &mut Picture,
    font: &Font,
    chart: &Chart,
    appearances: &[Appearance],
    y: f64,
) -> f64 {
    if chart.groups.is_empty() {
        return y;
    }
    let mut x = EDGE;
    let mut y = y + 6.0;
    for (index, (group, appearance)) in chart.groups.iter().zip(appearances).enumerate() {
        let name = font.clip(&group.name, TEXT, WIDTH - 2.0 * EDGE - SWATCH);
        let width = SWATCH + font.width(&name, TEXT) + GAP;
        if x > EDGE && x + width - GAP > WIDTH - EDGE {
            x = EDGE;
            y += TEXT * LEADING;
        }
        swatch(picture, chart, index, appearance, [x, y - 4.0]);
        picture.words(x + SWATCH, y, &name, TEXT, Anchor::Start, INK);
        x += width;
    }
    y + TEXT * LEADING
}

fn swatch(
    picture: &mut Picture,
    chart: &Chart,
    group: usize,
    appearance: &Appearance,
    [x, y]: [f64; 2],
) {
    let marks: Vec<&Mark> = chart
        .layers
        .iter()
        .filter(|layer| layer.group == Some(group))
        .map(|layer| &layer.mark)
        .collect();
    // A group may have several kinds of marks; the swatch lays them over each other as the chart does.
    let area = [x, y - 5.0, x + 20.0, y + 5.0];
    if marks.iter().any(|mark| matches!(mark, Mark::Bars { .. })) {
        filled(picture, area, appearance, 0.85, "");
    } else if marks
        .iter()
        .any(|mark| matches!(mark, Mark::Band { .. } | Mark::Spans { .. } | Mark::Boxes { .. }))
    {
        picture.rectangle(
            area,
            paint(appearance.colour, 0.2),
            stroke(appearance.colour, 0.6, appearance.dash),
            "",
        );
    }
    if marks
        .iter()
        .any(|mark| matches!(mark, Mark::Line { .. } | Mark::Rules { .. } | Mark::Intervals { .. }))
    {
        picture.line([x, y, x + 20.0, y], stroke(appearance.colour, 1.6, appearance.dash));
    }
    if marks.iter().any(|mark| matches!(mark, Mark::Dots { .. } | Mark::Intervals { .. })) {
        symbol(picture, x + 10.0, y, 4.0, appearance, "");
    }
}

/// The width that a bar of colours takes.
pub(super) fn colour_bar(chart: &Chart) -> f64 {
    if chart.colour.is_some() { BAR } else { 0.0 }
}

/// The bar of colours from the least value to the greatest.
pub(super) fn bar(picture: &mut Picture, font: &Font, chart: &Chart, [x, top, bottom]: [f64; 3]) {
    let Some(axis) = &chart.colour else { return };
    let steps = 24;
    let each = (bottom - top) / f64::from(steps);
    for step in 0..steps {
        let share = 1.0 - (f64::from(step) + 0.5) / f64::from(steps);
        let y = top + f64::from(step) * each;
        // Half a unit of overlap: anti-aliasing would show a seam between two steps.
        picture.rectangle([x, y, x + 14.0, y + each + 0.5], paint(shade(share), 1.0), None, "");
    }
    for (y, value) in [(top + TEXT, axis.high), (bottom, axis.low)] {
        let text = font.clip(&brief(axis, value), TEXT, BAR - 42.0);
        picture.words(x + 18.0, y, &text, TEXT, Anchor::Start, INK);
    }
    picture.upright(x + BAR - 14.0, f64::midpoint(top, bottom), &title(axis), TEXT, SOFT);
}
