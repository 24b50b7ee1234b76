//! The marks themselves.

use super::{Frame, SMALL, TEXT, legend};
use crate::chart::{Along, Layer, Mark, Scale};
use crate::font::Font;
use crate::look::{Look, NONE, Symbol};
use crate::picture::{Anchor, Colour, INK, PAPER, Picture, Shape, Step, paint, stroke};
use crate::ticks::brief;

/// More lines across than this are numbered, and told below.
const TOLD_BELOW: usize = 1;
/// The lightest and the darkest shade of a heat map.
const SHADES: [[f64; 3]; 2] = [[241.0, 246.0, 252.0], [13.0, 63.0, 122.0]];

/// Draws all layers; gives back what is told below them.
pub(super) fn marks(
    picture: &mut Picture,
    font: &Font,
    frame: &Frame,
    looks: &[Look],
) -> Vec<String> {
    let mut footnotes: Vec<String> = Vec::new();
    let rules = |layer: &&Layer| matches!(layer.mark, Mark::Rules { along: Along::X, .. });
    let across: usize = frame.chart.layers.iter().filter(rules).map(|it| it.mark.len()).sum();
    for layer in &frame.chart.layers {
        let look = layer.group.and_then(|group| looks.get(group)).unwrap_or(&NONE);
        match &layer.mark {
            Mark::Rules { along, at, tips } => {
                let numbered = across > TOLD_BELOW && *along == Along::X;
                let told = numbered.then_some(&mut footnotes);
                rules_across(picture, frame, look, *along, at, tips, told);
            }
            Mark::Spans { along, from, to, tips } => {
                spans(picture, frame, look, *along, from, to, tips);
            }
            Mark::Cells { x, y, value } => cells(picture, font, frame, x, y, value),
            mark => mark_of_data(picture, frame, look, mark),
        }
    }
    let beside = [frame.right + 12.0, frame.top, frame.bottom];
    legend::bar(picture, font, frame.chart, beside);
    footnotes
}

fn mark_of_data(picture: &mut Picture, frame: &Frame, look: &Look, mark: &Mark) {
    match mark {
        Mark::Boxes { .. } => boxes(picture, frame, look, mark),
        Mark::Dots { x, y, tips } => dots(picture, frame, look, x, y, tips),
        Mark::Intervals { along, at, low, estimate, high, tips } => {
            for row in 0..at.len() {
                let ends = [low[row], Some(estimate[row]), high[row]];
                interval(picture, frame, look, *along, at[row], ends, &tips[row]);
            }
        }
        Mark::Line { x, y, steps } => line(picture, frame, look, x, y, *steps),
        Mark::Band { x, low, high } => band(picture, frame, look, x, low, high),
        Mark::Bars { along, at, from, to } => {
            let half = (frame.slot(across(*along), at.len()) * 0.32).min(14.0);
            for ((at, from), to) in at.iter().zip(from).zip(to) {
                let place = [*at, *from, *to];
                bar(picture, frame, look, *along, place, half);
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
    let ((x0, y0), (x1, y1)) = (turned(along, from.0, from.1), turned(along, to.0, to.1));
    [x0, y0, x1, y1]
}

fn boxes(picture: &mut Picture, frame: &Frame, look: &Look, mark: &Mark) {
    let Mark::Boxes { along, at, low, q1, median, q3, high } = mark else { return };
    let half = (frame.slot(across(*along), at.len()) * 0.24).min(12.0);
    let thin = stroke(look.colour, 1.0, &[]);
    for row in 0..at.len() {
        let middle = frame.at(across(*along), at[row]);
        let value = |value: f64| frame.at(*along, value);
        let [low, q1, median, q3, high] =
            [low, q1, median, q3, high].map(|column| value(column[row]));
        for (from, to) in [(low, q1), (q3, high)] {
            picture.line(stretch(*along, (from, middle), (to, middle)), thin);
        }
        for end in [low, high] {
            let cap = stretch(*along, (end, middle - half / 2.0), (end, middle + half / 2.0));
            picture.line(cap, thin);
        }
        let [x0, y0, x1, y1] = stretch(*along, (q1, middle - half), (q3, middle + half));
        let area = [x0.min(x1), y0.min(y1), x0.max(x1), y0.max(y1)];
        picture.rectangle(area, paint(look.colour, 0.14), thin, "");
        let line = stretch(*along, (median, middle - half), (median, middle + half));
        picture.line(line, stroke(look.colour, 2.0, &[]));
    }
}

fn dots(picture: &mut Picture, frame: &Frame, look: &Look, x: &[f64], y: &[f64], tips: &[String]) {
    let radius = if x.len() > 600 { 1.6 } else { 2.4 };
    let place = |(x, y): (&f64, &f64)| (frame.at(Along::X, *x), frame.at(Along::Y, *y));
    let told = |tip: &&String| !tip.is_empty();
    if tips.iter().any(|tip| told(&tip)) {
        for ((x, y), tip) in x.iter().zip(y).map(place).zip(tips) {
            symbol(picture, x, y, radius, look, tip);
        }
        return;
    }
    let steps: Vec<Step> =
        x.iter().zip(y).map(place).flat_map(|(x, y)| outline(x, y, radius, look)).collect();
    let (fill, stroke) = drawn(look, 0.45);
    picture.shapes.push(Shape::Outline { steps, fill, stroke, tip: String::new() });
}

/// How a group's symbols are filled and outlined.
fn drawn(
    look: &Look,
    opacity: f64,
) -> (Option<crate::picture::Paint>, Option<crate::picture::Stroke>) {
    let is_open = matches!(look.symbol, Symbol::Plus | Symbol::Times | Symbol::Star | Symbol::Wye);
    if is_open {
        return (None, stroke(look.colour, 1.6, &[]));
    }
    let fill = if look.hollow { paint(PAPER, 0.8) } else { paint(look.colour, opacity) };
    (fill, look.hollow.then(|| stroke(look.colour, 1.4, &[])).flatten())
}

/// One symbol.
pub(super) fn symbol(picture: &mut Picture, x: f64, y: f64, radius: f64, look: &Look, tip: &str) {
    let (fill, stroke) = drawn(look, 1.0);
    let steps = outline(x, y, radius, look);
    picture.shapes.push(Shape::Outline { steps, fill, stroke, tip: tip.to_owned() });
}

fn outline(x: f64, y: f64, r: f64, look: &Look) -> Vec<Step> {
    let polygon = |points: &[(f64, f64)]| {
        let mut steps: Vec<Step> =
            points.iter().map(|(dx, dy)| Step::Line(x + r * dx, y + r * dy)).collect();
        if let Some(Step::Line(x, y)) = steps.first().copied() {
            steps[0] = Step::Move(x, y);
        }
        steps.push(Step::Close);
        steps
    };
    let rays = |ends: &[(f64, f64)]| {
        let ray = |(dx, dy): &(f64, f64)| [Step::Move(x, y), Step::Line(x + r * dx, y + r * dy)];
        ends.iter().flat_map(ray).collect()
    };
    match look.symbol {
        Symbol::Circle => vec![Step::Circle(x, y, r)],
        Symbol::Square => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Symbol::Triangle => polygon(&[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)]),
        Symbol::Diamond => polygon(&[(0.0, -1.3), (1.0, 0.0), (0.0, 1.3), (-1.0, 0.0)]),
        Symbol::Plus => rays(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]),
        Symbol::Times => rays(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Symbol::Star => {
            rays(&[(0.0, -1.3), (1.2, -0.4), (0.75, 1.05), (-0.75, 1.05), (-1.2, -0.4)])
        }
        Symbol::Wye => rays(&[(0.0, 1.3), (1.1, -0.7), (-1.1, -0.7)]),
    }
}

fn interval(
    picture: &mut Picture,
    frame: &Frame,
    look: &Look,
    along: Along,
    at: f64,
    [low, estimate, high]: [Option<f64>; 3],
    tip: &str,
) {
    let middle = frame.at(across(along), at);
    let pen = stroke(look.colour, 1.8, &[]);
    let value = |end: Option<f64>| end.map(|end| frame.at(along, end));
    let (low, estimate, high) = (value(low), value(estimate), value(high));
    if let Some((from, to)) = low.or(estimate).zip(high.or(estimate)) {
        picture.line(stretch(along, (from, middle), (to, middle)), pen);
    }
    for end in [low, high].into_iter().flatten() {
        picture.line(stretch(along, (end, middle - 4.0), (end, middle + 4.0)), pen);
    }
    if let Some(estimate) = estimate {
        let (x, y) = turned(along, estimate, middle);
        symbol(picture, x, y, 3.6, look, tip);
    }
}

fn line(
    picture: &mut Picture,
    frame: &Frame,
    look: &Look,
    x: &[f64],
    y: &[Option<f64>],
    steps: bool,
) {
    let mut drawn: Vec<Step> = Vec::new();
    let mut before: Option<f64> = None;
    for (x, y) in x.iter().zip(y) {
        let x = frame.at(Along::X, *x);
        let y = y.map(|y| frame.at(Along::Y, y));
        match (before, y) {
            (Some(held), Some(y)) => {
                drawn.extend(steps.then_some(Step::Line(x, held)));
                drawn.push(Step::Line(x, y));
            }
            (None, Some(y)) => drawn.push(Step::Move(x, y)),
            (_, None) => {}
        }
        before = y;
    }
    picture.lines(drawn, stroke(look.colour, 1.8, look.dash));
}

fn band(picture: &mut Picture, frame: &Frame, look: &Look, x: &[f64], low: &[f64], high: &[f64]) {
    let at = |x: &f64, y: &f64| Step::Line(frame.at(Along::X, *x), frame.at(Along::Y, *y));
    let mut steps: Vec<Step> = x.iter().zip(high).map(|(x, y)| at(x, y)).collect();
    steps.extend(x.iter().zip(low).rev().map(|(x, y)| at(x, y)));
    if let Some(Step::Line(x, y)) = steps.first().copied() {
        steps[0] = Step::Move(x, y);
        steps.push(Step::Close);
        let fill = paint(look.colour, 0.16);
        picture.shapes.push(Shape::Outline { steps, fill, stroke: None, tip: String::new() });
    }
}

fn bar(
    picture: &mut Picture,
    frame: &Frame,
    look: &Look,
    along: Along,
    [at, from, to]: [f64; 3],
    half: f64,
) {
    let middle = frame.at(across(along), at);
    let (from, to) = (frame.at(along, from), frame.at(along, to));
    let [x0, y0, x1, y1] = stretch(along, (from, middle - half), (to, middle + half));
    let area = [x0.min(x1), y0.min(y1), x0.max(x1), y0.max(y1)];
    filled(picture, area, look, 0.85, "");
}

/// A rectangle with its group's hatching.
pub(super) fn filled(picture: &mut Picture, area: [f64; 4], look: &Look, opacity: f64, tip: &str) {
    picture.rectangle(area, paint(look.colour, opacity), stroke(look.colour, 1.0, &[]), tip);
    let [x0, y0, x1, y1] = area;
    let (width, height) = (x1 - x0, y1 - y0);
    // Lines from the lower to the upper edge, or the other way round, cut at the sides.
    let rising = match look.hatch % 3 {
        0 => return,
        1 => true,
        _ => false,
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut begin = -height;
    while begin < width {
        let cut = |along: f64| (along - begin).clamp(0.0, height);
        let (from, to) = (begin.max(0.0), (begin + height).min(width));
        let y = |along: f64| if rising { y1 - cut(along) } else { y0 + cut(along) };
        if to > from {
            steps.push(Step::Move(x0 + from, y(from)));
            steps.push(Step::Line(x0 + to, y(to)));
        }
        begin += 7.0;
    }
    picture.lines(steps, stroke(PAPER, 1.4, &[]));
}

/// From light to dark.
pub(super) fn shade(share: f64) -> Colour {
    let [light, dark] = SHADES;
    let part = |index: usize| {
        let value = light[index] + (dark[index] - light[index]) * share.clamp(0.0, 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 255"
        )]
        let value = value.round() as u8;
        value
    };
    [part(0), part(1), part(2)]
}

fn cells(picture: &mut Picture, font: &Font, frame: &Frame, x: &[f64], y: &[f64], value: &[f64]) {
    let Some(axis) = &frame.chart.colour else { return };
    let half = [frame.slot(Along::X, 1) / 2.0 - 1.0, frame.slot(Along::Y, 1) / 2.0 - 1.0];
    for ((x, y), value) in x.iter().zip(y).zip(value) {
        let (x, y) = (frame.at(Along::X, *x), frame.at(Along::Y, *y));
        let share = axis.share(*value);
        let area = [x - half[0], y - half[1], x + half[0], y + half[1]];
        picture.rectangle(area, paint(shade(share), 1.0), None, "");
        let text = font.clip(&brief(axis, *value), TEXT, 2.0 * half[0]);
        let colour = if share > 0.5 { PAPER } else { INK };
        picture.words(x, y + 4.0, &text, TEXT, Anchor::Middle, colour);
    }
}

fn rules_across(
    picture: &mut Picture,
    frame: &Frame,
    look: &Look,
    along: Along,
    at: &[f64],
    tips: &[String],
    mut told: Option<&mut Vec<String>>,
) {
    for (at, tip) in at.iter().zip(tips) {
        let place = frame.at(along, *at);
        let ends = match along {
            Along::X => [place, frame.top, place, frame.bottom],
            Along::Y => [frame.left, place, frame.right, place],
        };
        picture.line(ends, stroke(look.colour, 1.4, look.dash));
        if let Some(told) = &mut told {
            let number = told.len() + 1;
            told.push(format!("{number}: {tip}"));
            picture.words(
                place,
                frame.top - 2.0,
                &number.to_string(),
                SMALL,
                Anchor::Middle,
                look.colour,
            );
        }
    }
}

fn spans(
    picture: &mut Picture,
    frame: &Frame,
    look: &Look,
    along: Along,
    from: &[f64],
    to: &[f64],
    tips: &[String],
) {
    let axis = frame.axis(along);
    for ((from, to), tip) in from.iter().zip(to).zip(tips) {
        let end = |value: &f64| match axis.scale {
            Scale::Band => frame.at(along, *value),
            _ => frame.at(along, value.clamp(axis.low, axis.high)),
        };
        let (from, to) = (end(from), end(to));
        let area = match along {
            Along::X => [from, frame.top, to, frame.bottom],
            Along::Y => [frame.left, to, frame.right, from],
        };
        picture.rectangle(
            area,
            paint(look.colour, 0.12),
            stroke(look.colour, 0.8, &[2.0, 3.0]),
            tip,
        );
    }
}
