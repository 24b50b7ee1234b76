//! The marks themselves.

use super::frame::{PlotFrame, SMALL, TEXT};
use super::symbol::{drawn, filled, outline, shade, symbol};
use crate::appearance::{Appearance, NONE};
use crate::chart::{Along, Mark, Scale};
use crate::font::Font;
use crate::picture::{Anchor, DrawnShape, INK, PAPER, PathStep, Picture, paint, stroke};
use crate::ticks::brief;

/// More vertical rules than this are numbered, with their texts below the chart: next to the rules they would overlap.
const MOST_UNNUMBERED: usize = 1;

/// Draws all layers; gives back the texts of numbered rules, which stand below the chart.
pub(super) fn marks(
    picture: &mut Picture,
    font: &Font,
    frame: &PlotFrame,
    appearances: &[Appearance],
) -> Vec<String> {
    let mut footnotes: Vec<String> = Vec::new();
    let vertical_rules: usize = frame
        .chart
        .layers
        .iter()
        .filter(|layer| matches!(layer.mark, Mark::Rules { along: Along::X, .. }))
        .map(|layer| layer.mark.len())
        .sum();
    for layer in &frame.chart.layers {
        let appearance = layer.group.and_then(|group| appearances.get(group)).unwrap_or(&NONE);
        match &layer.mark {
            Mark::Rules { along, at, tips } => {
                let is_numbered = vertical_rules > MOST_UNNUMBERED && *along == Along::X;
                let texts = is_numbered.then_some(&mut footnotes);
                rules_across(picture, frame, appearance, *along, at, tips, texts);
            }
            Mark::Spans { along, from, to, share, tips } => {
                from.iter().zip(to).zip(share).zip(tips).for_each(|(((from, to), share), tip)| {
                    span(picture, frame, appearance, *along, (*from, *to, *share), tip);
                });
            }
            Mark::Cells { x, y, value } => cells(picture, font, frame, x, y, value),
            mark => mark_of_data(picture, frame, appearance, mark),
        }
    }
    footnotes
}

fn mark_of_data(picture: &mut Picture, frame: &PlotFrame, appearance: &Appearance, mark: &Mark) {
    match mark {
        Mark::Boxes { .. } => boxes(picture, frame, appearance, mark),
        Mark::Dots { x, y, tips } => dots(picture, frame, appearance, x, y, tips),
        Mark::Intervals { along, at, low, estimate, high, tips } => {
            for row in 0..at.len() {
                let ends = [low[row], Some(estimate[row]), high[row]];
                interval(picture, frame, appearance, *along, at[row], ends, &tips[row]);
            }
        }
        Mark::Line { x, y, steps } => line(picture, frame, appearance, x, y, *steps),
        Mark::Band { x, low, high } => band(picture, frame, appearance, x, low, high),
        Mark::Bars { along, at, from, to } => {
            let half = (frame.slot(across(*along), at.len()) * 0.32).min(14.0);
            for ((at, from), to) in at.iter().zip(from).zip(to) {
                let place = [*at, *from, *to];
                bar(picture, frame, appearance, *along, place, half);
            }
        }
        Mark::Cells { .. } | Mark::Rules { .. } | Mark::Spans { .. } => {}
    }
}

/// The other axis.
fn across(along: Along) -> Along {
    match along {
        Along::X => Along::Y,
        Along::Y => Along::X,
    }
}

/// A point from its places along and across.
fn turned(along: Along, value: f64, place: f64) -> (f64, f64) {
    match along {
        Along::X => (value, place),
        Along::Y => (place, value),
    }
}

/// A line from one point to another, both given along and across.
fn stretch(along: Along, from: (f64, f64), to: (f64, f64)) -> [f64; 4] {
    let (x0, y0) = turned(along, from.0, from.1);
    let (x1, y1) = turned(along, to.0, to.1);
    [x0, y0, x1, y1]
}

fn boxes(picture: &mut Picture, frame: &PlotFrame, appearance: &Appearance, mark: &Mark) {
    let Mark::Boxes { along, at, low, q1, median, q3, high } = mark else { return };
    let half = (frame.slot(across(*along), at.len()) * 0.24).min(12.0);
    let thin = stroke(appearance.colour, 1.0, &[]);
    for row in 0..at.len() {
        let middle = frame.at(across(*along), at[row]);
        let [low, q1, median, q3, high] =
            [low, q1, median, q3, high].map(|column| frame.at(*along, column[row]));
        for (from, to) in [(low, q1), (q3, high)] {
            picture.line(stretch(*along, (from, middle), (to, middle)), thin);
        }
        for end in [low, high] {
            let cap = stretch(*along, (end, middle - half / 2.0), (end, middle + half / 2.0));
            picture.line(cap, thin);
        }
        let [x0, y0, x1, y1] = stretch(*along, (q1, middle - half), (q3, middle + half));
        let area = [x0.min(x1), y0.min(y1), x0.max(x1), y0.max(y1)];
        picture.rectangle(area, paint(appearance.colour, 0.14), thin, "");
        let line = stretch(*along, (median, middle - half), (median, middle + half));
        picture.line(line, stroke(appearance.colour, 2.0, &[]));
    }
}

fn dots(
    picture: &mut Picture,
    frame: &PlotFrame,
    appearance: &Appearance,
    x: &[f64],
    y: &[f64],
    tips: &[String],
) {
    // Many dots of the usual size would merge into one area.
    let radius = if x.len() > 600 { 1.6 } else { 2.4 };
    let points = x.iter().zip(y).map(|(x, y)| frame.point(*x, *y));
    if tips.iter().any(|tip| !tip.is_empty()) {
        for ((x, y), tip) in points.zip(tips) {
            symbol(picture, x, y, radius, appearance, tip);
        }
        return;
    }
    // Dots without tips share one outline: an element each would make the file several times as long.
    let steps: Vec<PathStep> =
        points.flat_map(|(x, y)| outline(x, y, radius, appearance)).collect();
    let (fill, stroke) = drawn(appearance, 0.45);
    picture.shapes.push(DrawnShape::Outline { steps, fill, stroke, tip: String::new() });
}

fn interval(
    picture: &mut Picture,
    frame: &PlotFrame,
    appearance: &Appearance,
    along: Along,
    at: f64,
    [low, estimate, high]: [Option<f64>; 3],
    tip: &str,
) {
    let middle = frame.at(across(along), at);
    let pen = stroke(appearance.colour, 1.8, &[]);
    let [low, estimate, high] =
        [low, estimate, high].map(|value| value.map(|value| frame.at(along, value)));
    // A missing end is open: the line stops at the estimate and has no cap there.
    if let Some((from, to)) = low.or(estimate).zip(high.or(estimate)) {
        picture.line(stretch(along, (from, middle), (to, middle)), pen);
    }
    for end in [low, high].into_iter().flatten() {
        picture.line(stretch(along, (end, middle - 4.0), (end, middle + 4.0)), pen);
    }
    if let Some(estimate) = estimate {
        let (x, y) = turned(along, estimate, middle);
        symbol(picture, x, y, 3.6, appearance, tip);
    }
}

fn line(
    picture: &mut Picture,
    frame: &PlotFrame,
    appearance: &Appearance,
    x: &[f64],
    y: &[Option<f64>],
    steps: bool,
) {
    let mut drawn: Vec<PathStep> = Vec::new();
    let mut before: Option<f64> = None;
    for (x, y) in x.iter().zip(y) {
        let x = frame.at(Along::X, *x);
        let y = y.map(|y| frame.at(Along::Y, y));
        match (before, y) {
            // A step keeps the old value until the new place.
            (Some(held), Some(y)) => {
                drawn.extend(steps.then_some(PathStep::Line(x, held)));
                drawn.push(PathStep::Line(x, y));
            }
            (None, Some(y)) => drawn.push(PathStep::Move(x, y)),
            (_, None) => {}
        }
        before = y;
    }
    picture.lines(drawn, stroke(appearance.colour, 1.8, appearance.dash));
}

fn band(
    picture: &mut Picture,
    frame: &PlotFrame,
    appearance: &Appearance,
    x: &[f64],
    low: &[f64],
    high: &[f64],
) {
    // One outline: along the upper line, and back along the lower one.
    let upper = x.iter().zip(high);
    let lower = x.iter().zip(low).rev();
    let mut steps: Vec<PathStep> = upper
        .chain(lower)
        .map(|(x, y)| frame.point(*x, *y))
        .map(|(x, y)| PathStep::Line(x, y))
        .collect();
    if let Some(PathStep::Line(x, y)) = steps.first().copied() {
        steps[0] = PathStep::Move(x, y);
        steps.push(PathStep::Close);
        let fill = paint(appearance.colour, 0.16);
        picture.shapes.push(DrawnShape::Outline { steps, fill, stroke: None, tip: String::new() });
    }
}

fn bar(
    picture: &mut Picture,
    frame: &PlotFrame,
    appearance: &Appearance,
    along: Along,
    [at, from, to]: [f64; 3],
    half: f64,
) {
    let middle = frame.at(across(along), at);
    let from = frame.at(along, from);
    let to = frame.at(along, to);
    let [x0, y0, x1, y1] = stretch(along, (from, middle - half), (to, middle + half));
    let area = [x0.min(x1), y0.min(y1), x0.max(x1), y0.max(y1)];
    filled(picture, area, appearance, 0.85, "");
}

fn cells(
    picture: &mut Picture,
    font: &Font,
    frame: &PlotFrame,
    x: &[f64],
    y: &[f64],
    value: &[f64],
) {
    let Some(axis) = &frame.chart.colour else { return };
    let half = [frame.slot(Along::X, 1) / 2.0 - 1.0, frame.slot(Along::Y, 1) / 2.0 - 1.0];
    for ((x, y), value) in x.iter().zip(y).zip(value) {
        let x = frame.at(Along::X, *x);
        let y = frame.at(Along::Y, *y);
        let share = axis.share(*value);
        let area = [x - half[0], y - half[1], x + half[0], y + half[1]];
        picture.rectangle(area, paint(shade(share), 1.0), None, "");
        let text = font.clip(&brief(axis, *value), TEXT, 2.0 * half[0]);
        // Dark figures can't be read on the darker half of the shades.
        let colour = if share > 0.5 { PAPER } else { INK };
        picture.words(x, y + 4.0, &text, TEXT, Anchor::Middle, colour);
    }
}

fn rules_across(
    picture: &mut Picture,
    frame: &PlotFrame,
    appearance: &Appearance,
    along: Along,
    at: &[f64],
    tips: &[String],
    mut footnotes: Option<&mut Vec<String>>,
) {
    for (at, tip) in at.iter().zip(tips) {
        let place = frame.at(along, *at);
        let ends = match along {
            Along::X => [place, frame.top, place, frame.bottom],
            Along::Y => [frame.left, place, frame.right, place],
        };
        picture.line(ends, stroke(appearance.colour, 1.4, appearance.dash));
        if let Some(footnotes) = &mut footnotes {
            let number = footnotes.len() + 1;
            footnotes.push(format!("{number}: {tip}"));
            picture.words(
                place,
                frame.top - 2.0,
                &number.to_string(),
                SMALL,
                Anchor::Middle,
                appearance.colour,
            );
        }
    }
}

fn span(
    picture: &mut Picture,
    frame: &PlotFrame,
    appearance: &Appearance,
    along: Along,
    (from, to, share): (f64, f64, f64),
    tip: &str,
) {
    let axis = frame.axis(along);
    // A span may reach beyond what is drawn, as interference before the first sample does.
    let [from, to] = [from, to].map(|value| match axis.scale {
        Scale::Band => frame.at(along, value),
        _ => frame.at(along, value.clamp(axis.low, axis.high)),
    });
    let share = share.clamp(0.0, 1.0);
    let area = match along {
        Along::X => [from, frame.bottom - share * (frame.bottom - frame.top), to, frame.bottom],
        Along::Y => [frame.left, to, frame.left + share * (frame.right - frame.left), from],
    };
    let fill = paint(appearance.colour, 0.12);
    let edge = stroke(appearance.colour, 0.8, &[2.0, 3.0]);
    picture.rectangle(area, fill, edge, tip);
}
